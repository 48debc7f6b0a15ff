/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A text of perf script, from its beginning to its end, twice: spec/perf-script.md. */
#include "perf_script.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input.h"

/* What is worth a thread of its own, and the most threads that are. */
#define STRETCH_MIN ((uint64_t)8 << 20)
#define THREADS_MAX 64u

struct script {
    int file;
    uint64_t size;
    const struct bat_read_options *options;
    struct perf_script_sections sections;
    struct perf_binary binary;
    struct perf_processes processes;
    uint64_t lost;
};

/* --- Blocks of lines ----------------------------------------------------------------------- */

/* Whole lines of the file, from offset on. */
struct block {
    const uint8_t *text;
    size_t size;
    uint64_t offset;
};

/* The next block of the input; size 0 at its end. line is for the error of a line too long. */
static enum bat_code next_block(struct bat_input *input, struct block *block, uint64_t line,
                                struct bat_error *error)
{
    enum bat_code code = bat_input_next(input, &block->text, &block->size, error);
    if (code == BAT_ERR_SYNTAX)
        return bat_fail_text(error, code, line, 1,
                             "expected a line of at most %zu bytes, found a longer one",
                             BAT_LINE_MAX);
    size_t supplied = input->supplied_newline && block->size != 0;
    block->offset = input->offset - (input->end - input->start) - (block->size - supplied);
    return code;
}

/* The first newline at or behind `at`, but not behind the block. */
static const uint8_t *line_end(const struct block *block, const uint8_t *at)
{
    return memchr(at, '\n', (size_t)(block->text + block->size - at));
}

/* --- The first time: records of processes --------------------------------------------------- */

struct survey {
    struct script *script;
    struct bat_error *error;
    uint64_t lines; /* in front of the block at hand */
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

/* Every line of a list of build-ids, which is short. */
static enum bat_code survey_build_ids(struct survey *survey, const struct block *block)
{
    const struct perf_script_sections *sections = &survey->script->sections;
    enum bat_code code = BAT_OK;
    const uint8_t *start = block->text;
    const uint8_t *end = block->text + block->size;
    for (uint32_t i = 0; i < sections->count; i++) {
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
        if (code == BAT_OK)
            survey.lines += count_newlines(block.text, block.text + block.size);
    }
    bat_input_close(&input);
    return code;
}

/* --- The second time: samples --------------------------------------------------------------- */

/* A stretch of the file and the profile that it goes into. */
struct stretch {
    const struct script *script;
    uint64_t offset;
    uint64_t stop;
    struct bat_profile *profile;
    struct perf_script_reader reader;
    uint64_t lines; /* read */
    enum bat_code code;
    struct bat_error error;
    pthread_t thread;
};

/* All lines of a block but those of sections without samples. */
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
    struct bat_profile *profile = stretch->profile;
    struct bat_input input;
    struct block block = {.size = 1};
    enum bat_code code = bat_input_open(&input, stretch->script->file, false, stretch->offset,
                                        stretch->stop, &stretch->error);
    while (code == BAT_OK && block.size != 0) {
        code = next_block(&input, &block, stretch->lines + 1, &stretch->error);
        if (code != BAT_OK || block.size == 0)
            break;
        code = read_block(stretch, &block);
        profile->counters.bytes += block.size - input.supplied_newline;
        if (options->progress)
            options->progress(block.size - input.supplied_newline, options->progress_context);
    }
    bat_input_close(&input);
    profile->counters.lines += stretch->lines;
    stretch->code = code;
    return NULL;
}

/* Read all stretches, each by a thread but the first, which is this one's. */
static void run_stretches(struct stretch *stretches, unsigned count)
{
    bool started[THREADS_MAX] = {false};
    for (unsigned i = 1; i < count; i++)
        started[i] = pthread_create(&stretches[i].thread, NULL, run_stretch, &stretches[i]) == 0;
    run_stretch(&stretches[0]);
    for (unsigned i = 1; i < count; i++) {
        if (started[i])
            pthread_join(stretches[i].thread, NULL);
        else
            run_stretch(&stretches[i]);
    }
}

/* --- Putting the stretches together --------------------------------------------------------- */

/* lines and has_full_stack are of the stretches before. */
static enum bat_code gather_stretch(struct bat_profile *profile, struct stretch *stretch,
                                    uint64_t lines, bool has_full_stack, struct bat_error *error)
{
    if (stretch->code != BAT_OK) {
        if (stretch->error.place == BAT_PLACE_TEXT)
            stretch->error.line += lines;
        if (error)
            *error = stretch->error;
        return stretch->code;
    }
    enum bat_code code = perf_script_reader_finish(&stretch->reader, has_full_stack, error);
    return code == BAT_OK ? bat_profile_take(profile, stretch->profile, error) : code;
}

