/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Samples as perf script prints them, a line each: spec/perf-script.md 2. */
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "profile/text_fields.h"
#include "script.h"
#include "spec/grow.h"

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

/* --- The reader ----------------------------------------------------------------------------- */

bool perf_script_reader_init(struct perf_script_reader *reader, struct bat_profile *const *profiles,
                             const struct perf_processes *processes,
                             const struct bat_read_options *options)
{
    const uint32_t count = processes->binary_count;
    *reader =
        (struct perf_script_reader){.parts = calloc((size_t)count + 1, sizeof(*reader->parts)),
                                    .processes = processes,
                                    .options = options,
                                    .keeps_kernel = options->keep_kernel_branches,
                                    .samples_left = perf_samples_max(options),
                                    .undecided = bat_counts_new(PERF_SCRIPT_UNDECIDED_MAX)};
    if (!reader->parts)
        return false;
    reader->part_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct perf_script_part *part = &reader->parts[i];
        part->profile = profiles[i];
        part->binary = &processes->binaries[i];
        part->newest.kept = bat_counts_new(3);
        part->newest.dropped = bat_counts_new(3);
        reader->keeps_kernel |= part->binary->is_kernel;
    }
    return true;
}

void perf_script_reader_free(struct perf_script_reader *reader)
{
    for (uint32_t i = 0; i < reader->part_count; i++) {
        bat_counts_free(&reader->parts[i].newest.kept);
        bat_counts_free(&reader->parts[i].newest.dropped);
    }
    bat_counts_free(&reader->undecided);
    free(reader->parts);
    free(reader->stack);
    free(reader->own);
    *reader = (struct perf_script_reader){.parts = NULL};
}

/* Add what lies outside of a binary, which was only counted. */
static enum bat_code add_outside(struct perf_script_part *part)
{
    struct bat_profile *profile = part->profile;
    enum bat_code code = BAT_OK;
    for (unsigned i = 0; i < PERF_SCRIPT_OUTSIDE_KINDS && code == BAT_OK; i++) {
        const struct perf_script_tally *tally = &part->outside[i];
        const uint64_t key[3] = {BAT_ADDRESS_EXTERNAL, BAT_ADDRESS_EXTERNAL,
                                 i == PERF_SCRIPT_WITH_END ? BAT_ADDRESS_EXTERNAL
                                                           : BAT_TRACE_BRANCH_ONLY};
        if (tally->count != 0)
            code = bat_counts_add(i == PERF_SCRIPT_BASIC ? &profile->samples : &profile->traces,
                                  key, tally->count, tally->mispredictions);
    }
    return code;
}

static enum bat_code finish_part(const struct perf_script_reader *reader,
                                 struct perf_script_part *part, bool has_full_stack)
{
    struct bat_profile *profile = part->profile;
    const struct perf_script_newest *newest = &part->newest;
    enum bat_code code = bat_counts_flush(&profile->traces, &profile->trace_batch);
    if (code == BAT_OK)
        code = add_outside(part);
    if (code == BAT_OK)
        code =
            bat_counts_merge(&profile->traces, has_full_stack ? &newest->dropped : &newest->kept);
    if (has_full_stack) {
        profile->counters.perf_dropped += newest->dropped_entries;
        profile->counters.trace_records -= newest->dropped_entries;
    }
    profile->counters.perf_used_branches = profile->counters.trace_records;
    profile->counters.perf_samples += reader->samples + reader->unread;
    profile->counters.perf_unread_samples += reader->unread;
    profile->counters.perf_foreign_samples += reader->samples - part->samples;
    return code;
}

/* Add the samples of which it is known only now in which binaries they lie. */
static void decide(const struct perf_script_reader *reader, const bool *has_full_stack,
                   struct perf_shares *shares)
{
    for (uint32_t i = 0; i < reader->undecided.count; i++) {
        const uint64_t *item = bat_counts_item(&reader->undecided, i);
        const uint64_t count = item[PERF_SCRIPT_UNDECIDED_MAX];
        bool is_inside = false;
        for (uint32_t k = 0; k < PERF_SCRIPT_UNDECIDED_MAX; k++) {
            if (item[k] == 0 || has_full_stack[item[k] - 1])
                continue;
            shares->inside[item[k] - 1] += count;
            is_inside = true;
        }
        if (!is_inside)
            shares->none += count - item[PERF_SCRIPT_UNDECIDED_MAX + 1];
    }
}

