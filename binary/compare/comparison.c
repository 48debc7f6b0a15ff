/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "comparison.h"

#include <stdlib.h>
#include <string.h>

#include "binary/build_ids.h"
#include "binary/note_text.h"
#include "spec/order.h"

void comparison_free(struct comparison *comparison)
{
    for (size_t i = 0; i < 2; i++) {
        struct compared_side *side = &comparison->sides[i];
        free(side->functions);
        bat_names_free(&side->names);
    }
    free(comparison->sections);
    *comparison = (struct comparison){0};
}

/* --- One side ------------------------------------------------------------------------------- */

static void measure_function(struct compared_side *side, struct compared_function *function)
{
    const struct bat_map *map = side->binary->map;
    const struct bat_table *table = &map->tables[function->table];
    function->address = table->address;
    function->hash = table->hash;
    function->hot_size = bat_names_size(&side->names, table->address);
    for (uint32_t i = map->fragment_start[function->table];
         i < map->fragment_start[function->table + 1]; i++) {
        function->fragments++;
        function->cold_size += bat_names_size(&side->names, map->tables[map->fragments[i]].address);
    }
    side->hot_size += function->hot_size;
    side->cold_size += function->cold_size;
}

static enum bat_code open_side(struct compared_side *side, struct bat_error *error)
{
    BAT_TRY(bat_names_collect(side->binary, &side->names, error));
    if (!side->binary->elf || side->names.count == 0)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected an ELF file with symbols, by which functions are compared, "
                        "found %s",
                        side->binary->elf ? "a stripped one" : "a raw note");
    const struct bat_map *map = side->binary->map;
    bat_map_shares(map, &side->shares);
    side->functions = calloc((size_t)map->hot_count + 1, sizeof(*side->functions));
    BAT_TRY_MEMORY(side->functions, error, "to compare binaries");
    for (uint32_t i = 0; i < map->hot_count; i++) {
        const struct bat_symbol *symbol = bat_names_best(&side->names, map->tables[i].address);
        if (!symbol) {
            side->unnamed++;
            continue;
        }
        struct compared_function *function = &side->functions[side->count++];
        function->name = symbol->name;
        function->table = i;
        measure_function(side, function);
    }
    return BAT_OK;
}

/* --- Pairs ---------------------------------------------------------------------------------- */

static int by_name_and_hash(const struct compared_function *a, const struct compared_function *b)
{
    int order = strcmp(a->name, b->name);
    return order ? order : bat_compare_numbers(a->hash, b->hash);
}

static int by_name_hash_address(const void *left, const void *right)
{
    const struct compared_function *a = left;
    const struct compared_function *b = right;
    int order = by_name_and_hash(a, b);
    return order ? order : bat_compare_numbers(a->address, b->address);
}

static int by_name_address(const void *left, const void *right)
{
    const struct compared_function *a = *(struct compared_function *const *)left;
    const struct compared_function *b = *(struct compared_function *const *)right;
    int order = strcmp(a->name, b->name);
    return order ? order : bat_compare_numbers(a->address, b->address);
}

static void join(struct compared_function *old, struct compared_function *new)
{
    old->pair = new;
    new->pair = old;
}

/* Functions of one name and input are the same ones; of several, in the order of addresses. */
static void pair_by_hash(struct compared_side *old, struct compared_side *new)
{
    qsort(old->functions, old->count, sizeof(*old->functions), by_name_hash_address);
    qsort(new->functions, new->count, sizeof(*new->functions), by_name_hash_address);
    for (uint32_t i = 0, k = 0; i < old->count && k < new->count;) {
        int order = by_name_and_hash(&old->functions[i], &new->functions[k]);
        if (order == 0)
            join(&old->functions[i], &new->functions[k]);
        i += order <= 0;
        k += order >= 0;
    }
}

/* The functions that have no pair yet, by name and address; the caller frees the array. */
static struct compared_function **list_single(struct compared_side *side, uint32_t *count)
{
    struct compared_function **list =
        calloc((size_t)side->count + 1, sizeof(struct compared_function *));
    *count = 0;
    for (uint32_t i = 0; list && i < side->count; i++)
        if (!side->functions[i].pair)
            list[(*count)++] = &side->functions[i];
    if (list && *count > 1)
        qsort(list, *count, sizeof(struct compared_function *), by_name_address);
    return list;
}

