/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writes records as BOLT's YAML profile: spec/profiles.md 4. */
#include <stdlib.h>

#include "bat_decoder.h"
#include "profile/profile.h"
#include "records.h"
#include "spec/large_memory.h"
#include "support/key_sort.h"
#include "support/text_writer.h"
#include "yaml_order.h"
#include "yaml_string.h"

/* One block of the function that is being written. */
struct yaml_block {
    uint64_t hash;
    uint64_t exec;
    uint32_t index;
    uint32_t first; /* the records from it: indices in records->branches */
    uint32_t count;
};

/* The records of one function, as a source and as a target. */
struct function_records {
    struct bat_yaml_key key; /* with a table */
    bool has_table;
    uint32_t function;
    uint32_t first; /* indices in records->branches: first to end - 1 */
    uint32_t end;
    uint32_t first_entry; /* indices in writer->entries */
    uint32_t end_entry;
};

struct yaml_writer {
    struct bat_text_writer text;
    const struct bat_records *records;
    const struct bat_map *map;
    uint32_t *entries; /* records into another function, or to their own start; by target */
    uint32_t entry_count;
    struct function_records *functions; /* that records name */
    uint32_t function_count;
    uint32_t *numbers; /* for each function its number in the file */
    uint32_t *calls;   /* of the block that is written */
    struct bat_block *blocks;
    struct yaml_block *yaml_blocks;
    uint32_t block_capacity;
    struct bat_error *error;
};

static const uint64_t *record(const struct yaml_writer *writer, uint32_t i)
{
    return bat_counts_item(&writer->records->branches, i);
}

static bool is_function(const struct yaml_writer *writer, uint64_t word)
{
    return word >> 32 == BAT_KIND_SYMBOL && (uint32_t)word < writer->records->function_count;
}

/* The place of a record in YAML: enum bat_yaml_place. */
static uint8_t place_of(const struct yaml_writer *writer, uint32_t i)
{
    return writer->records->yaml_places[i];
}

/* The part of a record's count that is perf2bolt's fall-throughs to the function's own start. */
static uint64_t fallthrough_count(const struct yaml_writer *writer, const uint64_t *item)
{
    if (item[0] != item[2] || item[3] != 0 || !is_function(writer, item[0]))
        return 0;
    const uint64_t key[2] = {(uint32_t)item[0], item[1]};
    const uint64_t *found = bat_counts_find(&writer->records->starts_reached, key);
    return found ? found[2] : 0;
}

/*
 * How often a record enters another function, or its own at the start. llvm-bolt counts jumps as
 * entries, too. perf2bolt writes a fall-through to the start as a call, but counts no entry.
 */
static uint64_t entry_count(const struct yaml_writer *writer, const uint64_t *item)
{
    return writer->records->is_parity ? item[4] - fallthrough_count(writer, item) : item[4];
}

static enum bat_code fail_memory(struct bat_error *error)
{
    return bat_fail(error, BAT_ERR_MEMORY, "not enough memory to write YAML");
}

/* --- Entries by target -------------------------------------------------------------------- */

static enum bat_code sort_entries(struct yaml_writer *writer)
{
    uint32_t all = writer->records->branches.count;
    struct bat_sort_key *keys = bat_large_array(2 * ((size_t)all + 1), sizeof(*keys));
    writer->entries = bat_large_array((size_t)all + 1, sizeof(*writer->entries));
    if (!writer->entries || !keys) {
        free(keys);
        return fail_memory(writer->error);
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < all; i++) {
        const uint64_t *item = record(writer, i);
        bool is_inside = item[0] == item[2] && item[3] != 0;
        if (item[0] >> 32 <= BAT_KIND_SYMBOL && is_function(writer, item[2]) && !is_inside)
            keys[count++] = (struct bat_sort_key){.key = item[3], .value = i};
    }
    struct bat_sort_key *spare = keys + count;
    struct bat_sort_key *sorted = bat_sort_keys(keys, spare, count);
    for (uint32_t i = 0; i < count; i++)
        sorted[i].key = record(writer, (uint32_t)sorted[i].value)[2];
    sorted = bat_sort_keys(sorted, sorted == keys ? spare : keys, count);
    for (uint32_t i = 0; i < count; i++)
        writer->entries[i] = (uint32_t)sorted[i].value;
    writer->entry_count = count;
    free(keys);
    return BAT_OK;
}