enum bat_code perf_script_reader_finish(struct perf_script_reader *reader, bool *has_full_stack,
                                        struct perf_shares *shares, struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < reader->part_count && code == BAT_OK; i++)
        code = finish_part(reader, &reader->parts[i], has_full_stack[i]);
    if (code != BAT_OK)
        return bat_counts_fail(error, code, "the profile");
    shares->samples += reader->samples;
    shares->none += reader->none;
    decide(reader, has_full_stack, shares);
    for (uint32_t i = 0; i < reader->part_count; i++) {
        shares->inside[i] += reader->parts[i].inside;
        has_full_stack[i] |= reader->parts[i].newest.has_full_stack;
    }
    return BAT_OK;
}

/* Set the spans of all parts to those that the process has then. */
static void find_spans(struct perf_script_reader *reader, uint32_t process,
                       struct perf_moment moment)
{
    if (reader->lacks_processes ||
        (reader->last_process == process && perf_period_has(&reader->valid, moment)))
        return;
    reader->member_count = 0;
    reader->valid = perf_always();
    for (uint32_t i = 0; i < reader->part_count; i++) {
        reader->parts[i].span =
            perf_processes_find(reader->processes, i, process, moment, &reader->valid);
        reader->member_count += reader->parts[i].span != NULL;
    }
    reader->last_process = process;
    reader->last_event_size = 0;
}

static inline uint64_t own_address(const struct perf_script_part *part, uint64_t address)
{
    return perf_own_address(part->binary, part->span, address);
}

static inline bool is_inside(uint64_t own)
{
    return own != BAT_ADDRESS_EXTERNAL && own != UINT64_MAX;
}

/* --- Branch stacks: reading ---------------------------------------------------------------- */

static enum bat_code push(struct perf_script_reader *reader, const struct perf_script_line *line,
                          struct perf_script_branch branch)
{
    /* There is always as much room in own. */
    if (reader->stack_count == reader->stack_capacity &&
        (!bat_grow(&reader->own, &reader->own_capacity, reader->stack_count, sizeof(branch)) ||
         !bat_grow(&reader->stack, &reader->stack_capacity, reader->stack_count, sizeof(branch))))
        return bat_lines_fail_add(line->lines, BAT_ERR_MEMORY);
    reader->stack[reader->stack_count++] = branch;
    return BAT_OK;
}

static inline bool is_of_kernel(const struct perf_script_branch *branch)
{
    return branch->from >= PERF_KERNEL_ADDRESS || branch->to >= PERF_KERNEL_ADDRESS;
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
    if (!reader->keeps_kernel && is_of_kernel(&branch)) {
        reader->left_out++;
        return BAT_OK;
    }
    return push(reader, line, branch);
}

/* --- Branch stacks: traces ----------------------------------------------------------------- */

/* Which entries of a stack have an end in the binary. */
struct ends {
    bool newest; /* one of the newest NEWEST_DROPPED */
    bool others;
};

/* Set reader->own to the stack as a binary has it. */
static struct ends make_own_stack(struct perf_script_reader *reader,
                                  const struct perf_script_part *part)
{
    struct ends inside = {.newest = false};
    bool drops_kernel =
        reader->keeps_kernel && !reader->options->keep_kernel_branches && !part->binary->is_kernel;
    reader->own_count = 0;
    for (uint32_t i = 0; i < reader->stack_count; i++) {
        const struct perf_script_branch *branch = &reader->stack[i];
        if (drops_kernel && is_of_kernel(branch))
            continue;
        struct perf_script_branch *own = &reader->own[reader->own_count];
        *own = (struct perf_script_branch){.from = own_address(part, branch->from),
                                           .to = own_address(part, branch->to),
                                           .is_mispredicted = branch->is_mispredicted};
        bool *is_inside_too = reader->own_count < NEWEST_DROPPED ? &inside.newest : &inside.others;
        *is_inside_too = *is_inside_too || is_inside(own->from) || is_inside(own->to);
        reader->own_count++;
    }
    return inside;
}

