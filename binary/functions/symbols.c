/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "draft.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "name_parts.h"
#include "spec/array.h"
#include "spec/large_memory.h"
#include "spec/order.h"
#include "support/hash_seed.h"

/* An offset that no FILE symbol's name has: offset 0 is the empty name. */
#define NO_FILE 0u

/* --- Which symbols count ------------------------------------------------------------------ */

/*
 * The section of a symbol. False for a symbol that is undefined, common, in a section that is
 * not in memory, or that reaches out of its section. *in is NULL for an absolute symbol.
 */
static bool symbol_section(const struct symbol_table *table, uint32_t index,
                           const Elf64_Sym *symbol, const struct bat_section **in)
{
    *in = symbol_table_section(table, index, symbol);
    if (!*in)
        return symbol->st_shndx == SHN_ABS;
    uint64_t offset = symbol->st_value - (*in)->address;
    return ((*in)->flags & SHF_ALLOC) && !section_is_thread_local_zero(*in) &&
           symbol->st_value >= (*in)->address && offset <= (*in)->size &&
           symbol->st_size <= (*in)->size - offset;
}

/* AArch64 and RISC-V: $x and $d mark code and data, and name nothing. */
static bool is_marker(const struct symbol_table *table, const Elf64_Sym *symbol, const char *name)
{
    uint16_t machine = bat_elf_machine(table->elf);
    if (machine == EM_X86_64 || symbol->st_size != 0 ||
        ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE || name[0] != '$')
        return false;
    if (machine == EM_RISCV && name[1] == 'x')
        return true;
    return (name[1] == 'x' || name[1] == 'd') && (name[2] == '\0' || name[2] == '.');
}

/* Most names begin otherwise. */
static bool begins_with_underscores(const char *name)
{
    return name[0] == '_' && name[1] == '_';
}

/* True for names that are no function's or object's. */
static bool is_mark(const struct symbol_table *table, const Elf64_Sym *symbol, const char *name)
{
    return is_marker(table, symbol, name) ||
           (begins_with_underscores(name) &&
            (strcmp(name, "__hot_start") == 0 || strcmp(name, "__hot_end") == 0));
}

/* --- One symbol --------------------------------------------------------------------------- */

static uint8_t slashes_in(const char *name, size_t length)
{
    const char *first = memchr(name, '/', length);
    if (!first)
        return 0;
    return memchr(first + 1, '/', length - (size_t)(first + 1 - name)) ? 2 : 1;
}

/* True for BOLT's marks of space that it reserves. */
static bool is_reserved(const char *name)
{
    return begins_with_underscores(name) && strncmp(name, "__bolt_reserved_", 16) == 0 &&
           (strcmp(name + 16, "start") == 0 || strcmp(name + 16, "end") == 0);
}

const char *draft_table_name(const struct symbol_table *table, uint32_t index,
                             const Elf64_Sym *symbol)
{
    const char *name = symbol_table_name(table, symbol);
    if (ELF64_ST_TYPE(symbol->st_info) != STT_SECTION || *name)
        return name;
    const struct bat_section *in = symbol_table_section(table, index, symbol);
    return in ? in->name : name;
}

static enum bat_code measure_name(struct draft_symbols *symbols, const char *name, size_t *length,
                                  struct bat_error *error)
{
    *length = strlen(name);
    BAT_TRY(bat_budget_spend_names(&symbols->names, *length + 1, error));
    if (*length > UINT32_MAX)
        return bat_fail(error, BAT_ERR_ELF, "a symbol's name is longer than 4 GB");
    return BAT_OK;
}

static uint32_t hash_name(const struct draft_symbols *symbols, const char *name, size_t length)
{
    return (uint32_t)XXH3_64bits_withSeed(name, length, symbols->seed);
}

/* Everything about a name is found here, while its bytes are near. */
static enum bat_code describe_name(struct draft_symbols *symbols, struct draft_symbol *symbol,
                                   const char *name, struct bat_error *error)
{
    size_t length;
    BAT_TRY(measure_name(symbols, name, &length, error));
    symbol->is_nameless = length == 0;
    symbol->slashes = slashes_in(name, length);
    symbol->is_fragment = fragment_name_stem(name, length) != 0;
    symbol->is_patched = patched_name_stem(name, length) != 0;
    symbol->is_private = name[0] == '.' && name[1] == 'L';
    symbol->is_in_code = symbol->is_in_code && !is_reserved(name);
    if (symbol->binding == STB_LOCAL)
        symbol->hash = hash_name(symbols, name, length);
    return BAT_OK;
}

