/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Translating one profile for several binaries: it is read once. */
#include "translate.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/find/originals.h"
#include "support/parallel.h"
#include "targets.h"
#include "tools/common/output.h"
#include "tools/common/tool.h"

/* So many binaries are read by threads of their own while profiles are read. */
#define PREPARED_MAX 8u

/* The most threads that translate, each one binary at a time. */
#define TRANSLATORS_MAX 16u

struct several {
    const struct translate_request *request;
    struct targets targets;
    struct originals *originals;
    struct bat_output *output; /* for all; NULL if each has its own */
    struct bat_profiles_counters counters;
    struct parts parts;
    struct bat_error error;
};

bool several_is(const struct translate_request *request)
{
    return request->all || request->output_folder || request->originals ||
           (request->binary_count > 1 && !request->next) ||
           (request->binary && strchr(request->binary, '=') && access(request->binary, F_OK) != 0);
}

/* --- Outputs -------------------------------------------------------------------------------- */

/* All outputs in one array, to be freed; NULL if there is no memory. */
static struct bat_output **list_outputs(const struct several *several, size_t *count)
{
    struct bat_output **all =
        calloc(several->targets.count * OUTPUTS_MAX + 1, sizeof(struct bat_output *));
    *count = 0;
    if (!all)
        return NULL;
    if (several->output)
        all[(*count)++] = several->output;
    for (size_t i = 0; i < several->targets.count; i++)
        for (size_t k = 0; k < several->targets.items[i].work.output_count; k++)
            all[(*count)++] = several->targets.items[i].work.outputs[k];
    return all;
}

static enum tool_exit check_outputs(struct several *several)
{
    const struct translate_request *request = several->request;
    const struct targets *targets = &several->targets;
    const char **inputs = calloc(2 * targets->count + 1, sizeof(const char *));
    size_t count;
    struct bat_output **outputs = list_outputs(several, &count);
    enum tool_exit status = inputs && outputs ? TOOL_FINE : tool_no_memory(NULL);
    for (size_t i = 0; status == TOOL_FINE && i < targets->count; i++) {
        inputs[2 * i] = targets->items[i].binary;
        inputs[2 * i + 1] = targets->items[i].original;
    }
    if (status == TOOL_FINE &&
        (bat_outputs_check(outputs, count, request->profiles, request->profile_count,
                           &several->error) != BAT_OK ||
         bat_outputs_check(outputs, count, inputs, 2 * targets->count, &several->error) != BAT_OK))
        status = tool_report(NULL, &several->error);
    free(inputs);
    free(outputs);
    return status;
}

static enum tool_exit begin_outputs(struct several *several)
{
    const char *path = several->request->output;
    enum tool_exit status = TOOL_FINE;
    if (path && bat_output_begin(path, &several->output, &several->error) != BAT_OK)
        status = tool_report(NULL, &several->error);
    for (size_t i = 0; i < several->targets.count && status == TOOL_FINE; i++)
        status = work_begin_outputs(&several->targets.items[i].work);
    return status ? status : check_outputs(several);
}

/* Put all outputs in place, or none. */
static enum tool_exit commit_outputs(struct several *several)
{
    size_t count;
    struct bat_output **outputs = list_outputs(several, &count);
    if (!outputs)
        return tool_no_memory(NULL);
    several->output = NULL;
    for (size_t i = 0; i < several->targets.count; i++)
        several->targets.items[i].work.output_count = 0;
    enum tool_exit status = tool_commit(NULL, outputs, count);
    free(outputs);
    return status;
}

/* --- Input binaries ------------------------------------------------------------------------- */

