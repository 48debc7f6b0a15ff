/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tail_calls.h"

#include "binary/original/original.h"
#include "probe_functions.h"
#include "spec/array.h"

/* --- Instructions --------------------------------------------------------------------------- */

struct bat_instruction unwinder_instruction(const struct unwinder *unwinder, uint64_t address)
{
    struct bat_instruction instruction = {.kind = BAT_INSTRUCTION_OTHER};
    bat_original_decode(unwinder->elf, address, &instruction);
    return instruction;
}

/* The longest instruction of x86-64. */
#define LENGTH_MAX 15u

/*
 * The call that ends at an address; 0 if there is none. Bytes can be read as calls of several
 * lengths: one with a probe is what the compiler meant, otherwise a direct one.
 */
static uint64_t decode_call_before(const struct unwinder *unwinder, uint64_t behind)
{
    uint64_t best = 0;
    bool is_direct = false;
    for (unsigned length = 2; length <= LENGTH_MAX && length < behind; length++) {
        struct bat_instruction instruction;
        const uint64_t call = behind - length;
        if (!bat_original_decode(unwinder->elf, call, &instruction) ||
            instruction.length != length || !bat_kind_is_call(instruction.kind))
            continue;
        if (probe_call_at(unwinder->probes, call))
            return call;
        if (best == 0 || (!is_direct && instruction.kind == BAT_INSTRUCTION_CALL))
            best = call;
        is_direct |= instruction.kind == BAT_INSTRUCTION_CALL;
    }
    return best;
}

enum bat_code unwinder_call(struct unwinder *unwinder, uint64_t behind, uint64_t *call)
{
    const uint64_t *found = bat_counts_find(&unwinder->calls, &behind);
    if (found) {
        *call = found[1];
        return BAT_OK;
    }
    *call = behind == BAT_ADDRESS_EXTERNAL ? 0 : decode_call_before(unwinder, behind);
    return bat_counts_add(&unwinder->calls, &behind, *call, 0);
}

/* Remember a call that was sampled: bytes before other ones can be read in several ways. */
static enum bat_code note_call(struct unwinder *unwinder, uint64_t behind, uint64_t call)
{
    const uint64_t *found = bat_counts_find(&unwinder->calls, &behind);
    if (found && found[2] != 0)
        return BAT_OK;
    return bat_counts_add(&unwinder->calls, &behind, found ? call - found[1] : call, 1);
}

/* --- Contexts ------------------------------------------------------------------------------- */

static enum bat_code enter(struct unwinder *unwinder, uint64_t behind, uint32_t *context)
{
    const uint64_t key[2] = {*context, behind};
    const uint64_t *found;
    bool is_new;
    if (unwinder->context_count == BAT_NONE ||
        !BAT_GROW(unwinder->contexts, unwinder->context_count, unwinder->context_capacity))
        return BAT_ERR_MEMORY;
    BAT_TRY(bat_counts_find_or_add(&unwinder->by_call, key, unwinder->context_count, 0, &found,
                                   &is_new));
    if (is_new)
        unwinder->contexts[unwinder->context_count++] = (struct context){behind, *context};
    *context = (uint32_t)found[0];
    return BAT_OK;
}

/* True for a branch between other files. */
static bool is_elsewhere(const struct bat_chain_run *run)
{
    return run->branch == BAT_ADDRESS_EXTERNAL && run->from == BAT_ADDRESS_EXTERNAL;
}

/* --- Runs ----------------------------------------------------------------------------------- */

/* What a branch does to the stack of callers. */
enum step { STEP_JUMP, STEP_CALL, STEP_RETURN };

/* A run, as far as that does not depend on its context. */
struct unwound_run {
    uint64_t behind; /* the address behind the call that is made or returned from: of others 0 */
    enum step step;
    bool is_known; /* both ends are, in this file */
    bool fits;     /* it can have been executed from start to end */
};

