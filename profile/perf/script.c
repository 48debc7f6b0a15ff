/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading a text of perf script in two passes: spec/perf-script.md. */
#include "script.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/line_blocks.h"
#include "support/parallel.h"

struct script {
    int file;
    uint64_t size;
    const struct bat_read_options *options;
    struct perf_script_sections sections;
    struct perf_binary *binaries;
    uint32_t binary_count;
    struct perf_processes processes;
    uint64_t lost;
    bool lacks_processes; /* samples have no process ids */
    /* Of the first sample: */
    bool has_sample;
    bool is_behind_records;
    bool has_time;
    enum perf_script_order order;
    /* ... then where all processes have each binary; without windows if none has it */
    struct perf_span *only_spans;
    struct perf_shares *shares;
};

/* --- Blocks of lines ----------------------------------------------------------------------- */

/* Whole lines of the file, from offset on. */
struct block {
    const uint8_t *text;
    size_t size;
    uint64_t offset;
};

/* Returns the next block of the input; size 0 at its end. line is its first, for errors. */
static enum bat_code next_block(struct bat_input *input, struct block *block, uint64_t line,
                                struct bat_error *error)
{
    enum bat_code code = bat_input_next(input, line, &block->text, &block->size, error);
    size_t supplied = input->supplied_newline && block->size != 0;
    block->offset = input->offset - (input->end - input->start) - (block->size - supplied);
    return code;
}

/* The first newline at or behind `at`, but not behind the block. */
static const uint8_t *line_end(const struct block *block, const uint8_t *at)
{
    return memchr(at, '\n', (size_t)(block->text + block->size - at));
}

/* --- The first pass: records of processes --------------------------------------------------- */

struct survey {
    struct script *script;
    struct bat_error *error;
    uint64_t lines; /* before the current block */
};

static uint64_t count_newlines(const uint8_t *from, const uint8_t *to)
{
    uint64_t count = 0;
    for (; from < to; from++)
        count += *from == '\n';
    return count;
}

static enum bat_code survey_line(struct survey *survey, const struct block *block,
                                 const uint8_t *start, const uint8_t *newline,
                                 const uint8_t *record)
{
    struct script *script = survey->script;
    uint64_t offset = block->offset + (uint64_t)(start - block->text);
    const struct perf_script_section *section = perf_script_section_at(&script->sections, offset);
    enum perf_script_content content = section ? section->content : PERF_SCRIPT_SAMPLES;
    struct bat_lines lines = {.at = start, .end = newline + 1, .error = survey->error};
    struct perf_script_line line = {.lines = &lines, .start = start, .at = start};
    enum bat_code code = BAT_OK;
    if (content == PERF_SCRIPT_BUILD_IDS)
        code = perf_script_read_build_id(&script->processes, &line);
    else if (content != PERF_SCRIPT_SAMPLES && record)
        code = perf_script_read_record(&script->processes, &line, record, offset, &script->lost);
    if (code == BAT_ERR_SYNTAX && survey->error)
        survey->error->line = survey->lines + count_newlines(block->text, start) + 1;
    return code;
}

/* Read every line of the lists of build-ids, which are short. */
static enum bat_code survey_build_ids(struct survey *survey, const struct block *block)
{
    const struct perf_script_sections *sections = &survey->script->sections;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < sections->count; i++) {
        const uint8_t *start = block->text;
        const uint8_t *end = block->text + block->size;
        uint64_t first = i ? sections->all[i - 1].end : sections->start;
        if (sections->all[i].content != PERF_SCRIPT_BUILD_IDS ||
            first >= block->offset + block->size || sections->all[i].end <= block->offset)
            continue;
        if (first > block->offset)
            start = block->text + (first - block->offset);
        if (sections->all[i].end < block->offset + block->size)
            end = block->text + (sections->all[i].end - block->offset);
        while (start < end && code == BAT_OK) {
            const uint8_t *newline = line_end(block, start);
            code = survey_line(survey, block, start, newline, NULL);
            start = newline + 1;
        }
    }
    return code;
}

