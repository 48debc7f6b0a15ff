/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The call chains of samples, as the kernel wrote them into perf.data, and the branches before. */
#include <stdlib.h>
#include <string.h>

#include "samples.h"
#include "spec/array.h"

/* Words of a chain from here on are not addresses but tell whose addresses follow. */
#define CONTEXT_FIRST ((uint64_t)-4095)
#define CONTEXT_KERNEL ((uint64_t)-128)
#define CONTEXT_USER ((uint64_t)-512)

struct chains {
    const struct perf_session *session;
    bat_call_chain_fn *found;
    void *context;
    uint64_t *frames;
    uint64_t capacity;
    struct bat_chain_run *runs;
    size_t run_capacity;
    size_t run_count;
    /* Of text: chains that begin in the binary, where the newest branch leads, and others. */
    uint64_t fitting;
    uint64_t odd;
};

/*
 * An address of a process as the binary's, the kernel's or that of some other file. Behind code
 * that keeps something else in the frame pointer, user callers are any numbers, also the kernel's.
 */
static uint64_t frame_of(const struct perf_binary *binary, const struct perf_span *span,
                         uint64_t address, bool is_kernel)
{
    uint64_t own = perf_own_address(binary, span, address);
    if (own != BAT_ADDRESS_EXTERNAL && own != UINT64_MAX)
        return own;
    return is_kernel ? BAT_FRAME_KERNEL : BAT_ADDRESS_EXTERNAL;
}

/*
 * Convert the sample's chain into frames; returns their number, or 0 if the process's own callers
 * are unknown: perf writes chains without them if it is to find them in copies of the stack.
 */
static size_t convert(const struct chains *chains, const struct perf_sample *sample,
                      const struct perf_span *span)
{
    const struct perf_binary *binary = chains->session->binaries;
    bool has_user = binary->is_kernel || chains->session->text;
    bool is_return = false; /* the address is behind a call, which may be a function's last byte */
    bool is_kernel = false;
    size_t depth = 0;
    for (uint64_t i = 0; i < sample->chain_length; i++) {
        uint64_t address = bat_load64(sample->chain + 8 * i);
        if (address >= CONTEXT_FIRST) {
            has_user |= address == CONTEXT_USER;
            is_kernel = address == CONTEXT_KERNEL;
            is_return = false;
            continue;
        }
        uint64_t frame = frame_of(binary, span, is_return ? address - 1 : address, is_kernel);
        is_return = true;
        bool is_own = frame != BAT_ADDRESS_EXTERNAL && frame != BAT_FRAME_KERNEL;
        if (is_own || depth == 0 || chains->frames[depth - 1] != frame)
            chains->frames[depth++] = frame;
    }
    return has_user ? depth : 0;
}

/* An end of a branch as the binary's, or of another file. */
static uint64_t own_end(const struct perf_binary *binary, const struct perf_span *span,
                        uint64_t address)
{
    const uint64_t own = perf_own_address(binary, span, address);
    return own == UINT64_MAX ? BAT_ADDRESS_EXTERNAL : own;
}

/*
 * True for the newest entry if the processor has it twice: taken from the second one's target, it
 * would lie behind its own source.
 */
static bool is_doubled(const struct perf_sample *sample)
{
    return sample->branch_count > 1 &&
           memcmp(sample->branches, sample->branches + PERF_BRANCH_SIZE, 16) == 0 &&
           bat_load64(sample->branches + 8) > bat_load64(sample->branches);
}

/* List the runs between the entries of the branch stack that are of user space; none if some
 * branches were not recorded, as entries are no neighbours then. */