/* Find the file that BOLT read, if BOLT wrote this one. --all does without. */
static enum tool_exit find_original(const struct several *several, struct target *target)
{
    struct bat_elf *elf;
    struct bat_error error;
    if (work_find_stored(&target->work) != TOOL_FINE)
        return TOOL_BAD;
    if (bat_elf_open(bat_stored_or(&target->work.stored, target->binary), &elf, &error) != BAT_OK)
        return tool_report(target->binary, &error);
    enum tool_exit status = TOOL_FINE;
    const char *found = originals_find(several->originals, elf);
    bool is_bolted = bat_elf_section(elf, BAT_SECTION_NAME) != NULL;
    if (is_bolted && found) {
        target->original = strdup(found);
        target->request.original = target->original;
        status = target->original ? TOOL_FINE : tool_no_memory(NULL);
    } else if (is_bolted) {
        bool is_error = !several->request->all;
        tool_message(target->binary, "%sexpected its input binary, by build-id, in %s, found none",
                     is_error ? "" : "warning: ", several->request->originals);
        status = is_error ? TOOL_BAD : TOOL_FINE;
    }
    bat_elf_close(elf);
    return status;
}

static enum tool_exit find_originals(struct several *several)
{
    if (!several->request->originals)
        return TOOL_FINE;
    enum tool_exit status = TOOL_FINE;
    if (originals_open(several->request->originals, &several->originals, &several->error) != BAT_OK)
        status = tool_report(originals_failed(several->originals), &several->error);
    for (size_t i = 0; i < several->targets.count && status == TOOL_FINE; i++)
        status = find_original(several, &several->targets.items[i]);
    return status;
}

/* --- A step for all binaries ---------------------------------------------------------------- */

typedef enum tool_exit step_fn(struct target *target);

struct steps {
    struct targets *targets;
    step_fn *step;
    atomic_size_t next;
    atomic_bool has_stopped;
};

/* True if a step failed for a reason that all others would have, too. */
static bool is_system_full(const struct target *target)
{
    enum bat_code code = target->work.error.code;
    return target->status == TOOL_BAD && (code == BAT_ERR_IO || code == BAT_ERR_MEMORY);
}

static void *run_steps(void *context)
{
    struct steps *steps = *(struct steps **)context;
    while (!atomic_load(&steps->has_stopped)) {
        size_t i = atomic_fetch_add(&steps->next, 1);
        if (i >= steps->targets->count)
            break;
        struct target *target = &steps->targets->items[i];
        target->status = steps->step(target);
        if (is_system_full(target))
            atomic_store(&steps->has_stopped, true);
    }
    return NULL;
}

/* Do a step for each binary, by several threads. Fails if one of them does. */
static enum tool_exit for_each(struct several *several, step_fn *step)
{
    struct steps steps = {.targets = &several->targets, .step = step};
    struct steps *all[TRANSLATORS_MAX];
    const unsigned threads =
        bat_threads_for(several->request->reading.threads, several->targets.count, TRANSLATORS_MAX);
    for (unsigned i = 0; i < threads; i++)
        all[i] = &steps;
    bat_parts_run(run_steps, all, sizeof(all[0]), threads);
    for (size_t i = 0; i < several->targets.count; i++)
        if (several->targets.items[i].status != TOOL_FINE)
            return several->targets.items[i].status;
    return TOOL_FINE;
}

static enum tool_exit open_target(struct target *target)
{
    return work_open(&target->work);
}

/* --- Reading -------------------------------------------------------------------------------- */

/* What a file is read into. */
struct reading {
    struct bat_profile **profiles;
    size_t count;
    struct bat_profiles_counters *counters;
};

static enum bat_code read_profile(void *context, const char *path,
                                  const struct bat_read_options *options, struct bat_error *error)
{
    const struct reading *reading = context;
    return bat_profiles_read(reading->profiles, reading->count, path, options, reading->counters,
                             error);
}

