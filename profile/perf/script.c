/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading a text of perf script: its survey, and where processes have the binaries. */
#include "script.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "branch_filter.h"
#include "processes.h"

/* The fewest bytes of a full stack: its entries have at least the fields 0x0/0x0/P/-/-/0. */
#define FULL_STACK_MIN (PERF_DOUBLING_ENTRIES * 15)

/* --- The survey ------------------------------------------------------------------------------ */

struct survey {
    struct perf_session *session;
    uint64_t lines;           /* before the current one */
    struct perf_chunk *chunk; /* where the current one lies, and ... */
    const struct perf_script_section *section;
    struct bat_error *error;
};

/* Look at the first sample, which has a time if others have, and for full stacks. */
static void survey_sample(const struct survey *survey, const uint8_t *start, const uint8_t *newline)
{
    struct perf_chunk *chunk = survey->chunk;
    struct perf_text *text = survey->session->text;
    uint64_t time = UINT64_MAX;
    if (!text->has_sample && perf_script_is_sample(start, &time)) {
        text->has_sample = true;
        text->has_time = time != UINT64_MAX;
    }
    if (!survey->session->doubles_entry || (chunk->has_full_stack && !text->has_time))
        return;
    if (text->has_time)
        perf_script_is_sample(start, &time);
    if ((chunk->has_full_stack && time >= chunk->min_time) ||
        perf_script_count_entries(start, newline, PERF_DOUBLING_ENTRIES) < PERF_DOUBLING_ENTRIES)
        return;
    chunk->has_full_stack = true;
    chunk->min_time = time;
}

/* Take the machine from a line of perf's header, "# arch : x86_64". */
static void survey_machine(struct perf_session *session, const uint8_t *start,
                           const uint8_t *newline)
{
    static const char head[] = "# arch : ";
    const size_t size = sizeof(head) - 1;
    if ((size_t)(newline - start) > size && memcmp(start, head, size) == 0)
        perf_session_set_machine(session, (const char *)start + size,
                                 (size_t)(newline - start) - size);
}

/* Read a line at this offset, with PERF_SCRIPT_RECORD at `record` unless that is NULL. */
static enum bat_code survey_line(struct survey *survey, const uint8_t *start,
                                 const uint8_t *newline, const uint8_t *record, uint64_t offset)
{
    struct perf_session *session = survey->session;
    struct perf_text *text = session->text;
    text->branch_filter |= perf_branch_filter_of_line(start, newline);
    survey_machine(session, start, newline);
    if (!survey->section || offset >= survey->section->end)
        survey->section = perf_script_section_at(&text->sections, offset);
    enum perf_script_content content =
        survey->section ? survey->section->content : PERF_SCRIPT_SAMPLES;
    if (!text->path) {
        if (!survey->chunk || offset - survey->chunk->position >= session->chunk_size) {
            survey->chunk = perf_session_chunk(session, offset);
            if (survey->chunk->position == offset)
                survey->chunk->line = survey->lines + 1;
        }
        if (record)
            text->is_behind_records |= !text->has_sample;
        else if (!text->has_sample || newline - start >= FULL_STACK_MIN)
            survey_sample(survey, start, newline);
    }
    if (content == PERF_SCRIPT_SAMPLES || (content != PERF_SCRIPT_BUILD_IDS && !record))
        return BAT_OK;
    struct bat_lines lines = {
        .at = start, .end = newline + 1, .line = survey->lines + 1, .error = survey->error};
    const struct bat_line line = {.lines = &lines, .start = start, .at = start};
    return content == PERF_SCRIPT_BUILD_IDS
               ? perf_script_read_build_id(&session->processes, &line)
               : perf_script_read_record(&session->processes, &line, record, offset,
                                         &session->counters.perf_lost);
}

static const uint8_t *find_record(const uint8_t *at, const uint8_t *end)
{
    return memmem(at, (size_t)(end - at), PERF_SCRIPT_RECORD, sizeof(PERF_SCRIPT_RECORD) - 1);
}

