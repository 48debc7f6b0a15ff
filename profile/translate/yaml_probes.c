/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which probes YAML has, and its tables of them: spec/pseudo-probes.md 4. */
#include "yaml_probes.h"

#include <stdlib.h>
#include <string.h>

#include "spec/array.h"
#include "spec/order.h"
#include "support/key_sort.h"

/* --- Tables ----------------------------------------------------------------------------------- */

/* A number, and how often it occurs. */
struct frequency {
    uint64_t number;
    uint64_t count;
};

/* Count equal keys, which are sorted. Returns how many different ones there are. */
static uint32_t count_keys(const struct bat_sort_key *keys, size_t count,
                           struct frequency *frequencies)
{
    uint32_t different = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || keys[i - 1].key != keys[i].key)
            frequencies[different++] = (struct frequency){.number = keys[i].key};
        frequencies[different - 1].count++;
    }
    return different;
}

/*
 * Make a table of the different keys: the most frequent first, of equally frequent ones the
 * greatest. NULL if there is no memory. Frees keys, which may be NULL.
 */
static struct frequency *make_table(struct bat_sort_key *keys, size_t count, uint32_t *table_count)
{
    struct bat_sort_key *spare = bat_array_new(count, sizeof(*spare));
    struct frequency *table = bat_array_new(count, sizeof(*table));
    if (keys && spare && table) {
        *table_count = count_keys(bat_sort_keys(keys, spare, count), count, table);
        BAT_SORT(table, *table_count, BAT_DESCENDING(struct frequency, count),
                 BAT_DESCENDING(struct frequency, number));
    } else {
        free(table);
        table = NULL;
    }
    BAT_FREE_ALL(keys, spare);
    return table;
}

static bool make_hashes(struct bat_yaml_probes *probes)
{
    const struct bat_probes *all = probes->all;
    struct bat_sort_key *keys = bat_array_new(all->function_count, sizeof(*keys));
    for (uint32_t i = 0; keys && i < all->function_count; i++)
        keys[i] = (struct bat_sort_key){all->functions[i].hash, 0};
    struct frequency *table = make_table(keys, all->function_count, &probes->hash_count);
    probes->hashes = table ? bat_array_new(probes->hash_count, sizeof(*probes->hashes)) : NULL;
    for (uint32_t i = 0; probes->hashes && i < probes->hash_count; i++)
        probes->hashes[i] = table[i].number;
    free(table);
    return probes->hashes != NULL;
}

/* Of a function that the source does not have, the file names the first hash. */
static bool make_guids(struct bat_yaml_probes *probes)
{
    const struct bat_probes *all = probes->all;
    struct bat_sort_key *keys = bat_array_new(all->node_count, sizeof(*keys));
    size_t count = 0;
    for (uint32_t i = 0; keys && i < all->node_count; i++)
        if (probes->is_read[i])
            keys[count++] = (struct bat_sort_key){all->nodes[i].guid, 0};
    struct frequency *table = make_table(keys, count, &probes->guid_count);
    probes->guids = table ? bat_array_new(probes->guid_count, sizeof(*probes->guids)) : NULL;
    for (uint32_t i = 0; probes->guids && i < probes->guid_count; i++) {
        const struct bat_probe_function *function = bat_probes_function(all, table[i].number);
        const uint64_t first = probes->hash_count ? probes->hashes[0] : 0;
        probes->guids[i] =
            (struct bat_yaml_guid){table[i].number, function ? function->hash : first};
    }
    free(table);
    return probes->guids != NULL;
}

/* --- Bodies of functions with samples --------------------------------------------------------- */

/* Mark the bodies of a GUID as read, with all that is inlined in them. True if there are some. */
static bool read_bodies(struct bat_yaml_probes *probes, uint64_t guid)
{
    uint32_t first;
    const uint32_t count = bat_probes_bodies(probes->all, guid, &first);
    for (uint32_t i = first; i < first + count; i++) {
        const uint32_t node = probes->all->bodies[i];
        memset(probes->is_read + node, 1, probes->all->nodes[node].end - node);
    }
    return count > 0;
}

/* The same for a symbol's name, whole and without its suffix. */
static void read_bodies_of(struct bat_yaml_probes *probes, const struct bat_symbol *symbol)
{
    const size_t length = bat_probe_name_length(symbol->name, symbol->name_length);
    read_bodies(probes, bat_probe_guid(symbol->name, symbol->name_length));
    if (length != symbol->name_length)
        read_bodies(probes, bat_probe_guid(symbol->name, length));
}

/* Where the first symbol of a function is: a function's symbol before other ones. */
struct first_symbol {
    const struct bat_symbol *symbol;
    bool is_function;
};

/* STT_FUNC and STT_GNU_IFUNC. */
static bool is_function_type(uint8_t type)
{
    return type == 2 || type == 10;
}

static void find_first_symbols(const struct bat_records *records, const uint8_t *sampled,
                               const struct bat_symbol *symbols, size_t count,
                               struct first_symbol *first)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t function = bat_functions_at(records->functions, symbols[i].address);
        if (function == BAT_NONE || !sampled[function])
            continue;
        const bool is_function = is_function_type(symbols[i].type);
        if (!first[function].symbol || (is_function && !first[function].is_function))
            first[function] = (struct first_symbol){&symbols[i], is_function};
    }
}

/* Mark the nodes that are read. */
static enum bat_code choose_bodies(const struct bat_records *records, const uint8_t *sampled,
                                   struct bat_yaml_probes *probes, struct bat_error *error)
{
    struct bat_elf *elf =
        records->symbols_elf ? (struct bat_elf *)records->symbols_elf : records->binary->elf;
    const struct bat_symbol *symbols;
    size_t count;
    BAT_TRY(bat_elf_symbols(elf, false, &symbols, &count, error));
    struct first_symbol *first = calloc((size_t)records->function_count + 1, sizeof(*first));
    BAT_TRY_MEMORY(first, error, "for the functions with probes");
    find_first_symbols(records, sampled, symbols, count, first);
    bool has_some = false;
    for (uint32_t i = 0; i < records->function_count; i++) {
        has_some = has_some || first[i].symbol;
        if (first[i].symbol)
            read_bodies_of(probes, first[i].symbol);
    }
    free(first);
    if (!has_some)
        memset(probes->is_read, 1, probes->all->node_count);
    return BAT_OK;
}

/* --- Reading ---------------------------------------------------------------------------------- */

enum bat_code bat_yaml_probes_read(struct bat_records *records, const uint8_t *sampled,
                                   struct bat_error *error)
{
    if (!bat_probes_are_in(records->binary->elf))
        return BAT_OK;
    struct bat_yaml_probes *probes = calloc(1, sizeof(*probes));
    BAT_TRY_MEMORY(probes, error, "for the functions with probes");
    records->probes = probes;
    BAT_TRY(bat_probes_read(records->binary->elf, (struct bat_elf *)records->symbols_elf,
                            &probes->all, error));
    probes->is_read = calloc((size_t)probes->all->node_count + 1, 1);
    BAT_TRY_MEMORY(probes->is_read, error, "for the functions with probes");
    enum bat_code code = choose_bodies(records, sampled, probes, error);
    return code != BAT_OK || (make_hashes(probes) && make_guids(probes))
               ? code
               : bat_fail_memory(error, "for the functions with probes");
}