/* --- One function ------------------------------------------------------------------------- */

static uint64_t executions(const struct yaml_writer *writer, const struct function_records *ranges)
{
    uint64_t count = 0;
    for (uint32_t i = ranges->first_entry; i < ranges->end_entry; i++) {
        const uint64_t *item = record(writer, writer->entries[i]);
        if (item[3] == 0)
            count += entry_count(writer, item);
    }
    return count;
}

/* The executions that began outside of all functions. */
static uint64_t extern_executions(const struct yaml_writer *writer,
                                  const struct function_records *ranges)
{
    uint64_t count = 0;
    for (uint32_t i = ranges->first_entry; i < ranges->end_entry; i++) {
        const uint64_t *item = record(writer, writer->entries[i]);
        if (item[3] == 0 && item[0] >> 32 == BAT_KIND_UNKNOWN)
            count += item[4];
    }
    return count;
}

/* The most bytes of a key with a number or a hash behind it. */
#define FIELD_MAX 64u

/* Inline, like the next one: keys are constants, which are copied faster if their size is known. */
static inline void write_number(struct bat_text_writer *text, const char *before, uint64_t value)
{
    char *at = stpcpy(bat_text_room(text, FIELD_MAX), before);
    bat_text_end(text, bat_put_decimal(at, value));
}

static inline void write_hash(struct bat_text_writer *text, const char *before, uint64_t value)
{
    char *at = stpcpy(stpcpy(bat_text_room(text, FIELD_MAX), before), "0x");
    bat_text_end(text, bat_put_upper_hex(at, value));
}

/* The number of a function in the file; 0 for an unknown one. */
static uint32_t function_id(const struct yaml_writer *writer, uint64_t word)
{
    return is_function(writer, word) ? writer->numbers[(uint32_t)word] : 0;
}

static void write_function_head(struct yaml_writer *writer, const struct function_records *ranges,
                                uint64_t hash, uint32_t block_count)
{
    struct bat_text_writer *text = &writer->text;
    bat_text_string(text, "  - name:            ");
    bat_yaml_string(text, writer->records->symbols[ranges->function].name);
    write_number(text, "\n    fid:             ", writer->numbers[ranges->function]);
    write_hash(text, "\n    hash:            ", hash);
    write_number(text, "\n    exec:            ", executions(writer, ranges));
    uint64_t from_outside = writer->records->has_extern ? extern_executions(writer, ranges) : 0;
    if (from_outside != 0)
        write_number(text, "\n    extern:          ", from_outside);
    write_number(text, "\n    nblocks:         ", block_count);
    bat_text_string(text, "\n");
}

/* The id of the secondary entry point that a call goes to, or 0. */
static uint32_t call_discriminator(const struct yaml_writer *writer, const uint64_t *item)
{
    if (!is_function(writer, item[2]))
        return 0;
    uint32_t table = writer->records->tables[(uint32_t)item[2]];
    if (table != BAT_NONE)
        return bat_map_secondary_id(writer->map, table, item[3]);
    const uint64_t key[2] = {(uint32_t)item[2], item[3]};
    const uint64_t *found = bat_counts_find(&writer->records->entry_ids, key);
    return found ? (uint32_t)found[2] : 0;
}

static void write_successors(struct yaml_writer *writer, const struct yaml_block *block,
                             uint32_t block_count)
{
    struct bat_text_writer *text = &writer->text;
    const char *separator = "        succ:            [ ";
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const uint64_t *item = record(writer, i);
        if (place_of(writer, i) != BAT_YAML_SUCCESSOR)
            continue;
        uint32_t to = bat_block_at(writer->blocks, block_count, item[3]);
        bat_text_string(text, separator);
        write_number(text, "{ bid: ", to == BAT_NONE ? 0 : writer->blocks[to].index);
        write_number(text, ", cnt: ", item[4]);
        if (item[5] != 0)
            write_number(text, ", mis: ", item[5]);
        bat_text_string(text, " }");
        separator = ", ";
    }
    if (separator[0] == ',')
        bat_text_string(text, " ]\n");
}

