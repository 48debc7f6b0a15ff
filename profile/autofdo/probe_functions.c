/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "probe_functions.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "binary/functions/name_parts.h"
#include "spec/array.h"
#include "spec/order.h"
#include "support/key_sort.h"

static bool is_function(const struct bat_symbol *symbol)
{
    return (symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC) && symbol->size != 0 &&
           symbol->section != BAT_SECTION_UNDEFINED && symbol->name_length != 0 &&
           symbol->size <= UINT64_MAX - symbol->address;
}

/* The function symbols in ascending order, their indices as values. Returns their number. */
static size_t sort_symbols(const struct bat_symbol *symbols, size_t count,
                           struct bat_sort_key *keys, const struct bat_sort_key **sorted)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (is_function(&symbols[i]))
            keys[used++] = (struct bat_sort_key){symbols[i].address, i};
    *sorted = bat_sort_keys(keys, keys + count, used);
    return used;
}

static enum bat_code add_pieces(struct probe_functions *functions, const struct bat_symbol *symbols,
                                const struct bat_sort_key *sorted, size_t count)
{
    functions->pieces = bat_array_new(count, sizeof(*functions->pieces));
    enum bat_code code = functions->pieces ? BAT_OK : BAT_ERR_MEMORY;
    for (size_t i = 0; i < count && code == BAT_OK; i++) {
        const struct bat_symbol *symbol = &symbols[sorted[i].value];
        struct probe_piece *piece = &functions->pieces[functions->count++];
        *piece = (struct probe_piece){symbol->address, symbol->address + symbol->size, symbol, 0};
        code = bat_strings_add(&functions->names, symbol->name,
                               bat_probe_name_length(symbol->name, symbol->name_length),
                               &piece->function);
    }
    return code;
}

enum bat_code probe_functions_read(struct probe_functions *functions, struct bat_elf *elf,
                                   struct bat_error *error)
{
    *functions = (struct probe_functions){.count = 0};
    const struct bat_symbol *symbols;
    size_t count;
    BAT_TRY(bat_elf_symbols(elf, false, &symbols, &count, error));
    struct bat_sort_key *keys = bat_array_new(2 * count, sizeof(*keys));
    enum bat_code code = keys ? BAT_OK : BAT_ERR_MEMORY;
    if (code == BAT_OK) {
        const struct bat_sort_key *sorted;
        const size_t used = sort_symbols(symbols, count, keys, &sorted);
        code = add_pieces(functions, symbols, sorted, used);
    }
    free(keys);
    functions->guids = calloc((size_t)functions->names.count + 1, sizeof(*functions->guids));
    if (!functions->guids)
        code = BAT_ERR_MEMORY;
    return code == BAT_OK ? code : bat_fail_memory(error, "for %zu symbols", count);
}

void probe_functions_free(struct probe_functions *functions)
{
    bat_strings_free(&functions->names);
    BAT_FREE_ALL(functions->guids, functions->pieces);
}

enum bat_code probes_check_symbols(const struct bat_probes *probes, const struct bat_elf *elf,
                                   struct bat_error *error)
{
    if (bat_elf_has_symbols(elf) || probes->is_rewritten || probes->probe_count != 0)
        return BAT_OK;
    return bat_fail(
        error, BAT_ERR_NO_DEBUG,
        "expected symbols, which the addresses of pseudo probes are counted from, found "
        "none: name the unstripped program with --debug-file");
}

uint64_t probe_functions_guid(struct probe_functions *functions, uint32_t function)
{
    uint64_t *guid = &functions->guids[function];
    const char *name = bat_strings_get(&functions->names, function);
    if (*guid == 0)
        *guid = bat_probe_guid(name, strlen(name));
    return *guid;
}

size_t probe_functions_before(const struct probe_functions *functions, uint64_t address,
                              const struct probe_piece **first)
{
    const size_t end = BAT_COUNT_UP_TO(functions->pieces, functions->count, start, address);
    size_t low = end;
    while (low > 0 && functions->pieces[low - 1].start == functions->pieces[end - 1].start)
        low--;
    *first = functions->pieces + low;
    return end - low;
}

uint32_t probe_functions_at(const struct probe_functions *functions, uint64_t address)
{
    const struct probe_piece *pieces;
    const size_t count = probe_functions_before(functions, address, &pieces);
    for (size_t i = 0; i < count; i++)
        if (address < pieces[i].end)
            return pieces[i].function;
    return BAT_NONE;
}

uint32_t *probe_function_names(const struct bat_probes *probes)
{
    uint32_t *known = bat_array_new(probes->function_count, sizeof(*known));
    if (known)
        memset(known, 0xff, probes->function_count * sizeof(*known));
    return known;
}

enum bat_code probe_function_name(struct bat_strings *names, const struct bat_probes *probes,
                                  uint32_t function, uint32_t *known, uint32_t *name)
{
    const struct bat_probe_function *named = &probes->functions[function];
    enum bat_code code = BAT_OK;
    if (known[function] == BAT_NONE)
        code = bat_strings_add(names, named->name, named->name_length, &known[function]);
    *name = known[function];
    return code;
}

const struct bat_probe *probe_call_from(const struct bat_probes *probes, uint64_t address,
                                        uint32_t *next)
{
    while (*next < probes->probe_count && probes->probes[*next].address < address)
        ++*next;
    for (uint32_t i = *next; i < probes->probe_count && probes->probes[i].address == address; i++)
        if (probes->probes[i].type != BAT_PROBE_BLOCK)
            return &probes->probes[i];
    return NULL;
}

const struct bat_probe *probe_call_at(const struct bat_probes *probes, uint64_t address)
{
    uint32_t first;
    bat_probes_between(probes, address, address, &first);
    return probe_call_from(probes, address, &first);
}

/* True if a probe at the start of a piece is of a top-level body of this function. */
static bool has_body_at(const struct bat_probes *probes, uint64_t guid, uint64_t start,
                        uint64_t end)
{
    uint32_t first;
    const uint32_t count = bat_probes_between(probes, start, end, &first);
    return count != 0 &&
           probes->nodes[bat_probes_top(probes, probes->probes[first].node)].guid == guid;
}

const struct probe_piece *probe_functions_entry(struct probe_functions *functions,
                                                const struct bat_probes *probes, uint64_t address)
{
    const struct probe_piece *pieces;
    const size_t count = probe_functions_before(functions, address, &pieces);
    const struct probe_piece *found = NULL;
    for (size_t i = 0; i < count && pieces[i].start == address; i++) {
        const struct bat_symbol *symbol = pieces[i].symbol;
        if (name_is_of_part(symbol->name, symbol->name_length))
            continue;
        const uint64_t guid = probe_functions_guid(functions, pieces[i].function);
        if (has_body_at(probes, guid, address, pieces[i].end))
            return &pieces[i];
        found = found ? found : &pieces[i];
    }
    return found;
}
