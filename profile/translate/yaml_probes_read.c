/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which probes YAML has: spec/pseudo-probes.md 4. */
#include "yaml_probes_read.h"

#include <stdlib.h>
#include <string.h>

#include "yaml_probes.h"

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

static enum bat_code read_probes(const struct bat_records *records, const uint8_t *sampled,
                                 struct bat_yaml_probes *probes, struct bat_error *error)
{
    BAT_TRY(bat_probes_read(records->binary->elf, (struct bat_elf *)records->symbols_elf,
                            &probes->all, error));
    probes->is_read = calloc((size_t)probes->all->node_count + 1, 1);
    BAT_TRY_MEMORY(probes->is_read, error, "for the functions with probes");
    enum bat_code code = choose_bodies(records, sampled, probes, error);
    return code != BAT_OK || bat_yaml_probes_make_tables(probes)
               ? code
               : bat_fail_memory(error, "for the functions with probes");
}

enum bat_code bat_yaml_probes_read(struct bat_records *records, const uint8_t *sampled,
                                   struct bat_error *error)
{
    if (!bat_probes_are_in(records->binary->elf))
        return BAT_OK;
    struct bat_yaml_probes *probes = calloc(1, sizeof(*probes));
    BAT_TRY_MEMORY(probes, error, "for the functions with probes");
    records->probes = probes;
    return read_probes(records, sampled, probes, error);
}
