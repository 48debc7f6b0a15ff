/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The tables of YAML with probes: spec/pseudo-probes.md 4. */
#include "yaml_probes.h"

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
static struct bat_yaml_index *make_table(struct bat_sort_key *keys, size_t count,
                                         uint32_t *table_count)
{
    struct bat_sort_key *spare = bat_array_new(count, sizeof(*spare));
    struct frequency *frequencies = bat_array_new(count, sizeof(*frequencies));
    struct bat_yaml_index *table = NULL;
    if (keys && spare && frequencies) {
        const uint32_t different =
            count_keys(bat_sort_keys(keys, spare, count), count, frequencies);
        BAT_SORT(frequencies, different, BAT_DESCENDING(struct frequency, count),
                 BAT_DESCENDING(struct frequency, number));
        table = bat_array_new(different, sizeof(*table));
        for (uint32_t i = 0; table && i < different; i++)
            table[i] = (struct bat_yaml_index){frequencies[i].number, i};
        if (table)
            BAT_SORT_BY(table, different, number);
        *table_count = different;
    }
    BAT_FREE_ALL(keys, spare, frequencies);
    return table;
}

static bool make_indices(struct bat_yaml_probes *probes)
{
    const struct bat_probes *all = probes->all;
    struct bat_sort_key *guids = bat_array_new(all->node_count, sizeof(*guids));
    struct bat_sort_key *hashes = bat_array_new(all->function_count, sizeof(*hashes));
    size_t count = 0;
    for (uint32_t i = 0; guids && i < all->node_count; i++)
        if (probes->is_read[i])
            guids[count++] = (struct bat_sort_key){all->nodes[i].guid, 0};
    for (uint32_t i = 0; hashes && i < all->function_count; i++)
        hashes[i] = (struct bat_sort_key){all->functions[i].hash, 0};
    probes->guids = make_table(guids, count, &probes->guid_count);
    probes->hashes = make_table(hashes, all->function_count, &probes->hash_count);
    return probes->guids && probes->hashes;
}

/* The place of a number in a table; 0 if it is not there. */
static uint32_t index_of(const struct bat_yaml_index *table, uint32_t count, uint64_t number)
{
    const uint32_t i = BAT_COUNT_BELOW(table, count, number, number);
    return i < count && table[i].number == number ? table[i].index : 0;
}

/* The numbers of a table in its order, in an array that the caller frees; NULL: no memory. */
static uint64_t *in_order(const struct bat_yaml_index *table, uint32_t count)
{
    uint64_t *numbers = bat_array_new(count, sizeof(*numbers));
    for (uint32_t i = 0; numbers && i < count; i++)
        numbers[table[i].index] = table[i].number;
    return numbers;
}

bool bat_yaml_probes_make_tables(struct bat_yaml_probes *probes)
{
    if (!make_indices(probes))
        return false;
    probes->gs = in_order(probes->guids, probes->guid_count);
    probes->hs = in_order(probes->hashes, probes->hash_count);
    return probes->gs && probes->hs;
}

uint32_t bat_yaml_probes_guid_index(const struct bat_yaml_probes *probes, uint64_t guid)
{
    return index_of(probes->guids, probes->guid_count, guid);
}

void bat_yaml_probes_free(struct bat_yaml_probes *probes)
{
    if (!probes)
        return;
    bat_probes_free(probes->all);
    BAT_FREE_ALL(probes->is_read, probes->guids, probes->hashes, probes->gs, probes->hs, probes);
}

/* --- Writing ---------------------------------------------------------------------------------- */

/* The most bytes of a number in a list. */
#define ITEM_MAX 32u

static void put_hexadecimal(struct bat_text_writer *text, uint64_t number, const char *before)
{
    char *at = stpcpy(stpcpy(bat_text_room(text, ITEM_MAX), before), "0x");
    bat_text_end(text, bat_put_upper_hex(at, number));
}

static void put_list(struct bat_text_writer *text, const char *key, const uint64_t *numbers,
                     uint32_t count)
{
    bat_text_string(text, key);
    for (uint32_t i = 0; i < count; i++)
        put_hexadecimal(text, numbers[i], i ? ", " : " ");
    bat_text_string(text, " ]\n");
}

void bat_yaml_probes_write_tables(const struct bat_yaml_probes *probes,
                                  struct bat_text_writer *text)
{
    bat_text_string(text, "pseudo_probe_desc:\n");
    put_list(text, "  gs:              [", probes->gs, probes->guid_count);
    bat_text_string(text, "  gh:              [");
    for (uint32_t i = 0; i < probes->guid_count; i++) {
        const struct bat_probe_function *function = bat_probes_function(probes->all, probes->gs[i]);
        char *at = stpcpy(bat_text_room(text, ITEM_MAX), i ? ", " : " ");
        const uint32_t hash =
            function ? index_of(probes->hashes, probes->hash_count, function->hash) : 0;
        bat_text_end(text, bat_put_decimal(at, hash));
    }
    bat_text_string(text, " ]\n");
    put_list(text, "  hs:              [", probes->hs, probes->hash_count);
}
