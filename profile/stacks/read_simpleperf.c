/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What `simpleperf report-sample --protobuf` writes: "SIMPLEPERF", a version in 2 bytes, and
 * records, each behind its size in 4 bytes. Size 0 ends them. Samples come before the files that
 * they are in.
 */
#include <simpleperf.pb-c.h>

#include "reading.h"
#include "spec/little_endian.h"
#include "support/counts.h"

#define HEADER_SIZE 12u
#define VERSION 1u

struct simpleperf {
    struct stack_reading *reading;
    const uint8_t *bytes;
    size_t size;
    const Simpleperf__Record **records;
    size_t count;
    const Simpleperf__File **files; /* of the mappings */
    struct bat_counts file_ids;     /* key: id; its number */
    bool has_types;
    size_t type; /* the number of the event type that counts */
};

/* --- Records -------------------------------------------------------------------------------- */

/* Go to the record behind `at`, where the one before ends; *size 0: there is none. */
static enum bat_code next_record(const struct simpleperf *from, size_t *at, uint32_t *size)
{
    const size_t left = from->size - *at;
    *size = 0;
    if (left < sizeof(*size))
        return bat_fail(from->reading->error, BAT_ERR_TRUNCATED,
                        "0x%zx: expected the size of a record of simpleperf (4 bytes), found the "
                        "file's end after %zu bytes",
                        *at, left);
    *size = bat_load32(from->bytes + *at);
    if (*size > left - sizeof(*size))
        return bat_fail(from->reading->error, BAT_ERR_TRUNCATED,
                        "0x%zx: expected a record of simpleperf of %u bytes, found the file's end "
                        "after %zu bytes",
                        *at, *size, left - sizeof(*size));
    *at += sizeof(*size);
    return BAT_OK;
}

static enum bat_code count_records(struct simpleperf *from)
{
    size_t at = HEADER_SIZE;
    uint32_t size;
    BAT_TRY(next_record(from, &at, &size));
    for (; size != 0; from->count++) {
        at += size;
        BAT_TRY(next_record(from, &at, &size));
    }
    return BAT_OK;
}

static enum bat_code read_records(struct simpleperf *from)
{
    struct bat_arena *arena = &from->reading->profile->arena;
    ProtobufCAllocator allocator = {stack_allocate, stack_keep, arena};
    from->records = stack_array(from->reading, from->count, sizeof(*from->records));
    if (!from->records)
        return stack_fail(from->reading);
    size_t at = HEADER_SIZE;
    for (size_t i = 0; i < from->count; i++) {
        uint32_t size;
        BAT_TRY(next_record(from, &at, &size));
        from->records[i] = simpleperf__record__unpack(&allocator, size, from->bytes + at);
        if (!from->records[i] && (arena->no_memory || arena->is_full))
            return stack_fail(from->reading);
        if (!from->records[i])
            return bat_fail(from->reading->error, BAT_ERR_SYNTAX,
                            "0x%zx: expected a record of simpleperf, found other bytes", at);
        at += size;
    }
    return BAT_OK;
}

/* --- Files ---------------------------------------------------------------------------------- */

/* Of several with one id, the first counts. */
static enum bat_code read_file(struct simpleperf *from, const Simpleperf__File *file)
{
    struct stack_profile *profile = from->reading->profile;
    const uint64_t id = file->id;
    const uint64_t *found;
    bool is_new;
    from->files[profile->mapping_count] = file;
    profile->mappings[profile->mapping_count] =
        (struct stack_mapping){.path = file->path, .build_id = ""};
    return bat_counts_find_or_add(&from->file_ids, &id, profile->mapping_count++, 0, &found,
                                  &is_new) == BAT_OK
               ? BAT_OK
               : bat_fail_memory(from->reading->error, "for the profile");
}

static enum bat_code read_files(struct simpleperf *from)
{
    struct stack_profile *profile = from->reading->profile;
    profile->mappings = stack_array(from->reading, from->count, sizeof(*profile->mappings));
    from->files = stack_array(from->reading, from->count, sizeof(*from->files));
    if (!profile->mappings || !from->files)
        return stack_fail(from->reading);
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < from->count && code == BAT_OK; i++)
        if (from->records[i]->file)
            code = read_file(from, from->records[i]->file);
    return code;
}