static enum bat_code survey_block(struct survey *survey, const struct block *block)
{
    const uint8_t *at = block->text;
    const uint8_t *end = block->text + block->size;
    enum bat_code code = survey_build_ids(survey, block);
    while (code == BAT_OK) {
        const uint8_t *record =
            memmem(at, (size_t)(end - at), PERF_SCRIPT_RECORD, sizeof(PERF_SCRIPT_RECORD) - 1);
        if (!record)
            break;
        const uint8_t *before = memrchr(block->text, '\n', (size_t)(record - block->text));
        const uint8_t *newline = line_end(block, record);
        code = survey_line(survey, block, before ? before + 1 : block->text, newline, record);
        at = newline + 1;
    }
    return code;
}

/* Look for the first sample, which has times if others have, and whether records precede it. */
static void find_sample(struct script *script, const struct block *block)
{
    const uint8_t *end = block->text + block->size;
    for (const uint8_t *at = block->text, *newline; at < end && !script->has_sample;
         at = newline + 1) {
        newline = line_end(block, at);
        if (memmem(at, (size_t)(newline - at), PERF_SCRIPT_RECORD, sizeof(PERF_SCRIPT_RECORD) - 1))
            script->is_behind_records = true;
        else
            script->has_sample = perf_script_is_sample(at, &script->has_time);
    }
}

/* True if samples have no process ids, by the first line of the first block that shows it. */
static bool lacks_processes(const struct block *block)
{
    enum perf_script_form form = PERF_SCRIPT_EITHER;
    const uint8_t *end = block->text + block->size;
    for (const uint8_t *at = block->text; at < end && form == PERF_SCRIPT_EITHER;
         at = line_end(block, at) + 1)
        form = perf_script_form_of(at);
    return form == PERF_SCRIPT_WITHOUT_PROCESSES;
}

static enum bat_code survey(struct script *script, struct bat_error *error)
{
    struct survey survey = {.script = script, .error = error};
    struct bat_input input;
    struct block block = {.size = 1};
    enum bat_code code = bat_input_open(&input, script->file, false, 0, UINT64_MAX, error);
    while (code == BAT_OK && block.size != 0) {
        code = next_block(&input, &block, survey.lines + 1, error);
        if (code == BAT_OK && block.size != 0)
            code = survey_block(&survey, &block);
        if (code == BAT_OK && block.offset == 0 && block.size != 0)
            script->lacks_processes = lacks_processes(&block);
        if (code == BAT_OK && !script->has_sample)
            find_sample(script, &block);
        if (code == BAT_OK)
            survey.lines += count_newlines(block.text, block.text + block.size);
    }
    bat_input_close(&input);
    return code;
}

/* --- The second pass: samples --------------------------------------------------------------- */

/* A stretch of the file, and the profiles that it is read into, one for each binary. */
struct stretch {
    const struct script *script;
    uint64_t offset;
    uint64_t stop;
    struct bat_profile **profiles;
    struct perf_script_reader reader;
    uint64_t bytes; /* read */
    uint64_t lines;
    enum bat_code code;
    struct bat_error error;
};

/* Read the lines of a block, except those in sections without samples. */
static enum bat_code read_block(struct stretch *stretch, const struct block *block)
{
    struct bat_lines lines = {.at = block->text,
                              .end = block->text + block->size,
                              .line = stretch->lines + 1,
                              .error = &stretch->error};
    const struct perf_script_section *section = NULL;
    enum bat_code code = BAT_OK;
    while (lines.at < lines.end && code == BAT_OK) {
        uint64_t offset = block->offset + (uint64_t)(lines.at - block->text);
        if (!section || offset >= section->end)
            section = perf_script_section_at(&stretch->script->sections, offset);
        struct perf_script_line line = {.lines = &lines, .start = lines.at, .at = lines.at};
        bool is_wanted = section && (section->content == PERF_SCRIPT_ANYTHING ||
                                     section->content == PERF_SCRIPT_SAMPLES);
        stretch->reader.position = offset;
        if (is_wanted)
            code = perf_script_read_sample(&stretch->reader, &line);
        lines.at = is_wanted ? line.at : line_end(block, lines.at) + 1;
        lines.line += code == BAT_OK;
    }
    stretch->lines = lines.line - 1;
    return code;
}

static void *run_stretch(void *context)
{
    struct stretch *stretch = context;
    const struct bat_read_options *options = stretch->script->options;
    struct bat_input input;
    struct block block = {.size = 1};
    enum bat_code code = bat_input_open(&input, stretch->script->file, false, stretch->offset,
                                        stretch->stop, &stretch->error);
    while (code == BAT_OK && block.size != 0) {
        code = next_block(&input, &block, stretch->lines + 1, &stretch->error);
        if (code != BAT_OK || block.size == 0)
            break;
        code = read_block(stretch, &block);
        stretch->bytes += block.size - input.supplied_newline;
        if (options->progress)
            options->progress(block.size - input.supplied_newline, options->progress_context);
    }
    bat_input_close(&input);
    stretch->code = code;
    return NULL;
}

