/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The parts of perf.data around its records: header, attributes, features. */
#include <stdlib.h>
#include <string.h>

#include "session.h"

/* The largest section that is read into memory: real ones are far smaller. */
#define FEATURE_SIZE_MAX ((uint64_t)1 << 28)

/* A part of the file. */
struct section {
    uint64_t offset;
    uint64_t size;
};

static struct section parse_section(const uint8_t *bytes)
{
    return (struct section){bat_load64(bytes), bat_load64(bytes + 8)};
}

/* Fails if a section, named `what`, is not inside the file. `at` is the offset of its entry. */
static enum bat_code check_section(const struct perf_session *session, struct section section,
                                   uint64_t at, const char *what, struct bat_error *error)
{
    if (section.offset <= session->file_size && section.size <= session->file_size - section.offset)
        return BAT_OK;
    return bat_fail_at(error, BAT_ERR_TRUNCATED, BAT_PLACE_FILE, at,
                       "expected %s at 0x%lx of %lu bytes, found a file of %lu bytes", what,
                       section.offset, section.size, session->file_size);
}

/* Read a section. The caller frees *bytes, which is not NULL even for an empty section. */
static enum bat_code read_section(const struct perf_session *session, struct section section,
                                  uint8_t **bytes, struct bat_error *error)
{
    *bytes = NULL;
    if (section.size > FEATURE_SIZE_MAX) {
        bat_fail_at(error, BAT_ERR_COUNT, BAT_PLACE_FILE, section.offset,
                    "expected a section of at most %lu bytes, found one of %lu", FEATURE_SIZE_MAX,
                    section.size);
        return BAT_ERR_COUNT;
    }
    *bytes = malloc(section.size ? (size_t)section.size : 1);
    BAT_TRY_MEMORY(*bytes, error, "to read the profile");
    enum bat_code code =
        perf_read_at(session->file, section.offset, *bytes, (size_t)section.size, error);
    if (code != BAT_OK) {
        free(*bytes);
        *bytes = NULL;
    }
    return code;
}

/* --- Attributes --------------------------------------------------------------------------- */

/* Read an entry of the table: attributes, and then the section of their ids. */
static enum bat_code read_attribute(struct perf_session *session, const uint8_t *entry,
                                    size_t entry_size, uint64_t at, struct bat_error *error)
{
    size_t size_max = entry_size - 16;
    uint32_t size = bat_load32(entry + ATTRIBUTE_SIZE);
    if (size == 0)
        size = PERF_ATTRIBUTE_SIZE_MIN;
    if (size < PERF_ATTRIBUTE_SIZE_MIN || size > size_max)
        return bat_fail_at(error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, at + ATTRIBUTE_SIZE,
                           "expected an event's attributes of %u to %zu bytes, found %u",
                           PERF_ATTRIBUTE_SIZE_MIN, size_max, size);
    struct section section = parse_section(entry + size_max);
    enum bat_code code = check_section(session, section, at + size_max, "an event's ids", error);
    if (code == BAT_OK && section.size % 8 != 0)
        code = bat_fail_at(error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, at + size_max + 8,
                           "expected ids of 8 bytes each, found %lu bytes", section.size);
    /* This bounds the work: many events could share one section, which is read for each. */
    if (code == BAT_OK && section.size > session->file_size - session->id_bytes)
        code = bat_fail_at(error, BAT_ERR_COUNT, BAT_PLACE_FILE, at + size_max,
                           "expected ids of all events that fit into the file's size, found %lu "
                           "bytes after %lu of the events before",
                           section.size, session->id_bytes);
    session->id_bytes += code == BAT_OK ? section.size : 0;
    uint8_t *ids = NULL;
    code = code ? code : read_section(session, section, &ids, error);
    if (code == BAT_OK)
        code = perf_attributes_add(&session->attributes, entry, size, ids, (size_t)section.size / 8,
                                   at, error);
    free(ids);
    return code;
}

static enum bat_code read_attributes(struct perf_session *session, uint64_t entry_size,
                                     struct section section, struct bat_error *error)
{
    if (entry_size < PERF_ATTRIBUTE_SIZE_MIN + 16 || entry_size > UINT16_MAX)
        return bat_fail_at(error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, 16,
                           "expected entries of events' attributes of %u to %u bytes, found %lu",
                           PERF_ATTRIBUTE_SIZE_MIN + 16, (unsigned)UINT16_MAX, entry_size);
    if (section.size == 0 || section.size % entry_size != 0)
        return bat_fail_at(error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, 32,
                           "expected events' attributes of %lu bytes each, found %lu bytes in all",
                           entry_size, section.size);
    uint8_t *table;
    enum bat_code code = read_section(session, section, &table, error);
    for (uint64_t at = 0; code == BAT_OK && at < section.size; at += entry_size)
        code = read_attribute(session, table + at, (size_t)entry_size, section.offset + at, error);
    free(table);
    return code;
}

