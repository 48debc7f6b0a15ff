/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pre-aggregated profiles, a record a line: spec/profiles.md 1. */
#include <string.h>

#include "profile/joint.h"
#include "profile/text_fields.h"

/* A location of a record. */
struct location {
    uint64_t address;
    bool is_foreign;
    bool is_complete; /* of a joint profile: it has its binary */
};

/* Read -1, -2 or -3, which stand for constants at the top of the address space. */
static bool read_constant(const uint8_t **at, uint64_t *value)
{
    const uint8_t *digits = *at;
    if (digits[0] != '-' || digits[1] < '1' || digits[1] > '3')
        return false;
    *value = 0 - (uint64_t)(digits[1] - '0');
    *at = digits + 2;
    return true;
}

/*
 * True if [name, name + size) is the profiled binary's build-id in hexadecimal. If build-ids are
 * ignored, any name but X passes.
 */
static bool is_own_build_id(const struct bat_profile *profile, const uint8_t *name, size_t size)
{
    if (profile->ignore_build_id)
        return !(size == 1 && name[0] == 'X');
    bat_skip_hex_prefix(&name, &size);
    return profile->build_id_size != 0 &&
           bat_is_hex_of(name, size, profile->build_id, profile->build_id_size);
}

/* Count the objects that locations name, to report them if none is the binary. */
static enum bat_code count_foreign(struct bat_profile *profile, const struct bat_line *line,
                                   size_t size)
{
    if (memchr(line->at, '\0', size))
        return bat_line_fail(line, line->at, "a build-id");
    uint32_t number;
    enum bat_code code =
        bat_strings_add(&profile->foreign_names, (const char *)line->at, size, &number);
    const uint64_t key = number;
    code = code ? code : bat_counts_add(&profile->foreign_counts, &key, 1, 0);
    return bat_line_fail_add(line, code);
}

/* A location with a colon in it: X:address, build-id:offset, or :address of the executable. */
static enum bat_code read_object_location(struct bat_profile *profile, struct bat_line *line,
                                          const uint8_t *colon, struct location *location)
{
    size_t size = (size_t)(colon - line->at);
    const uint8_t *at = colon + 1;
    if (!read_constant(&at, &location->address) && !bat_read_hex(&at, &location->address))
        return bat_line_fail(line, colon + 1, "a hexadecimal address behind the colon");
    if (!bat_ends_field(*at))
        return bat_line_fail(line, colon + 1, "a hexadecimal address behind the colon");
    if (profile->joint && size == 0)
        return bat_line_fail(line, line->at,
                             "a build-id before the colon (one of several binaries')");
    if (profile->joint)
        location->is_complete =
            bat_joint_place(profile->joint, line->at, size, location->address, &location->address);
    const bool is_own = size == 0 ? !profile->is_library : is_own_build_id(profile, line->at, size);
    location->is_foreign = !location->is_complete && !is_own;
    enum bat_code code = location->is_foreign ? count_foreign(profile, line, size) : BAT_OK;
    line->at = at;
    return code;
}

/* Any location that is not plain digits. */
static enum bat_code read_odd_location(struct bat_profile *profile, struct bat_line *line,
                                       struct location *location)
{
    const uint8_t *end = line->at;
    const uint8_t *colon = NULL;
    for (; !bat_ends_field(*end); end++)
        if (*end == ':' && !colon)
            colon = end;
    if (colon)
        return read_object_location(profile, line, colon, location);
    const uint8_t *at = line->at;
    location->is_foreign = false;
    if (!read_constant(&at, &location->address) || at != end)
        return bat_line_fail(line, line->at, "a hexadecimal address");
    line->at = at;
    return BAT_OK;
}

/* The next location as an address of the binary, BAT_ADDRESS_EXTERNAL or a constant. */
static inline enum bat_code read_address(struct bat_profile *profile, struct bat_line *line,
                                         uint64_t *address)
{
    bat_line_skip_blanks(line);
    struct location location = {0};
    const uint8_t *start = line->at;
    const uint8_t *at = start;
    if ((bat_read_short_hex(&at, line->lines->end, &location.address) ||
         bat_read_hex(&at, &location.address)) &&
        bat_ends_field(*at)) {
        line->at = at;
    } else {
        BAT_TRY(read_odd_location(profile, line, &location));
    }
    *address = location.address;
    if (location.address >= BAT_TRACE_EXTERNAL_RETURN)
        return BAT_OK;
    if (location.is_foreign) {
        profile->counters.foreign_locations++;
        *address = BAT_ADDRESS_EXTERNAL;
    } else if (location.address != BAT_ADDRESS_EXTERNAL) {
        if (profile->joint && !location.is_complete)
            return bat_line_fail(line, start,
                                 "a build-id before the address (one of several binaries')");
        *address += profile->base_address;
    }
    return BAT_OK;
}

/*
 * Read `addresses` addresses, a count and the end of the line. If mispredictions is not NULL, these
 * may stand before the end of the line.
 */
static inline enum bat_code read_fields(struct bat_profile *profile, struct bat_line *line,
                                        unsigned addresses, uint64_t *address, uint64_t *count,
                                        uint64_t *mispredictions)
{
    enum bat_code code = BAT_OK;
    for (unsigned i = 0; code == BAT_OK && i < addresses; i++)
        code = read_address(profile, line, &address[i]);
    code = code ? code : bat_line_count(line, count);
    bat_line_skip_blanks(line);
    if (code == BAT_OK && mispredictions && *line->at != '\n')
        code = bat_line_count(line, mispredictions);
    return code ? code : bat_line_end(line);
}

