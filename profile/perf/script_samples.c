/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Samples as perf script prints them, a line each: spec/perf-script.md 2. */
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "profile/text_fields.h"
#include "script.h"

/* The size of stacks whose newest entry may be doubled, and how many entries are then left out. */
#define FULL_STACK 32u
#define NEWEST_DROPPED 2u

/* The upper limit of process ids in Linux. */
#define PROCESS_MAX 4194304u

/* The fewest bytes of an entry's fields behind the misprediction: "-/-/0". */
#define REST_MIN 5u

static enum bat_code fail(const struct perf_script_line *line, const uint8_t *at,
                          const char *expected)
{
    return bat_lines_fail(line->lines, line->start, at, expected);
}

static enum bat_code fail_add(const struct perf_script_line *line, enum bat_code code)
{
    return code == BAT_OK ? BAT_OK : bat_lines_fail_add(line->lines, code);
}

void perf_script_reader_init(struct perf_script_reader *reader, struct bat_profile *profile,
                             const struct perf_processes *processes,
                             const struct bat_read_options *options)
{
    *reader = (struct perf_script_reader){
        .profile = profile,
        .processes = processes,
        .options = options,
        .samples_left = perf_samples_max(options),
        .newest = {.kept = bat_counts_new(3), .dropped = bat_counts_new(3)}};
}

void perf_script_reader_free(struct perf_script_reader *reader)
{
    bat_counts_free(&reader->newest.kept);
    bat_counts_free(&reader->newest.dropped);
    free(reader->stack);
    reader->stack = NULL;
}

enum bat_code perf_script_reader_finish(struct perf_script_reader *reader, bool has_full_stack,
                                        struct bat_error *error)
{
    struct bat_profile *profile = reader->profile;
    const struct perf_script_newest *newest = &reader->newest;
    enum bat_code code = bat_counts_flush(&profile->traces, &profile->trace_batch);
    if (code == BAT_OK)
        code =
            bat_counts_merge(&profile->traces, has_full_stack ? &newest->dropped : &newest->kept);
    if (has_full_stack) {
        profile->counters.perf_dropped += newest->dropped_entries;
        profile->counters.trace_records -= newest->dropped_entries;
    }
    return bat_counts_fail(error, code, "the profile");
}

/* The last span of a process, as samples have no time; NULL if it does not have the binary. */
static const struct perf_span *find_span(struct perf_script_reader *reader, uint32_t process)
{
    static const struct perf_moment end = {UINT64_MAX, UINT64_MAX};
    if (!reader->has_last || reader->last_process != process) {
        reader->last_span = perf_processes_find(reader->processes, 0, process, end);
        reader->last_process = process;
        reader->has_last = true;
    }
    return reader->last_span;
}

static inline uint64_t own_address(const struct perf_script_reader *reader,
                                   const struct perf_span *span, uint64_t address)
{
    return perf_own_address(reader->processes->binaries, span, address);
}

/* --- Branch stacks: reading ---------------------------------------------------------------- */

static enum bat_code push(struct perf_script_reader *reader, const struct perf_script_line *line,
                          struct perf_script_branch branch)
{
    if (reader->stack_count == reader->stack_capacity) {
        uint32_t capacity = reader->stack_capacity ? reader->stack_capacity * 2 : 64;
        struct perf_script_branch *stack = realloc(reader->stack, capacity * sizeof(*stack));
        if (!stack)
            return bat_lines_fail_add(line->lines, BAT_ERR_MEMORY);
        reader->stack = stack;
        reader->stack_capacity = capacity;
    }
    reader->stack[reader->stack_count++] = branch;
    return BAT_OK;
}

/* Read "0x401000/". */
static inline bool read_branch_end(struct perf_script_line *line, uint64_t *address)
{
    const uint8_t *at = line->at;
    if (at[0] != '0' || at[1] != 'x')
        return false;
    at += 2;
    if (!bat_read_hex(&at, address) || *at != '/')
        return false;
    line->at = at + 1;
    return true;
}

/* Read "P/", "M/" or "-/", with an N before the slash if the branch was not taken. */
static bool read_prediction(struct perf_script_line *line, bool *is_mispredicted)
{
    const uint8_t *at = line->at;
    *is_mispredicted = *at == 'M';
    if (*at != 'P' && *at != 'M' && *at != '-')
        return false;
    at++;
    if (*at == 'N')
        at++;
    if (*at != '/')
        return false;
    line->at = at + 1;
    return true;
}

