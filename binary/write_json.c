/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A note as JSON: spec/json.md. */
#include <stdlib.h>

#include "bat_binary.h"
#include "support/text_writer.h"

/* No entry is longer, nor are the numbers of a table. */
#define ENTRY_SIZE_MAX 256u

static void json_entries(struct bat_text_writer *output, const struct bat_map *map,
                         const struct bat_table *table)
{
    const uint32_t *outputs = map->output_offsets + table->first_entry;
    const uint32_t *inputs = map->input_offsets + table->first_entry;
    bool has_hashes = bat_map_has_hashes(map);
    const uint64_t *hash = has_hashes ? map->block_hashes + table->first_block : NULL;
    const uint32_t *index = has_hashes ? map->block_indices + table->first_block : NULL;
    bat_text_string(output, ",\"entries\":[");
    for (uint32_t i = 0; i < table->entry_count; i++) {
        char *at = bat_text_room(output, ENTRY_SIZE_MAX);
        at = bat_put_text(at, i == 0 ? "{\"output\":" : ",{\"output\":");
        at = bat_put_decimal(at, outputs[i]);
        at = bat_put_text(at, ",\"input\":");
        at = bat_put_decimal(at, inputs[i] >> 1);
        if (inputs[i] & BAT_BRANCH_ENTRY) {
            at = bat_put_text(at, ",\"branch\":true");
        } else if (has_hashes) {
            at = bat_put_text(at, ",\"hash\":\"0x");
            at = bat_put_hex(at, *hash++);
            at = bat_put_text(at, "\",\"index\":");
            at = bat_put_decimal(at, *index++);
        }
        at = bat_put_text(at, "}");
        bat_text_end(output, at);
    }
    bat_text_string(output, "]");
}

static void json_secondary_entries(struct bat_text_writer *output, const struct bat_map *map,
                                   const struct bat_table *table)
{
    if (table->secondary_count == 0)
        return;
    bat_text_string(output, ",\"secondary_entry_points\":");
    const uint32_t *offsets = map->secondary_entries + table->first_secondary;
    for (uint32_t i = 0; i < table->secondary_count; i++) {
        char *at = bat_text_room(output, ENTRY_SIZE_MAX);
        at = bat_put_text(at, i == 0 ? "[" : ",");
        at = bat_put_decimal(at, offsets[i]);
        bat_text_end(output, at);
    }
    bat_text_string(output, "]");
}

/* The members that only a hot function has. */
static void json_hot(struct bat_text_writer *output, const struct bat_map *map,
                     const struct bat_table *table)
{
    if (!bat_map_has_hashes(map))
        return;
    char *at = bat_text_room(output, ENTRY_SIZE_MAX);
    at = bat_put_text(at, ",\"hash\":\"0x");
    at = bat_put_hex(at, table->hash);
    at = bat_put_text(at, "\",\"num_blocks\":");
    at = bat_put_decimal(at, table->input_block_count);
    bat_text_end(output, at);
    json_secondary_entries(output, map, table);
}

/* The members that only a cold fragment has. */
static void json_cold(struct bat_text_writer *output, const struct bat_map *map,
                      const struct bat_table *table)
{
    char *at = bat_text_room(output, ENTRY_SIZE_MAX);
    at = bat_put_text(at, ",\"parent\":\"0x");
    at = bat_put_hex(at, map->tables[table->parent].address);
    at = bat_put_text(at, "\"");
    if (bat_map_has_hashes(map)) {
        at = bat_put_text(at, ",\"skew\":");
        at = bat_put_decimal(at, table->skew);
        at = bat_put_text(at, ",\"equal_prefix\":");
        at = bat_put_decimal(at, table->equal_count);
    }
    bat_text_end(output, at);
}

static void json_table(struct bat_text_writer *output, const struct bat_map *map, uint32_t index,
                       const char *name)
{
    const struct bat_table *table = &map->tables[index];
    bool hot = index < map->hot_count;
    char *at = bat_text_room(output, ENTRY_SIZE_MAX);
    at = bat_put_text(at, hot ? "{\"kind\":\"hot\",\"address\":\"0x"
                              : "{\"kind\":\"cold\",\"address\":\"0x");
    at = bat_put_hex(at, table->address);
    at = bat_put_text(at, "\"");
    bat_text_end(output, at);
    if (name)
        bat_text_member(output, ",\"name\":", name);
    if (hot)
        json_hot(output, map, table);
    else
        json_cold(output, map, table);
    json_entries(output, map, table);
    bat_text_string(output, "}");
}

/* The members of the note as a whole. */
static void json_head(struct bat_text_writer *output, const struct bat_binary *binary)
{
    const struct bat_map *map = binary->map;
    static const char *const forms[] = {[BAT_HOT_INDEX_TABLE] = "table",
                                        [BAT_HOT_INDEX_MERGED] = "merged",
                                        [BAT_HOT_INDEX_FRAGMENT] = "fragment"};
    bat_text_format(output,
                    "{\"format\":\"batkit-note\",\"schema\":1,\"version\":%d,\"hot_index\":\"%s\"",
                    (int)map->version, forms[map->hot_index]);
    if (!binary->elf)
        return;
    size_t size = 0;
    const uint8_t *build_id = bat_elf_build_id(binary->elf, &size);
    if (build_id) {
        bat_text_string(output, ",\"build_id\":\"");
        bat_text_hex_bytes(output, build_id, size);
        bat_text_string(output, "\"");
    }
    const char *info = bat_elf_bolt_info(binary->elf);
    if (info)
        bat_text_member(output, ",\"bolt_info\":", info);
}

static void json_note(struct bat_text_writer *output, const struct bat_binary *binary,
                      const bool *is_wanted, const char *const *names)
{
    const struct bat_map *map = binary->map;
    json_head(output, binary);
    bat_text_string(output, ",\"functions\":[");
    const char *separator = "\n";
    for (uint32_t i = 0; i < bat_map_tables(map) && output->code == BAT_OK; i++) {
        if (is_wanted && !is_wanted[i])
            continue;
        bat_text_string(output, separator);
        separator = ",\n";
        json_table(output, map, i, names[i]);
    }
    bat_text_string(output, "\n]}\n");
}

enum bat_code bat_binary_write_json(struct bat_binary *binary, const bool *is_wanted,
                                    struct bat_output *output, struct bat_error *error)
{
    struct bat_text_writer writer;
    const char **names;
    enum bat_code code = bat_binary_table_names(binary, &names, error);
    code = code ? code : bat_text_begin(&writer, output, error);
    if (code == BAT_OK) {
        json_note(&writer, binary, is_wanted, names);
        code = bat_text_finish(&writer, BAT_OK);
    }
    free(names);
    return code;
}