static void write_call(struct yaml_writer *writer, const uint64_t *item, uint64_t block_offset)
{
    struct bat_text_writer *text = &writer->text;
    write_hash(text, "{ off: ", item[1] - block_offset);
    write_number(text, ", fid: ", function_id(writer, item[2]));
    uint32_t discriminator = call_discriminator(writer, item);
    if (discriminator != 0)
        write_number(text, ", disc: ", discriminator);
    write_number(text, ", cnt: ", item[4]);
    if (item[5] != 0)
        write_number(text, ", mis: ", item[5]);
    bat_text_string(text, " }");
}

static void write_calls(struct yaml_writer *writer, const struct yaml_block *block,
                        uint64_t block_offset)
{
    uint32_t count = 0;
    for (uint32_t i = block->first; i < block->first + block->count; i++)
        if (place_of(writer, i) == BAT_YAML_CALL)
            writer->calls[count++] = i;
    if (count == 0)
        return;
    bat_yaml_sort_calls(writer->records, writer->calls, count);
    for (uint32_t i = 0; i < count; i++) {
        bat_text_string(&writer->text, i ? ", " : "        calls:           [ ");
        write_call(writer, record(writer, writer->calls[i]), block_offset);
    }
    bat_text_string(&writer->text, " ]\n");
}

/* True if the block was entered, or a record from it has a count. */
static bool has_counts(const struct yaml_writer *writer, const struct yaml_block *block)
{
    for (uint32_t i = block->first; i < block->first + block->count; i++)
        if (place_of(writer, i) != BAT_YAML_NOWHERE && record(writer, i)[4] != 0)
            return true;
    return block->exec != 0;
}

static void write_block(struct yaml_writer *writer, uint32_t block, uint32_t block_count)
{
    struct bat_text_writer *text = &writer->text;
    const struct yaml_block *yaml = &writer->yaml_blocks[block];
    write_number(text, "      - bid:             ", yaml->index);
    bat_text_string(text, "\n        insns:           0");
    if (yaml->hash != 0)
        write_hash(text, "\n        hash:            ", yaml->hash);
    if (yaml->exec != 0)
        write_number(text, "\n        exec:            ", yaml->exec);
    bat_text_string(text, "\n");
    write_calls(writer, yaml, writer->blocks[block].input_offset);
    write_successors(writer, yaml, block_count);
}

/* Read the function's blocks into writer->blocks; *count may be 0. */
static enum bat_code load_blocks(struct yaml_writer *writer, uint32_t table, uint32_t *count)
{
    *count = bat_map_blocks(writer->map, table, writer->blocks, writer->block_capacity);
    if (*count <= writer->block_capacity)
        return BAT_OK;
    uint32_t capacity = *count;
    free(writer->blocks);
    free(writer->yaml_blocks);
    writer->blocks = malloc((size_t)capacity * sizeof(*writer->blocks));
    writer->yaml_blocks = malloc((size_t)capacity * sizeof(*writer->yaml_blocks));
    writer->block_capacity = capacity;
    if (!writer->blocks || !writer->yaml_blocks)
        return fail_memory(writer->error);
    *count = bat_map_blocks(writer->map, table, writer->blocks, capacity);
    return BAT_OK;
}

/* Give each block its records and its executions. Records ascend by offset, as blocks do. */
static void fill_blocks(struct yaml_writer *writer, const struct function_records *ranges,
                        uint32_t block_count)
{
    for (uint32_t i = 0; i < block_count; i++)
        writer->yaml_blocks[i] = (struct yaml_block){.hash = writer->blocks[i].hash,
                                                     .index = writer->blocks[i].index,
                                                     .first = ranges->first};
    uint32_t block_after = 0; /* the first block above the record's offset */
    for (uint32_t i = ranges->first; i < ranges->end; i++) {
        while (block_after < block_count &&
               writer->blocks[block_after].input_offset <= record(writer, i)[1])
            block_after++;
        if (block_after == 0)
            continue;
        uint32_t block = block_after - 1;
        if (writer->yaml_blocks[block].count++ == 0)
            writer->yaml_blocks[block].first = i;
    }
    for (uint32_t i = ranges->first_entry; i < ranges->end_entry; i++) {
        const uint64_t *item = record(writer, writer->entries[i]);
        uint32_t block = bat_block_at(writer->blocks, block_count, item[3]);
        if (block != BAT_NONE && writer->blocks[block].input_offset == item[3])
            writer->yaml_blocks[block].exec += entry_count(writer, item);
    }
}