static inline enum bat_code add_trace(struct bat_profile *profile, const struct bat_line *line,
                                      const uint64_t *trace, const uint64_t *count)
{
    profile->counters.trace_records++;
    BAT_TRY(bat_lines_add_sum(line->lines, profile, count[0]));
    enum bat_code code = bat_counts_add_three_later(&profile->traces, &profile->trace_batch, trace,
                                                    count[0], count[1]);
    return bat_line_fail_add(line, code);
}

/* T and R: a branch, and the fall-through behind it. */
static inline enum bat_code read_trace(struct bat_profile *profile, struct bat_line *line,
                                       bool is_return)
{
    uint64_t trace[3];
    uint64_t count[2] = {0, 0};
    BAT_TRY(read_fields(profile, line, 3, trace, &count[0], &count[1]));
    enum bat_code code = BAT_OK;
    if (is_return && trace[0] == BAT_ADDRESS_EXTERNAL) {
        trace[0] = BAT_TRACE_EXTERNAL_RETURN;
    } else if (is_return && trace[0] < BAT_TRACE_EXTERNAL_RETURN) {
        if (profile->joint)
            trace[0] |= BAT_JOINT_RETURN;
        else
            code = bat_counts_add(&profile->returns, trace, 0, 0);
        if (code != BAT_OK)
            return bat_lines_fail_add(line->lines, code);
    }
    return add_trace(profile, line, trace, count);
}

static enum bat_code read_branch(struct bat_profile *profile, struct bat_line *line)
{
    uint64_t trace[3] = {0, 0, BAT_TRACE_BRANCH_ONLY};
    uint64_t count[2] = {0, 0};
    enum bat_code code = read_fields(profile, line, 2, trace, &count[0], &count[1]);
    return code ? code : add_trace(profile, line, trace, count);
}

/* F, f and r: a fall-through without a branch address. origin says what is known of the branch. */
static enum bat_code read_fallthrough(struct bat_profile *profile, struct bat_line *line,
                                      uint64_t origin)
{
    uint64_t trace[3] = {origin, 0, 0};
    uint64_t count[2] = {0, 0};
    enum bat_code code = read_fields(profile, line, 2, trace + 1, &count[0], NULL);
    return code ? code : add_trace(profile, line, trace, count);
}

static enum bat_code read_sample(struct bat_profile *profile, struct bat_line *line)
{
    uint64_t address;
    uint64_t count;
    BAT_TRY(read_fields(profile, line, 1, &address, &count, NULL));
    profile->counters.sample_records++;
    BAT_TRY(bat_lines_add_sum(line->lines, profile, count));
    enum bat_code code = bat_counts_add(&profile->samples, &address, count, 0);
    return bat_line_fail_add(line, code);
}

static enum bat_code read_event(struct bat_profile *profile, struct bat_line *line)
{
    bat_line_skip_blanks(line);
    const uint8_t *start = line->at;
    while (!bat_ends_field(*line->at)) {
        if (*line->at == '\0')
            return bat_line_fail(line, line->at, "the name of an event");
        line->at++;
    }
    if (line->at == start)
        return bat_line_fail(line, start, "the name of an event");
    size_t size = (size_t)(line->at - start);
    BAT_TRY(bat_line_end(line));
    uint32_t ignored;
    enum bat_code code = bat_strings_add(&profile->events, (const char *)start, size, &ignored);
    profile->names_events = true;
    return bat_line_fail_add(line, code);
}

/* D: a part of which the text was added up. Only part_digests() wants to know which. */
static enum bat_code read_part(struct bat_line *line)
{
    uint64_t digest[2];
    bat_line_skip_blanks(line);
    if (!bat_read_digest(&line->at, digest))
        return bat_line_fail(line, line->at, "a digest of 32 hexadecimal digits");
    return bat_line_end(line);
}

static inline enum bat_code read_record(struct bat_profile *profile, struct bat_line *line)
{
    bat_line_skip_blanks(line);
    if (*line->at == '\n')
        return BAT_OK;
    uint8_t type = *line->at;
    if (!bat_ends_field(line->at[1]))
        type = 0;
    line->at++;
    switch (type) {
    case 'T':
        return read_trace(profile, line, false);
    case 'R':
        return read_trace(profile, line, true);
    case 'B':
        return read_branch(profile, line);
    case 'F':
        return read_fallthrough(profile, line, BAT_TRACE_FALLTHROUGH_ONLY);
    case 'f':
        return read_fallthrough(profile, line, BAT_TRACE_EXTERNAL_ORIGIN);
    case 'r':
        return read_fallthrough(profile, line, BAT_TRACE_EXTERNAL_RETURN);
    case 'S':
        return read_sample(profile, line);
    case 'E':
        return read_event(profile, line);
    case 'D':
        return read_part(line);
    default:
        return bat_line_fail(line, line->at - 1, "a record type (T, R, B, F, f, r, S, E or D)");
    }
}

enum bat_code bat_preagg_read(struct bat_profile *profile, struct bat_lines *lines)
{
    while (lines->at < lines->end) {
        struct bat_line line = {.lines = lines, .start = lines->at, .at = lines->at};
        BAT_TRY(read_record(profile, &line));
        /* Every record was read up to its newline. */
        lines->at = line.at + 1;
        lines->line++;
    }
    enum bat_code code = bat_counts_flush(&profile->traces, &profile->trace_batch);
    return code == BAT_OK ? BAT_OK : bat_lines_fail_add(lines, code);
}