/*
 * The trace of entry i of the binary's stack: its branch, and the fall-through up to the branch of
 * the next newer entry, if there is one.
 */
static inline void make_trace(const struct perf_script_reader *reader, uint32_t i, bool has_newer,
                              uint64_t *trace)
{
    trace[0] = reader->own[i].from;
    trace[1] = reader->own[i].to;
    trace[2] = has_newer ? reader->own[i - 1].from : BAT_TRACE_BRANCH_ONLY;
}

static enum bat_code add_trace_to(struct perf_script_reader *reader, uint32_t i, bool has_newer,
                                  struct bat_counts *counts)
{
    uint64_t trace[3];
    make_trace(reader, i, has_newer, trace);
    return bat_counts_add(counts, trace, 1, reader->own[i].is_mispredicted);
}

/* Add all entries from `first`, the newest that is used, to the oldest. */
static enum bat_code add_traces(struct perf_script_reader *reader, struct perf_script_part *part,
                                uint32_t first, bool first_has_newer)
{
    struct bat_profile *profile = part->profile;
    enum bat_code code = BAT_OK;
    for (uint32_t i = first; i < reader->own_count && code == BAT_OK; i++) {
        uint64_t trace[3];
        bool has_newer = i != first || first_has_newer;
        make_trace(reader, i, has_newer, trace);
        bool is_mispredicted = reader->own[i].is_mispredicted;
        if (trace[0] == BAT_ADDRESS_EXTERNAL && trace[1] == BAT_ADDRESS_EXTERNAL &&
            (!has_newer || trace[2] == BAT_ADDRESS_EXTERNAL)) {
            struct perf_script_tally *tally =
                &part->outside[has_newer ? PERF_SCRIPT_WITH_END : PERF_SCRIPT_WITHOUT_END];
            tally->count++;
            tally->mispredictions += is_mispredicted;
            continue;
        }
        code = bat_counts_add_three_later(&profile->traces, &profile->trace_batch, trace, 1,
                                          is_mispredicted);
    }
    return code;
}

/* Keep the three newest entries, whose traces depend on earlier stretches of the text. */
static enum bat_code put_off_newest(struct perf_script_reader *reader,
                                    struct perf_script_part *part)
{
    struct perf_script_newest *newest = &part->newest;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < reader->own_count && i <= NEWEST_DROPPED && code == BAT_OK; i++) {
        code = add_trace_to(reader, i, i != 0, &newest->kept);
        if (i < NEWEST_DROPPED)
            newest->dropped_entries++;
        else if (code == BAT_OK)
            code = add_trace_to(reader, i, false, &newest->dropped);
    }
    return code;
}

/* In which binaries a sample lies. */
struct sample_place {
    bool is_inside;
    uint64_t undecided[PERF_SCRIPT_UNDECIDED_MAX];
    uint32_t undecided_count;
};

/* The sample lies in the binary if one of the used entries has an end there. */
static void place_sample(struct perf_script_reader *reader, struct perf_script_part *part,
                         struct ends inside, struct sample_place *place)
{
    const bool doubles = part->binary->doubles_entry;
    if (inside.others || (inside.newest && !doubles)) {
        part->inside++;
        place->is_inside = true;
    } else if (inside.newest && !part->newest.has_full_stack &&
               place->undecided_count < PERF_SCRIPT_UNDECIDED_MAX) {
        place->undecided[place->undecided_count++] = (uint64_t)(part - reader->parts) + 1;
    }
}

static enum bat_code count_place(struct perf_script_reader *reader,
                                 const struct sample_place *place)
{
    if (place->undecided_count != 0)
        return bat_counts_add(&reader->undecided, place->undecided, 1, place->is_inside);
    reader->none += !place->is_inside;
    return BAT_OK;
}