static enum bat_code write_function(struct yaml_writer *writer,
                                    const struct function_records *ranges)
{
    uint32_t table = writer->records->tables[ranges->function];
    if (table == BAT_NONE) {
        const uint32_t *block_counts = writer->records->block_counts;
        write_function_head(writer, ranges, 0, block_counts ? block_counts[ranges->function] : 0);
        return BAT_OK;
    }
    const struct bat_table *function = &writer->map->tables[table];
    uint32_t count;
    enum bat_code code = load_blocks(writer, table, &count);
    if (code != BAT_OK)
        return code;
    write_function_head(writer, ranges, function->hash, function->input_block_count);
    fill_blocks(writer, ranges, count);
    bool is_first = true;
    for (uint32_t i = 0; i < count; i++) {
        if (!has_counts(writer, &writer->yaml_blocks[i]))
            continue;
        if (is_first)
            bat_text_string(&writer->text, "    blocks:\n");
        is_first = false;
        write_block(writer, i, count);
    }
    return BAT_OK;
}

/* --- The file ----------------------------------------------------------------------------- */

static int compare_functions(const void *left_pointer, const void *right_pointer)
{
    const struct function_records *left = left_pointer;
    const struct function_records *right = right_pointer;
    if (left->has_table != right->has_table)
        return left->has_table - right->has_table;
    int difference = left->has_table ? bat_yaml_compare_keys(&left->key, &right->key) : 0;
    return difference ? difference
                      : (left->function > right->function) - (left->function < right->function);
}

/* List the functions that records name: those without a table by address, then by name. */
static enum bat_code list_functions(struct yaml_writer *writer)
{
    const struct bat_records *records = writer->records;
    writer->functions = malloc(((size_t)records->function_count + 1) * sizeof(*writer->functions));
    writer->numbers = bat_yaml_numbers(records);
    writer->calls = bat_large_array((size_t)records->branches.count + 1, sizeof(*writer->calls));
    if (!writer->functions || !writer->numbers || !writer->calls)
        return fail_memory(writer->error);
    uint32_t next = 0;
    uint32_t next_entry = 0;
    for (uint32_t i = 0; i < records->function_count; i++) {
        uint64_t word = bat_fdata_word(BAT_KIND_SYMBOL, i);
        struct function_records ranges = {.function = i};
        while (next < records->branches.count && record(writer, next)[0] < word)
            next++;
        ranges.first = next;
        while (next < records->branches.count && record(writer, next)[0] == word)
            next++;
        ranges.end = next;
        ranges.first_entry = next_entry;
        while (next_entry < writer->entry_count &&
               record(writer, writer->entries[next_entry])[2] == word)
            next_entry++;
        ranges.end_entry = next_entry;
        if (ranges.first == ranges.end && ranges.first_entry == ranges.end_entry)
            continue;
        ranges.has_table = records->tables[i] != BAT_NONE;
        if (ranges.has_table)
            ranges.key = bat_yaml_key(records->symbols[i].name);
        writer->functions[writer->function_count++] = ranges;
    }
    if (writer->function_count > 1)
        qsort(writer->functions, writer->function_count, sizeof(*writer->functions),
              compare_functions);
    return BAT_OK;
}

/* The longest build-id that is written; real ones have 20 bytes. */
#define BUILD_ID_MAX 256u