/* Read an entry: FROM/TO/PREDICTION/ and further fields, which are skipped. */
static inline enum bat_code read_branch(struct perf_script_reader *reader,
                                        struct perf_script_line *line)
{
    struct perf_script_branch branch;
    if (!read_branch_end(line, &branch.from))
        return fail(line, line->at, "an entry of a branch stack (0xFROM/0xTO/P/...)");
    if (!read_branch_end(line, &branch.to))
        return fail(line, line->at, "the target of a branch (0xTO/)");
    if (!read_prediction(line, &branch.is_mispredicted))
        return fail(line, line->at, "P, M or - for the branch's prediction");
    const uint8_t *rest = line->at;
    while (!bat_ends_field(*line->at))
        line->at++;
    if ((size_t)(line->at - rest) < REST_MIN)
        return fail(line, rest, "the rest of a branch stack's entry (like -/-/0)");
    if (!reader->options->keep_kernel_branches && !reader->processes->binaries->is_kernel &&
        (branch.from >= PERF_KERNEL_ADDRESS || branch.to >= PERF_KERNEL_ADDRESS)) {
        reader->profile->counters.perf_branches++;
        reader->profile->counters.perf_kernel_branches++;
        return BAT_OK;
    }
    return push(reader, line, branch);
}

/* --- Branch stacks: traces ----------------------------------------------------------------- */

/*
 * The trace of entry i of the stack: its branch, and the fall-through up to the branch of the next
 * newer entry, if there is one.
 */
static void make_trace(const struct perf_script_reader *reader, const struct perf_span *span,
                       uint32_t i, bool has_newer, uint64_t *trace)
{
    trace[0] = own_address(reader, span, reader->stack[i].from);
    trace[1] = own_address(reader, span, reader->stack[i].to);
    trace[2] =
        has_newer ? own_address(reader, span, reader->stack[i - 1].from) : BAT_TRACE_BRANCH_ONLY;
}

static enum bat_code add_trace_to(struct perf_script_reader *reader, const struct perf_span *span,
                                  uint32_t i, bool has_newer, struct bat_counts *counts)
{
    uint64_t trace[3];
    make_trace(reader, span, i, has_newer, trace);
    return bat_counts_add(counts, trace, 1, reader->stack[i].is_mispredicted);
}

/* Add all entries from `first`, the newest that is used, to the oldest. */
static enum bat_code add_traces(struct perf_script_reader *reader, const struct perf_span *span,
                                uint32_t first, bool first_has_newer)
{
    struct bat_profile *profile = reader->profile;
    enum bat_code code = BAT_OK;
    for (uint32_t i = first; i < reader->stack_count && code == BAT_OK; i++) {
        uint64_t trace[3];
        make_trace(reader, span, i, i != first || first_has_newer, trace);
        code = bat_counts_add_later(&profile->traces, &profile->trace_batch, trace, 1,
                                    reader->stack[i].is_mispredicted);
    }
    return code;
}

/* Keep the three newest entries, whose traces depend on earlier stretches of the text. */
static enum bat_code put_off_newest(struct perf_script_reader *reader, const struct perf_span *span)
{
    struct perf_script_newest *newest = &reader->newest;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < reader->stack_count && i <= NEWEST_DROPPED && code == BAT_OK; i++) {
        code = add_trace_to(reader, span, i, i != 0, &newest->kept);
        if (i < NEWEST_DROPPED)
            newest->dropped_entries++;
        else if (code == BAT_OK)
            code = add_trace_to(reader, span, i, false, &newest->dropped);
    }
    return code;
}

static enum bat_code add_stack(struct perf_script_reader *reader, const struct perf_span *span)
{
    struct perf_script_newest *newest = &reader->newest;
    reader->profile->counters.perf_branches += reader->stack_count;
    reader->profile->counters.trace_records += reader->stack_count;
    if (!reader->processes->binaries->doubles_entry)
        return add_traces(reader, span, 0, false);
    if (reader->stack_count == FULL_STACK)
        newest->has_full_stack = true;
    if (newest->has_full_stack) {
        uint32_t dropped =
            reader->stack_count < NEWEST_DROPPED ? reader->stack_count : NEWEST_DROPPED;
        reader->profile->counters.perf_dropped += dropped;
        reader->profile->counters.trace_records -= dropped;
        return add_traces(reader, span, NEWEST_DROPPED, false);
    }
    enum bat_code code = put_off_newest(reader, span);
    return code == BAT_OK ? add_traces(reader, span, NEWEST_DROPPED + 1, true) : code;
}

static enum bat_code read_stack(struct perf_script_reader *reader, struct perf_script_line *line,
                                const struct perf_span *span)
{
    reader->stack_count = 0;
    while (*line->at != '\n') {
        enum bat_code code = read_branch(reader, line);
        if (code != BAT_OK)
            return code;
        line->at = bat_skip_blanks(line->at);
    }
    if (reader->stack_count == 0)
        reader->profile->counters.perf_plain_samples++;
    return fail_add(line, add_stack(reader, span));
}