/* Make the profiles of a stretch. shared is NULL or has one for each binary. */
static bool begin_stretch(struct stretch *stretch, struct bat_profile *const *profiles,
                          struct bat_shared_profile *const *shared)
{
    const struct script *script = stretch->script;
    stretch->profiles = calloc((size_t)script->binary_count + 1, sizeof(struct bat_profile *));
    if (!stretch->profiles)
        return false;
    for (uint32_t i = 0; i < script->binary_count; i++) {
        stretch->profiles[i] = bat_profile_new_part(profiles[i]);
        if (!stretch->profiles[i])
            return false;
        if (shared)
            bat_profile_share(stretch->profiles[i], shared[i]);
    }
    struct perf_script_reader *reader = &stretch->reader;
    if (!perf_script_reader_init(reader, stretch->profiles, &script->processes, script->options))
        return false;
    reader->lacks_processes = script->lacks_processes;
    reader->order = script->order;
    for (uint32_t i = 0; i < script->binary_count && script->lacks_processes; i++)
        if (script->only_spans[i].window_count != 0)
            reader->parts[i].span = &script->only_spans[i];
    return true;
}

static void end_stretch(struct stretch *stretch)
{
    perf_script_reader_free(&stretch->reader);
    for (uint32_t i = 0; stretch->profiles && i < stretch->script->binary_count; i++)
        bat_profile_free(stretch->profiles[i]);
    free(stretch->profiles);
    stretch->profiles = NULL;
}

/* --- Joining the stretches ------------------------------------------------------------------ */

/* Add a stretch to profiles. lines and has_full_stack are those of the stretches before. */
static enum bat_code gather_stretch(struct bat_profile *const *profiles, struct stretch *stretch,
                                    uint64_t lines, bool *has_full_stack, struct bat_error *error)
{
    const struct script *script = stretch->script;
    if (stretch->code != BAT_OK) {
        if (stretch->error.place == BAT_PLACE_TEXT)
            stretch->error.line += lines;
        if (error)
            *error = stretch->error;
        return stretch->code;
    }
    enum bat_code code =
        perf_script_reader_finish(&stretch->reader, has_full_stack, script->shares, error);
    for (uint32_t i = 0; i < script->binary_count && code == BAT_OK; i++) {
        stretch->profiles[i]->counters.bytes += stretch->bytes;
        stretch->profiles[i]->counters.lines += stretch->lines;
        code = bat_profile_take(profiles[i], stretch->profiles[i], error);
    }
    end_stretch(stretch);
    return code;
}

static enum bat_code gather_stretches(struct bat_profile *const *profiles,
                                      struct stretch *stretches, unsigned count,
                                      struct bat_error *error)
{
    uint64_t lines = 0;
    bool *has_full_stack =
        calloc((size_t)stretches[0].script->binary_count + 1, sizeof(*has_full_stack));
    if (!has_full_stack)
        return bat_fail_memory(error, "to read the profile");
    enum bat_code code = BAT_OK;
    for (unsigned i = 0; i < count && code == BAT_OK; i++) {
        code = gather_stretch(profiles, &stretches[i], lines, has_full_stack, error);
        lines += stretches[i].lines;
    }
    free(has_full_stack);
    return code;
}

static enum bat_code read_stretches(const struct script *script,
                                    struct bat_profile *const *profiles,
                                    struct bat_shared_profile **shared, struct stretch *stretches,
                                    unsigned count, struct bat_error *error)
{
    for (unsigned i = 0; i < count; i++) {
        struct stretch *stretch = &stretches[i];
        stretch->script = script;
        stretch->offset = script->size / count * i;
        stretch->stop = i + 1 < count ? script->size / count * (i + 1) : UINT64_MAX;
        if (!begin_stretch(stretch, profiles, shared))
            return bat_fail_memory(error, "to read the profile");
    }
    bat_parts_run(run_stretch, stretches, sizeof(stretches[0]), count);
    enum bat_code code = gather_stretches(profiles, stretches, count, error);
    for (uint32_t i = 0; shared && i < script->binary_count && code == BAT_OK; i++)
        code = bat_profile_take_shared(profiles[i], shared[i], error);
    return code;
}