/* The others of one name: their input has changed. */
static enum bat_code pair_by_name(struct compared_side *old, struct compared_side *new,
                                  struct bat_error *error)
{
    uint32_t old_count;
    uint32_t new_count;
    struct compared_function **olds = list_single(old, &old_count);
    struct compared_function **news = list_single(new, &new_count);
    bool fits = olds && news;
    for (uint32_t i = 0, k = 0; fits && i < old_count && k < new_count;) {
        int order = strcmp(olds[i]->name, news[k]->name);
        if (order == 0)
            join(olds[i], news[k]);
        i += order <= 0;
        k += order >= 0;
    }
    free(olds);
    free(news);
    return fits ? BAT_OK : bat_fail_memory(error, "to compare binaries");
}

/* --- Changes -------------------------------------------------------------------------------- */

/* True if the entries of two tables are equal. */
static bool same_entries(const struct bat_map *old, const struct bat_table *a,
                         const struct bat_map *new, const struct bat_table *b)
{
    size_t size = a->entry_count * sizeof(uint32_t);
    if (a->entry_count != b->entry_count)
        return false;
    return size == 0 || (memcmp(old->output_offsets + a->first_entry,
                                new->output_offsets + b->first_entry, size) == 0 &&
                         memcmp(old->input_offsets + a->first_entry,
                                new->input_offsets + b->first_entry, size) == 0);
}

static unsigned find_changes(const struct bat_map *old_map, const struct compared_function *old,
                             const struct bat_map *new_map, const struct compared_function *new)
{
    unsigned changes = 0;
    if (old->hash != new->hash)
        changes |= CHANGE_INPUT;
    if (old->fragments != new->fragments || old->cold_size != new->cold_size)
        changes |= CHANGE_SPLIT;
    if (old->hot_size + old->cold_size != new->hot_size + new->cold_size)
        changes |= CHANGE_SIZE;
    if (old->address != new->address)
        changes |= CHANGE_PLACE;
    const struct bat_table *a = &old_map->tables[old->table];
    const struct bat_table *b = &new_map->tables[new->table];
    if (old->fragments != new->fragments || !same_entries(old_map, a, new_map, b))
        changes |= CHANGE_LAYOUT;
    for (uint32_t i = 0; i < old->fragments && old->fragments == new->fragments; i++) {
        a = &old_map->tables[old_map->fragments[old_map->fragment_start[old->table] + i]];
        b = &new_map->tables[new_map->fragments[new_map->fragment_start[new->table] + i]];
        if (!same_entries(old_map, a, new_map, b))
            changes |= CHANGE_LAYOUT;
        if (a->address != b->address)
            changes |= CHANGE_PLACE;
    }
    return changes;
}

static void compare_functions(struct comparison *comparison)
{
    const struct compared_side *old = &comparison->sides[0];
    struct compared_side *new = &comparison->sides[1];
    for (uint32_t i = 0; i < old->count; i++)
        comparison->went += !old->functions[i].pair;
    for (uint32_t i = 0; i < new->count; i++) {
        struct compared_function *function = &new->functions[i];
        if (!function->pair) {
            comparison->appeared++;
            continue;
        }
        function->changes =
            find_changes(old->binary->map, function->pair, new->binary->map, function);
        comparison->equal += function->changes == 0;
        for (unsigned bit = 0; bit < CHANGES; bit++)
            comparison->changed[bit] += function->changes >> bit & 1;
    }
}

/* --- Sections ------------------------------------------------------------------------------- */

/* The largest change first. */
static int by_section_change(const void *left, const void *right)
{
    const struct compared_section *a = left;
    const struct compared_section *b = right;
    uint64_t changes[2];
    for (size_t i = 0; i < 2; i++) {
        const uint64_t *sizes = i == 0 ? a->sizes : b->sizes;
        changes[i] = sizes[0] > sizes[1] ? sizes[0] - sizes[1] : sizes[1] - sizes[0];
    }
    return changes[0] != changes[1] ? bat_compare_numbers(changes[1], changes[0])
                                    : strcmp(a->name, b->name);
}

/* Add up the sections of one name, and keep those that differ. */
static enum bat_code compare_sections(struct comparison *comparison, struct bat_error *error)
{
    const struct bat_section *sections[2];
    size_t counts[2];
    for (size_t side = 0; side < 2; side++)
        sections[side] = bat_elf_sections(comparison->sides[side].binary->elf, &counts[side]);
    struct compared_section *all = calloc(counts[0] + counts[1] + 1, sizeof(*all));
    BAT_TRY_MEMORY(all, error, "to compare binaries");
    uint32_t count = 0;
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < counts[side]; i++) {
            all[count].name = sections[side][i].name;
            all[count++].sizes[side] = sections[side][i].size;
        }
    BAT_SORT_BY(all, count, name);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count;) {
        struct compared_section sum = {.name = all[i].name};
        for (; i < count && strcmp(all[i].name, sum.name) == 0; i++)
            for (size_t side = 0; side < 2; side++)
                sum.sizes[side] += all[i].sizes[side];
        if (sum.sizes[0] != sum.sizes[1])
            all[kept++] = sum;
    }
    qsort(all, kept, sizeof(*all), by_section_change);
    comparison->sections = all;
    comparison->section_count = kept;
    return BAT_OK;
}

