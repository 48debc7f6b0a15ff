/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Any bytes as a note: decode, look everything up, validate. */
#include <stdlib.h>

#include "bat_decoder.h"
#include "bat_validate.h"
#include "fuzz.h"

/* The limit for look-ups of each kind, which keeps an input fast. */
#define TABLES_MAX 64u
#define OFFSETS_MAX 24u
#define BLOCKS_MAX 4096u

static uint32_t last_output(const struct bat_map *map, const struct bat_table *table)
{
    if (table->entry_count == 0)
        return 0;
    return map->output_offsets[table->first_entry + table->entry_count - 1];
}

static void translate(const struct bat_map *map, uint32_t table, uint64_t offset)
{
    const struct bat_table *function = &map->tables[table];
    uint64_t source = bat_map_translate(map, table, offset, true);
    uint64_t target = bat_map_translate(map, table, offset, false);
    bool is_before =
        function->entry_count == 0 || offset < map->output_offsets[function->first_entry];
    if (is_before) {
        fuzz_expect(source == offset && target == offset, "an offset before all entries stays");
        return;
    }
    uint32_t at = function->first_entry;
    uint32_t end = at + function->entry_count;
    while (at + 1 < end && map->output_offsets[at + 1] <= offset)
        at++;
    uint64_t input = map->input_offsets[at] >> 1;
    fuzz_expect(source == input, "a branch source becomes its last entry's input offset");
    fuzz_expect(target == input + (offset - map->output_offsets[at]),
                "other addresses keep their distance from the last entry");
}

static void walk(const struct bat_map *map, uint32_t table, uint64_t from, uint64_t to)
{
    struct bat_fallthrough_walk steps = bat_map_fallthroughs(map, table, from, to);
    struct bat_fallthrough pair;
    uint32_t count = 0;
    while (bat_fallthrough_next(&steps, &pair)) {
        count++;
        fuzz_expect(count <= map->tables[table].block_count,
                    "a trace has fewer fall-throughs than its table has blocks");
    }
    fuzz_expect(from < to || count == 0, "a trace that goes back has no fall-throughs");
}

static void list_blocks(const struct bat_map *map, uint32_t table)
{
    uint32_t enough = bat_map_blocks(map, table, NULL, 0);
    uint32_t capacity = enough < BLOCKS_MAX ? enough : BLOCKS_MAX;
    struct bat_block *blocks = calloc(capacity + 1u, sizeof(*blocks));
    fuzz_expect(blocks != NULL, "there is memory for some blocks");
    uint32_t count = bat_map_blocks(map, table, blocks, capacity);
    fuzz_expect(count <= enough, "what was said to be enough for the blocks is enough");
    for (uint32_t i = 0; count <= capacity && i < count; i++) {
        fuzz_expect(i == 0 || blocks[i - 1].input_offset < blocks[i].input_offset,
                    "blocks ascend by input offset");
        fuzz_expect(bat_block_at(blocks, count, blocks[i].input_offset) == i,
                    "a block is found at its own offset");
    }
    free(blocks);
}

static void look_up_in(const struct bat_map *map, uint32_t table)
{
    const struct bat_table *function = &map->tables[table];
    uint32_t found = bat_map_is_unemitted(map, table) ? BAT_NONE : table;
    fuzz_expect(bat_map_table_at(map, function->address) == found,
                "a table is found at its own address");
    fuzz_expect(bat_map_table_containing(map, function->address) == found,
                "an address is in the table that starts there");
    uint32_t parent = bat_map_parent(map, table);
    fuzz_expect(parent < map->hot_count, "every table has a hot function");
    fuzz_expect(table >= map->hot_count || parent == table, "a hot function is its own");

    uint64_t last = last_output(map, function);
    uint64_t step = last / OFFSETS_MAX + 1;
    for (uint64_t offset = 0; offset <= last + 1; offset += step) {
        translate(map, table, offset);
        walk(map, table, offset, last);
        walk(map, table, offset / 2, offset);
    }
    translate(map, table, last);
    translate(map, table, UINT64_MAX);
    walk(map, table, 0, UINT64_MAX);
    walk(map, table, last, 0);
    list_blocks(map, table);
    for (uint32_t i = 0; i < function->secondary_count && i < OFFSETS_MAX; i++) {
        uint32_t offset = map->secondary_entries[function->first_secondary + i];
        uint32_t id = bat_map_secondary_id(map, table, offset);
        fuzz_expect(id >= 1 && id <= i + 1, "a secondary entry point has the id of its position");
    }
}

