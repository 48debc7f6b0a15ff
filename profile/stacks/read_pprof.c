/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pprof's profile: its tables have ids. */
#include <pprof.pb-c.h>

#include "reading.h"
#include "support/counts.h"

struct pprof {
    struct stack_reading *reading;
    const Pprof__Profile *message;
    struct bat_counts mappings; /* key: id; its number */
    struct bat_counts functions;
    struct bat_counts locations;
    struct stack_place *places;
    size_t type; /* the number of the sample type that counts */
};

static enum bat_code string_of(const struct pprof *pprof, int64_t number, const char **string)
{
    const size_t count = pprof->message->n_string_table;
    BAT_TRY(stack_check_number(pprof->reading, (uint64_t)number, count, "strings"));
    *string = pprof->message->string_table[number];
    return BAT_OK;
}

/* Of several with one id, the first counts. */
static enum bat_code add_id(const struct pprof *pprof, struct bat_counts *ids, uint64_t id,
                            size_t i)
{
    const uint64_t *found;
    bool is_new;
    return bat_counts_find_or_add(ids, &id, i, 0, &found, &is_new) == BAT_OK
               ? BAT_OK
               : bat_fail_memory(pprof->reading->error, "for the profile");
}

/* The number of the thing with an id. */
static enum bat_code find_id(const struct pprof *pprof, const struct bat_counts *ids, uint64_t id,
                             const char *what, uint64_t *number)
{
    const uint64_t *found = bat_counts_find(ids, &id);
    if (found) {
        *number = found[1];
        return BAT_OK;
    }
    return bat_fail(pprof->reading->error, BAT_ERR_RANGE,
                    "expected one of the profile's %s, found one that is not in the profile: %lu",
                    what, id);
}

static enum bat_code read_mappings(struct pprof *pprof)
{
    const Pprof__Profile *message = pprof->message;
    struct stack_profile *profile = pprof->reading->profile;
    profile->mappings = stack_array(pprof->reading, message->n_mapping, sizeof(*profile->mappings));
    if (!profile->mappings)
        return stack_fail(pprof->reading);
    enum bat_code code = BAT_OK;
    for (size_t i = 0; code == BAT_OK && i < message->n_mapping; i++) {
        const Pprof__Mapping *from = message->mapping[i];
        struct stack_mapping *mapping = &profile->mappings[profile->mapping_count++];
        *mapping = (struct stack_mapping){
            .start = from->memory_start, .end = from->memory_limit, .offset = from->file_offset};
        code = string_of(pprof, from->filename, &mapping->path);
        code = code ? code : string_of(pprof, from->build_id, &mapping->build_id);
        code = code ? code : add_id(pprof, &pprof->mappings, from->id, i);
    }
    return code;
}

static enum bat_code read_line(const struct pprof *pprof, const Pprof__Line *from,
                               struct stack_line *line)
{
    uint64_t number = 0;
    BAT_TRY(find_id(pprof, &pprof->functions, from->function_id, "functions", &number));
    const Pprof__Function *function = pprof->message->function[number];
    line->line = stack_source_number(from->line);
    line->column = stack_source_number(from->column);
    line->start_line = stack_source_number(function->start_line);
    enum bat_code code = string_of(pprof, function->name, &line->function);
    code = code ? code : string_of(pprof, function->system_name, &line->linkage);
    return code ? code : string_of(pprof, function->filename, &line->file);
}

static enum bat_code read_place(const struct pprof *pprof, const Pprof__Location *from,
                                struct stack_place *place)
{
    enum bat_code code = BAT_OK;
    place->address = from->address;
    if (from->mapping_id != 0) {
        uint64_t number = 0;
        code = find_id(pprof, &pprof->mappings, from->mapping_id, "mappings", &number);
        place->mapping = &pprof->reading->profile->mappings[number];
    }
    struct stack_line *lines = stack_array(pprof->reading, from->n_line, sizeof(*lines));
    if (!lines)
        return stack_fail(pprof->reading);
    for (size_t i = 0; code == BAT_OK && i < from->n_line; i++)
        code = read_line(pprof, from->line[i], &lines[i]);
    place->lines = lines;
    place->line_count = from->n_line;
    return code;
}

