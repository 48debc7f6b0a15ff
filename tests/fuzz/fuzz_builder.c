/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any calls of the builder: the map holds the given tables and entries, sorted stably, and encoder
 * and decoder do not change it.
 */
#include <stdlib.h>

#include "bat_decoder.h"
#include "bat_encoder.h"
#include "fuzz.h"

#define TABLES_MAX 64u
#define ENTRIES_MAX 512u
#define SECONDARY_MAX 64u

/* The calls of the builder, in their order. */
struct told_table {
    uint64_t address;
    uint64_t hash;
    uint32_t parent; /* a handle; its own for a function */
    uint32_t handle;
};

struct told_entry {
    uint64_t output;
    uint64_t input;
    uint64_t hash;
    uint32_t index;
    uint32_t table;
    uint32_t order;
    bool is_branch;
};

struct told_secondary {
    uint64_t offset;
    uint32_t table;
};

struct told {
    struct told_table tables[TABLES_MAX];
    struct told_entry entries[ENTRIES_MAX];
    struct told_secondary secondary[SECONDARY_MAX];
    uint32_t table_count;
    uint32_t entry_count;
    uint32_t secondary_count;
    bool any_duplicate; /* two tables at one address */
};

static void forget(struct told *told)
{
    told->table_count = 0;
    told->entry_count = 0;
    told->secondary_count = 0;
    told->any_duplicate = false;
}

static void remember_table(struct told *told, struct told_table table)
{
    for (uint32_t i = 0; i < told->table_count; i++)
        told->any_duplicate |= told->tables[i].address == table.address;
    told->tables[told->table_count++] = table;
}

static void add_table(struct bat_builder *builder, struct told *told, struct fuzz_bytes *bytes)
{
    if (told->table_count == TABLES_MAX)
        return;
    bool is_fragment = fuzz_take(bytes, 1) & 1;
    struct told_table table = {.address = fuzz_take(bytes, 2)};
    if (table.address & 1)
        table.address = fuzz_take(bytes, 8);
    struct bat_error error;
    enum bat_code code;
    if (is_fragment) {
        table.parent = (uint32_t)fuzz_take(bytes, 1);
        code =
            bat_builder_add_fragment(builder, table.address, table.parent, &table.handle, &error);
        bool is_hot =
            table.parent < told->table_count && told->tables[table.parent].parent == table.parent;
        fuzz_expect((code == BAT_OK) == is_hot, "fragments have hot functions as parents");
    } else {
        table.hash = fuzz_take(bytes, 4);
        code = bat_builder_add_function(builder, table.address, table.hash,
                                        (uint32_t)fuzz_take(bytes, 1), &table.handle, &error);
        fuzz_expect(code == BAT_OK, "a function can be added");
        table.parent = table.handle;
    }
    if (code != BAT_OK) {
        fuzz_expect_error(code, &error, 0);
        return;
    }
    fuzz_expect(table.handle == told->table_count, "handles count from 0");
    remember_table(told, table);
}

static void add_entry(struct bat_builder *builder, struct told *told, struct fuzz_bytes *bytes)
{
    if (told->entry_count == ENTRIES_MAX || told->table_count == 0)
        return;
    uint64_t form = fuzz_take(bytes, 1);
    struct told_entry entry = {
        .table = (uint32_t)(form >> 2) % told->table_count,
        .order = told->entry_count,
        .is_branch = form & 1,
        .output = fuzz_take(bytes, form & 2 ? 5 : 1),
        .input = fuzz_take(bytes, form & 2 ? 4 : 1),
    };
    struct bat_error error;
    enum bat_code code;
    if (entry.is_branch) {
        code = bat_builder_add_branch(builder, entry.table, entry.output, entry.input, &error);
    } else {
        entry.hash = fuzz_take(bytes, 2);
        entry.index = (uint32_t)fuzz_take(bytes, form & 2 ? 4 : 1);
        code = bat_builder_add_block(builder, entry.table, entry.output, entry.input, entry.hash,
                                     entry.index, &error);
    }
    bool fits = entry.output <= UINT32_MAX && entry.input <= UINT32_MAX >> 1;
    fuzz_expect((code == BAT_OK) == fits, "an entry is taken if its offsets fit, and only then");
    if (code == BAT_OK)
        told->entries[told->entry_count++] = entry;
    else
        fuzz_expect_error(code, &error, 0);
}

static void add_secondary(struct bat_builder *builder, struct told *told, struct fuzz_bytes *bytes)
{
    if (told->secondary_count == SECONDARY_MAX || told->table_count == 0)
        return;
    struct told_secondary secondary = {
        .table = (uint32_t)fuzz_take(bytes, 1) % told->table_count,
        .offset = fuzz_take(bytes, 4),
    };
    struct bat_error error;
    enum bat_code code =
        bat_builder_add_secondary(builder, secondary.table, secondary.offset, &error);
    if (code == BAT_OK)
        told->secondary[told->secondary_count++] = secondary;
    else
        fuzz_expect_error(code, &error, 0);
    bool is_hot = told->tables[secondary.table].parent == secondary.table;
    fuzz_expect(is_hot || code != BAT_OK, "fragments have no secondary entry points");
}