static enum bat_code find_step(struct unwinder *unwinder, const struct bat_chain_run *run,
                               struct unwound_run *unwound)
{
    uint64_t call;
    unwound->step = STEP_JUMP;
    if (run->branch == BAT_TRACE_FALLTHROUGH_ONLY)
        return BAT_OK;
    if (run->branch == BAT_ADDRESS_EXTERNAL) {
        enum bat_code code = unwinder_call(unwinder, run->from, &call);
        unwound->step = call ? STEP_RETURN : STEP_CALL;
        unwound->behind = call ? run->from : 0;
        return code;
    }
    const struct bat_instruction branch = unwinder_instruction(unwinder, run->branch);
    if (bat_kind_is_call(branch.kind)) {
        unwound->step = STEP_CALL;
        unwound->behind = run->branch + branch.length;
        return note_call(unwinder, unwound->behind, run->branch);
    }
    if (branch.kind == BAT_INSTRUCTION_RETURN) {
        unwound->step = STEP_RETURN;
        unwound->behind = run->from;
    }
    return BAT_OK;
}

/* Find out all about a run, once. */
static enum bat_code find_run(struct unwinder *unwinder, const struct bat_chain_run *run,
                              struct unwound_run *unwound)
{
    const uint64_t key[3] = {run->branch, run->from, run->to};
    const uint64_t *found = bat_counts_find(&unwinder->runs, key);
    if (found) {
        *unwound = (struct unwound_run){found[3], (enum step)(found[4] & 3), (found[4] & 4) != 0,
                                        (found[4] & 8) != 0};
        return BAT_OK;
    }
    const bool has_run = run->to != BAT_TRACE_BRANCH_ONLY &&
                         (run->from != BAT_ADDRESS_EXTERNAL || run->to != BAT_ADDRESS_EXTERNAL);
    *unwound = (struct unwound_run){.is_known = has_run && run->from != BAT_ADDRESS_EXTERNAL &&
                                                run->to != BAT_ADDRESS_EXTERNAL};
    unwound->fits = !has_run;
    if (unwound->is_known)
        unwound->fits =
            run->from <= run->to && code_map_falls_through(&unwinder->code, run->from, run->to);
    enum bat_code code = find_step(unwinder, run, unwound);
    const uint64_t bits =
        (uint64_t)unwound->step | (unwound->is_known ? 4 : 0) | (unwound->fits ? 8 : 0);
    return code ? code : bat_counts_add(&unwinder->runs, key, unwound->behind, bits);
}

/* List what is known of a sample's runs, without those between other files. */
static enum bat_code list_runs(struct unwinder *unwinder, const struct bat_call_chain *sample)
{
    enum bat_code code = BAT_OK;
    if (!BAT_RESERVE(unwinder->listed, 0, unwinder->listed_capacity, sample->run_count))
        return BAT_ERR_MEMORY;
    for (size_t i = 0; i < sample->run_count && code == BAT_OK; i++)
        if (!is_elsewhere(&sample->runs[i]))
            code = find_run(unwinder, &sample->runs[i], &unwinder->listed[i]);
    return code;
}

/*
 * The address behind the call by which the newest function was entered, if that is among the
 * branches: in a prologue or an epilogue the call stack lacks it. 0 if it is not, or not in this
 * file.
 */
static uint64_t entering_call(const struct unwinder *unwinder, const struct bat_call_chain *sample)
{
    size_t depth = 0;
    for (size_t i = 0; i < sample->run_count; i++) {
        const struct unwound_run *run = &unwinder->listed[i];
        if (is_elsewhere(&sample->runs[i]))
            continue;
        if (run->step == STEP_CALL && depth == 0)
            return run->behind;
        depth += run->step == STEP_RETURN;
        depth -= run->step == STEP_CALL;
    }
    return 0;
}

/* The context of the newest code. */
static enum bat_code find_context(struct unwinder *unwinder, const struct bat_call_chain *sample,
                                  uint32_t *context)
{
    size_t leaf = 0;
    while (leaf + 1 < sample->depth && sample->frames[leaf] == BAT_FRAME_KERNEL)
        leaf++;
    *context = CONTEXT_ROOT;
    enum bat_code code = BAT_OK;
    uint64_t behind = 0;
    for (size_t i = sample->depth; i-- > leaf + 1 && code == BAT_OK;) {
        const uint64_t frame = sample->frames[i];
        const bool is_own = frame != BAT_ADDRESS_EXTERNAL && frame != BAT_FRAME_KERNEL;
        behind = is_own ? frame + 1 : BAT_ADDRESS_EXTERNAL;
        code = enter(unwinder, behind, context);
    }
    const uint64_t entering = entering_call(unwinder, sample);
    return code == BAT_OK && entering != 0 && entering != behind
               ? enter(unwinder, entering, context)
               : code;
}

