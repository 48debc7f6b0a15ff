/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "dump_json.h"

#include "tools/common/output.h"

/* No entry is longer, nor are the numbers of a table. */
#define ENTRY_SIZE_MAX 256u

static void json_entries(struct output *output, const struct bat_map *map,
                         const struct bat_table *table)
{
    const uint32_t *outputs = map->output_offsets + table->first_entry;
    const uint32_t *inputs = map->input_offsets + table->first_entry;
    bool has_hashes = bat_map_has_hashes(map);
    const uint64_t *hash = has_hashes ? map->block_hashes + table->first_block : NULL;
    const uint32_t *index = has_hashes ? map->block_indices + table->first_block : NULL;
    output_text(output, ",\"entries\":[");
    for (uint32_t i = 0; i < table->entry_count; i++) {
        char *at = output_reserve(output, ENTRY_SIZE_MAX);
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
        output_commit(output, at);
    }
    output_text(output, "]");
}

static void json_secondary_entries(struct output *output, const struct bat_map *map,
                                   const struct bat_table *table)
{
    if (table->secondary_count == 0)
        return;
    output_text(output, ",\"secondary_entry_points\":");
    const uint32_t *offsets = map->secondary_entries + table->first_secondary;
    for (uint32_t i = 0; i < table->secondary_count; i++) {
        char *at = output_reserve(output, ENTRY_SIZE_MAX);
        at = bat_put_text(at, i == 0 ? "[" : ",");
        at = bat_put_decimal(at, offsets[i]);
        output_commit(output, at);
    }
    output_text(output, "]");
}

/* The members that only a hot function has. */
static void json_hot(struct output *output, const struct bat_map *map,
                     const struct bat_table *table)
{
    if (!bat_map_has_hashes(map))
        return;
    char *at = output_reserve(output, ENTRY_SIZE_MAX);
    at = bat_put_text(at, ",\"hash\":\"0x");
    at = bat_put_hex(at, table->hash);
    at = bat_put_text(at, "\",\"num_blocks\":");
    at = bat_put_decimal(at, table->input_block_count);
    output_commit(output, at);
    json_secondary_entries(output, map, table);
}

/* The members that only a cold fragment has. */
static void json_cold(struct output *output, const struct bat_map *map,
                      const struct bat_table *table)
{
    char *at = output_reserve(output, ENTRY_SIZE_MAX);
    at = bat_put_text(at, ",\"parent\":\"0x");
    at = bat_put_hex(at, map->tables[table->parent].address);
    at = bat_put_text(at, "\"");
    if (bat_map_has_hashes(map)) {
        at = bat_put_text(at, ",\"skew\":");
        at = bat_put_decimal(at, table->skew);
        at = bat_put_text(at, ",\"equal_prefix\":");
        at = bat_put_decimal(at, table->equal_count);
    }
    output_commit(output, at);
}

static void json_table(struct output *output, const struct bat_map *map, uint32_t index,
                       const char *name)
{
    const struct bat_table *table = &map->tables[index];
    bool hot = index < map->hot_count;
    char *at = output_reserve(output, ENTRY_SIZE_MAX);
    at = bat_put_text(at, hot ? "{\"kind\":\"hot\",\"address\":\"0x"
                              : "{\"kind\":\"cold\",\"address\":\"0x");
    at = bat_put_hex(at, table->address);
    at = bat_put_text(at, "\"");
    output_commit(output, at);
    if (name)
        output_json_member(output, ",\"name\":", name);
    if (hot)
        json_hot(output, map, table);
    else
        json_cold(output, map, table);
    json_entries(output, map, table);
    output_text(output, "}");
}

/* The members of the note as a whole. */
static void json_head(struct output *output, const struct bat_binary *binary)
{
    const struct bat_map *map = binary->map;
    static const char *const forms[] = {[BAT_HOT_INDEX_TABLE] = "table",
                                        [BAT_HOT_INDEX_MERGED] = "merged",
                                        [BAT_HOT_INDEX_FRAGMENT] = "fragment"};
    output_format(output,
                  "{\"format\":\"batkit-note\",\"schema\":1,\"version\":%d,\"hot_index\":\"%s\"",
                  (int)map->version, forms[map->hot_index]);
    if (!binary->elf)
        return;
    size_t size = 0;
    const uint8_t *build_id = bat_elf_build_id(binary->elf, &size);
    if (build_id) {
        output_text(output, ",\"build_id\":\"");
        bat_text_hex_bytes(&output->text, build_id, size);
        output_text(output, "\"");
    }
    const char *info = bat_elf_bolt_info(binary->elf);
    if (info)
        output_json_member(output, ",\"bolt_info\":", info);
}

void dump_json(struct output *output, const struct bat_binary *binary,
               const struct selection *selection, const char *const *names)
{
    const struct bat_map *map = binary->map;
    json_head(output, binary);
    output_text(output, ",\"functions\":[");
    const char *separator = "\n";
    for (uint32_t i = 0; i < bat_map_tables(map) && output->error == 0; i++) {
        if (!selection_has(selection, i))
            continue;
        output_text(output, separator);
        separator = ",\n";
        json_table(output, map, i, names ? names[i] : NULL);
    }
    output_text(output, "\n]}\n");
}
