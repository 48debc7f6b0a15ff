/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Records of processes as perf script prints them, a line each: spec/perf-script.md 3. */
#include <stdlib.h>
#include <string.h>

#include "processes.h"
#include "script.h"

/* Move behind this text, wherever it is in the rest of the line. */
static bool skip_to_text(struct bat_line *line, const char *text)
{
    const uint8_t *newline = rawmemchr(line->at, '\n');
    size_t size = strlen(text);
    const uint8_t *found = memmem(line->at, (size_t)(newline - line->at), text, size);
    if (found)
        line->at = found + size;
    return found != NULL;
}

/* Read a hexadecimal number with 0x or without it, as perf prints 0. */
static bool read_number(struct bat_line *line, uint64_t *value)
{
    const uint8_t *at = line->at;
    if (at[0] == '0' && at[1] == 'x')
        at += 2;
    if (!bat_read_hex(&at, value))
        return false;
    line->at = at;
    return true;
}

/* --- Times --------------------------------------------------------------------------------- */

#define NANOSECOND_DIGITS 9u

/* "SECONDS.FRACTION" up to a colon as nanoseconds. */
static bool parse_time(const uint8_t *at, uint64_t *time)
{
    uint64_t seconds;
    bool fits;
    if (!bat_read_decimal(&at, &seconds, &fits) || !fits || *at != '.')
        return false;
    uint64_t fraction = 0;
    unsigned digits = 0;
    for (at++; *at >= '0' && *at <= '9' && digits < NANOSECOND_DIGITS; at++, digits++)
        fraction = fraction * 10 + (uint64_t)(*at - '0');
    if (digits == 0 || *at != ':')
        return false;
    for (; digits < NANOSECOND_DIGITS; digits++)
        fraction *= 10;
    *time = seconds * 1000000000u + fraction;
    return true;
}

bool perf_script_read_time(struct bat_line *line, uint64_t *time)
{
    if (!parse_time(line->at, time))
        return false;
    line->at = bat_skip_blanks((const uint8_t *)rawmemchr(line->at, ':') + 1);
    return true;
}

/* The time before the record, "... 1234.567890: PERF_RECORD_"; false if there is none. */
static bool find_time(const struct bat_line *line, const uint8_t *record, uint64_t *time)
{
    const uint8_t *end = record;
    while (end > line->start && bat_is_blank(end[-1]))
        end--;
    const uint8_t *start = end;
    while (start > line->start && !bat_is_blank(start[-1]))
        start--;
    return start != end && parse_time(start, time);
}

/* --- Mappings ------------------------------------------------------------------------------ */

/* Read a build-id in hexadecimal, which simpleperf begins with 0x; false if there is none. */
static bool read_build_id_here(struct bat_line *line, uint8_t *build_id, size_t *size)
{
    *size = 0;
    bat_line_skip(line, "0x");
    while (*size < PERF_BUILD_ID_SIZE) {
        uint8_t high = bat_hex_value(line->at[0]);
        uint8_t low = high < 16 ? bat_hex_value(line->at[1]) : 16;
        if (low >= 16)
            break;
        build_id[(*size)++] = (uint8_t)(high << 4 | low);
        line->at += 2;
    }
    return *size != 0;
}

/* The path at the end of the line; the caller frees it. */
static char *copy_path(const struct bat_line *line)
{
    const uint8_t *end = rawmemchr(line->at, '\n');
    while (end > line->at && bat_is_blank(end[-1]))
        end--;
    return strndup((const char *)line->at, (size_t)(end - line->at));
}

/* Read " PID/TID: [0xADDRESS(0xLENGTH) @ OFFSET ...]: PROTECTION PATH". */
static enum bat_code read_mapping(struct perf_processes *processes, struct bat_line *line,
                                  struct perf_moment moment)
{
    struct perf_mapping mapping = {.moment = moment};
    uint8_t build_id[PERF_BUILD_ID_SIZE];
    line->at = bat_skip_blanks(line->at);
    if (!perf_script_read_process(line, &mapping.process))
        return perf_script_fail(line, "a process (PID/TID)");
    if (!skip_to_text(line, "["))
        return perf_script_fail(line, "a mapping ([0xADDRESS(0xLENGTH) @ OFFSET ...])");
    if (!read_number(line, &mapping.address))
        return perf_script_fail(line, "the address of a mapping");
    if (!bat_line_skip(line, "(") || !read_number(line, &mapping.length) ||
        !bat_line_skip(line, ")"))
        return perf_script_fail(line, "the length of a mapping in parentheses");
    if (!bat_line_skip(line, " @ ") || !read_number(line, &mapping.offset))
        return perf_script_fail(line, "the offset of a mapping behind an @");
    line->at = bat_skip_blanks(line->at);
    /* "<0123...>" may take the place of the file's device and inode. */
    if (bat_line_skip(line, "<") && read_build_id_here(line, build_id, &mapping.build_id_size))
        mapping.build_id = build_id;
    if (!skip_to_text(line, "]: "))
        return perf_script_fail(line, "the end of a mapping (]:)");
    /*
     * Read "r-xp", or "x" as an older MMAP has it, and the blanks behind it. Code has an x, but
     * perf prints "---p" for the kernel's.
     */
    mapping.is_data = mapping.process != PERF_KERNEL_PROCESS;
    for (; !bat_ends_field(*line->at); line->at++)
        mapping.is_data &= *line->at != 'x';
    line->at = bat_skip_blanks(line->at);
    if (*line->at == '\n')
        return BAT_OK; /* no file was mapped */
    char *path = copy_path(line);
    mapping.path = path;
    enum bat_code code = path ? perf_processes_map(processes, &mapping) : BAT_ERR_MEMORY;
    free(path);
    return bat_line_fail_add(line, code);
}