/* The place of an address is what the table that holds it says. */
static void expect_place(const struct bat_map *map, const struct bat_map_query *query,
                         const struct bat_map_place *place)
{
    uint64_t address = query->output_address;
    uint32_t table = bat_map_table_containing(map, address);
    fuzz_expect(place->table == table && place->function == bat_map_parent(map, table),
                "a place is in the table that holds the address");
    uint64_t start = table == BAT_NONE ? 0 : map->tables[table].address;
    fuzz_expect(place->offset ==
                    bat_map_translate(map, table, address - start, query->is_branch_source),
                "a place has the translated offset");
}

/* Addresses of many tables at once, and one by one. */
static void ask_for_places(const struct bat_map *map)
{
    struct bat_map_query queries[4 * TABLES_MAX];
    struct bat_map_place places[4 * TABLES_MAX];
    size_t count = 0;
    for (uint32_t i = 0; i < bat_map_tables(map) && i < TABLES_MAX; i++) {
        const struct bat_table *function = &map->tables[i];
        const uint64_t offsets[4] = {0, last_output(map, function), UINT64_MAX, 1};
        for (uint32_t j = 0; j < 4; j++)
            queries[count++] = (struct bat_map_query){
                .output_address = function->address + offsets[j], .is_branch_source = j % 2};
    }
    bat_map_inputs_of(map, queries, count, places);
    for (size_t i = 0; i < count; i++) {
        struct bat_map_place place;
        bool found =
            bat_map_input_of(map, queries[i].output_address, queries[i].is_branch_source, &place);
        fuzz_expect(found == (place.table != BAT_NONE), "a place that is found has a table");
        expect_place(map, &queries[i], &place);
        expect_place(map, &queries[i], &places[i]);
    }
}

static void look_up(const struct bat_map *map)
{
    uint32_t tables = bat_map_tables(map);
    for (uint32_t i = 0; i < tables && i < TABLES_MAX; i++)
        look_up_in(map, i);
    for (uint32_t i = 1; i < tables; i++)
        fuzz_expect(map->tables[map->by_address[i - 1]].address <
                        map->tables[map->by_address[i]].address,
                    "by_address ascends");
    ask_for_places(map);
    bat_map_table_containing(map, 0);
    bat_map_table_containing(map, UINT64_MAX);
    fuzz_expect(bat_map_translate(map, BAT_NONE, 7, false) == 7, "without a table an offset stays");
}

static void count_round_trips(const struct bat_finding *finding, void *context)
{
    (void)context;
    fuzz_expect(__builtin_strcmp(finding->check, "round-trip") != 0,
                "a note that decodes is encoded to the same bytes");
}

static void validate(struct bat_map *map, const uint8_t *data, size_t size)
{
    struct bat_binary binary = {.map = map, .note = data, .note_size = size};
    const struct bat_validate_options options = {.size = sizeof(options), .round_trip = true};
    struct bat_verdict verdict;
    struct bat_error error;
    enum bat_code code = bat_validate(&binary, &options, count_round_trips, NULL, &verdict, &error);
    fuzz_expect(code == BAT_OK, "all checks can be made of a map without a file");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum bat_hot_index forms[] = {BAT_HOT_INDEX_AUTO, BAT_HOT_INDEX_TABLE,
                                               BAT_HOT_INDEX_MERGED};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct bat_map *map;
        struct bat_error error;
        enum bat_code code = fuzz_decode(data, size, forms[i], &map, &error);
        if (code != BAT_OK) {
            fuzz_expect(map == NULL, "there is no map where there is an error");
            fuzz_expect_error(code, &error, size);
            continue;
        }
        look_up(map);
        validate(map, data, size);
        bat_map_free(map);
    }
    return 0;
}
