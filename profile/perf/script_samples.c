/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Samples as perf script prints them, a line each: spec/perf-script.md 2. */
#include <endian.h>
#include <string.h>

#include "script.h"
#include "spec/array.h"

/* The upper limit of process ids in Linux. */
#define PROCESS_MAX 4194304u

/* The fewest bytes of an entry's fields behind the misprediction: "-/-/0". */
#define REST_MIN 5u

/* --- Fields --------------------------------------------------------------------------------- */

static inline bool begins_stack(const uint8_t *at)
{
    return at[0] == '0' && at[1] == 'x';
}

/* Skip "(FILE)", which perf prints behind an end of a branch with -F dso. */
static const uint8_t *skip_file(const uint8_t *at)
{
    const uint8_t *newline = rawmemchr(at, '\n');
    const uint8_t *end = memmem(at, (size_t)(newline - at), ")/", 2);
    return end ? end + 1 : at;
}

/* Read "0x401000/". */
static inline bool read_branch_end(struct bat_line *line, uint64_t *address)
{
    const uint8_t *at = line->at;
    if (!begins_stack(at))
        return false;
    at += 2;
    if (!bat_read_hex(&at, address))
        return false;
    if (*at == '(')
        at = skip_file(at);
    if (*at != '/')
        return false;
    line->at = at + 1;
    return true;
}

/* Read "P/", "M/" or "-/", with an N before the slash if the branch was not taken, as flags. */
static bool read_prediction(struct bat_line *line, uint64_t *flags)
{
    const uint8_t *at = line->at;
    *flags = *at == 'M' ? PERF_BRANCH_MISPREDICTED : 0;
    if (*at != 'P' && *at != 'M' && *at != '-')
        return false;
    at++;
    if (*at == 'N') {
        *flags |= PERF_BRANCH_NOT_TAKEN;
        at++;
    }
    if (*at != '/')
        return false;
    line->at = at + 1;
    return true;
}

/* True for an entry's fields that end with perf's name for speculation on a wrong path. */
static inline bool ends_with_wrong_path(const uint8_t *start, const uint8_t *end)
{
    static const char name[] = "/SPEC_WRONG_PATH";
    const size_t size = sizeof(name) - 1;
    return (size_t)(end - start) >= size && memcmp(end - size, name, size) == 0;
}

/* True if one of an entry's fields is perf's name for the type of a return (-j save_type). */
static inline bool has_return(const uint8_t *start, const uint8_t *end)
{
    static const char name[] = "RET";
    const size_t size = sizeof(name) - 1;
    if ((size_t)(end - start) <= REST_MIN)
        return false;
    const uint8_t *at = memmem(start, (size_t)(end - start), name, size);
    /* RET or COND_RET; ERET is the kernel's, SYSRET another's. */
    return at && at > start && (at[-1] == '/' || at[-1] == '_') &&
           (at[size] == '/' || at + size == end);
}

/* Read the next field as a hexadecimal number, and the blanks behind it. */
static bool read_field(struct bat_line *line, uint64_t *value)
{
    const uint8_t *at = line->at;
    if (!bat_read_hex(&at, value) || !bat_ends_field(*at))
        return false;
    line->at = bat_skip_blanks(at);
    return true;
}

/* Read a process id, perhaps with a thread's behind it (100/101), and the blanks around them. */
static bool read_process(struct bat_line *line, uint32_t *process)
{
    struct bat_line field = {.at = bat_skip_blanks(line->at)};
    if (!perf_script_read_process(&field, process))
        return false;
    uint32_t thread;
    if (*field.at == '/') {
        field.at++;
        if (!perf_script_read_process(&field, &thread))
            return false;
    }
    if (!bat_ends_field(*field.at))
        return false;
    line->at = bat_skip_blanks(field.at);
    return true;
}

struct event_name {
    const uint8_t *text; /* without the colon that ends it */
    size_t size;
};

/* Read a field that ends with a colon and is no record's, and the blanks behind it. */
static bool read_event(struct bat_line *line, struct event_name *event)
{
    const uint8_t *end = line->at;
    while (*end > ' ' || (!bat_ends_field(*end) && *end != '\0'))
        end++;
    const size_t size = (size_t)(end - line->at);
    if (size < 2 || end[-1] != ':' ||
        (size >= sizeof(PERF_SCRIPT_RECORD) - 1 &&
         memcmp(line->at, PERF_SCRIPT_RECORD, sizeof(PERF_SCRIPT_RECORD) - 1) == 0))
        return false;
    *event = (struct event_name){line->at, size - 1};
    line->at = bat_skip_blanks(end);
    return true;
}