static bool list_runs(struct chains *chains, const struct perf_sample *sample,
                      const struct perf_span *span)
{
    const struct perf_binary *binary = chains->session->binaries;
    uint64_t to = BAT_TRACE_BRANCH_ONLY;
    const uint64_t count = sample->branch_filter == 0 ? sample->branch_count : 0;
    chains->run_count = 0;
    for (uint64_t i = is_doubled(sample); i < count; i++) {
        const uint8_t *branch = sample->branches + i * PERF_BRANCH_SIZE;
        const uint64_t from = bat_load64(branch);
        const uint64_t target = bat_load64(branch + 8);
        const uint64_t flags = bat_load64(branch + 16);
        const uint64_t kernel =
            perf_session_keeps_kernel(chains->session, binary) ? UINT64_MAX : PERF_KERNEL_ADDRESS;
        if (from >= kernel || target >= kernel || (flags & PERF_BRANCH_NOT_TAKEN) ||
            (flags & PERF_BRANCH_SPECULATION) == PERF_BRANCH_WRONG_PATH)
            continue;
        if (!BAT_GROW(chains->runs, chains->run_count, chains->run_capacity))
            return false;
        struct bat_chain_run *run = &chains->runs[chains->run_count++];
        *run =
            (struct bat_chain_run){own_end(binary, span, from), own_end(binary, span, target), to};
        to = run->branch;
    }
    return true;
}

/*
 * False for a chain that does not begin where the newest branch leads. perf 6 prints for the frames
 * of a program where they are in its file, not their addresses: nothing tells which file.
 */
static bool fits_branches(struct chains *chains, const struct bat_call_chain *chain)
{
    if (chain->run_count == 0 || chain->runs[0].from == BAT_ADDRESS_EXTERNAL)
        return true;
    const bool fits = chain->frames[0] != BAT_ADDRESS_EXTERNAL;
    chains->fitting += fits;
    chains->odd += !fits;
    return fits;
}

static enum bat_code add_sample(struct chains *chains, struct perf_samples *samples,
                                struct perf_sample *sample, struct perf_moment moment,
                                struct bat_error *error)
{
    const struct perf_session *session = chains->session;
    if (sample->chain_length == 0 || !sample->has_process)
        return BAT_OK;
    const struct perf_span *span =
        perf_processes_find(&session->processes, 0, sample->process, moment);
    if (!span)
        return BAT_OK;
    BAT_TRY(perf_samples_stack(samples, sample));
    BAT_TRY_MEMORY(list_runs(chains, sample, span), error, "for branch stacks");
    if (sample->chain_length > chains->capacity) {
        free(chains->frames);
        chains->frames = malloc((size_t)sample->chain_length * sizeof(*chains->frames));
        chains->capacity = chains->frames ? sample->chain_length : 0;
    }
    const struct bat_call_chain chain = {.frames = chains->frames,
                                         .depth =
                                             chains->frames ? convert(chains, sample, span) : 0,
                                         .runs = chains->runs,
                                         .run_count = chains->run_count,
                                         .count = sample->repeats ? sample->repeats : 1};
    BAT_TRY_MEMORY(chains->frames, error, "for call chains");
    if (chain.depth == 0 || (session->text && !fits_branches(chains, &chain)))
        return BAT_OK;
    return chains->found(&chain, chains->context) ? BAT_OK
                                                  : bat_fail_memory(error, "for call chains");
}

enum bat_code perf_session_list_chains(struct perf_session *session, bat_call_chain_fn *found,
                                       void *context, struct bat_error *error)
{
    const struct perf_stretch all = {
        .file = session->file, .start = session->data_start, .end = session->data_end, .line = 1};
    struct chains chains = {.session = session, .found = found, .context = context};
    struct perf_samples samples;
    enum bat_code code = perf_samples_open(&samples, session, &all, error);
    bool is_sample = true;
    while (code == BAT_OK && is_sample) {
        struct perf_sample sample;
        struct perf_moment moment;
        code = perf_samples_next(&samples, &sample, &moment, &is_sample);
        if (code == BAT_OK && is_sample)
            code = add_sample(&chains, &samples, &sample, moment, error);
    }
    perf_samples_close(&samples);
    if (code == BAT_OK && chains.odd > chains.fitting)
        code = bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected call stacks of addresses, found places in files, as perf 6 "
                        "prints them: give the perf.data itself");
    BAT_FREE_ALL(chains.frames, chains.runs);
    return code;
}