/* Read the lines of [at, end), the end of which has this offset. */
static enum bat_code survey_block(struct survey *survey, const uint8_t *at, const uint8_t *end,
                                  uint64_t end_offset)
{
    const uint8_t *record = find_record(at, end);
    enum bat_code code = BAT_OK;
    for (const uint8_t *newline; at < end && code == BAT_OK; at = newline + 1) {
        newline = rawmemchr(at, '\n');
        const bool is_record = record && record < newline;
        code = survey_line(survey, at, newline, is_record ? record : NULL,
                           end_offset - (uint64_t)(end - at));
        if (is_record)
            record = find_record(newline, end);
        survey->lines += code == BAT_OK;
    }
    return code;
}

/* True if samples have no process ids, by the first line of the first block that shows it. */
static bool lacks_processes(const uint8_t *at, const uint8_t *end)
{
    enum perf_script_form form = PERF_SCRIPT_EITHER;
    for (; at < end && form == PERF_SCRIPT_EITHER; at = (const uint8_t *)rawmemchr(at, '\n') + 1)
        form = perf_script_form_of(at);
    return form == PERF_SCRIPT_WITHOUT_PROCESSES;
}

/* Read all lines of a file or, if perf prints the text, of a pipe. */
static enum bat_code survey_text(struct perf_session *session, int file, struct bat_error *error)
{
    struct perf_text *text = session->text;
    struct survey survey = {.session = session, .error = error};
    struct bat_input input;
    uint64_t bytes = 0;
    enum bat_code code = bat_input_open(&input, file, text->path != NULL, 0, UINT64_MAX, error);
    for (size_t size = 1; code == BAT_OK && size != 0;) {
        const uint8_t *lines;
        uint64_t offset = 0;
        code = bat_input_next_block(&input, &lines, &size, survey.lines + 1, &offset, error);
        if (code != BAT_OK || size == 0)
            break;
        if (bytes == 0 && !text->path)
            text->lacks_processes = lacks_processes(lines, lines + size);
        code = survey_block(&survey, lines, lines + size, offset);
        bytes += size - input.supplied_newline;
        perf_session_progress(session, size - input.supplied_newline);
    }
    bat_input_close(&input);
    text->lines += survey.lines;
    if (text->path)
        session->file_size += bytes;
    return code;
}

/* What survey_output() has as context. */
struct printed {
    struct perf_session *session;
    struct bat_error *error;
};

static enum bat_code survey_output(int output, enum perf_script_content content, void *context)
{
    const struct printed *printed = context;
    printed->session->text->sections =
        (struct perf_script_sections){.all = {{content, UINT64_MAX}}, .count = 1};
    return survey_text(printed->session, output, printed->error);
}

enum bat_code perf_script_survey(struct perf_session *session, struct bat_error *error)
{
    struct perf_text *text = session->text;
    session->data_end = text->path ? UINT64_MAX : session->file_size;
    if (!text->path) {
        enum bat_code code =
            perf_script_find_sections(session->file, session->file_size, &text->sections, error);
        return code ? code : survey_text(session, session->file, error);
    }
    /* SPE's branches are those of AArch64. */
    for (uint32_t i = 0; i < session->binary_count; i++)
        if (session->options->arm_spe && bat_elf_machine(session->binaries[i].elf) != EM_AARCH64)
            return bat_fail(error, BAT_ERR_MISMATCH,
                            "expected a binary for AArch64, which alone has SPE, found one for "
                            "another machine");
    struct printed printed = {session, error};
    enum bat_code code = perf_script_run_records(text->path, survey_output, &printed, error);
    text->sections.all[0].content = PERF_SCRIPT_SAMPLES;
    return code;
}

/* --- Processes ------------------------------------------------------------------------------- */