/* --- Which text it is ----------------------------------------------------------------------- */

static bool begins_with_branch(struct bat_line line)
{
    uint64_t address;
    const bool has_source = read_branch_end(&line, &address);
    return has_source && read_branch_end(&line, &address);
}

/* Go to the first entry in the line, behind whatever fields. False if it has none. */
static bool find_stack(struct bat_line *line)
{
    const uint8_t *newline = rawmemchr(line->at, '\n');
    struct bat_line rest = *line;
    while ((rest.at = memmem(rest.at, (size_t)(newline - rest.at), "0x", 2)) != NULL) {
        if (rest.at > line->start && bat_is_blank(rest.at[-1]) && begins_with_branch(rest)) {
            line->at = rest.at;
            return true;
        }
        rest.at += 2;
    }
    return false;
}

/* Where perf prints the process behind the command (-F comm,pid), which fills 16 columns. */
#define COMMAND_COLUMNS 16u

/* Read the process behind a command, and the blanks behind it. */
static bool read_command(struct bat_line *line, uint32_t *process)
{
    struct bat_line rest = *line;
    const uint8_t *newline = rawmemchr(line->at, '\n');
    /* Commands have at most 15 bytes. */
    if ((size_t)(newline - line->at) <= COMMAND_COLUMNS || *line->at != ' ' ||
        line->at[COMMAND_COLUMNS] != ' ')
        return false;
    rest.at += COMMAND_COLUMNS;
    if (!read_process(&rest, process))
        return false;
    line->at = rest.at;
    return true;
}

bool perf_script_is_for_people(const uint8_t *start)
{
    struct bat_line line = {.start = start, .at = start};
    uint32_t process;
    return read_command(&line, &process);
}

/* The same in a line that has a branch stack. */
static bool begin_behind_command(struct bat_line *line, uint32_t *process)
{
    struct bat_line rest = *line;
    if (!read_command(&rest, process))
        return false;
    struct bat_line stack = rest;
    if (!find_stack(&stack))
        return false;
    line->at = rest.at;
    return true;
}

/* True for a branch stack, with or without an address before it. */
static bool has_stack_alone(const uint8_t *start)
{
    struct bat_line line = {.at = bat_skip_blanks(start)};
    uint64_t address;
    return (begins_stack(line.at) || read_field(&line, &address)) && begins_with_branch(line);
}

/*
 * Skip "IP SYMBOL" up to the stack, which may lack entries: perf prints this in front of the stacks
 * of a recording that came through a pipe.
 */
static bool skip_symbol(struct bat_line *line)
{
    struct bat_line rest = *line;
    uint64_t address;
    if (!read_field(&rest, &address) || *rest.at == '\n')
        return false;
    while (*rest.at != '\n' && !begins_with_branch(rest)) {
        while (!bat_ends_field(*rest.at))
            rest.at++;
        rest.at = bat_skip_blanks(rest.at);
    }
    line->at = rest.at;
    return true;
}