static enum tool_exit read_profiles(struct several *several)
{
    const struct targets *targets = &several->targets;
    struct bat_profile **profiles = calloc(targets->count + 1, sizeof(struct bat_profile *));
    enum tool_exit status = profiles ? TOOL_FINE : tool_no_memory(NULL);
    for (size_t i = 0; i < targets->count && status == TOOL_FINE; i++) {
        struct work *work = &targets->items[i].work;
        status = work_make_profile(work, targets->count <= PREPARED_MAX && !several->output);
        profiles[i] = work->profile;
    }
    struct reading reading = {
        .profiles = profiles, .count = targets->count, .counters = &several->counters};
    status = status ? status
                    : work_read_parts(&several->parts, several->request, read_profile, &reading);
    /* Each profile has those of all recordings. */
    if (status == TOOL_FINE && targets->count != 0)
        tool_warn_branch_filter(NULL, profiles[0]);
    for (size_t i = 0; i < targets->count; i++)
        targets->items[i].work.parts = &several->parts;
    free(profiles);
    return status;
}

/* A named binary that no process had is an error, as it is if it is translated alone. */
static enum tool_exit check_found(const struct several *several)
{
    for (size_t i = 0; i < several->targets.count; i++) {
        const struct target *target = &several->targets.items[i];
        struct bat_profile_counters read = bat_profile_counters(target->work.profile);
        if (several->request->all || read.perf_samples == 0 || read.perf_processes != 0)
            continue;
        return tool_message(target->binary,
                            "expected a process that has it, with its build-id, found none in the "
                            "profiles");
    }
    return TOOL_FINE;
}

/* Of --all, leave out files without samples. */
static void leave_out_idle(struct several *several)
{
    for (size_t i = 0; i < several->targets.count; i++) {
        struct target *target = &several->targets.items[i];
        target->inside = several->counters.inside[i];
        uint64_t ignored;
        target->is_idle = several->request->all && target->inside == 0 &&
                          !bat_profile_load(target->work.profile, 0, &ignored, &ignored, &ignored);
        if (target->is_idle)
            work_close(&target->work);
    }
}

/* --- Translating ---------------------------------------------------------------------------- */

static enum tool_exit finish_target(struct target *target)
{
    if (target->is_idle)
        return TOOL_FINE;
    FILE *report = open_memstream(&target->report, &target->report_size);
    if (!report)
        return tool_no_memory(NULL);
    target->work.report = report;
    enum tool_exit status = work_finish(&target->work);
    target->work.report = NULL;
    if (fclose(report) != 0 && status == TOOL_FINE)
        status = tool_no_memory(NULL);
    return status;
}

/* Write one pre-aggregated text for all binaries. */
static enum tool_exit write_preagg(struct several *several)
{
    const struct targets *targets = &several->targets;
    const struct bat_profile **profiles =
        calloc(targets->count + 1, sizeof(const struct bat_profile *));
    if (!profiles)
        return tool_no_memory(NULL);
    for (size_t i = 0; i < targets->count; i++)
        profiles[i] = targets->items[i].work.profile;
    enum bat_code code = parts_write_digests(&several->parts, several->output, &several->error);
    if (code == BAT_OK)
        code =
            bat_profiles_write_preagg(profiles, targets->count, several->output, &several->error);
    free(profiles);
    return code == BAT_OK ? TOOL_FINE
                          : tool_report_output(several->request->output, &several->error);
}

/* --- The report ----------------------------------------------------------------------------- */

/* Binaries of one path, which --all finds in recordings of many hosts, differ in this only. */
static void print_build_id(struct bat_text_writer *out, const struct target *target,
                           const char *before, const char *after)
{
    size_t size;
    const uint8_t *id = bat_elf_build_id(target->work.binary.elf, &size);
    if (!id)
        return;
    bat_text_string(out, before);
    bat_text_hex_bytes(out, id, size);
    bat_text_string(out, after);
}

static void print_text(struct bat_text_writer *out, const struct several *several)
{
    bat_text_format(out, "%-36s %14lu\n", "samples", several->counters.samples);
    bat_text_format(out, "%-36s %14lu\n", "  in none of the binaries", several->counters.none);
    if (work_reports_parts(several->request))
        parts_print_text(&several->parts, out);
    for (size_t i = 0; i < several->targets.count; i++) {
        const struct target *target = &several->targets.items[i];
        if (target->is_idle)
            continue;
        bat_text_name(out, "\n", target->binary, "");
        if (target->output)
            bat_text_name(out, " -> ", target->output, "");
        bat_text_string(out, "\n");
        print_build_id(out, target, "build-id ", "\n");
        bat_text_format(out, "%-36s %14lu\n", "samples in it", target->inside);
        bat_text_bytes(out, target->report ? target->report : "", target->report_size);
    }
}