static enum bat_code read_places(struct pprof *pprof)
{
    const Pprof__Profile *message = pprof->message;
    pprof->places = stack_array(pprof->reading, message->n_location, sizeof(*pprof->places));
    if (!pprof->places)
        return stack_fail(pprof->reading);
    enum bat_code code = BAT_OK;
    for (size_t i = 0; code == BAT_OK && i < message->n_function; i++)
        code = add_id(pprof, &pprof->functions, message->function[i]->id, i);
    for (size_t i = 0; code == BAT_OK && i < message->n_location; i++) {
        code = read_place(pprof, message->location[i], &pprof->places[i]);
        code = code ? code : add_id(pprof, &pprof->locations, message->location[i]->id, i);
    }
    return code;
}

static enum bat_code read_sample(const struct pprof *pprof, const Pprof__Sample *sample)
{
    const struct stack_reading *reading = pprof->reading;
    if (sample->n_value != pprof->message->n_sample_type)
        return bat_fail(reading->error, BAT_ERR_COUNT,
                        "expected a value in a sample for each of %zu types, found %zu",
                        pprof->message->n_sample_type, sample->n_value);
    const struct stack_place **places =
        stack_array(reading, sample->n_location_id, sizeof(*places));
    if (!places)
        return stack_fail(reading);
    for (size_t i = 0; i < sample->n_location_id; i++) {
        uint64_t number = 0;
        BAT_TRY(find_id(pprof, &pprof->locations, sample->location_id[i], "locations", &number));
        places[i] = &pprof->places[number];
    }
    return stack_add_sample(reading, places, sample->n_location_id, sample->value[pprof->type]);
}

static enum bat_code read_samples(const struct pprof *pprof)
{
    const Pprof__Profile *message = pprof->message;
    struct stack_profile *profile = pprof->reading->profile;
    profile->samples = stack_array(pprof->reading, message->n_sample, sizeof(*profile->samples));
    if (!profile->samples)
        return stack_fail(pprof->reading);
    for (size_t i = 0; i < message->n_sample; i++)
        BAT_TRY(read_sample(pprof, message->sample[i]));
    return BAT_OK;
}

static enum bat_code find_type(struct pprof *pprof)
{
    struct stack_profile *profile = pprof->reading->profile;
    pprof->type = SIZE_MAX;
    for (size_t i = 0; i < pprof->message->n_sample_type; i++) {
        const char *name = "";
        BAT_TRY(string_of(pprof, pprof->message->sample_type[i]->type, &name));
        if (!stack_is_type(pprof->reading, name))
            continue;
        pprof->type = i;
        profile->type = name;
    }
    return pprof->type == SIZE_MAX ? stack_fail_type(pprof->reading) : BAT_OK;
}

enum bat_code stack_read_pprof(struct stack_reading *reading, const uint8_t *bytes, size_t size)
{
    ProtobufCAllocator allocator = {stack_allocate, stack_keep, &reading->profile->arena};
    struct pprof pprof = {.reading = reading,
                          .message = pprof__profile__unpack(&allocator, size, bytes),
                          .mappings = bat_counts_new(1),
                          .functions = bat_counts_new(1),
                          .locations = bat_counts_new(1)};
    if (!pprof.message || pprof.message->n_string_table == 0)
        return stack_fail(reading);
    enum bat_code code = find_type(&pprof);
    code = code ? code : read_mappings(&pprof);
    code = code ? code : read_places(&pprof);
    code = code ? code : read_samples(&pprof);
    bat_counts_free(&pprof.mappings);
    bat_counts_free(&pprof.functions);
    bat_counts_free(&pprof.locations);
    return code;
}
