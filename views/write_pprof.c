/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* profile.proto (profile/stacks/pprof.proto), packed by gzip without a time. */
#include <batkit/bat_version.h>
#include <pprof.pb-c.h>
#include <stdio.h>
#define ZLIB_CONST
#include <zlib.h>

#include "message_tree.h"

/* --- Packing -------------------------------------------------------------------------------- */

/* Where protobuf-c's bytes go. */
struct packer {
    ProtobufCBuffer base;
    z_stream zlib;
    uint8_t packed[1 << 14];
    struct bat_output *output;
    struct bat_error *error;
    enum bat_code code; /* the first error */
};

static void pack(struct packer *packer, const void *bytes, size_t size, int flush)
{
    packer->zlib.next_in = bytes;
    packer->zlib.avail_in = (uInt)size;
    int status = Z_OK;
    do {
        packer->zlib.next_out = packer->packed;
        packer->zlib.avail_out = sizeof(packer->packed);
        status = deflate(&packer->zlib, flush);
        size_t made = sizeof(packer->packed) - packer->zlib.avail_out;
        if (packer->code == BAT_OK && made != 0)
            packer->code = bat_output_write(packer->output, packer->packed, made, packer->error);
    } while (packer->zlib.avail_out == 0 && status != Z_STREAM_END);
}

static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *bytes)
{
    if (size != 0)
        pack((struct packer *)buffer, bytes, size, Z_NO_FLUSH);
}