static enum bat_code read_samples(const struct script *script, struct bat_profile *const *profiles,
                                  struct bat_error *error)
{
    bool reads_all = perf_samples_max(script->options) == UINT64_MAX;
    unsigned count = reads_all ? bat_parts_count(script->options->threads, script->size) : 1;
    struct stretch *stretches = calloc(count, sizeof(*stretches));
    struct bat_shared_profile **shared =
        count > 1 ? bat_shared_profiles_new(script->binary_count) : NULL;
    enum bat_code code;
    if (!stretches || (count > 1 && !shared))
        code = bat_fail_memory(error, "to read the profile");
    else
        code = read_stretches(script, profiles, shared, stretches, count, error);
    for (unsigned i = 0; stretches && i < count; i++)
        if (stretches[i].script)
            end_stretch(&stretches[i]);
    bat_shared_profiles_free(shared, script->binary_count);
    free(stretches);
    return code;
}

/* --- The whole text ------------------------------------------------------------------------- */

enum bat_code perf_script_check(struct bat_profile *const *profiles,
                                const struct perf_binary *binaries, uint32_t count,
                                const struct bat_read_options *options, struct bat_error *error)
{
    uint64_t own = 0;
    const struct perf_binary *binary = NULL;
    enum bat_code code = perf_check_sums(profiles, count, error);
    if (code != BAT_OK)
        return code;
    /* An older perf prints nothing of SPE's trace. */
    if (options->arm_spe && profiles[0]->counters.perf_samples == 0)
        binary = &binaries[0];
    for (uint32_t i = 0; i < count; i++) {
        const struct bat_profile_counters *counters = &profiles[i]->counters;
        /* Entries that were left out are branch stacks too. */
        if (counters->trace_records != 0 || counters->sample_records != 0 ||
            counters->perf_branches != 0 || profiles[i]->mem_samples.count != 0)
            return BAT_OK;
        if (binary || counters->perf_samples == counters->perf_foreign_samples)
            continue;
        own = counters->perf_samples - counters->perf_foreign_samples;
        binary = &binaries[i];
    }
    if (!binary)
        return BAT_OK;
    const char *wanted = "branch stacks (perf script -F pid,brstack)";
    if (options->arm_spe)
        wanted = "branch stacks, made of the trace of SPE by perf 6.15 or later";
    else if (options->basic_samples)
        wanted = "addresses (perf script -F pid,event,ip)";
    return bat_fail(error, BAT_ERR_MISMATCH,
                    "expected %s, found none in %" PRIu64 " samples of %.64s", wanted, own,
                    binary->name);
}

/* Find where all processes have a binary: samples without process ids may be of any. */
static enum bat_code find_only_span(struct script *script, uint32_t binary, struct bat_error *error)
{
    static const struct perf_moment end = {UINT64_MAX, UINT64_MAX};
    const struct perf_processes *processes = &script->processes;
    struct perf_span *only = &script->only_spans[binary];
    bool is_found = false;
    for (uint32_t i = 0; i < processes->table.count; i++) {
        uint32_t process = (uint32_t)bat_counts_item(&processes->table, i)[0];
        const struct perf_span *span = perf_processes_find(processes, binary, process, end, NULL);
        if (!span)
            continue;
        if (is_found && (span->window_count != only->window_count ||
                         memcmp(span->windows, only->windows,
                                span->window_count * sizeof(*span->windows)) != 0))
            return bat_fail(error, BAT_ERR_MISMATCH,
                            "expected samples with process ids (perf script --show-mmap-events "
                            "-F pid,brstack), found samples without, and %.64s mapped at several "
                            "places",
                            script->binaries[binary].name);
        *only = *span;
        is_found = true;
    }
    return BAT_OK;
}

/* Samples have neither process ids nor mappings: binaries are where they were linked. */
static enum bat_code place_fixed(struct script *script, struct bat_error *error)
{
    for (uint32_t i = 0; i < script->binary_count; i++) {
        script->only_spans[i] = (struct perf_span){
            .window_count = 1, .windows = {{script->binaries[i].low, script->binaries[i].high, 0}}};
        if (!script->binaries[i].is_fixed)
            return bat_fail(error, BAT_ERR_MISMATCH,
                            "expected the mappings of %.64s, which is position-independent (perf "
                            "script --show-mmap-events), found samples without mappings and "
                            "process ids",
                            script->binaries[i].name);
    }
    return BAT_OK;
}

