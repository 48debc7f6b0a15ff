/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* OpenTelemetry's profiles: all share tables, whose first elements stand for "none". */
#include <otlp.pb-c.h>
#include <string.h>

#include "reading.h"

/* Of a mapping: its build-id in hexadecimal. */
#define BUILD_ID_KEY "process.executable.build_id.gnu"

struct otlp {
    struct stack_reading *reading;
    const Otlp__ProfilesDictionary *tables;
    struct stack_place *places;
    struct stack_sample *stacks; /* without counts */
};

/* A number that leads into a table is never negative. */
static enum bat_code check(const struct otlp *otlp, int32_t number, size_t count, const char *what)
{
    return stack_check_number(otlp->reading, (uint64_t)(int64_t)number, count, what);
}

static enum bat_code string_of(const struct otlp *otlp, int32_t number, const char **string)
{
    *string = "";
    if (number == 0)
        return BAT_OK;
    BAT_TRY(check(otlp, number, otlp->tables->n_string_table, "strings"));
    *string = otlp->tables->string_table[number];
    return BAT_OK;
}

/* --- Tables --------------------------------------------------------------------------------- */

static enum bat_code read_build_id(const struct otlp *otlp, int32_t attribute,
                                   struct stack_mapping *mapping)
{
    const Otlp__ProfilesDictionary *tables = otlp->tables;
    BAT_TRY(check(otlp, attribute, tables->n_attribute_table, "attributes"));
    const Otlp__KeyValueAndUnit *from = tables->attribute_table[attribute];
    const char *key;
    enum bat_code code = string_of(otlp, from->key_strindex, &key);
    if (code != BAT_OK || strcmp(key, BUILD_ID_KEY) != 0 || !from->value)
        return code;
    mapping->build_id = from->value->string_value;
    return *mapping->build_id
               ? BAT_OK
               : string_of(otlp, from->value->string_value_strindex, &mapping->build_id);
}

static enum bat_code read_mapping(const struct otlp *otlp, const Otlp__Mapping *from,
                                  struct stack_mapping *mapping)
{
    *mapping = (struct stack_mapping){.start = from->memory_start,
                                      .end = from->memory_limit,
                                      .offset = from->file_offset,
                                      .build_id = ""};
    enum bat_code code = string_of(otlp, from->filename_strindex, &mapping->path);
    for (size_t i = 0; code == BAT_OK && i < from->n_attribute_indices; i++)
        code = read_build_id(otlp, from->attribute_indices[i], mapping);
    return code;
}

static enum bat_code read_line(const struct otlp *otlp, const Otlp__Line *from,
                               struct stack_line *line)
{
    const Otlp__ProfilesDictionary *tables = otlp->tables;
    BAT_TRY(check(otlp, from->function_index, tables->n_function_table, "functions"));
    const Otlp__Function *function = tables->function_table[from->function_index];
    line->line = stack_source_number(from->line);
    line->column = stack_source_number(from->column);
    line->start_line = stack_source_number(function->start_line);
    enum bat_code code = string_of(otlp, function->name_strindex, &line->function);
    code = code ? code : string_of(otlp, function->system_name_strindex, &line->linkage);
    return code ? code : string_of(otlp, function->filename_strindex, &line->file);
}

static enum bat_code read_place(const struct otlp *otlp, const Otlp__Location *from,
                                struct stack_place *place)
{
    const struct stack_profile *profile = otlp->reading->profile;
    enum bat_code code = BAT_OK;
    place->address = from->address;
    if (from->mapping_index != 0) {
        code = check(otlp, from->mapping_index, profile->mapping_count, "mappings");
        place->mapping = code == BAT_OK ? &profile->mappings[from->mapping_index] : NULL;
    }
    struct stack_line *lines = stack_array(otlp->reading, from->n_lines, sizeof(*lines));
    if (!lines)
        return stack_fail(otlp->reading);
    for (size_t i = 0; code == BAT_OK && i < from->n_lines; i++)
        code = read_line(otlp, from->lines[i], &lines[i]);
    place->lines = lines;
    place->line_count = from->n_lines;
    return code;
}

static enum bat_code read_stack(const struct otlp *otlp, const Otlp__Stack *from,
                                struct stack_sample *stack)
{
    const struct stack_place **places =
        stack_array(otlp->reading, from->n_location_indices, sizeof(*places));
    if (!places)
        return stack_fail(otlp->reading);
    enum bat_code code = BAT_OK;
    for (size_t i = 0; code == BAT_OK && i < from->n_location_indices; i++) {
        const int32_t number = from->location_indices[i];
        code = check(otlp, number, otlp->tables->n_location_table, "locations");
        places[i] = &otlp->places[code == BAT_OK ? number : 0];
    }
    *stack = (struct stack_sample){.places = places, .depth = from->n_location_indices};
    return code;
}

