/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * OpenTelemetry's profiles (profile/stacks/otlp.proto). The first element of each table stands for
 * "none".
 */
#include <batkit/bat_version.h>
#include <otlp.pb-c.h>
#include <stdio.h>

#include "message_tree.h"

/* Where protobuf-c's bytes go. */
struct sink {
    ProtobufCBuffer base;
    uint8_t bytes[1 << 14];
    size_t size;
    struct bat_output *output;
    struct bat_error *error;
    enum bat_code code; /* the first error */
};

static void flush(struct sink *sink)
{
    if (sink->code == BAT_OK && sink->size != 0)
        sink->code = bat_output_write(sink->output, sink->bytes, sink->size, sink->error);
    sink->size = 0;
}

static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *bytes)
{
    struct sink *sink = (struct sink *)buffer;
    for (size_t i = 0; i < size; i++) {
        if (sink->size == sizeof(sink->bytes))
            flush(sink);
        sink->bytes[sink->size++] = bytes[i];
    }
}

static enum bat_code write_data(const Otlp__ProfilesData *data, struct bat_output *output,
                                struct bat_error *error)
{
    struct sink sink = {.base = {append}, .output = output, .error = error};
    protobuf_c_message_pack_to_buffer(&data->base, &sink.base);
    flush(&sink);
    return sink.code;
}

/* --- Tables --------------------------------------------------------------------------------- */

/* The build-id is attribute 1. */
static void make_mappings(struct message_tree *tree, Otlp__ProfilesDictionary *tables)
{
    const size_t count = (size_t)tree->mapping_count + 1;
    const bool has_id = tree->build_id[0];
    int32_t *attribute = message_array(tree, 1, sizeof(*attribute));
    tables->mapping_table = message_list(tree, count, sizeof(**tables->mapping_table));
    for (size_t i = 0; tables->mapping_table && attribute && i < count; i++) {
        Otlp__Mapping *mapping = tables->mapping_table[tables->n_mapping_table++];
        otlp__mapping__init(mapping);
        if (i == 0)
            continue;
        const struct bat_segment *from = &tree->mappings[i - 1];
        mapping->memory_start = from->address;
        mapping->memory_limit = from->address + from->memory_size;
        mapping->file_offset = from->offset;
        mapping->filename_strindex = (int32_t)message_string(tree, tree->subject->title);
        *attribute = 1;
        mapping->attribute_indices = attribute;
        mapping->n_attribute_indices = has_id;
    }
    Otlp__AnyValue *value = message_array(tree, 1, sizeof(*value));
    tables->attribute_table = message_list(tree, 2, sizeof(**tables->attribute_table));
    if (!tables->attribute_table || !value)
        return;
    tables->n_attribute_table = 1 + has_id;
    for (size_t i = 0; i < 2; i++)
        otlp__key_value_and_unit__init(tables->attribute_table[i]);
    if (!has_id)
        return;
    otlp__any_value__init(value);
    value->string_value = tree->build_id;
    tables->attribute_table[1]->value = value;
    tables->attribute_table[1]->key_strindex =
        (int32_t)message_string(tree, "process.executable.build_id.gnu");
}

/* The lines of a place behind its address; function 0 is none. */
static void make_lines(struct message_tree *tree, const char *numbers, Otlp__Location *location)
{
    const struct bat_counts *lines = &tree->stacks->lines;
    uint64_t number;
    location->lines = message_list(tree, message_number_count(numbers), sizeof(**location->lines));
    while (location->lines && stack_next_number(&numbers, &number)) {
        const uint64_t *from = bat_counts_item(lines, (uint32_t)number);
        Otlp__Line *line = location->lines[location->n_lines++];
        otlp__line__init(line);
        line->function_index = (int32_t)from[0] + 1;
        line->line = (int64_t)from[1];
        line->column = (int64_t)from[2];
    }
}

static void make_locations(struct message_tree *tree, Otlp__ProfilesDictionary *tables)
{
    const struct bat_strings *places = &tree->stacks->places;
    const size_t count = (size_t)places->count + 1;
    tables->location_table = message_list(tree, count, sizeof(**tables->location_table));
    for (size_t i = 0; tables->location_table && i < count; i++) {
        Otlp__Location *location = tables->location_table[tables->n_location_table++];
        otlp__location__init(location);
        if (i == 0)
            continue;
        const char *numbers = bat_strings_get(places, (uint32_t)i - 1);
        stack_next_number(&numbers, &location->address);
        location->mapping_index = (int32_t)message_mapping_of(tree, location->address);
        make_lines(tree, numbers, location);
    }
}

