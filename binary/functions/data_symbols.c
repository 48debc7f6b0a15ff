/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "data_symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draft.h"
#include "spec/order.h"

/* The most objects that a look-up tries, from the inside out: real ones nest one or two deep. */
#define DEPTH_MAX 1000u

/* A data object: all symbols at one address. */
struct datum {
    uint64_t address;
    uint64_t size;
    uint32_t symbol; /* the first at that address: it gives the name */
    uint32_t parent; /* the object that this one lies in, or BAT_NONE */
};

struct bat_data_symbols {
    struct draft_symbols symbols;
    struct datum *all; /* ascending by address, no two at the same */
    uint32_t count;
};

void bat_data_symbols_free(struct bat_data_symbols *data)
{
    if (!data)
        return;
    draft_symbols_free(&data->symbols);
    free(data->all);
    free(data);
}

/* --- Building ----------------------------------------------------------------------------- */

/* Make a data object for each address that has a data symbol. */
static enum bat_code make_objects(struct bat_data_symbols *data, struct bat_error *error)
{
    const struct draft_symbols *symbols = &data->symbols;
    data->all = malloc(((size_t)symbols->count + 1) * sizeof(*data->all));
    BAT_TRY_MEMORY(data->all, error, "for %u symbols", symbols->count);
    for (uint32_t i = 0; i < symbols->count; i++) {
        const struct draft_symbol *symbol = &symbols->all[i];
        if (!symbol->is_in_data || symbol->is_nameless)
            continue;
        struct datum *last = data->count ? &data->all[data->count - 1] : NULL;
        if (last && last->address == symbol->address) {
            if (symbol->size > last->size)
                last->size = symbol->size;
            continue;
        }
        data->all[data->count++] = (struct datum){
            .address = symbol->address, .size = symbol->size, .symbol = i, .parent = BAT_NONE};
    }
    return BAT_OK;
}

static uint64_t end_of(const struct datum *datum)
{
    return datum->address + datum->size;
}

/* True if outer covers all bytes of inner. */
static bool encloses(const struct datum *outer, const struct datum *inner)
{
    return outer->address <= inner->address && end_of(inner) <= end_of(outer) && outer->size != 0 &&
           inner->address < end_of(outer);
}

/* The parent is the object before, or else the first of that one's parents, that encloses it. */
static void find_parents(struct bat_data_symbols *data)
{
    for (uint32_t i = 1; i < data->count; i++) {
        uint32_t parent = i - 1;
        while (parent != BAT_NONE && !encloses(&data->all[parent], &data->all[i]))
            parent = data->all[parent].parent;
        data->all[i].parent = parent;
    }
}

/* The end of a symbol's section; 0 if another program has changed the file, so that it has none. */
static uint64_t section_end(const struct symbol_table *table, uint32_t index)
{
    const Elf64_Sym symbol = symbol_table_at(table, index);
    const struct bat_section *in = symbol_table_section(table, index, &symbol);
    return in ? in->address + in->size : 0;
}

/* Extend objects of size 0 without a parent to the next one without, or to the section's end. */
static void extend_unsized(struct bat_data_symbols *data)
{
    uint32_t next = BAT_NONE; /* the next object behind that has no parent */
    for (uint32_t i = data->count; i-- > 0;) {
        struct datum *datum = &data->all[i];
        if (datum->parent != BAT_NONE)
            continue;
        uint64_t end = section_end(&data->symbols.table, data->symbols.all[datum->symbol].index);
        if (next != BAT_NONE && data->all[next].address < end)
            end = data->all[next].address;
        if (datum->size == 0 && end > datum->address)
            datum->size = end - datum->address;
        next = i;
    }
}

enum bat_code bat_data_symbols_open(const struct bat_elf *elf, struct bat_data_symbols **data,
                                    struct bat_error *error)
{
    *data = calloc(1, sizeof(**data));
    BAT_TRY_MEMORY(*data, error, "for the data's symbols");
    (*data)->symbols.names = bat_budget_of_names(elf);
    enum bat_code code = draft_symbols_read(elf, false, &(*data)->symbols, error);
    code = code ? code : make_objects(*data, error);
    if (code != BAT_OK) {
        bat_data_symbols_free(*data);
        *data = NULL;
        return code;
    }
    find_parents(*data);
    extend_unsized(*data);
    return BAT_OK;
}

/* --- Look-ups ----------------------------------------------------------------------------- */

static bool holds(const struct datum *datum, uint64_t address)
{
    return address - datum->address < datum->size || address == datum->address;
}

uint32_t bat_data_symbols_find(const struct bat_data_symbols *data, uint64_t address)
{
    uint32_t up_to = BAT_COUNT_UP_TO(data->all, data->count, address, address);
    uint32_t index = up_to ? up_to - 1 : BAT_NONE;
    unsigned depth = 0;
    while (index != BAT_NONE && depth++ < DEPTH_MAX && !holds(&data->all[index], address))
        index = data->all[index].parent;
    return depth <= DEPTH_MAX ? index : BAT_NONE;
}

uint64_t bat_data_symbols_address(const struct bat_data_symbols *data, uint32_t index)
{
    return data->all[index].address;
}

uint32_t bat_data_symbols_count(const struct bat_data_symbols *data)
{
    return data->count;
}

/* --- Names -------------------------------------------------------------------------------- */

enum bat_code bat_data_symbols_number(struct bat_data_symbols *data, const uint8_t *wanted,
                                      struct bat_error *error)
{
    uint32_t *symbols = malloc(((size_t)data->count + 1) * sizeof(*symbols));
    BAT_TRY_MEMORY(symbols, error, "for the numbers of local symbols");
    uint32_t count = 0;
    for (uint32_t i = 0; i < data->count; i++)
        if (wanted[i] && data->symbols.all[data->all[i].symbol].binding == STB_LOCAL)
            symbols[count++] = data->all[i].symbol;
    enum bat_code code = draft_symbols_number(&data->symbols, false, symbols, count, error);
    free(symbols);
    return code;
}

char *bat_data_symbols_name(const struct bat_data_symbols *data, uint32_t index)
{
    const uint32_t at = data->all[index].symbol;
    const struct draft_symbol *symbol = &data->symbols.all[at];
    const uint32_t own_number = draft_number(data->symbols.numbers, at);
    /* BOLT puts PG before names that start like an assembler's private labels. */
    const char *prefix = symbol->is_private ? "PG" : "";
    char number[16] = "";
    if (own_number != 0)
        snprintf(number, sizeof(number), "/%u", own_number);
    char *name;
    const char *own_name = draft_symbol_name(&data->symbols, symbol);
    return asprintf(&name, "%s%s%s", prefix, own_name, number) < 0 ? NULL : name;
}