static int compare_entries(const void *left, const void *right)
{
    const struct told_entry *a = left;
    const struct told_entry *b = right;
    if (a->output != b->output)
        return a->output < b->output ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* The entries of table `handle` are entries [0, n) of the map's table, in order. */
static void expect_entries(const struct bat_map *map, const struct bat_table *function,
                           const struct told *told, uint32_t handle)
{
    uint32_t entry = 0;
    uint32_t block = 0;
    for (uint32_t i = 0; i < told->entry_count; i++) {
        const struct told_entry *now = &told->entries[i];
        if (now->table != handle)
            continue;
        fuzz_expect(entry < function->entry_count, "no entry is lost");
        uint32_t at = function->first_entry + entry++;
        fuzz_expect(map->output_offsets[at] == now->output, "entries are sorted, and stable");
        fuzz_expect(map->input_offsets[at] == (now->input << 1 | now->is_branch),
                    "entries keep their input side");
        if (now->is_branch)
            continue;
        fuzz_expect(block < function->block_count, "no block is lost");
        fuzz_expect(map->block_hashes[function->first_block + block] == now->hash &&
                        map->block_indices[function->first_block + block] == now->index,
                    "blocks keep their hash and index");
        block++;
    }
    fuzz_expect(entry == function->entry_count && block == function->block_count,
                "nothing is added");
}

static void expect_secondary(const struct bat_map *map, const struct bat_table *function,
                             const struct told *told, uint32_t handle)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < told->secondary_count; i++) {
        if (told->secondary[i].table != handle)
            continue;
        fuzz_expect(found < function->secondary_count &&
                        map->secondary_entries[function->first_secondary + found] ==
                            told->secondary[i].offset,
                    "secondary entry points keep their order");
        found++;
    }
    fuzz_expect(found == function->secondary_count, "no secondary entry point is added");
}

/* The table at an address, whatever its content is. */
static uint32_t table_of(const struct bat_map *map, uint64_t address)
{
    uint32_t at = 0;
    while (at < bat_map_tables(map) && map->tables[at].address != address)
        at++;
    fuzz_expect(at < bat_map_tables(map), "every table is in the map");
    return at;
}

static void expect_told(const struct bat_map *map, struct told *told)
{
    fuzz_expect(bat_map_tables(map) == told->table_count, "the map has the tables that were added");
    if (told->entry_count != 0)
        qsort(told->entries, told->entry_count, sizeof(told->entries[0]), compare_entries);
    for (uint32_t i = 0; i < told->table_count; i++) {
        const struct told_table *table = &told->tables[i];
        uint32_t at = table_of(map, table->address);
        fuzz_expect(bat_map_table_at(map, table->address) ==
                        (bat_map_is_unemitted(map, at) ? BAT_NONE : at),
                    "every table is found at its address, but for those that BOLT did not emit");
        const struct bat_table *function = &map->tables[at];
        fuzz_expect(function->hash == table->hash, "a function keeps its hash");
        fuzz_expect(map->tables[function->parent].address == told->tables[table->parent].address,
                    "a fragment keeps its parent");
        expect_entries(map, function, told, i);
        expect_secondary(map, function, told, i);
    }
}

static void expect_round_trip(const struct bat_map *map)
{
    uint8_t *section;
    size_t size;
    struct bat_error error;
    enum bat_code code = bat_encode(map, &section, &size, &error);
    fuzz_expect(code == BAT_OK, "what the builder makes can be encoded");
    struct bat_map *again;
    code = fuzz_decode(section, size, map->hot_index, &again, &error);
    fuzz_expect(code == BAT_OK, "what was encoded can be decoded");
    fuzz_expect_equal_maps(map, again);
    bat_map_free(again);
    free(section);
}

static void finish(struct bat_builder *builder, struct told *told, enum bat_hot_index form)
{
    struct bat_map *map;
    struct bat_error error;
    const struct bat_builder_options options = {.size = sizeof(options), .hot_index = form};
    enum bat_code code = bat_builder_finish(builder, &options, &map, &error);
    fuzz_expect((code == BAT_OK) != told->any_duplicate,
                "only two tables at one address keep a map from being made");
    if (code != BAT_OK) {
        fuzz_expect(map == NULL, "there is no map where there is an error");
        fuzz_expect_error(code, &error, 0);
        return;
    }
    expect_told(map, told);
    expect_round_trip(map);
    bat_map_free(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct told told;
    struct fuzz_bytes bytes = {.at = data, .left = size};
    struct bat_builder *builder = bat_builder_new();
    fuzz_expect(builder != NULL, "there is memory for a builder");
    forget(&told);
    while (bytes.left != 0) {
        uint64_t what = fuzz_take(&bytes, 1);
        if (what < 0x20)
            add_table(builder, &told, &bytes);
        else if (what < 0xe0)
            add_entry(builder, &told, &bytes);
        else if (what < 0xf8)
            add_secondary(builder, &told, &bytes);
        else {
            /* The builder is empty after this call, and can be used again. */
            finish(builder, &told, what & 1 ? BAT_HOT_INDEX_MERGED : BAT_HOT_INDEX_TABLE);
            forget(&told);
        }
    }
    finish(builder, &told, BAT_HOT_INDEX_TABLE);
    bat_builder_free(builder);
    return 0;
}
