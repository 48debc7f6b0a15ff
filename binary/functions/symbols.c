/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "draft.h"
#include "spec/binary_search.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/*
 * The symbol table as it is in the file. bat_elf_symbols() cannot be used: it leaves out section
 * symbols, which perf2bolt takes for functions where there is nothing else.
 */
struct table {
    const struct bat_elf *elf;
    const struct bat_section *sections;
    size_t section_count;
    const uint8_t *symbols;
    uint32_t count;
    const uint8_t *section_indices; /* SHT_SYMTAB_SHNDX, a word for each symbol; or NULL */
    const char *strings;            /* ends in a zero byte */
    uint64_t strings_size;
};

/* An offset that no FILE symbol's name has: offset 0 is the empty name. */
#define NO_FILE 0u

static Elf64_Sym symbol_at(const struct table *table, uint32_t index)
{
    Elf64_Sym symbol;
    memcpy(&symbol, table->symbols + (size_t)index * sizeof(symbol), sizeof(symbol));
    return symbol;
}

/* --- Finding the table -------------------------------------------------------------------- */

static void find_section_indices(struct table *table, const struct bat_section *symtab)
{
    for (size_t i = 0; i < table->section_count; i++) {
        const struct bat_section *section = &table->sections[i];
        if (section->type != SHT_SYMTAB_SHNDX || section->link != symtab->index)
            continue;
        uint64_t size;
        const uint8_t *bytes = bat_elf_section_bytes(table->elf, section, &size);
        if (bytes && size / sizeof(uint32_t) >= table->count)
            table->section_indices = bytes;
    }
}

static enum bat_code open_table(struct table *table, const struct bat_section *symtab,
                                struct bat_error *error)
{
    uint64_t size;
    table->symbols = bat_elf_section_bytes(table->elf, symtab, &size);
    if (!table->symbols) /* for example in a file with debugging sections only */
        return BAT_OK;
    if (size / sizeof(Elf64_Sym) >= BAT_NONE)
        return bat_fail(error, BAT_ERR_ELF, "the symbol table holds more than 2^32 symbols");
    table->count = (uint32_t)(size / sizeof(Elf64_Sym));
    if (symtab->link >= table->section_count)
        return bat_fail(error, BAT_ERR_ELF,
                        "the symbol table's strings are in section %" PRIu32
                        ", but there are only %zu sections",
                        symtab->link, table->section_count);
    const uint8_t *strings =
        bat_elf_section_bytes(table->elf, &table->sections[symtab->link], &table->strings_size);
    if (!strings || table->strings_size == 0 || strings[table->strings_size - 1] != 0)
        return bat_fail(error, BAT_ERR_ELF, "the symbol table's strings do not end in a zero byte");
    table->strings = (const char *)strings;
    find_section_indices(table, symtab);
    return BAT_OK;
}

/* --- Which symbols count ------------------------------------------------------------------ */

static bool is_in_memory(const struct bat_section *section)
{
    bool is_thread_local_zero = section->type == SHT_NOBITS && (section->flags & SHF_TLS);
    return (section->flags & SHF_ALLOC) && !is_thread_local_zero;
}

/*
 * The section of a symbol. False for a symbol that is undefined, common, in a section that is
 * not in memory, or that reaches out of its section. *in is NULL for an absolute symbol.
 */
static bool symbol_section(const struct table *table, uint32_t index, const Elf64_Sym *symbol,
                           const struct bat_section **in)
{
    uint32_t section = symbol->st_shndx;
    *in = NULL;
    if (section == SHN_ABS)
        return true;
    if (section == SHN_XINDEX && table->section_indices)
        memcpy(&section, table->section_indices + (size_t)index * sizeof(section), sizeof(section));
    else if (section >= SHN_LORESERVE)
        return false;
    if (section == SHN_UNDEF || section >= table->section_count)
        return false;
    *in = &table->sections[section];
    uint64_t offset = symbol->st_value - (*in)->address;
    return is_in_memory(*in) && symbol->st_value >= (*in)->address && offset <= (*in)->size &&
           symbol->st_size <= (*in)->size - offset;
}

/* AArch64 and RISC-V: $x and $d mark code and data, and name nothing. */
static bool is_marker(const struct table *table, const Elf64_Sym *symbol, const char *name)
{
    uint16_t machine = bat_elf_machine(table->elf);
    if (machine == EM_X86_64 || symbol->st_size != 0 ||
        ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE || name[0] != '$')
        return false;
    if (machine == EM_RISCV && name[1] == 'x')
        return true;
    return (name[1] == 'x' || name[1] == 'd') && (name[2] == '\0' || name[2] == '.');
}