/* --- Processes ----------------------------------------------------------------------------- */

/* Read "(CHILD:TID):(PARENT:TID)". */
static enum bat_code read_fork(struct perf_processes *processes, struct bat_line *line,
                               struct perf_moment moment)
{
    uint32_t child;
    uint32_t parent;
    if (!bat_line_skip(line, "(") || !perf_script_read_process(line, &child))
        return perf_script_fail(line, "a process and its parent ((PID:TID):(PID:TID))");
    if (!skip_to_text(line, "):(") || !perf_script_read_process(line, &parent))
        return perf_script_fail(line, "the parent of a process (:(PID:TID))");
    return bat_line_fail_add(line, perf_processes_fork(processes, child, parent, moment));
}

/* Read " NAME:PID/TID"; the name may hold colons. */
static enum bat_code read_exec(struct perf_processes *processes, struct bat_line *line,
                               struct perf_moment moment)
{
    const uint8_t *newline = rawmemchr(line->at, '\n');
    const uint8_t *colon = memrchr(line->at, ':', (size_t)(newline - line->at));
    uint32_t process;
    line->at = colon ? colon + 1 : newline;
    if (!perf_script_read_process(line, &process) || *line->at != '/')
        return perf_script_fail(line, "a process (:PID/TID)");
    return bat_line_fail_add(line, perf_processes_exec(processes, process, moment));
}

/* Add the number in " lost NUMBER" to *lost. */
static void read_lost(struct bat_line *line, uint64_t *lost)
{
    uint64_t number;
    bool fits;
    if (skip_to_text(line, "lost ") && bat_read_decimal(&line->at, &number, &fits) && fits)
        perf_add_lost(lost, number);
}

enum bat_code perf_script_read_record(struct perf_processes *processes,
                                      const struct bat_line *whole, const uint8_t *record,
                                      uint64_t position, uint64_t *lost)
{
    struct bat_line line = *whole;
    struct perf_moment moment = {.position = position};
    bool has_time = find_time(&line, record, &moment.time);
    line.at = record + sizeof(PERF_SCRIPT_RECORD) - 1;
    if (bat_line_skip(&line, "MMAP2 ") || bat_line_skip(&line, "MMAP "))
        return read_mapping(processes, &line, moment);
    /*
     * A process that began before the recording has a fork with time 0. Its mappings are recorded
     * too, and it may have become another program since the fork.
     */
    if (bat_line_skip(&line, "FORK"))
        return has_time && moment.time == 0 ? BAT_OK : read_fork(processes, &line, moment);
    if (bat_line_skip(&line, "COMM exec:"))
        return read_exec(processes, &line, moment);
    if (bat_line_skip(&line, "LOST"))
        read_lost(&line, lost);
    return BAT_OK;
}

/* --- Build-ids ----------------------------------------------------------------------------- */

enum bat_code perf_script_read_build_id(struct perf_processes *processes,
                                        const struct bat_line *whole)
{
    struct bat_line line = *whole;
    uint8_t build_id[PERF_BUILD_ID_SIZE];
    size_t size;
    line.at = bat_skip_blanks(line.at);
    if (!read_build_id_here(&line, build_id, &size))
        return BAT_OK; /* a file whose build-id is not known */
    if (!bat_ends_field(*line.at))
        return perf_script_fail(&line, "the end of a build-id of at most 20 bytes");
    line.at = bat_skip_blanks(line.at);
    if (*line.at == '\n')
        return BAT_OK; /* no file */
    char *path = copy_path(&line);
    enum bat_code code =
        path ? perf_processes_list(processes, path, build_id, size, false) : BAT_ERR_MEMORY;
    free(path);
    return bat_line_fail_add(&line, code);
}