static uint32_t file_of(const Elf64_Sym *symbol, const char *name, uint32_t file)
{
    const uint8_t type = ELF64_ST_TYPE(symbol->st_info);
    return ELF64_ST_BIND(symbol->st_info) == STB_LOCAL &&
                   (type == STT_FUNC || type == STT_GNU_IFUNC) && *name
               ? file
               : NO_FILE;
}

/* Add the symbol of a sort key: its address, and what value_of() has made. */
static enum bat_code make_symbol(const struct bat_sort_key *key, struct draft_symbols *symbols,
                                 struct bat_error *error)
{
    const struct symbol_table *table = &symbols->table;
    const uint32_t index = (uint32_t)key->value;
    const Elf64_Sym from = symbol_table_at(table, index);
    /* Both were read before it was sorted. */
    if (from.st_name >= table->strings_size || from.st_value != key->key)
        return bat_fail(error, BAT_ERR_IO, "was changed by another program while it was read");
    const char *name = draft_table_name(table, index, &from);
    if (is_mark(table, &from, name))
        return BAT_OK;
    const struct bat_section *in = symbol_table_section(table, index, &from);
    const bool is_code = in && (in->flags & SHF_EXECINSTR);
    struct draft_symbol *symbol = &symbols->all[symbols->count++];
    *symbol = (struct draft_symbol){
        .address = from.st_value,
        .size = from.st_size,
        .index = index,
        .file = file_of(&from, name, (uint32_t)(key->value >> 32)),
        .type = ELF64_ST_TYPE(from.st_info),
        .binding = ELF64_ST_BIND(from.st_info),
        .is_in_code = is_code && from.st_value != in->address + in->size,
        .is_in_data = in && !is_code,
    };
    return describe_name(symbols, symbol, name, error);
}

/* Add a symbol of data to those that only count, if it does. */
static enum bat_code make_other(uint32_t index, const Elf64_Sym *from, uint32_t file,
                                struct draft_symbols *symbols, struct bat_error *error)
{
    const char *name = draft_table_name(&symbols->table, index, from);
    const bool is_local = ELF64_ST_BIND(from->st_info) == STB_LOCAL;
    if ((!is_local && *name) || is_mark(&symbols->table, from, name))
        return BAT_OK;
    size_t length;
    BAT_TRY(measure_name(symbols, name, &length, error));
    if (!BAT_APPEND(symbols->others, symbols->other_count, symbols->other_capacity,
                    (struct draft_other){
                        .index = index,
                        .file = file_of(from, name, file),
                        .hash = hash_name(symbols, name, length),
                    }))
        return bat_fail_memory(error, "for %zu symbols", symbols->other_count);
    return BAT_OK;
}

/* --- Sorting ------------------------------------------------------------------------------ */

/* At one address, function symbols come first, section symbols last. */
static unsigned rank(const Elf64_Sym *symbol)
{
    const unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if (type == STT_FUNC || type == STT_GNU_IFUNC)
        return 0;
    return type == STT_SECTION ? 2 : 1;
}

/* A symbol's index in the table, and its draft_symbol's file, as one value of a sort key. */
static uint64_t value_of(uint32_t index, uint32_t file)
{
    return (uint64_t)file << 32 | index;
}

/* True for a symbol inside a section without code. At its end, it may begin the next section. */
static bool is_in_data(const struct bat_section *in, const Elf64_Sym *symbol)
{
    return in && !(in->flags & SHF_EXECINSTR) && symbol->st_value - in->address < in->size;
}

/* How many symbols ahead the prefetch is. */
#define FETCH_AHEAD 12u

/* Fetch the name of a later symbol if it may be one of data: names are in no order. */
static void fetch_name(const struct symbol_table *table, uint32_t i)
{
    if (table->count - i <= FETCH_AHEAD)
        return;
    const Elf64_Sym next = symbol_table_at(table, i + FETCH_AHEAD);
    if (rank(&next) == 1 && next.st_name < table->strings_size)
        __builtin_prefetch(symbol_table_name(table, &next));
}

/* The keys of all symbols that may count, by rank, in the table's order; with only_code others are
 * filled. Before the symbols are sorted, only the table is read: in its order most are elsewhere in
 * the result. */