static enum bat_code pack_profile(const Pprof__Profile *profile, struct bat_output *output,
                                  struct bat_error *error)
{
    struct packer packer = {.base = {append}, .output = output, .error = error};
    /* 15 bits of window, and 16 for gzip, whose header then has no time and no name. */
    if (deflateInit2(&packer.zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return bat_fail_memory(error, "for the profile");
    protobuf_c_message_pack_to_buffer(&profile->base, &packer.base);
    pack(&packer, "", 0, Z_FINISH);
    deflateEnd(&packer.zlib);
    return packer.code;
}

/* --- Messages ------------------------------------------------------------------------------- */

static void make_type(struct message_tree *tree, Pprof__Profile *profile)
{
    profile->sample_type = message_list(tree, 1, sizeof(**profile->sample_type));
    if (!profile->sample_type)
        return;
    profile->n_sample_type = 1;
    pprof__value_type__init(profile->sample_type[0]);
    profile->sample_type[0]->type = message_string(tree, tree->subject->unit);
    profile->sample_type[0]->unit = message_string(tree, "count");
}

static void make_sample(struct message_tree *tree, const uint64_t *item, Pprof__Sample *sample)
{
    const char *places = bat_strings_get(&tree->stacks->stacks, (uint32_t)item[0]);
    const size_t depth = message_number_count(places);
    pprof__sample__init(sample);
    sample->location_id = message_array(tree, depth, sizeof(*sample->location_id));
    sample->value = message_array(tree, 1, sizeof(*sample->value));
    if (!sample->location_id || !sample->value)
        return;
    uint64_t place;
    while (stack_next_number(&places, &place))
        sample->location_id[sample->n_location_id++] = place + 1;
    sample->value[sample->n_value++] = (int64_t)item[1];
}

static void make_samples(struct message_tree *tree, Pprof__Profile *profile)
{
    const struct bat_counts *counts = &tree->stacks->counts;
    profile->sample = message_list(tree, counts->count, sizeof(**profile->sample));
    for (uint32_t i = 0; profile->sample && i < counts->count; i++)
        make_sample(tree, bat_counts_item(counts, i), profile->sample[profile->n_sample++]);
}

/* The lines of a place behind its address. */
static void make_lines(struct message_tree *tree, const char *numbers, Pprof__Location *location)
{
    const struct bat_counts *lines = &tree->stacks->lines;
    uint64_t number;
    location->line = message_list(tree, message_number_count(numbers), sizeof(**location->line));
    while (location->line && stack_next_number(&numbers, &number)) {
        const uint64_t *from = bat_counts_item(lines, (uint32_t)number);
        Pprof__Line *line = location->line[location->n_line++];
        pprof__line__init(line);
        line->function_id = from[0] + 1;
        line->line = (int64_t)from[1];
        line->column = (int64_t)from[2];
    }
}

static void make_locations(struct message_tree *tree, Pprof__Profile *profile)
{
    const struct bat_strings *places = &tree->stacks->places;
    profile->location = message_list(tree, places->count, sizeof(**profile->location));
    for (uint32_t i = 0; profile->location && i < places->count; i++) {
        const char *numbers = bat_strings_get(places, i);
        Pprof__Location *location = profile->location[profile->n_location++];
        pprof__location__init(location);
        location->id = (uint64_t)i + 1;
        stack_next_number(&numbers, &location->address);
        location->mapping_id = message_mapping_of(tree, location->address);
        make_lines(tree, numbers, location);
    }
}

static void make_mappings(struct message_tree *tree, Pprof__Profile *profile)
{
    bool has_lines = false;
    bool has_inlines = false;
    for (uint32_t i = 0; i < tree->stacks->lines.count; i++)
        has_lines |= bat_counts_item(&tree->stacks->lines, i)[1] != 0;
    for (size_t i = 0; i < profile->n_location; i++)
        has_inlines |= profile->location[i]->n_line > 1;
    profile->mapping = message_list(tree, tree->mapping_count, sizeof(**profile->mapping));
    for (uint32_t i = 0; profile->mapping && i < tree->mapping_count; i++) {
        const struct bat_segment *from = &tree->mappings[i];
        Pprof__Mapping *mapping = profile->mapping[profile->n_mapping++];
        pprof__mapping__init(mapping);
        mapping->id = i + 1;
        mapping->memory_start = from->address;
        mapping->memory_limit = from->address + from->memory_size;
        mapping->file_offset = from->offset;
        mapping->filename = message_string(tree, tree->subject->title);
        mapping->build_id = tree->build_id[0] ? message_string(tree, tree->build_id) : 0;
        mapping->has_functions = true;
        mapping->has_filenames = has_lines;
        mapping->has_line_numbers = has_lines;
        mapping->has_inline_frames = has_inlines;
    }
}

static void make_functions(struct message_tree *tree, Pprof__Profile *profile)
{
    const struct bat_counts *functions = &tree->stacks->functions;
    profile->function = message_list(tree, functions->count, sizeof(**profile->function));
    for (uint32_t i = 0; profile->function && i < functions->count; i++) {
        const uint64_t *from = bat_counts_item(functions, i);
        Pprof__Function *function = profile->function[profile->n_function++];
        pprof__function__init(function);
        function->id = (uint64_t)i + 1;
        function->name = message_name(from[0]);
        function->system_name = message_name(from[1]);
        function->filename = message_name(from[2]);
        function->start_line = (int64_t)from[3];
    }
}

static void make_comment(struct message_tree *tree, Pprof__Profile *profile)
{
    char comment[64];
    snprintf(comment, sizeof(comment), "batkit %s", bat_version());
    profile->comment = message_array(tree, 1, sizeof(*profile->comment));
    if (profile->comment)
        profile->comment[profile->n_comment++] = message_string(tree, comment);
}

enum bat_code write_pprof(const struct bat_sampled_stacks *stacks,
                          const struct bat_sampled_subject *subject, struct bat_output *output,
                          struct bat_error *error)
{
    struct message_tree tree = {.stacks = stacks, .subject = subject};
    Pprof__Profile profile = PPROF__PROFILE__INIT;
    message_tree_begin(&tree);
    make_type(&tree, &profile);
    make_samples(&tree, &profile);
    make_locations(&tree, &profile);
    make_mappings(&tree, &profile);
    make_functions(&tree, &profile);
    make_comment(&tree, &profile);
    profile.string_table = message_strings(&tree);
    profile.n_string_table = message_string_count(&tree);
    enum bat_code code = tree.no_memory ? bat_fail_memory(error, "for the profile")
                                        : pack_profile(&profile, output, error);
    message_tree_free(&tree);
    return code;
}