static enum bat_code read_tables(struct otlp *otlp)
{
    const Otlp__ProfilesDictionary *tables = otlp->tables;
    struct stack_profile *profile = otlp->reading->profile;
    profile->mappings =
        stack_array(otlp->reading, tables->n_mapping_table, sizeof(*profile->mappings));
    otlp->places = stack_array(otlp->reading, tables->n_location_table, sizeof(*otlp->places));
    otlp->stacks = stack_array(otlp->reading, tables->n_stack_table, sizeof(*otlp->stacks));
    if (!profile->mappings || !otlp->places || !otlp->stacks)
        return stack_fail(otlp->reading);
    enum bat_code code = BAT_OK;
    for (size_t i = 0; code == BAT_OK && i < tables->n_mapping_table; i++)
        code = read_mapping(otlp, tables->mapping_table[i],
                            &profile->mappings[profile->mapping_count++]);
    for (size_t i = 0; code == BAT_OK && i < tables->n_location_table; i++)
        code = read_place(otlp, tables->location_table[i], &otlp->places[i]);
    for (size_t i = 0; code == BAT_OK && i < tables->n_stack_table; i++)
        code = read_stack(otlp, tables->stack_table[i], &otlp->stacks[i]);
    return code;
}

/* --- Samples -------------------------------------------------------------------------------- */

/* The sum of a sample's values; without values each time counts 1. */
static enum bat_code read_count(const struct otlp *otlp, const Otlp__Sample *sample, int64_t *count)
{
    struct bat_error *error = otlp->reading->error;
    *count = sample->n_values == 0 ? (int64_t)sample->n_timestamps_unix_nano : 0;
    for (size_t i = 0; i < sample->n_values; i++) {
        const int64_t value = sample->values[i];
        if (value < 0 || value > INT64_MAX - *count)
            return bat_fail(
                error, BAT_ERR_RANGE,
                "expected counts from 0 on that add up to less than 2^63, found %ld after %ld",
                value, *count);
        *count += value;
    }
    if (sample->n_values != 0 || sample->n_timestamps_unix_nano != 0)
        return BAT_OK;
    return bat_fail(error, BAT_ERR_COUNT, "expected values or times in a sample, found none");
}

static enum bat_code read_sample(const struct otlp *otlp, const Otlp__Sample *sample)
{
    int64_t count;
    enum bat_code code = read_count(otlp, sample, &count);
    /* In older releases values were here. */
    for (size_t i = 0; code == BAT_OK && i < sample->n_attribute_indices; i++)
        code = check(otlp, sample->attribute_indices[i], otlp->tables->n_attribute_table,
                     "attributes");
    BAT_TRY(code);
    BAT_TRY(check(otlp, sample->stack_index, otlp->tables->n_stack_table, "stacks"));
    const struct stack_sample *stack = &otlp->stacks[sample->stack_index];
    return stack_add_sample(otlp->reading, stack->places, stack->depth, count);
}

/* The profiles of a file, one after the other. */
typedef enum bat_code profile_fn(struct otlp *otlp, const Otlp__Profile *profile, void *context);

static enum bat_code each_profile(struct otlp *otlp, const Otlp__ProfilesData *data,
                                  profile_fn *read, void *context)
{
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < data->n_resource_profiles; i++) {
        const Otlp__ResourceProfiles *resource = data->resource_profiles[i];
        for (size_t k = 0; k < resource->n_scope_profiles; k++) {
            const Otlp__ScopeProfiles *scope = resource->scope_profiles[k];
            for (size_t n = 0; code == BAT_OK && n < scope->n_profiles; n++)
                code = read(otlp, scope->profiles[n], context);
        }
    }
    return code;
}

static enum bat_code type_of(const struct otlp *otlp, const Otlp__Profile *profile,
                             const char **type)
{
    *type = "";
    return profile->sample_type ? string_of(otlp, profile->sample_type->type_strindex, type)
                                : BAT_OK;
}

/* Find the type that counts, and count all samples. */
static enum bat_code survey(struct otlp *otlp, const Otlp__Profile *profile, void *context)
{
    const char *type;
    size_t *count = context;
    enum bat_code code = type_of(otlp, profile, &type);
    if (code == BAT_OK && stack_is_type(otlp->reading, type))
        otlp->reading->profile->type = type;
    *count += profile->n_samples;
    return code;
}

static enum bat_code read_profile(struct otlp *otlp, const Otlp__Profile *profile, void *context)
{
    const char *type;
    (void)context;
    enum bat_code code = type_of(otlp, profile, &type);
    if (code != BAT_OK || strcmp(type, otlp->reading->profile->type) != 0)
        return code;
    for (size_t i = 0; code == BAT_OK && i < profile->n_samples; i++)
        code = read_sample(otlp, profile->samples[i]);
    return code;
}

enum bat_code stack_read_otlp(struct stack_reading *reading, const uint8_t *bytes, size_t size)
{
    struct stack_profile *profile = reading->profile;
    ProtobufCAllocator allocator = {stack_allocate, stack_keep, &profile->arena};
    const Otlp__ProfilesData *data = otlp__profiles_data__unpack(&allocator, size, bytes);
    if (!data || !data->dictionary)
        return stack_fail(reading);
    struct otlp otlp = {.reading = reading, .tables = data->dictionary};
    size_t count = 0;
    enum bat_code code = read_tables(&otlp);
    code = code ? code : each_profile(&otlp, data, survey, &count);
    if (code == BAT_OK && !profile->type)
        code = stack_fail_type(reading);
    if (code != BAT_OK)
        return code;
    profile->samples = stack_array(reading, count, sizeof(*profile->samples));
    return profile->samples ? each_profile(&otlp, data, read_profile, NULL) : stack_fail(reading);
}