static enum bat_code collect_keys(struct draft_symbols *symbols, bool only_code,
                                  struct bat_sort_key *keys, struct bat_sort_key *spare,
                                  uint32_t *count, struct bat_error *error)
{
    const struct symbol_table *table = &symbols->table;
    uint32_t file = NO_FILE;
    uint32_t functions = 0;
    uint32_t others = 0;              /* from the start of spare */
    uint32_t sections = table->count; /* from the end of spare, the last one first */
    for (uint32_t i = 1; i < table->count; i++) {
        const Elf64_Sym symbol = symbol_table_at(table, i);
        fetch_name(table, i);
        if (symbol.st_name >= table->strings_size)
            return symbol_table_fail_name(table, i, &symbol, error);
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FILE) {
            file = table->strings[symbol.st_name] ? symbol.st_name : NO_FILE;
            continue;
        }
        const struct bat_section *in;
        if (symbol.st_value == 0 || !symbol_section(table, i, &symbol, &in))
            continue;
        if (only_code && is_in_data(in, &symbol)) {
            BAT_TRY(make_other(i, &symbol, file, symbols, error));
            continue;
        }
        const unsigned its_rank = rank(&symbol);
        struct bat_sort_key *key = its_rank == 0   ? &keys[functions++]
                                   : its_rank == 1 ? &spare[others++]
                                                   : &spare[--sections];
        *key = (struct bat_sort_key){.key = symbol.st_value, .value = value_of(i, file)};
    }
    *count = functions;
    for (uint32_t i = 0; i < others; i++)
        keys[(*count)++] = spare[i];
    for (uint32_t i = table->count; i > sections; i--)
        keys[(*count)++] = spare[i - 1];
    return BAT_OK;
}

/* Fetch a symbol of the table, and the name of one that was fetched before. */
static void fetch(const struct symbol_table *table, const struct bat_sort_key *order, uint32_t i,
                  uint32_t count)
{
    if (i + 2 * FETCH_AHEAD < count) {
        const uint32_t index = (uint32_t)order[i + 2 * FETCH_AHEAD].value;
        __builtin_prefetch(table->symbols + (size_t)index * sizeof(Elf64_Sym));
    }
    if (i + FETCH_AHEAD < count) {
        const Elf64_Sym next = symbol_table_at(table, (uint32_t)order[i + FETCH_AHEAD].value);
        __builtin_prefetch(symbol_table_name(table, &next));
    }
}

/* Make the symbols; keys must have space for twice the table's number. */
static enum bat_code make_symbols(struct draft_symbols *symbols, bool only_code,
                                  struct bat_sort_key *keys, struct bat_error *error)
{
    const struct symbol_table *table = &symbols->table;
    struct bat_sort_key *spare = keys + table->count;
    uint32_t count = 0;
    BAT_TRY(collect_keys(symbols, only_code, keys, spare, &count, error));
    enum bat_code code = BAT_OK;
    const struct bat_sort_key *order = bat_sort_keys(keys, spare, count);
    symbols->all = bat_large_array((size_t)count + 1, sizeof(*symbols->all));
    BAT_TRY_MEMORY(symbols->all, error, "for %u symbols", count);
    for (uint32_t i = 0; i < count && !code; i++) {
        fetch(table, order, i, count);
        code = make_symbol(&order[i], symbols, error);
    }
    return code;
}

enum bat_code draft_symbols_read(const struct bat_elf *elf, bool only_code,
                                 struct draft_symbols *symbols, struct bat_error *error)
{
    struct symbol_table *table = &symbols->table;
    symbols->count = 0;
    symbols->seed = bat_hash_seed();
    enum bat_code code = symbol_table_open_unkept(table, elf, SHT_SYMTAB, error);
    if (code || !table->symbols)
        return code;
    struct bat_sort_key *keys = bat_large_array(2 * ((size_t)table->count + 1), sizeof(*keys));
    BAT_TRY_MEMORY(keys, error, "for %u symbols", table->count);
    code = make_symbols(symbols, only_code, keys, error);
    free(keys);
    return code;
}

void draft_symbols_free(struct draft_symbols *symbols)
{
    BAT_FREE_ALL(symbols->all, symbols->numbers, symbols->file_numbers, symbols->others);
    symbol_table_release(&symbols->table);
}

uint32_t draft_symbols_from(const struct draft_symbols *symbols, uint64_t address)
{
    return BAT_COUNT_BELOW(symbols->all, symbols->count, address, address);
}