static bool counts(const struct table *table, uint32_t index, const Elf64_Sym *symbol,
                   const struct bat_section **in)
{
    if (symbol->st_value == 0 || !symbol_section(table, index, symbol, in))
        return false;
    const char *name = table->strings + symbol->st_name;
    bool is_hot_marker = name[0] == '_' && name[1] == '_' &&
                         (strcmp(name, "__hot_start") == 0 || strcmp(name, "__hot_end") == 0);
    return !is_hot_marker && !is_marker(table, symbol, name);
}

/* --- One symbol --------------------------------------------------------------------------- */

static bool is_fragment_name(const char *name, size_t length)
{
    size_t end = length;
    while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9')
        end--;
    if (end < length) {
        if (end == 0 || name[end - 1] != '.')
            return false;
        end--;
    }
    return end > 5 &&
           (memcmp(name + end - 5, ".cold", 5) == 0 || memcmp(name + end - 5, ".warm", 5) == 0);
}

static uint8_t slashes_in(const char *name, size_t length)
{
    const char *first = memchr(name, '/', length);
    if (!first)
        return 0;
    return memchr(first + 1, '/', length - (size_t)(first + 1 - name)) ? 2 : 1;
}

/* Everything about a name is found here, in one pass in the file's order: later accesses would be
 * scattered. */
static enum bat_code describe_name(struct draft_symbols *symbols, struct draft_symbol *symbol,
                                   struct bat_error *error)
{
    size_t length = strlen(symbol->name);
    enum bat_code code = draft_symbols_spend(symbols, length + 1, error);
    if (code)
        return code;
    if (length > UINT32_MAX)
        return bat_fail(error, BAT_ERR_ELF, "a symbol's name is longer than 4 GB");
    symbol->length = (uint32_t)length;
    symbol->slashes = slashes_in(symbol->name, length);
    symbol->is_fragment = is_fragment_name(symbol->name, length);
    symbol->is_private = strncmp(symbol->name, ".L", 2) == 0;
    symbol->is_reserved =
        strncmp(symbol->name, "__bolt_reserved_", 16) == 0 &&
        (strcmp(symbol->name + 16, "start") == 0 || strcmp(symbol->name + 16, "end") == 0);
    if (symbol->binding == STB_LOCAL)
        symbol->hash = XXH3_64bits_withSeed(symbol->name, length, symbols->seed);
    return BAT_OK;
}

static enum bat_code make_symbol(const struct table *table, const Elf64_Sym *from, uint32_t file,
                                 const struct bat_section *in, struct draft_symbols *symbols,
                                 struct bat_error *error)
{
    struct draft_symbol *symbol = &symbols->all[symbols->count++];
    *symbol = (struct draft_symbol){
        .address = from->st_value,
        .size = from->st_size,
        .name = table->strings + from->st_name,
        .in = in,
        .type = ELF64_ST_TYPE(from->st_info),
        .binding = ELF64_ST_BIND(from->st_info),
    };
    if (symbol->type == STT_SECTION && !*symbol->name && in)
        symbol->name = in->name;
    if (symbol->binding == STB_LOCAL && draft_is_function(symbol) && *symbol->name &&
        file != NO_FILE)
        symbol->file = table->strings + file;
    return describe_name(symbols, symbol, error);
}

/* All symbols that count, in the table's order. */
static enum bat_code make_symbols(const struct table *table, struct draft_symbols *symbols,
                                  struct bat_error *error)
{
    uint32_t file = NO_FILE;
    for (uint32_t i = 1; i < table->count; i++) {
        Elf64_Sym symbol = symbol_at(table, i);
        if (symbol.st_name >= table->strings_size)
            return bat_fail(error, BAT_ERR_ELF,
                            "the name of symbol %" PRIu32 " is at offset %" PRIu32
                            ", beyond the %" PRIu64 " bytes of strings",
                            i, symbol.st_name, table->strings_size);
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FILE) {
            file = table->strings[symbol.st_name] ? symbol.st_name : NO_FILE;
            continue;
        }
        const struct bat_section *in;
        if (!counts(table, i, &symbol, &in))
            continue;
        enum bat_code code = make_symbol(table, &symbol, file, in, symbols, error);
        if (code)
            return code;
    }
    return BAT_OK;
}

/* --- Sorting ------------------------------------------------------------------------------ */