/* --- Features ----------------------------------------------------------------------------- */

static enum bat_code read_feature(struct perf_session *session, unsigned feature,
                                  struct section section, uint64_t at, struct bat_error *error)
{
    enum bat_code code = check_section(session, section, at, "a feature", error);
    if (code != BAT_OK || (feature != FEATURE_BUILD_ID && feature != FEATURE_ARCH &&
                           feature != FEATURE_EVENT_DESC && feature != FEATURE_FOLDER))
        return code;
    uint8_t *bytes;
    code = read_section(session, section, &bytes, error);
    if (code == BAT_OK)
        code = perf_session_feature(session, feature, bytes, (size_t)section.size, section.offset,
                                    error);
    free(bytes);
    return code;
}

/* A table behind the records has a section for each feature whose bit is set. */
static enum bat_code read_features(struct perf_session *session, struct bat_error *error)
{
    const uint8_t *bits = session->feature_bits;
    uint64_t at = session->data_end;
    enum bat_code code = BAT_OK;
    for (unsigned feature = 0; feature < PERF_FEATURE_BITS && code == BAT_OK; feature++) {
        if (!(bits[feature / 8] >> feature % 8 & 1))
            continue;
        uint8_t entry[16];
        code = perf_read_at(session->file, at, entry, sizeof(entry), error);
        code = code ? code : read_feature(session, feature, parse_section(entry), at, error);
        at += sizeof(entry);
    }
    return code;
}

/* --- The header --------------------------------------------------------------------------- */

static enum bat_code check_magic(const uint8_t *magic, struct bat_error *error)
{
    if (memcmp(magic, PERF_MAGIC, PERF_MAGIC_SIZE) == 0)
        return BAT_OK;
    if (memcmp(magic, PERF_MAGIC_SWAPPED, PERF_MAGIC_SIZE) == 0)
        return bat_fail_at(error, BAT_ERR_UNSUPPORTED, BAT_PLACE_FILE, 0,
                           "expected perf.data of a little-endian machine, found the other byte "
                           "order");
    bool is_old = memcmp(magic, PERF_MAGIC_OLD, PERF_MAGIC_SIZE) == 0;
    return bat_fail_at(error, BAT_ERR_UNSUPPORTED, BAT_PLACE_FILE, 0,
                       "expected perf.data of version 2 (\"%s\"), found \"%.8s\"%s", PERF_MAGIC,
                       (const char *)magic,
                       is_old ? ": that perf is too old, record with a newer one" : "");
}

static enum bat_code read_file_header(struct perf_session *session, struct bat_error *error)
{
    uint8_t header[PERF_FILE_HEADER_SIZE];
    BAT_TRY(perf_read_at(session->file, 0, header, sizeof(header), error));
    struct section attributes = parse_section(header + 24);
    struct section data = parse_section(header + 40);
    enum bat_code code = check_section(session, data, 40, "records", error);
    code = code ? code : check_section(session, attributes, 24, "events' attributes", error);
    if (code == BAT_OK && data.size == 0)
        code = bat_fail_at(error, BAT_ERR_TRUNCATED, BAT_PLACE_FILE, 48,
                           "expected records, found none: perf record sets their size when it "
                           "ends, and may have been killed before");
    code = code ? code : read_attributes(session, bat_load64(header + 16), attributes, error);
    session->data_start = data.offset;
    session->data_end = data.offset + data.size;
    memcpy(session->feature_bits, header + 72, sizeof(session->feature_bits));
    if (code == BAT_OK)
        code = read_features(session, error);
    if (session->pieces.count != 0)
        session->data_end = perf_pieces_arrange(&session->pieces, session->data_end);
    return code;
}

enum bat_code perf_session_read_head(struct perf_session *session, struct bat_error *error)
{
    uint8_t start[PERF_PIPE_HEADER_SIZE];
    BAT_TRY(perf_read_at(session->file, 0, start, sizeof(start), error));
    BAT_TRY(check_magic(start, error));
    uint64_t size = bat_load64(start + PERF_MAGIC_SIZE);
    if (size == PERF_FILE_HEADER_SIZE)
        return read_file_header(session, error);
    if (size != PERF_PIPE_HEADER_SIZE)
        return bat_fail_at(error, BAT_ERR_UNSUPPORTED, BAT_PLACE_FILE, 8,
                           "expected a header of %u bytes, or of %u in a stream, found one of %lu",
                           PERF_FILE_HEADER_SIZE, PERF_PIPE_HEADER_SIZE, size);
    session->data_start = PERF_PIPE_HEADER_SIZE;
    session->data_end = session->file_size;
    if (session->data_end > session->data_start)
        return BAT_OK;
    return bat_fail_at(error, BAT_ERR_TRUNCATED, BAT_PLACE_FILE, PERF_PIPE_HEADER_SIZE,
                       "expected records, found the end of the stream");
}