/* --- All ------------------------------------------------------------------------------------ */

static void compare_notes(struct comparison *comparison)
{
    const struct bat_binary *old = comparison->sides[0].binary;
    const struct bat_binary *new = comparison->sides[1].binary;
    comparison->same_note =
        old->note_size == new->note_size &&memcmp(old->note, new->note, old->note_size) == 0;
    const char *old_info = bat_elf_bolt_info(old->elf);
    const char *new_info = bat_elf_bolt_info(new->elf);
    comparison->same_info = strcmp(old_info ? old_info : "", new_info ? new_info : "") == 0;
    size_t sizes[2];
    const uint8_t *old_id = bat_elf_build_id(old->elf, &sizes[0]);
    const uint8_t *new_id = bat_elf_build_id(new->elf, &sizes[1]);
    comparison->same_input =
        old_id && new_id && build_ids_share_input(old_id, sizes[0], new_id, sizes[1]);
}

enum bat_code compare_binaries(const struct bat_binary *old_binary, const char *old_path,
                               const struct bat_binary *new_binary, const char *new_path,
                               struct comparison *comparison, struct bat_error *error)
{
    *comparison = (struct comparison){.sides = {{.path = old_path, .binary = old_binary},
                                                {.path = new_path, .binary = new_binary}}};
    struct compared_side *sides = comparison->sides;
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < 2 && code == BAT_OK; i++) {
        code = open_side(&sides[i], error);
        if (code != BAT_OK)
            comparison->failed = sides[i].path;
    }
    if (code != BAT_OK)
        return code;
    pair_by_hash(&sides[0], &sides[1]);
    BAT_TRY(pair_by_name(&sides[0], &sides[1], error));
    compare_functions(comparison);
    compare_notes(comparison);
    return compare_sections(comparison, error);
}

bool comparison_is_same(const struct comparison *comparison)
{
    return comparison->same_note && comparison->same_info && comparison->section_count == 0 &&
           comparison->appeared == 0 && comparison->went == 0 &&
           comparison->equal == comparison->sides[1].count;
}

/* --- Lists ---------------------------------------------------------------------------------- */

const char *const change_labels[CHANGES] = {"changed in the input", "split otherwise",
                                            "larger or smaller", "laid out otherwise", "moved"};

const char *const change_keys[CHANGES] = {"input", "split", "resized", "layout", "moved"};

static uint64_t distance(uint64_t left, uint64_t right)
{
    return left > right ? left - right : right - left;
}

/* By how much a function has changed in this way; its size, where that has no amount. */
static uint64_t amount_of(const struct compared_function *function, unsigned change)
{
    const struct compared_function *old = function->pair;
    switch (change) {
    case CHANGE_SPLIT:
        return distance(old->cold_size, function->cold_size);
    case CHANGE_SIZE:
        return distance(compared_size(old), compared_size(function));
    case CHANGE_PLACE:
        return distance(old->address, function->address);
    default:
        return compared_size(function);
    }
}

static int by_amount(const void *left, const void *right)
{
    const struct listed_function *a = left;
    const struct listed_function *b = right;
    if (a->amount != b->amount)
        return a->amount > b->amount ? -1 : 1;
    int order = strcmp(a->function->name, b->function->name);
    uint64_t x = a->function->address;
    uint64_t y = b->function->address;
    return order ? order : (x > y) - (x < y);
}

bool list_functions(const struct compared_side *side, unsigned change, struct function_list *list)
{
    *list = (struct function_list){.items = calloc((size_t)side->count + 1, sizeof(*list->items))};
    if (!list->items)
        return false;
    for (uint32_t i = 0; i < side->count; i++) {
        const struct compared_function *function = &side->functions[i];
        if (change == 0 ? function->pair != NULL : !(function->changes & change))
            continue;
        list->items[list->count++] = (struct listed_function){
            function, change == 0 ? compared_size(function) : amount_of(function, change)};
    }
    qsort(list->items, list->count, sizeof(*list->items), by_amount);
    return true;
}
