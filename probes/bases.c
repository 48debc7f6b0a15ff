/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "reading.h"

#include <stdlib.h>

#include "bat_probes.h"
#include "spec/array.h"
#include "spec/order.h"

static bool is_defined(const struct bat_symbol *symbol)
{
    return symbol->section != BAT_SECTION_UNDEFINED && symbol->address != 0;
}

/* Add the names without suffixes, then the whole ones: of equal GUIDs these hold. */
static size_t add_keys(const struct bat_symbol *symbols, size_t count, struct bat_sort_key *keys)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct bat_symbol *symbol = &symbols[i];
        const size_t length = bat_probe_name_length(symbol->name, symbol->name_length);
        if (is_defined(symbol) && length != symbol->name_length)
            keys[used++] =
                (struct bat_sort_key){bat_probe_guid(symbol->name, length), symbol->address};
    }
    for (size_t i = 0; i < count; i++) {
        const struct bat_symbol *symbol = &symbols[i];
        if (is_defined(symbol))
            keys[used++] = (struct bat_sort_key){bat_probe_guid(symbol->name, symbol->name_length),
                                                 symbol->address};
    }
    return used;
}

static enum bat_code read_bases(struct probe_bases *bases, struct bat_error *error)
{
    const struct bat_symbol *symbols;
    size_t count;
    BAT_TRY(bat_elf_symbols(bases->symbols, false, &symbols, &count, error));
    struct bat_sort_key *keys = bat_array_new(2 * count, sizeof(*keys));
    struct bat_sort_key *spare = bat_array_new(2 * count, sizeof(*spare));
    if (!keys || !spare) {
        BAT_FREE_ALL(keys, spare);
        return bat_fail_memory(error, "for the names of %zu symbols", count);
    }
    bases->count = add_keys(symbols, count, keys);
    bases->keys = bat_sort_keys(keys, spare, bases->count);
    free(bases->keys == keys ? spare : keys);
    bases->is_read = true;
    return BAT_OK;
}

enum bat_code probe_bases_find(struct probe_bases *bases, uint64_t guid, uint64_t *address,
                               bool *is_known, struct bat_error *error)
{
    BAT_TRY(bases->is_read ? BAT_OK : read_bases(bases, error));
    const size_t end = BAT_COUNT_UP_TO(bases->keys, bases->count, key, guid);
    *is_known = end > 0 && bases->keys[end - 1].key == guid;
    if (*is_known)
        *address = bases->keys[end - 1].value;
    return BAT_OK;
}