/* Find where all processes have a binary; without windows if none has it. */
static enum bat_code find_only_span(const struct perf_session *session, uint32_t binary,
                                    struct perf_span *only, struct bat_error *error)
{
    static const struct perf_moment end = {UINT64_MAX, UINT64_MAX};
    const struct perf_processes *processes = &session->processes;
    for (uint32_t i = 0; i < processes->table.count; i++) {
        uint32_t process = (uint32_t)bat_counts_item(&processes->table, i)[0];
        const struct perf_span *span = perf_processes_find(processes, binary, process, end);
        if (!span)
            continue;
        if (only->window_count != 0 && (span->window_count != only->window_count ||
                                        memcmp(span->windows, only->windows,
                                               span->window_count * sizeof(*span->windows)) != 0))
            return bat_fail(error, BAT_ERR_MISMATCH,
                            "expected samples with process ids (perf script --show-mmap-events "
                            "-F pid,brstack), found samples without, and %.64s mapped at several "
                            "places",
                            session->binaries[binary].name);
        *only = *span;
    }
    return BAT_OK;
}

/* Samples have neither process ids nor mappings: a binary is where it was linked. */
static enum bat_code place_fixed(const struct perf_binary *binary, struct perf_span *only,
                                 struct bat_error *error)
{
    *only = (struct perf_span){.window_count = 1, .windows = {{binary->low, binary->high, 0}}};
    return binary->is_fixed
               ? BAT_OK
               : bat_fail(error, BAT_ERR_MISMATCH,
                          "expected the mappings of %.64s, which is position-independent (perf "
                          "script --show-mmap-events), found samples without mappings and process "
                          "ids",
                          binary->name);
}

/* Samples without process ids may be of any: make one of all, which has process id 0. */
static enum bat_code join_processes(struct perf_session *session, bool has_mappings,
                                    struct bat_error *error)
{
    struct perf_span *spans = calloc((size_t)session->binary_count + 1, sizeof(*spans));
    BAT_TRY_MEMORY(spans, error, "for the profile's processes");
    size_t count = 0;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < session->binary_count && code == BAT_OK; i++) {
        struct perf_span *only = &spans[count];
        code = has_mappings ? find_only_span(session, i, only, error)
                            : place_fixed(&session->binaries[i], only, error);
        only->process = 0;
        only->binary = i;
        only->since = (struct perf_moment){0, 0};
        count += only->window_count != 0;
    }
    if (code != BAT_OK) {
        free(spans);
        return code;
    }
    return bat_counts_fail(error, perf_processes_set_spans(&session->processes, spans, count),
                           "the profile's processes");
}

static bool has_times(const struct perf_processes *processes)
{
    for (size_t i = 0; i < processes->event_count; i++)
        if (processes->events[i].moment.time != 0)
            return true;
    return false;
}

/* Find out how samples are ordered. */
static void choose_order(struct perf_session *session)
{
    struct perf_text *text = session->text;
    bool is_whole =
        text->sections.count == 1 && text->sections.all[0].content == PERF_SCRIPT_ANYTHING;
    if (has_times(&session->processes))
        text->order = text->has_time || text->path ? PERF_SCRIPT_BY_TIME : PERF_SCRIPT_LAST;
    else if (is_whole && text->is_behind_records)
        text->order = PERF_SCRIPT_BY_POSITION;
    for (uint32_t i = 0; i < session->chunk_count && text->order != PERF_SCRIPT_BY_TIME; i++)
        session->chunks[i].min_time = text->order == PERF_SCRIPT_LAST ? UINT64_MAX : 0;
}

enum bat_code perf_script_choose_processes(struct perf_session *session, struct bat_error *error)
{
    const struct bat_read_options *options = session->options;
    const struct perf_text *text = session->text;
    const bool has_mappings = !text->lacks_processes || session->processes.event_count != 0 ||
                              options->has_process || options->process_count != 0;
    choose_order(session);
    enum bat_code code =
        has_mappings ? perf_processes_finish(&session->processes, text->order != PERF_SCRIPT_LAST,
                                             options, error)
                     : BAT_OK;
    return code == BAT_OK && text->lacks_processes ? join_processes(session, has_mappings, error)
                                                   : code;
}