/* --- Samples of an event ------------------------------------------------------------------- */

struct event_name {
    const uint8_t *text; /* without the colon that ends it */
    size_t size;
};

/* "pid event: ip". */
static enum bat_code add_basic_sample(struct perf_script_reader *reader,
                                      const struct perf_script_line *line,
                                      const struct perf_span *span, struct event_name event,
                                      uint64_t address)
{
    struct bat_profile *profile = reader->profile;
    profile->counters.perf_samples++;
    if (!span) {
        profile->counters.perf_foreign_samples++;
        return BAT_OK;
    }
    profile->counters.perf_plain_samples++;
    profile->counters.sample_records++;
    const uint64_t key = own_address(reader, span, address);
    uint32_t ignored;
    enum bat_code code = bat_counts_add(&profile->samples, &key, 1, 0);
    if (code == BAT_OK)
        code = bat_strings_add(&profile->events, (const char *)event.text, event.size, &ignored);
    return fail_add(line, code);
}

/* "pid event: addr ip": used if the event samples loads. */
static enum bat_code add_memory_sample(struct perf_script_reader *reader,
                                       const struct perf_script_line *line,
                                       const struct perf_span *span, struct event_name event,
                                       uint64_t data_address, uint64_t address)
{
    static const char loads[] = "mem-loads";
    if (!memmem(event.text, event.size, loads, sizeof(loads) - 1))
        return BAT_OK;
    uint64_t data = own_address(reader, span, data_address);
    /* An address outside the binary stays the process's. */
    const uint64_t key[2] = {own_address(reader, span, address),
                             data == BAT_ADDRESS_EXTERNAL ? data_address : data};
    return fail_add(line, bat_counts_add(&reader->profile->mem_samples, key, 1, 0));
}

/* Read the next field as a hexadecimal number, and the blanks behind it. */
static bool read_field(struct perf_script_line *line, uint64_t *value)
{
    const uint8_t *at = line->at;
    if (!bat_read_hex(&at, value) || !bat_ends_field(*at))
        return false;
    line->at = bat_skip_blanks(at);
    return true;
}

/* Read the addresses behind the event's name. */
static enum bat_code read_addresses(struct perf_script_reader *reader,
                                    struct perf_script_line *line, const struct perf_span *span,
                                    struct event_name event)
{
    uint64_t first;
    uint64_t second;
    if (!read_field(line, &first))
        return fail(line, line->at, "a hexadecimal address");
    if (*line->at == '\n')
        return add_basic_sample(reader, line, span, event, first);
    if (!read_field(line, &second))
        return fail(line, line->at, "a hexadecimal address, or the end of the line");
    if (*line->at != '\n')
        return fail(line, line->at, "the end of the line");
    return span ? add_memory_sample(reader, line, span, event, first, second) : BAT_OK;
}

/* --- Lines --------------------------------------------------------------------------------- */

/* Read a process id, such as "1234" or "-1", and the blanks behind it. */
static bool read_process(struct perf_script_line *line, uint32_t *process)
{
    const uint8_t *at = bat_skip_blanks(line->at);
    bool is_negative = *at == '-';
    at += is_negative;
    uint64_t number;
    bool fits;
    if (!bat_read_decimal(&at, &number, &fits) || !bat_ends_field(*at) || !fits ||
        number > INT32_MAX)
        return false;
    *process = is_negative ? (uint32_t)(0 - number) : (uint32_t)number;
    line->at = bat_skip_blanks(at);
    return true;
}

/* Read a field that ends with a colon, and the blanks behind it. */
static bool read_event(struct perf_script_line *line, struct event_name *event)
{
    const uint8_t *end = line->at;
    while (!bat_ends_field(*end) && *end != '\0')
        end++;
    if (end == line->at || end[-1] != ':' || end - line->at < 2)
        return false;
    *event = (struct event_name){line->at, (size_t)(end - line->at) - 1};
    line->at = bat_skip_blanks(end);
    return true;
}

/*
 * True for a line of perf script's default output, which ends with the object of a sample in
 * parentheses, or for a record of a process in it.
 */
static bool is_default_output(const struct perf_script_line *line, const uint8_t *newline)
{
    const uint8_t *end = newline;
    while (end > line->start && bat_is_blank(end[-1]))
        end--;
    return (end > line->start && end[-1] == ')') ||
           memmem(line->start, (size_t)(newline - line->start), PERF_SCRIPT_RECORD,
                  sizeof(PERF_SCRIPT_RECORD) - 1) != NULL;
}

/* Count a sample with a branch stack. False, behind it, if no more of them are to be read. */
static bool count_stack(struct perf_script_reader *reader, struct perf_script_line *line)
{
    if (reader->samples_left == 0) {
        line->at = rawmemchr(line->at, '\n');
        return false;
    }
    reader->samples_left--;
    reader->profile->counters.perf_samples++;
    return true;
}