static void make_functions(struct message_tree *tree, Otlp__ProfilesDictionary *tables)
{
    const struct bat_counts *functions = &tree->stacks->functions;
    const size_t count = (size_t)functions->count + 1;
    tables->function_table = message_list(tree, count, sizeof(**tables->function_table));
    for (size_t i = 0; tables->function_table && i < count; i++) {
        Otlp__Function *function = tables->function_table[tables->n_function_table++];
        otlp__function__init(function);
        if (i == 0)
            continue;
        const uint64_t *from = bat_counts_item(functions, (uint32_t)i - 1);
        function->name_strindex = (int32_t)message_name(from[0]);
        function->system_name_strindex = (int32_t)message_name(from[1]);
        function->filename_strindex = (int32_t)message_name(from[2]);
        function->start_line = (int64_t)from[3];
    }
}

static void make_stack(struct message_tree *tree, const char *places, Otlp__Stack *stack)
{
    uint64_t place;
    stack->location_indices =
        message_array(tree, message_number_count(places), sizeof(*stack->location_indices));
    while (stack->location_indices && stack_next_number(&places, &place))
        stack->location_indices[stack->n_location_indices++] = (int32_t)place + 1;
}

static void make_stacks(struct message_tree *tree, Otlp__ProfilesDictionary *tables)
{
    const struct bat_strings *stacks = &tree->stacks->stacks;
    const size_t count = (size_t)stacks->count + 1;
    tables->stack_table = message_list(tree, count, sizeof(**tables->stack_table));
    for (size_t i = 0; tables->stack_table && i < count; i++) {
        Otlp__Stack *stack = tables->stack_table[tables->n_stack_table++];
        otlp__stack__init(stack);
        if (i != 0)
            make_stack(tree, bat_strings_get(stacks, (uint32_t)i - 1), stack);
    }
}

static void make_tables(struct message_tree *tree, Otlp__ProfilesDictionary *tables)
{
    make_mappings(tree, tables);
    make_locations(tree, tables);
    make_functions(tree, tables);
    make_stacks(tree, tables);
    tables->link_table = message_list(tree, 1, sizeof(**tables->link_table));
    if (tables->link_table)
        otlp__link__init(tables->link_table[tables->n_link_table++]);
    tables->string_table = message_strings(tree);
    tables->n_string_table = message_string_count(tree);
}

/* --- Samples -------------------------------------------------------------------------------- */

static void make_samples(struct message_tree *tree, Otlp__Profile *profile)
{
    const struct bat_counts *counts = &tree->stacks->counts;
    int64_t *values = message_array(tree, counts->count, sizeof(*values));
    profile->samples = message_list(tree, counts->count, sizeof(**profile->samples));
    for (uint32_t i = 0; profile->samples && values && i < counts->count; i++) {
        const uint64_t *item = bat_counts_item(counts, i);
        Otlp__Sample *sample = profile->samples[profile->n_samples++];
        otlp__sample__init(sample);
        sample->stack_index = (int32_t)item[0] + 1;
        values[i] = (int64_t)item[1];
        sample->values = &values[i];
        sample->n_values = 1;
    }
}

enum bat_code write_otlp(const struct bat_sampled_stacks *stacks,
                         const struct bat_sampled_subject *subject, struct bat_output *output,
                         struct bat_error *error)
{
    struct message_tree tree = {.stacks = stacks, .subject = subject};
    char version[64];
    char name[] = "batkit";
    Otlp__ValueType type = OTLP__VALUE_TYPE__INIT;
    Otlp__Profile profile = OTLP__PROFILE__INIT;
    Otlp__InstrumentationScope scope = OTLP__INSTRUMENTATION_SCOPE__INIT;
    Otlp__ScopeProfiles scoped = OTLP__SCOPE_PROFILES__INIT;
    Otlp__ResourceProfiles resource = OTLP__RESOURCE_PROFILES__INIT;
    Otlp__ProfilesDictionary tables = OTLP__PROFILES_DICTIONARY__INIT;
    Otlp__ProfilesData data = OTLP__PROFILES_DATA__INIT;
    message_tree_begin(&tree);
    type.type_strindex = (int32_t)message_string(&tree, subject->unit);
    type.unit_strindex =
        (int32_t)message_string(&tree, "1"); /* UCUM's of things that are counted */
    profile.sample_type = &type;
    make_samples(&tree, &profile);
    make_tables(&tree, &tables);
    snprintf(version, sizeof(version), "%s", bat_version());
    scope.name = name;
    scope.version = version;
    scoped.scope = &scope;
    scoped.profiles = (Otlp__Profile *[]){&profile};
    scoped.n_profiles = 1;
    resource.scope_profiles = (Otlp__ScopeProfiles *[]){&scoped};
    resource.n_scope_profiles = 1;
    data.resource_profiles = (Otlp__ResourceProfiles *[]){&resource};
    data.n_resource_profiles = 1;
    data.dictionary = &tables;
    enum bat_code code = tree.no_memory ? bat_fail_memory(error, "for the profile")
                                        : write_data(&data, output, error);
    message_tree_free(&tree);
    return code;
}