static enum bat_code gather_stretches(struct bat_profile *profile, struct stretch *stretches,
                                      unsigned count, struct bat_error *error)
{
    uint64_t lines = 0;
    bool has_full_stack = false;
    enum bat_code code = BAT_OK;
    for (unsigned i = 0; i < count && code == BAT_OK; i++) {
        code = gather_stretch(profile, &stretches[i], lines, has_full_stack, error);
        lines += stretches[i].lines;
        has_full_stack = has_full_stack || stretches[i].reader.newest.has_full_stack;
    }
    return code;
}

static unsigned count_threads(const struct script *script)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t threads = script->options->threads;
    if (threads == 0)
        threads = processors > 0 ? (uint64_t)processors : 1;
    if (threads > script->size / STRETCH_MIN)
        threads = script->size / STRETCH_MIN;
    if (threads > THREADS_MAX)
        threads = THREADS_MAX;
    return threads ? (unsigned)threads : 1;
}

static enum bat_code read_samples(const struct script *script, struct bat_profile *profile,
                                  struct bat_error *error)
{
    unsigned count = count_threads(script);
    struct stretch *stretches = calloc(count, sizeof(*stretches));
    enum bat_code code = stretches ? BAT_OK : BAT_ERR_MEMORY;
    for (unsigned i = 0; i < count && code == BAT_OK; i++) {
        struct stretch *stretch = &stretches[i];
        stretch->script = script;
        stretch->offset = script->size / count * i;
        stretch->stop = i + 1 < count ? script->size / count * (i + 1) : UINT64_MAX;
        stretch->profile = bat_profile_new_part(profile);
        code = stretch->profile ? BAT_OK : BAT_ERR_MEMORY;
        perf_script_reader_init(&stretch->reader, stretch->profile, &script->processes,
                                script->options);
    }
    if (code == BAT_OK) {
        run_stretches(stretches, count);
        code = gather_stretches(profile, stretches, count, error);
    } else {
        bat_fail(error, code, "not enough memory to read the profile");
    }
    for (unsigned i = 0; stretches && i < count; i++) {
        perf_script_reader_free(&stretches[i].reader);
        bat_profile_free(stretches[i].profile);
    }
    free(stretches);
    return code;
}

/* --- All of it ------------------------------------------------------------------------------ */

enum bat_code perf_script_check(const struct bat_profile *profile, const struct perf_binary *binary,
                                const struct bat_read_options *options, struct bat_error *error)
{
    const struct bat_profile_counters *counters = &profile->counters;
    uint64_t own = counters->perf_samples - counters->perf_foreign_samples;
    bool has_records = counters->trace_records != 0 || counters->sample_records != 0 ||
                       profile->mem_samples.count != 0;
    if (own == 0 && !has_records)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected samples of processes that have %.64s, found none among %" PRIu64
                        " samples",
                        binary->name, counters->perf_samples);
    /* Entries that were left out were there all the same. */
    if (has_records || counters->perf_branches != 0)
        return BAT_OK;
    return bat_fail(error, BAT_ERR_MISMATCH,
                    "expected %s, found none in %" PRIu64 " samples of %.64s",
                    options->basic_samples ? "addresses (perf script -F pid,event,ip)"
                                           : "branch stacks (perf script -F pid,brstack)",
                    own, binary->name);
}

static enum bat_code read_script(struct script *script, struct bat_profile *profile,
                                 struct bat_error *error)
{
    enum bat_code code =
        perf_script_find_sections(script->file, script->size, &script->sections, error);
    if (code == BAT_OK)
        code = survey(script, error);
    const uint32_t only = (uint32_t)script->options->process;
    /* Samples have no time, so it cannot be told what was before and what after. */
    if (code == BAT_OK)
        code = perf_processes_finish(&script->processes, false,
                                     script->options->has_process ? &only : NULL, error);
    if (code == BAT_OK)
        code = read_samples(script, profile, error);
    if (code != BAT_OK)
        return code;
    profile->counters.perf_lost += script->lost;
    profile->counters.perf_processes += perf_processes_count(&script->processes);
    return perf_script_check(profile, &script->binary, script->options, error);
}

enum bat_code perf_script_read_file(struct bat_profile *profile, int file, uint64_t size,
                                    const struct bat_read_options *options, struct bat_error *error)
{
    struct script script = {.file = file, .size = size, .options = options};
    enum bat_code code = perf_binary_init(&script.binary, profile, error);
    if (code != BAT_OK)
        return code;
    struct bat_profile *part = bat_profile_new_part(profile);
    if (!part)
        return bat_fail(error, BAT_ERR_MEMORY, "not enough memory to read the profile");
    perf_processes_init(&script.processes, &script.binary);
    code = read_script(&script, part, error);
    if (code == BAT_OK)
        code = bat_profile_take(profile, part, error);
    perf_processes_free(&script.processes);
    bat_profile_free(part);
    return code;
}
