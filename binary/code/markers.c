/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads the symbol table for the code reader (reader.h): finds _init of static
 * executables and the data in AArch64 code.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

/* --- _init ---------------------------------------------------------------------------------- */

/*
 * BOLT skips _init of static executables, since its address may be one of data as well. The
 * function is found by this symbol because its name in profiles may be another symbol's.
 */
static void skip_init(struct bat_code_reader *reader, const struct symbol_table *table)
{
    for (uint32_t i = 1; i < table->count; i++) {
        Elf64_Sym symbol = symbol_table_at(table, i);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
            strcmp(symbol_table_name(table, &symbol), "_init") != 0)
            continue;
        struct code_wanted *wanted = code_find_wanted_at(reader, symbol.st_value);
        if (wanted)
            wanted->is_skipped = true;
    }
}

/* --- Data in code ------------------------------------------------------------------------- */

/* False for mapping symbols that BOLT left behind when it moved their section. */
static bool is_in_its_section(const struct symbol_table *table, uint32_t index,
                              const Elf64_Sym *symbol)
{
    const struct bat_section *section = symbol_table_section(table, index, symbol);
    return section && (section->flags & SHF_ALLOC) &&
           symbol->st_value - section->address <= section->size;
}

/* True for mapping symbols of AArch64: $x, $d, also followed by a dot and any text. */
static bool is_mapping_name(const char *name)
{
    return name[0] == '$' && (name[1] == 'x' || name[1] == 'd') &&
           (name[2] == '\0' || name[2] == '.');
}

/* What a symbol says of the code from its address on. */
enum mark { MARK_NONE, MARK_CODE, MARK_DATA, MARK_FUNCTION };

static enum mark mark_of(const struct symbol_table *table, uint32_t index, const Elf64_Sym *symbol)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if (type != STT_FUNC && (type != STT_NOTYPE || symbol->st_size != 0))
        return MARK_NONE;
    if (!is_in_its_section(table, index, symbol))
        return MARK_NONE;
    if (type == STT_FUNC)
        return MARK_FUNCTION;
    const char *name = symbol_table_name(table, symbol);
    if (!is_mapping_name(name))
        return MARK_NONE;
    return name[1] == 'd' ? MARK_DATA : MARK_CODE;
}

struct marking {
    uint64_t address;
    uint32_t order;
    enum mark mark;
};

/* By address; of several the first mapping symbol comes first, and functions last. */
static int by_address(const void *left, const void *right)
{
    const struct marking *a = left;
    const struct marking *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    bool a_is_function = a->mark == MARK_FUNCTION;
    bool b_is_function = b->mark == MARK_FUNCTION;
    if (a_is_function != b_is_function)
        return a_is_function - b_is_function;
    return (a->order > b->order) - (a->order < b->order);
}

/* Make a marker where code changes to data or back. A function's start is code. */
static uint32_t find_turns(const struct marking *markings, uint32_t count,
                           struct code_marker *markers)
{
    uint32_t turns = 0;
    bool is_data = false;
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && markings[i].address == markings[i - 1].address)
            continue;
        bool goes_on_as_data = markings[i].mark == MARK_DATA;
        if (goes_on_as_data == is_data)
            continue;
        is_data = goes_on_as_data;
        markers[turns++] = (struct code_marker){.address = markings[i].address, .is_data = is_data};
    }
    return turns;
}

static enum bat_code find_markers(struct bat_code_reader *reader, const struct symbol_table *table,
                                  struct bat_error *error)
{
    struct marking *markings = malloc(((size_t)table->count + 1) * sizeof(*markings));
    reader->markers = malloc(((size_t)table->count + 1) * sizeof(*reader->markers));
    uint32_t count = 0;
    for (uint32_t i = 1; markings && i < table->count; i++) {
        Elf64_Sym symbol = symbol_table_at(table, i);
        enum mark mark = mark_of(table, i, &symbol);
        if (mark != MARK_NONE)
            markings[count++] =
                (struct marking){.address = symbol.st_value, .order = i, .mark = mark};
    }
    if (markings && reader->markers) {
        qsort(markings, count, sizeof(*markings), by_address);
        reader->marker_count = find_turns(markings, count, reader->markers);
    }
    bool is_out_of_memory = !markings || !reader->markers;
    free(markings);
    if (is_out_of_memory)
        return bat_fail_memory(error, "for %u symbols", table->count);
    return BAT_OK;
}

enum bat_code code_read_symbols(struct bat_code_reader *reader, const struct bat_elf *symbols,
                                struct bat_error *error)
{
    /* An unreadable table counts as empty; bat_functions_create() has reported it. */
    struct symbol_table table;
    symbol_table_open(&table, symbols, SHT_SYMTAB, NULL);
    enum bat_code code = code_find_split(reader, &table, error);
    if (reader->is_static)
        skip_init(reader, &table);
    if (!code && reader->machine != EM_X86_64)
        code = find_markers(reader, &table, error);
    return code;
}