/* At one address, function symbols come first, section symbols last. */
static unsigned rank(const struct draft_symbol *symbol)
{
    if (draft_is_function(symbol))
        return 0;
    return symbol->type == STT_SECTION ? 2 : 1;
}

/* How many symbols ahead the prefetch is. */
#define FETCH_AHEAD 12u

/* The symbols, sorted; keys must have space for twice their number. NULL if out of memory. */
static struct draft_symbol *sort_symbols(const struct draft_symbols *symbols,
                                         struct bat_sort_key *keys)
{
    uint32_t count = 0;
    for (unsigned wanted = 0; wanted <= 2; wanted++)
        for (uint32_t i = 0; i < symbols->count; i++)
            if (rank(&symbols->all[i]) == wanted)
                keys[count++] = (struct bat_sort_key){.key = symbols->all[i].address, .value = i};
    const struct bat_sort_key *order = bat_sort_keys(keys, keys + count, count);
    struct draft_symbol *sorted = malloc(((size_t)count + 1) * sizeof(*sorted));
    for (uint32_t i = 0; sorted && i < count; i++) {
        if (i + FETCH_AHEAD < count) {
            const char *next = (const char *)&symbols->all[order[i + FETCH_AHEAD].value];
            __builtin_prefetch(next);
            __builtin_prefetch(next + sizeof(*sorted) - 1);
        }
        sorted[i] = symbols->all[order[i].value];
    }
    return sorted;
}

static enum bat_code read_symbols(const struct table *table, struct draft_symbols *symbols,
                                  struct bat_error *error)
{
    symbols->all = malloc(((size_t)table->count + 1) * sizeof(*symbols->all));
    if (!symbols->all)
        return bat_fail(error, BAT_ERR_MEMORY, "not enough memory for %" PRIu32 " symbols",
                        table->count);
    symbols->count = 0;
    symbols->seed = (uint64_t)(uintptr_t)symbols->all;
    enum bat_code code = make_symbols(table, symbols, error);
    if (code)
        return code;
    struct bat_sort_key *keys = malloc(2 * ((size_t)symbols->count + 1) * sizeof(*keys));
    struct draft_symbol *sorted = keys ? sort_symbols(symbols, keys) : NULL;
    free(keys);
    if (!sorted)
        return bat_fail(error, BAT_ERR_MEMORY, "not enough memory for %" PRIu32 " symbols",
                        symbols->count);
    free(symbols->all);
    symbols->all = sorted;
    return BAT_OK;
}

enum bat_code draft_symbols_read(const struct bat_elf *elf, struct draft_symbols *symbols,
                                 struct bat_error *error)
{
    struct table table = {.elf = elf};
    table.sections = bat_elf_sections(elf, &table.section_count);
    const struct bat_section *symtab = NULL;
    for (size_t i = 0; i < table.section_count && !symtab; i++)
        if (table.sections[i].type == SHT_SYMTAB)
            symtab = &table.sections[i];
    if (!symtab)
        return BAT_OK;
    enum bat_code code = open_table(&table, symtab, error);
    if (code || !table.symbols)
        return code;

    symbols->found = true;
    code = read_symbols(&table, symbols, error);
    bat_elf_release(elf, bat_elf_section_bytes(elf, symtab, &(uint64_t){0}), symtab->size);
    return code;
}

uint32_t draft_symbols_from(const struct draft_symbols *symbols, uint64_t address)
{
    return BAT_COUNT_BELOW(symbols->all, symbols->count, address, address);
}

uint64_t draft_text_limit(const struct bat_elf *elf)
{
    size_t count;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    uint64_t most;
    bat_elf_bytes(elf, &most);
    uint64_t bytes = 0;
    for (size_t i = 0; i < count && bytes < most; i++) {
        uint64_t size = 0;
        if (sections[i].type == SHT_SYMTAB || sections[i].type == SHT_DYNSYM ||
            sections[i].type == SHT_STRTAB)
            bat_elf_section_bytes(elf, &sections[i], &size);
        bytes += size;
    }
    return DRAFT_TEXT_FACTOR * (bytes < most ? bytes : most);
}

enum bat_code draft_symbols_spend(struct draft_symbols *symbols, uint64_t bytes,
                                  struct bat_error *error)
{
    if (bytes > symbols->text_left)
        return bat_fail(error, BAT_ERR_ELF,
                        "the names of the symbols overlap: together they are more than %u times as "
                        "long as the symbol tables and their strings",
                        DRAFT_TEXT_FACTOR);
    symbols->text_left -= bytes;
    return BAT_OK;
}