static void print_json(struct bat_text_writer *out, const struct several *several)
{
    bat_text_format(out, "{\"samples\":%lu,\"none\":%lu", several->counters.samples,
                    several->counters.none);
    if (work_reports_parts(several->request))
        parts_print_json(&several->parts, out);
    bat_text_string(out, ",\"binaries\":[");
    bool is_first = true;
    for (size_t i = 0; i < several->targets.count; i++) {
        const struct target *target = &several->targets.items[i];
        if (target->is_idle)
            continue;
        bat_text_string(out, is_first ? "\n{\"binary\":" : ",\n{\"binary\":");
        is_first = false;
        bat_text_json(out, target->binary);
        print_build_id(out, target, ",\"build_id\":\"", "\"");
        if (target->output)
            bat_text_member(out, ",\"output\":", target->output);
        bat_text_format(out, ",\"samples\":%lu", target->inside);
        /* The report of one binary is an object on a line. */
        size_t size = target->report_size;
        while (size != 0 && target->report[size - 1] == '\n')
            size--;
        if (size != 0) {
            bat_text_string(out, ",\"report\":");
            bat_text_bytes(out, target->report, size);
        }
        bat_text_string(out, "}");
    }
    bat_text_string(out, "]}\n");
}

/* Standard error if an output goes to standard output. */
static int report_descriptor(const struct several *several)
{
    size_t count;
    struct bat_output **outputs = list_outputs(several, &count);
    int descriptor = STDOUT_FILENO;
    for (size_t i = 0; outputs && i < count; i++)
        if (bat_output_is_standard(outputs[i]))
            descriptor = STDERR_FILENO;
    free(outputs);
    return descriptor;
}

static enum tool_exit print_report(const struct several *several)
{
    if (several->request->quiet)
        return TOOL_FINE;
    tool_step(NULL);
    struct output *out = output_begin(report_descriptor(several));
    if (!out)
        return TOOL_BAD;
    if (several->request->json_report)
        print_json(&out->text, several);
    else
        print_text(&out->text, several);
    return output_end(out, TOOL_FINE);
}

/* --- All of it ------------------------------------------------------------------------------ */

static enum tool_exit translate_targets(struct several *several)
{
    several->counters.size = sizeof(several->counters);
    several->counters.inside =
        calloc(several->targets.count + 1, sizeof(*several->counters.inside));
    if (!several->counters.inside)
        return tool_no_memory(NULL);
    enum tool_exit status = find_originals(several);
    status = status ? status : begin_outputs(several);
    status = status ? status : for_each(several, open_target);
    status = status ? status : targets_check(&several->targets);
    status = status ? status : read_profiles(several);
    status = status ? status : check_found(several);
    if (status == TOOL_FINE) {
        leave_out_idle(several);
        status = several->output ? write_preagg(several) : for_each(several, finish_target);
    }
    status = status ? status : print_report(several);
    return status ? status : commit_outputs(several);
}

enum tool_exit several_run(const struct translate_request *request)
{
    struct several several = {.request = request};
    tool_allow_files();
    enum tool_exit status = targets_make(&several.targets, request);
    status = status ? status : translate_targets(&several);
    status = status ? status : work_parts_status(&several.parts);
    bat_output_abandon(several.output);
    bool is_done = status == TOOL_FINE || status == TOOL_PARTIAL;
    if (!is_done)
        for (size_t i = 0; i < several.targets.count; i++)
            work_close(&several.targets.items[i].work);
    if (!is_done)
        targets_remove_folder(&several.targets);
    targets_free(&several.targets);
    originals_free(several.originals);
    parts_free(&several.parts);
    free(several.counters.inside);
    return status;
}