enum perf_script_form perf_script_form_of(const uint8_t *start)
{
    struct bat_line line = {.at = start};
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

bool perf_script_is_sample(const uint8_t *start, uint64_t *time)
{
    struct bat_line line = {.start = start, .at = start};
    uint32_t process;
    struct event_name event;
    uint64_t address;
    *time = UINT64_MAX;
    if (!read_process(&line, &process) && !begin_behind_command(&line, &process))
        return false;
    perf_script_read_time(&line, time);
    if (*line.at == '\n')
        return true;
    if (find_stack(&line))
        return true;
    if (begins_stack(line.at) || (skip_symbol(&line) && *line.at != '\n'))
        return begins_with_branch(line);
    return read_event(&line, &event) && read_field(&line, &address) &&
           (*line.at == '\n' || (read_field(&line, &address) && *line.at == '\n'));
}

bool perf_script_is_line(const uint8_t *start, const uint8_t *newline)
{
    size_t size = (size_t)(newline - start);
    uint64_t time;
    return (size >= sizeof(PERF_SCRIPT_MAGIC) - 1 &&
            memcmp(start, PERF_SCRIPT_MAGIC, sizeof(PERF_SCRIPT_MAGIC) - 1) == 0) ||
           memmem(start, size, PERF_SCRIPT_RECORD, sizeof(PERF_SCRIPT_RECORD) - 1) ||
           perf_script_is_sample(start, &time);
}

uint32_t perf_script_count_entries(const uint8_t *start, const uint8_t *newline, uint32_t limit)
{
    uint32_t letters = 0; /* of "0xFROM/0xTO" */
    while (letters < 2 * limit && (start = memchr(start, 'x', (size_t)(newline - start)))) {
        start++;
        letters++;
    }
    return letters / 2;
}

/* --- Branch stacks --------------------------------------------------------------------------- */

/* Read an entry: FROM/TO/PREDICTION/ and further fields: a return's type and a wrong path count. */
static inline enum bat_code read_branch(struct bat_line *line, uint8_t *branch)
{
    uint64_t from;
    uint64_t to;
    uint64_t flags;
    if (!read_branch_end(line, &from))
        return perf_script_fail(line, "an entry of a branch stack (0xFROM/0xTO/P/...)");
    if (!read_branch_end(line, &to))
        return perf_script_fail(line, "the target of a branch (0xTO/)");
    if (!read_prediction(line, &flags))
        return perf_script_fail(line, "P, M or - for the branch's prediction");
    const uint8_t *rest = line->at;
    while (*rest > ' ' || !bat_ends_field(*rest))
        rest++;
    if ((size_t)(rest - line->at) < REST_MIN)
        return perf_script_fail(line, "the rest of a branch stack's entry (like -/-/0)");
    if (ends_with_wrong_path(line->at, rest))
        flags |= PERF_BRANCH_WRONG_PATH;
    if (has_return(line->at, rest))
        flags |= PERF_BRANCH_RETURN;
    line->at = rest;
    const uint64_t words[] = {htole64(from), htole64(to), htole64(flags)};
    memcpy(branch, words, sizeof(words));
    return BAT_OK;
}

enum bat_code perf_script_read_stack(struct perf_script_reader *reader, struct perf_sample *sample)
{
    struct bat_line *line = &reader->line;
    if (sample->branch_filter & BRANCH_CALL_STACK)
        return BAT_OK;
    while (*line->at != '\n') {
        if (!bat_grow(&reader->branches, &reader->capacity, sample->branch_count, PERF_BRANCH_SIZE))
            return bat_lines_fail_add(line->lines, BAT_ERR_MEMORY);
        BAT_TRY(read_branch(line, reader->branches + sample->branch_count++ * PERF_BRANCH_SIZE));
        line->at = bat_skip_blanks(line->at);
    }
    sample->branches = reader->branches;
    return BAT_OK;
}

/* --- Samples of an event --------------------------------------------------------------------- */

/* Read the event's name if it is that of the last sample. */
static bool read_last_event(struct perf_script_reader *reader, struct event_name *event)
{
    const uint8_t *at = reader->line.at;
    const size_t size = reader->event_size;
    if (size == 0 || strncmp((const char *)at, reader->event_name, size) != 0 || at[size] != ':' ||
        !bat_ends_field(at[size + 1]))
        return false;
    *event = (struct event_name){(const uint8_t *)reader->event_name, size};
    reader->line.at = bat_skip_blanks(at + size + 1);
    return true;
}

/*
 * "event: ip" is a basic sample; "event: addr ip" is used if the event samples loads; other fields
 * may stand before a branch stack.
 */
static enum bat_code read_addresses(struct perf_script_reader *reader, struct event_name event,
                                    struct perf_sample *sample)
{
    static const char loads[] = "mem-loads";
    struct bat_line *line = &reader->line;
    const bool has_address = read_field(line, &sample->ip);
    sample->uses_ip = has_address && *line->at == '\n';
    sample->uses_stack = !sample->uses_ip && find_stack(line);
    if (sample->uses_stack)
        return BAT_OK;
    if (!has_address)
        return perf_script_fail(line, "a hexadecimal address");
    if (!sample->uses_ip) {
        sample->address = sample->ip;
        if (!read_field(line, &sample->ip))
            return perf_script_fail(line, "a hexadecimal address, or the end of the line");
        if (*line->at != '\n')
            return perf_script_fail(line, "the end of the line");
        sample->is_load = memmem(event.text, event.size, loads, sizeof(loads) - 1) != NULL;
        return BAT_OK;
    }
    if ((const char *)event.text != reader->event_name) {
        enum bat_code code =
            bat_strings_add(&reader->events, (const char *)event.text, event.size, &reader->event);
        if (code != BAT_OK)
            return bat_lines_fail_add(line->lines, code);
        reader->event_name = bat_strings_get(&reader->events, reader->event);
        reader->event_size = event.size;
    }
    sample->event = reader->event;
    sample->event_name = reader->event_name;
    return BAT_OK;
}

/* --- Lines ----------------------------------------------------------------------------------- */

static bool is_record(const struct bat_line *line)
{
    const uint8_t *newline = rawmemchr(line->at, '\n');
    return memmem(line->start, (size_t)(newline - line->start), PERF_SCRIPT_RECORD,
                  sizeof(PERF_SCRIPT_RECORD) - 1) != NULL;
}

/*
 * True for a line of perf script's default output, which ends with the object of a sample in
 * parentheses, or for a record of a process in it.
 */
static bool is_default_output(const struct bat_line *line)
{
    const uint8_t *end = rawmemchr(line->at, '\n');
    while (end > line->start && bat_is_blank(end[-1]))
        end--;
    return (end > line->start && end[-1] == ')') || is_record(line);
}

/* Read the line of a process up to its stack, or all of it. */
static enum bat_code read_fields(struct perf_script_reader *reader, struct perf_sample *sample)
{
    struct bat_line *line = &reader->line;
    struct event_name event;
    perf_script_read_time(line, &sample->time);
    sample->uses_stack = begins_stack(line->at) || *line->at == '\n';
    if (sample->uses_stack)
        return BAT_OK;
    if (read_last_event(reader, &event) || read_event(line, &event))
        return read_addresses(reader, event, sample);
    sample->uses_stack = find_stack(line);
    if (sample->uses_stack)
        return BAT_OK;
    if (is_default_output(line)) {
        reader->for_people += !is_record(line);
        return BAT_OK;
    }
    sample->uses_stack = skip_symbol(line);
    return sample->uses_stack
               ? BAT_OK
               : perf_script_fail(
                     line, "a branch stack (0xFROM/0xTO/P/...) or an event's name with a colon");
}

/* The chain of the last sample is over. */
static void begin_chain(struct perf_script_reader *reader)
{
    reader->chain_length = 0;
    reader->repeats = 0;
    reader->is_chain_of_last = false;
}

/* Read how often a sample is there, before its chain: a decimal number without blanks before it. */
static bool read_repeats(struct perf_script_reader *reader)
{
    const uint8_t *at = bat_skip_blanks(reader->line.at);
    uint64_t number;
    bool fits;
    if (at != reader->line.at || reader->chain_length != 0 ||
        !bat_read_decimal(&at, &number, &fits) || !fits || *bat_skip_blanks(at) != '\n')
        return false;
    reader->repeats = number;
    return true;
}

/* Add the address of a caller, which fills its line. */
static enum bat_code add_frame(struct perf_script_reader *reader, uint64_t address)
{
    if (!bat_grow(&reader->chain, &reader->chain_capacity, reader->chain_length, sizeof(address)))
        return bat_lines_fail_add(reader->line.lines, BAT_ERR_MEMORY);
    address = htole64(address);
    memcpy(reader->chain + sizeof(address) * reader->chain_length++, &address, sizeof(address));
    return BAT_OK;
}

/*
 * Begin "ip 0xFROM/0xTO/P/..." or the stack alone, behind the lines of the sample's chain; others
 * are default output.
 */
static enum bat_code read_without_process(struct perf_script_reader *reader,
                                          struct perf_sample *sample)
{
    struct bat_line *line = &reader->line;
    uint64_t address = 0;
    if (reader->is_chain_of_last)
        begin_chain(reader);
    if (read_repeats(reader))
        return BAT_OK;
    line->at = bat_skip_blanks(line->at);
    const bool has_address = !begins_stack(line->at) && read_field(line, &address);
    sample->uses_stack = begins_stack(line->at);
    if (has_address && *line->at == '\n')
        return add_frame(reader, address);
    if (!sample->uses_stack) {
        begin_chain(reader);
        return BAT_OK;
    }
    sample->chain = reader->chain;
    sample->chain_length = reader->chain_length;
    sample->repeats = reader->repeats;
    reader->is_chain_of_last = true;
    return BAT_OK;
}

static enum bat_code read_line(struct perf_script_reader *reader, struct perf_sample *sample)
{
    struct bat_line *line = &reader->line;
    *sample = (struct perf_sample){
        .time = UINT64_MAX, .has_process = true, .branch_filter = reader->text->branch_filter};
    if (reader->text->lacks_processes)
        return read_without_process(reader, sample);
    if (read_process(line, &sample->process) || begin_behind_command(line, &sample->process))
        return read_fields(reader, sample);
    if (has_stack_alone(line->start) || (!is_record(line) && find_stack(line))) {
        line->at = bat_skip_blanks(line->start);
        return perf_script_fail(line, "a process id in front of a branch stack (perf script "
                                      "--show-mmap-events -F pid,brstack)");
    }
    if (perf_script_is_for_people(line->start) && !is_record(line))
        reader->for_people++;
    return BAT_OK;
}

/* --- The reader ------------------------------------------------------------------------------ */

enum bat_code perf_script_open(struct perf_script_reader *reader, const struct perf_text *text,
                               int file, uint64_t start, uint64_t end, uint64_t line,
                               struct bat_error *error)
{
    *reader = (struct perf_script_reader){
        .text = text, .lines = {.line = line, .error = error}, .line = {.lines = &reader->lines}};
    return bat_input_open(&reader->input, file, text->path != NULL, start, end, error);
}

void perf_script_close(struct perf_script_reader *reader)
{
    bat_input_close(&reader->input);
    bat_strings_free(&reader->events);
    BAT_FREE_ALL(reader->branches, reader->chain);
}

/* Go to the next block of lines; it is empty at the end. */
static enum bat_code next_block(struct perf_script_reader *reader)
{
    size_t size;
    struct bat_lines *lines = &reader->lines;
    enum bat_code code = bat_input_next_block(&reader->input, &lines->at, &size, lines->line,
                                              &reader->position, lines->error);
    lines->end = code == BAT_OK && size != 0 ? lines->at + size : lines->at;
    reader->bytes += size;
    return code;
}

/* When the sample of the current line was taken. */
static struct perf_moment moment_of(const struct perf_script_reader *reader, uint64_t time)
{
    const enum perf_script_order order = reader->text->order;
    const uint64_t offset = reader->position - (uint64_t)(reader->lines.end - reader->line.start);
    /* Records of equal times were printed before. */
    const uint64_t behind = reader->text->path ? (uint64_t)1 << 63 : 0;
    if (order == PERF_SCRIPT_BY_POSITION)
        time = 0;
    else if (order == PERF_SCRIPT_LAST)
        time = UINT64_MAX;
    return (struct perf_moment){time, offset + behind};
}

/* True if samples count at this offset. */
static bool is_wanted(struct perf_script_reader *reader, uint64_t offset)
{
    if (!reader->section || offset >= reader->section->end)
        reader->section = perf_script_section_at(&reader->text->sections, offset);
    return reader->section && (reader->section->content == PERF_SCRIPT_ANYTHING ||
                               reader->section->content == PERF_SCRIPT_SAMPLES);
}

enum bat_code perf_script_next(struct perf_script_reader *reader, struct perf_sample *sample,
                               struct perf_moment *moment, bool *is_sample)
{
    struct bat_lines *lines = &reader->lines;
    *is_sample = false;
    for (;;) {
        if (reader->line.at) { /* behind the last line, of which the rest does not matter */
            lines->at = (const uint8_t *)rawmemchr(reader->line.at, '\n') + 1;
            lines->line++;
            reader->line.at = NULL;
        }
        enum bat_code code = lines->at == lines->end ? next_block(reader) : BAT_OK;
        /* Static analysis does not see that there is a line, then. */
        if (code != BAT_OK || lines->at == lines->end || !lines->at)
            return code;
        reader->line.start = reader->line.at = lines->at;
        if (!is_wanted(reader, reader->position - (uint64_t)(lines->end - lines->at)))
            continue;
        code = read_line(reader, sample);
        *is_sample = sample->uses_stack || sample->uses_ip || sample->is_load;
        if (code != BAT_OK)
            return code;
        if (*is_sample) {
            *moment = moment_of(reader, sample->time);
            return BAT_OK;
        }
    }
}