/* The event that counts: the wanted one, or the first. */
static enum bat_code find_type(struct simpleperf *from)
{
    struct stack_reading *reading = from->reading;
    bool is_found = false;
    for (size_t i = 0; i < from->count; i++) {
        const Simpleperf__MetaInfo *info = from->records[i]->meta_info;
        for (size_t k = 0; info && !from->has_types && k < info->n_event_type; k++) {
            if (!stack_is_type(reading, info->event_type[k]))
                continue;
            from->type = k;
            reading->profile->type = info->event_type[k];
            is_found = true;
        }
        from->has_types |= info && info->n_event_type != 0;
    }
    return is_found || (!from->has_types && !reading->wanted_type) ? BAT_OK
                                                                   : stack_fail_type(reading);
}

/* --- Samples -------------------------------------------------------------------------------- */

static enum bat_code read_place(const struct simpleperf *from, const Simpleperf__Entry *entry,
                                struct stack_place *place)
{
    const uint64_t id = entry->file_id;
    const uint64_t *found = bat_counts_find(&from->file_ids, &id);
    if (!found)
        return bat_fail(
            from->reading->error, BAT_ERR_RANGE,
            "expected one of the profile's files, found one that is not in the profile: %lu", id);
    const Simpleperf__File *file = from->files[found[1]];
    place->mapping = &from->reading->profile->mappings[found[1]];
    place->address = entry->address;
    if (entry->symbol_id < 0 || (size_t)entry->symbol_id >= file->n_symbol)
        return BAT_OK;
    const size_t symbol = (size_t)entry->symbol_id;
    struct stack_line *line = stack_array(from->reading, 1, sizeof(*line));
    if (!line)
        return stack_fail(from->reading);
    *line = (struct stack_line){
        .function = file->symbol[symbol],
        .linkage = symbol < file->n_mangled_symbol ? file->mangled_symbol[symbol] : "",
        .file = ""};
    place->lines = line;
    place->line_count = 1;
    return BAT_OK;
}

static enum bat_code read_sample(const struct simpleperf *from, const Simpleperf__Sample *sample)
{
    const size_t depth = sample->n_entries;
    struct stack_place *places = stack_array(from->reading, depth, sizeof(*places));
    const struct stack_place **list = stack_array(from->reading, depth, sizeof(const void *));
    if (!places || !list)
        return stack_fail(from->reading);
    for (size_t i = 0; i < depth; i++) {
        BAT_TRY(read_place(from, sample->entries[i], &places[i]));
        list[i] = &places[i];
    }
    /* As in simpleperf's perf.data each sample counts once. */
    return stack_add_sample(from->reading, list, depth, 1);
}

static enum bat_code read_samples(const struct simpleperf *from)
{
    struct stack_profile *profile = from->reading->profile;
    profile->samples = stack_array(from->reading, from->count, sizeof(*profile->samples));
    if (!profile->samples)
        return stack_fail(from->reading);
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < from->count && code == BAT_OK; i++) {
        const Simpleperf__Sample *sample = from->records[i]->sample;
        if (sample && (!from->has_types || sample->event_type_id == from->type))
            code = read_sample(from, sample);
    }
    return code;
}

enum bat_code stack_read_simpleperf(struct stack_reading *reading, const uint8_t *bytes,
                                    size_t size)
{
    struct simpleperf from = {
        .reading = reading, .bytes = bytes, .size = size, .file_ids = bat_counts_new(1)};
    const unsigned version = size < HEADER_SIZE ? 0 : bat_load16(bytes + HEADER_SIZE - 2);
    if (version != VERSION)
        return bat_fail(reading->error, BAT_ERR_UNSUPPORTED,
                        "expected version 1 of simpleperf's report, found %u", version);
    reading->profile->type = "";
    enum bat_code code = count_records(&from);
    code = code ? code : read_records(&from);
    code = code ? code : find_type(&from);
    code = code ? code : read_files(&from);
    code = code ? code : read_samples(&from);
    bat_counts_free(&from.file_ids);
    return code;
}