/* Find where processes have the binaries. */
static enum bat_code place_binaries(struct script *script, struct bat_error *error)
{
    const struct bat_read_options *options = script->options;
    bool wants_some = options->has_process || options->process_count != 0;
    if (script->lacks_processes && script->processes.event_count == 0 && !wants_some)
        return place_fixed(script, error);
    bool is_whole =
        script->sections.count == 1 && script->sections.all[0].content == PERF_SCRIPT_ANYTHING;
    if (perf_script_records_have_times(&script->processes))
        script->order = script->has_time ? PERF_SCRIPT_BY_TIME : PERF_SCRIPT_LAST;
    else if (is_whole && script->is_behind_records)
        script->order = PERF_SCRIPT_BY_POSITION;
    enum bat_code code = perf_processes_finish(&script->processes,
                                               script->order != PERF_SCRIPT_LAST, options, error);
    for (uint32_t i = 0; i < script->binary_count && script->lacks_processes && code == BAT_OK; i++)
        code = find_only_span(script, i, error);
    return code;
}

static enum bat_code read_script(struct script *script, struct bat_profile *const *profiles,
                                 struct bat_error *error)
{
    enum bat_code code =
        perf_script_find_sections(script->file, script->size, &script->sections, error);
    if (code == BAT_OK)
        code = survey(script, error);
    if (code == BAT_OK)
        code = place_binaries(script, error);
    if (code == BAT_OK)
        code = read_samples(script, profiles, error);
    if (code != BAT_OK)
        return code;
    for (uint32_t i = 0; i < script->binary_count; i++) {
        profiles[i]->counters.perf_lost += script->lost;
        profiles[i]->counters.perf_processes += perf_processes_count(&script->processes, i);
    }
    return perf_script_check(profiles, script->binaries, script->binary_count, script->options,
                             error);
}

enum bat_code perf_script_read_several(struct bat_profile *const *profiles, uint32_t count,
                                       int file, uint64_t size,
                                       const struct bat_read_options *options,
                                       struct perf_shares *shares, struct bat_error *error)
{
    struct perf_binary *binaries = calloc((size_t)count + 1, sizeof(*binaries));
    struct perf_span *only_spans = calloc((size_t)count + 1, sizeof(*only_spans));
    struct script script = {.file = file,
                            .size = size,
                            .options = options,
                            .binaries = binaries,
                            .binary_count = count,
                            .only_spans = only_spans,
                            .shares = shares};
    enum bat_code code = BAT_OK;
    if (!binaries || !only_spans)
        code = bat_fail_memory(error, "to read the profile");
    for (uint32_t i = 0; i < count && code == BAT_OK; i++)
        code = perf_binary_init(&binaries[i], profiles[i], error);
    perf_processes_init(&script.processes, binaries, count);
    if (code == BAT_OK)
        code = read_script(&script, profiles, error);
    perf_processes_free(&script.processes);
    free(binaries);
    free(only_spans);
    return code;
}

enum bat_code perf_script_read(struct bat_profile *profile, const char *path, int file,
                               uint64_t size, const struct bat_read_options *options,
                               struct bat_error *error)
{
    struct bat_profile *part = bat_profile_new_part(profile);
    if (!part)
        return bat_fail_memory(error, "to read the profile");
    uint64_t inside = 0;
    struct perf_shares shares = {.inside = &inside};
    enum bat_code code =
        path ? perf_script_run_several(&part, 1, path, options, &shares, error)
             : perf_script_read_several(&part, 1, file, size, options, &shares, error);
    if (code == BAT_OK)
        code = bat_profile_take(profile, part, error);
    bat_profile_free(part);
    return code;
}

enum bat_code perf_script_list_files(int file, uint64_t size, bat_mapped_file_fn *found,
                                     void *context, struct bat_error *error)
{
    static const struct bat_read_options options = {.size = sizeof(options)};
    struct script script = {.file = file, .size = size, .options = &options};
    perf_processes_init(&script.processes, NULL, 0);
    enum bat_code code = perf_script_find_sections(file, size, &script.sections, error);
    if (code == BAT_OK)
        code = survey(&script, error);
    if (code == BAT_OK)
        code = perf_processes_list_files(&script.processes, found, context, error);
    perf_processes_free(&script.processes);
    return code;
}