static enum bat_code read_fields(struct perf_script_reader *reader, struct perf_script_line *line,
                                 uint32_t process)
{
    bool is_stack = line->at[0] == '0' && line->at[1] == 'x';
    bool is_empty = *line->at == '\n';
    struct event_name event = {0};
    if (!is_stack && !is_empty && !read_event(line, &event)) {
        const uint8_t *newline = rawmemchr(line->at, '\n');
        if (!is_default_output(line, newline))
            return fail(line, line->at,
                        "a branch stack (0xFROM/0xTO/P/...) or an event's name with a colon");
        line->at = newline;
        return BAT_OK;
    }
    const struct perf_span *span = find_span(reader, process);
    if (event.size != 0)
        return read_addresses(reader, line, span, event);
    if (!count_stack(reader, line))
        return BAT_OK;
    if (span)
        return read_stack(reader, line, span);
    reader->profile->counters.perf_foreign_samples++;
    line->at = rawmemchr(line->at, '\n');
    return BAT_OK;
}

/* --- Lines without processes ----------------------------------------------------------------- */

static bool begins_stack(const uint8_t *at)
{
    return at[0] == '0' && at[1] == 'x';
}

/* True for a branch stack, with or without an address before it. */
static bool has_stack_alone(const uint8_t *start)
{
    struct perf_script_line line = {.start = start, .at = bat_skip_blanks(start)};
    uint64_t address;
    if (!begins_stack(line.at) && !read_field(&line, &address))
        return false;
    const bool has_source = read_branch_end(&line, &address);
    return has_source && read_branch_end(&line, &address);
}

enum perf_script_form perf_script_form_of(const uint8_t *start)
{
    struct perf_script_line line = {.start = start, .at = start};
    uint32_t process;
    struct event_name event;
    if (read_process(&line, &process) && process <= PROCESS_MAX)
        return read_event(&line, &event) ? PERF_SCRIPT_WITH_PROCESSES : PERF_SCRIPT_EITHER;
    line.at = bat_skip_blanks(start);
    uint64_t address;
    bool is_address = !begins_stack(line.at) && read_field(&line, &address) && *line.at == '\n';
    return is_address || has_stack_alone(start) ? PERF_SCRIPT_WITHOUT_PROCESSES
                                                : PERF_SCRIPT_EITHER;
}

/* Read "ip 0xFROM/0xTO/P/..." or the stack alone; skip others: call stacks, default output. */
static enum bat_code read_without_process(struct perf_script_reader *reader,
                                          struct perf_script_line *line)
{
    uint64_t address;
    line->at = bat_skip_blanks(line->at);
    bool has_stack =
        begins_stack(line->at) || (read_field(line, &address) && begins_stack(line->at));
    if (!has_stack) {
        line->at = rawmemchr(line->at, '\n');
        return BAT_OK;
    }
    return count_stack(reader, line) ? read_stack(reader, line, reader->only_span) : BAT_OK;
}

enum bat_code perf_script_read_sample(struct perf_script_reader *reader,
                                      struct perf_script_line *line)
{
    uint32_t process;
    enum bat_code code = BAT_OK;
    if (reader->only_span)
        code = read_without_process(reader, line);
    else if (read_process(line, &process))
        code = read_fields(reader, line, process);
    else if (has_stack_alone(line->start))
        code = fail(line, bat_skip_blanks(line->start), PERF_SCRIPT_WITH_PROCESS);
    else
        line->at = rawmemchr(line->at, '\n');
    line->at++;
    return code;
}

bool perf_script_is_line(const uint8_t *start, const uint8_t *newline)
{
    struct perf_script_line line = {.start = start, .at = start};
    size_t size = (size_t)(newline - start);
    if (size >= sizeof(PERF_SCRIPT_MAGIC) - 1 &&
        memcmp(start, PERF_SCRIPT_MAGIC, sizeof(PERF_SCRIPT_MAGIC) - 1) == 0)
        return true;
    if (memmem(start, size, PERF_SCRIPT_RECORD, sizeof(PERF_SCRIPT_RECORD) - 1))
        return true;
    uint32_t process;
    if (!read_process(&line, &process))
        return false;
    struct event_name event;
    uint64_t address;
    if (*line.at == '\n')
        return true;
    if (line.at[0] == '0' && line.at[1] == 'x') {
        bool has_source = read_branch_end(&line, &address);
        return has_source && read_branch_end(&line, &address);
    }
    return read_event(&line, &event) && read_field(&line, &address) &&
           (*line.at == '\n' || (read_field(&line, &address) && *line.at == '\n'));
}