/* Add the stack to the profile of a binary that the process has. */
static enum bat_code add_stack(struct perf_script_reader *reader, struct perf_script_part *part,
                               struct sample_place *place)
{
    struct perf_script_newest *newest = &part->newest;
    struct bat_profile_counters *counters = &part->profile->counters;
    struct ends inside = make_own_stack(reader, part);
    const uint32_t count = reader->own_count;
    part->samples++;
    counters->perf_branches += reader->stack_count + reader->left_out;
    counters->perf_kernel_branches += reader->stack_count + reader->left_out - count;
    counters->trace_records += count;
    counters->perf_plain_samples += count == 0;
    counters->perf_used_samples += count != 0;
    if (part->binary->doubles_entry && count == FULL_STACK)
        newest->has_full_stack = true;
    place_sample(reader, part, inside, place);
    if (!part->binary->doubles_entry)
        return add_traces(reader, part, 0, false);
    if (newest->has_full_stack) {
        uint32_t dropped = count < NEWEST_DROPPED ? count : NEWEST_DROPPED;
        counters->perf_dropped += dropped;
        counters->trace_records -= dropped;
        return add_traces(reader, part, NEWEST_DROPPED, false);
    }
    enum bat_code code = put_off_newest(reader, part);
    return code == BAT_OK ? add_traces(reader, part, NEWEST_DROPPED + 1, true) : code;
}

static enum bat_code read_stack(struct perf_script_reader *reader, struct perf_script_line *line)
{
    struct sample_place place = {.is_inside = false};
    reader->stack_count = 0;
    reader->left_out = 0;
    while (*line->at != '\n') {
        enum bat_code code = read_branch(reader, line);
        if (code != BAT_OK)
            return code;
        line->at = bat_skip_blanks(line->at);
    }
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < reader->part_count && code == BAT_OK; i++)
        if (reader->parts[i].span)
            code = add_stack(reader, &reader->parts[i], &place);
    return fail_add(line, code == BAT_OK ? count_place(reader, &place) : code);
}

/* --- Samples of an event ------------------------------------------------------------------- */

struct event_name {
    const uint8_t *text; /* without the colon that ends it */
    size_t size;
};

/* Add the name of an event to the profiles of the process's binaries. */
static enum bat_code add_event(struct perf_script_reader *reader, struct event_name event)
{
    const char *name = (const char *)event.text;
    if (event.size == reader->last_event_size && memcmp(name, reader->last_event, event.size) == 0)
        return BAT_OK;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < reader->part_count && code == BAT_OK; i++) {
        uint32_t ignored;
        if (reader->parts[i].span)
            code = bat_strings_add(&reader->parts[i].profile->events, name, event.size, &ignored);
    }
    if (code == BAT_OK && event.size <= sizeof(reader->last_event)) {
        memcpy(reader->last_event, name, event.size);
        reader->last_event_size = event.size;
    }
    return code;
}

static enum bat_code add_address(struct perf_script_part *part, uint64_t address,
                                 struct sample_place *place)
{
    const uint64_t key = own_address(part, address);
    part->samples++;
    part->profile->counters.perf_plain_samples += address == 0;
    if (address == 0)
        return BAT_OK;
    part->profile->counters.perf_used_samples++;
    part->profile->counters.sample_records++;
    if (is_inside(key)) {
        part->inside++;
        place->is_inside = true;
    }
    if (key != BAT_ADDRESS_EXTERNAL)
        return bat_counts_add(&part->profile->samples, &key, 1, 0);
    part->outside[PERF_SCRIPT_BASIC].count++;
    return BAT_OK;
}

/* "pid event: ip". */
static enum bat_code add_basic_sample(struct perf_script_reader *reader,
                                      const struct perf_script_line *line, struct event_name event,
                                      uint64_t address)
{
    struct sample_place place = {.is_inside = false};
    reader->samples++;
    enum bat_code code = add_event(reader, event);
    for (uint32_t i = 0; i < reader->part_count && code == BAT_OK; i++)
        if (reader->parts[i].span)
            code = add_address(&reader->parts[i], address, &place);
    return fail_add(line, code == BAT_OK ? count_place(reader, &place) : code);
}