/* --- Samples -------------------------------------------------------------------------------- */

/* Go back over the branch of a run, and count it where it was taken. */
static enum bat_code undo_branch(struct unwinder *unwinder, const struct bat_chain_run *run,
                                 const struct unwound_run *unwound, bool has_stack,
                                 uint32_t *context, uint64_t count)
{
    enum bat_code code = BAT_OK;
    if (has_stack && unwound->step == STEP_RETURN)
        code = enter(unwinder, unwound->behind, context);
    const struct context *last = &unwinder->contexts[*context];
    if (has_stack && unwound->step == STEP_CALL && *context != CONTEXT_ROOT &&
        last->behind == unwound->behind)
        *context = last->caller;
    const uint64_t key[3] = {run->branch, run->from, *context};
    const bool is_inside = run->branch != BAT_ADDRESS_EXTERNAL &&
                           run->branch != BAT_TRACE_FALLTHROUGH_ONLY &&
                           run->from != BAT_ADDRESS_EXTERNAL;
    return code == BAT_OK && is_inside
               ? bat_counts_add_three_later(&unwinder->branches, &unwinder->branch_batch, key,
                                            count, 0)
               : code;
}

enum bat_code unwinder_add(struct unwinder *unwinder, const struct bat_call_chain *sample)
{
    uint32_t context = CONTEXT_ROOT;
    bool has_stack = true;
    enum bat_code code = list_runs(unwinder, sample);
    code = code ? code : find_context(unwinder, sample, &context);
    for (size_t i = 0; i < sample->run_count && code == BAT_OK; i++) {
        const struct bat_chain_run *run = &sample->runs[i];
        const struct unwound_run *unwound = &unwinder->listed[i];
        if (is_elsewhere(run))
            continue;
        if (!unwound->fits) {
            unwinder->cut += has_stack ? sample->count : 0;
            has_stack = false;
            context = CONTEXT_ROOT;
        } else if (unwound->is_known) {
            const uint64_t key[3] = {run->from, run->to, context};
            code = bat_counts_add_three_later(&unwinder->ranges, &unwinder->range_batch, key,
                                              sample->count, 0);
        }
        code =
            code ? code : undo_branch(unwinder, run, unwound, has_stack, &context, sample->count);
    }
    unwinder->samples += sample->count;
    return code;
}

enum bat_code unwinder_flush(struct unwinder *unwinder)
{
    BAT_TRY(bat_counts_flush(&unwinder->ranges, &unwinder->range_batch));
    return bat_counts_flush(&unwinder->branches, &unwinder->branch_batch);
}

enum bat_code unwinder_new(struct unwinder *unwinder, const struct bat_elf *elf,
                           const struct bat_probes *probes, struct bat_error *error)
{
    *unwinder = (struct unwinder){.elf = elf,
                                  .probes = probes,
                                  .by_call = bat_counts_new(2),
                                  .ranges = bat_counts_new(3),
                                  .branches = bat_counts_new(3),
                                  .calls = bat_counts_new(1),
                                  .runs = bat_counts_new(3)};
    BAT_TRY(code_map_create(&unwinder->code, elf, error));
    if (!BAT_GROW(unwinder->contexts, 0, unwinder->context_capacity))
        return bat_fail_memory(error, "for contexts");
    unwinder->contexts[unwinder->context_count++] = (struct context){0, CONTEXT_ROOT};
    return BAT_OK;
}

void unwinder_free(struct unwinder *unwinder)
{
    code_map_free(&unwinder->code);
    BAT_FREE_ALL(unwinder->contexts, unwinder->listed);
    bat_counts_free(&unwinder->by_call);
    bat_counts_free(&unwinder->ranges);
    bat_counts_free(&unwinder->branches);
    bat_counts_free(&unwinder->calls);
    bat_counts_free(&unwinder->runs);
}