static void write_build_id(struct bat_text_writer *text, struct bat_elf *elf)
{
    size_t size;
    const uint8_t *id = bat_elf_build_id(elf, &size);
    if (!id || size > BUILD_ID_MAX) {
        bat_text_string(text, "'<unknown>'");
        return;
    }
    char hex[2 * BUILD_ID_MAX + 1];
    for (size_t i = 0; i < size; i++) {
        hex[2 * i] = "0123456789abcdef"[id[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
    }
    hex[2 * size] = '\0';
    bat_yaml_string(text, hex);
}

/* Write all events as one string, separated by commas. */
static enum bat_code write_events(struct yaml_writer *writer)
{
    const struct bat_strings *events = &writer->records->events;
    size_t size = 1;
    for (uint32_t i = 0; i < events->count; i++)
        size += strlen(bat_strings_get(events, i)) + 1;
    char *joined = malloc(size);
    if (!joined)
        return fail_memory(writer->error);
    char *at = joined;
    for (uint32_t i = 0; i < events->count; i++) {
        at = bat_put_text(at, i ? "," : "");
        at = bat_put_text(at, bat_strings_get(events, i));
    }
    *at = '\0';
    bat_yaml_string(&writer->text, joined);
    free(joined);
    return BAT_OK;
}

static enum bat_code write_header(struct yaml_writer *writer)
{
    struct bat_text_writer *text = &writer->text;
    const struct bat_records *records = writer->records;
    bat_text_string(text, "---\nheader:\n  profile-version: 1\n  binary-name:     ");
    bat_yaml_string(text, bat_elf_path(records->binary->elf));
    bat_text_string(text, "\n  binary-build-id: ");
    write_build_id(text, records->binary->elf);
    bat_text_string(text, records->kind == BAT_PROFILE_BRANCHES
                              ? "\n  profile-flags:   [ lbr ]"
                              : "\n  profile-flags:   [ sample ]");
    bat_text_string(text, records->is_parity ? "\n  profile-origin:  perf data aggregator"
                                             : "\n  profile-origin:  battranslate");
    bat_text_string(text, "\n  profile-events:  ");
    enum bat_code code = write_events(writer);
    bat_text_string(text, "\n  dfs-order:       false\n  hash-func:       xxh3\n");
    return code;
}

static enum bat_code write_file(struct yaml_writer *writer)
{
    enum bat_code code = write_header(writer);
    if (code != BAT_OK)
        return code;
    /* BOLT's YAML has no form for basic samples of a BOLTed binary: the list stays empty. */
    if (writer->records->kind == BAT_PROFILE_SAMPLES) {
        bat_text_string(&writer->text, "functions:       []\n...\n");
        return BAT_OK;
    }
    code = sort_entries(writer);
    if (code == BAT_OK)
        code = list_functions(writer);
    if (code != BAT_OK)
        return code;
    bat_text_string(&writer->text,
                    writer->function_count ? "functions:\n" : "functions:       []\n");
    for (uint32_t i = 0; i < writer->function_count && code == BAT_OK; i++)
        code = write_function(writer, &writer->functions[i]);
    bat_text_string(&writer->text, "...\n");
    return code;
}

static const char *note_without_hashes(enum bat_version version)
{
    static const char *const names[] = {
        [BAT_VERSION_1] = "one of version 1 (BOLT 17 or earlier)",
        [BAT_VERSION_2] = "one of version 2 (BOLT 18)",
        [BAT_VERSION_3] = "one that was upgraded from an older version",
    };
    return names[version];
}

enum bat_code bat_records_write_yaml(const struct bat_records *records, struct bat_output *output,
                                     struct bat_error *error)
{
    struct yaml_writer writer = {.records = records, .map = records->map, .error = error};
    if (!bat_map_has_function_hashes(records->map))
        return bat_fail(error, BAT_ERR_VERSION,
                        "expected a BAT note with the hashes that YAML needs, found %s, which has "
                        "none: write fdata",
                        note_without_hashes(records->map->version));
    enum bat_code code = bat_text_begin(&writer.text, output, error);
    if (code != BAT_OK)
        return code;
    code = bat_text_finish(&writer.text, write_file(&writer));
    free(writer.entries);
    free(writer.functions);
    free(writer.numbers);
    free(writer.calls);
    free(writer.blocks);
    free(writer.yaml_blocks);
    return code;
}