/* "pid event: addr ip": used if the event samples loads. */
static enum bat_code add_memory_sample(struct perf_script_reader *reader,
                                       const struct perf_script_line *line, struct event_name event,
                                       uint64_t data_address, uint64_t address)
{
    static const char loads[] = "mem-loads";
    if (!memmem(event.text, event.size, loads, sizeof(loads) - 1))
        return BAT_OK;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < reader->part_count && code == BAT_OK; i++) {
        const struct perf_script_part *part = &reader->parts[i];
        if (!part->span)
            continue;
        uint64_t data = own_address(part, data_address);
        /* An address outside the binary stays the process's. */
        const uint64_t key[2] = {own_address(part, address),
                                 data == BAT_ADDRESS_EXTERNAL ? data_address : data};
        if (is_inside(key[0]))
            code = bat_counts_add(&part->profile->mem_samples, key, 1, 0);
    }
    return fail_add(line, code);
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
                                    struct perf_script_line *line, struct event_name event)
{
    uint64_t first;
    uint64_t second;
    if (!read_field(line, &first))
        return fail(line, line->at, "a hexadecimal address");
    if (*line->at == '\n')
        return add_basic_sample(reader, line, event, first);
    if (!read_field(line, &second))
        return fail(line, line->at, "a hexadecimal address, or the end of the line");
    if (*line->at != '\n')
        return fail(line, line->at, "the end of the line");
    return add_memory_sample(reader, line, event, first, second);
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

/* Read a field that ends with a colon and is no record's, and the blanks behind it. */
static bool read_event(struct perf_script_line *line, struct event_name *event)
{
    const uint8_t *end = line->at;
    while (!bat_ends_field(*end) && *end != '\0')
        end++;
    if (end == line->at || end[-1] != ':' || end - line->at < 2 ||
        strncmp((const char *)line->at, PERF_SCRIPT_RECORD, sizeof(PERF_SCRIPT_RECORD) - 1) == 0)
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
        reader->unread++;
        line->at = rawmemchr(line->at, '\n');
        return false;
    }
    reader->samples_left--;
    reader->samples++;
    return true;
}

static enum bat_code read_fields(struct perf_script_reader *reader, struct perf_script_line *line,
                                 uint32_t process)
{
    struct perf_moment moment = {UINT64_MAX, 0};
    uint64_t time;
    bool has_time = perf_script_read_time(line, &time);
    if (reader->order == PERF_SCRIPT_BY_POSITION)
        moment = (struct perf_moment){0, reader->position};
    else if (reader->order == PERF_SCRIPT_BY_TIME && has_time)
        moment = (struct perf_moment){time, reader->position};
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
    find_spans(reader, process, moment);
    if (event.size != 0)
        return read_addresses(reader, line, event);
    if (!count_stack(reader, line))
        return BAT_OK;
    if (reader->member_count != 0)
        return read_stack(reader, line);
    reader->none++;
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
    return count_stack(reader, line) ? read_stack(reader, line) : BAT_OK;
}

enum bat_code perf_script_read_sample(struct perf_script_reader *reader,
                                      struct perf_script_line *line)
{
    uint32_t process;
    enum bat_code code = BAT_OK;
    if (reader->lacks_processes)
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

bool perf_script_is_sample(const uint8_t *start, bool *has_time)
{
    struct perf_script_line line = {.start = start, .at = start};
    uint32_t process;
    struct event_name event;
    uint64_t address;
    if (!read_process(&line, &process))
        return false;
    *has_time = perf_script_read_time(&line, &address);
    if (*line.at == '\n')
        return true;
    if (begins_stack(line.at)) {
        bool has_source = read_branch_end(&line, &address);
        return has_source && read_branch_end(&line, &address);
    }
    return read_event(&line, &event) && read_field(&line, &address) &&
           (*line.at == '\n' || (read_field(&line, &address) && *line.at == '\n'));
}

bool perf_script_is_line(const uint8_t *start, const uint8_t *newline)
{
    size_t size = (size_t)(newline - start);
    bool has_time;
    return (size >= sizeof(PERF_SCRIPT_MAGIC) - 1 &&
            memcmp(start, PERF_SCRIPT_MAGIC, sizeof(PERF_SCRIPT_MAGIC) - 1) == 0) ||
           memmem(start, size, PERF_SCRIPT_RECORD, sizeof(PERF_SCRIPT_RECORD) - 1) ||
           perf_script_is_sample(start, &has_time);
}
