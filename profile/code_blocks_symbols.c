/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "code_blocks_reader.h"

/*
 * What symbols say of code besides where functions are: which functions compilers have split, and
 * where AArch64 code holds data. Both need names that struct bat_function_symbol does not have:
 * aliases, and the mapping symbols $x and $d.
 */

struct symbol_table {
    const uint8_t *symbols;
    uint64_t count;
    const char *strings; /* ends in a zero byte */
    uint64_t strings_size;
    const struct bat_section *sections;
    size_t section_count;
};

/* An unreadable table has no symbols here; bat_functions_create() has told of it. */
static struct symbol_table open_table(const struct bat_elf *elf)
{
    struct symbol_table table = {0};
    table.sections = bat_elf_sections(elf, &table.section_count);
    const struct bat_section *symtab = bat_elf_section(elf, ".symtab");
    if (!symtab || symtab->type != SHT_SYMTAB || symtab->link >= table.section_count)
        return table;
    uint64_t size;
    table.symbols = bat_elf_section_bytes(elf, symtab, &size);
    table.strings = (const char *)bat_elf_section_bytes(elf, &table.sections[symtab->link],
                                                        &table.strings_size);
    if (table.symbols && table.strings && table.strings_size > 0 &&
        table.strings[table.strings_size - 1] == '\0')
        table.count = size / sizeof(Elf64_Sym);
    return table;
}

static Elf64_Sym symbol_at(const struct symbol_table *table, uint64_t index)
{
    Elf64_Sym symbol;
    memcpy(&symbol, table->symbols + index * sizeof(symbol), sizeof(symbol));
    return symbol;
}

static const char *name_of(const struct symbol_table *table, const Elf64_Sym *symbol)
{
    return symbol->st_name < table->strings_size ? table->strings + symbol->st_name : "";
}

/* --- Split functions ------------------------------------------------------------------------ */

/* What fragments say of a function's name. */
enum parent_kind {
    PARENT_OF_ANY,   /* there is a fragment of that name, and its file is not known */
    PARENT_OF_LOCAL, /* there is a local fragment of that name, in some file */
    PARENT_IN_FILE,  /* there is one in this file */
};

/* A place of a hash table with linear probing. */
struct parent {
    const char *name; /* NULL for a free place */
    const char *file; /* for PARENT_IN_FILE */
    size_t name_size;
    size_t file_size;
    enum parent_kind kind;
};

struct parents {
    struct parent *all;
    size_t capacity; /* a power of two; 0 if no function has fragments */
};

static uint64_t hash_of(const struct parent *parent)
{
    uint64_t hash = XXH3_64bits_withSeed(parent->name, parent->name_size, parent->kind);
    if (parent->kind == PARENT_IN_FILE)
        hash = XXH3_64bits_withSeed(parent->file, parent->file_size, hash);
    return hash;
}

static bool are_equal(const struct parent *a, const struct parent *b)
{
    if (a->kind != b->kind || a->name_size != b->name_size ||
        memcmp(a->name, b->name, a->name_size) != 0)
        return false;
    return a->kind != PARENT_IN_FILE ||
           (a->file_size == b->file_size && memcmp(a->file, b->file, a->file_size) == 0);
}

/* Where the parent is, or else the free place for it. */
static struct parent *find_place(const struct parents *parents, const struct parent *parent)
{
    size_t mask = parents->capacity - 1;
    size_t place = (size_t)hash_of(parent) & mask;
    while (parents->all[place].name && !are_equal(&parents->all[place], parent))
        place = (place + 1) & mask;
    return &parents->all[place];
}

/* "f" out of "f.cold", "f.cold.3", "f.warm"; size is the whole's. 0 if it is not of that form. */
static size_t parent_name_size(const char *name, size_t size)
{
    size_t end = size;
    while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9')
        end--;
    if (end < size && end > 0 && name[end - 1] == '.')
        size = end - 1;
    const size_t suffix = 5;
    bool is_fragment = size > suffix && (memcmp(name + size - suffix, ".cold", suffix) == 0 ||
                                         memcmp(name + size - suffix, ".warm", suffix) == 0);
    return is_fragment ? size - suffix : 0;
}

/* A fragment's name in profiles is "f.cold", "f.cold/N" or "f.cold/file.c/N". */
static void insert_parent_of(struct parents *parents, const char *fragment)
{
    const char *slash = strchr(fragment, '/');
    const char *last = strrchr(fragment, '/');
    size_t size = slash ? (size_t)(slash - fragment) : strlen(fragment);
    struct parent parent = {.name = fragment, .name_size = parent_name_size(fragment, size)};
    if (parent.name_size == 0)
        return;
    parent.kind = PARENT_OF_ANY;
    if (slash && slash != last) {
        parent.kind = PARENT_OF_LOCAL;
        *find_place(parents, &parent) = parent;
        parent.kind = PARENT_IN_FILE;
        parent.file = slash + 1;
        parent.file_size = (size_t)(last - slash) - 1;
    }
    *find_place(parents, &parent) = parent;
}

static enum bat_code collect_parents(const struct bat_code_reader *reader, struct parents *parents,
                                     struct bat_error *error)
{
    size_t count = 0;
    for (uint32_t i = 0; i < reader->function_count; i++)
        count += (reader->all[i].flags & BAT_FUNCTION_FRAGMENT) != 0;
    if (count == 0)
        return BAT_OK;
    parents->capacity = 16;
    while (parents->capacity < 4 * count) /* up to two places for each, half of all free */
        parents->capacity *= 2;
    parents->all = calloc(parents->capacity, sizeof(*parents->all));
    if (!parents->all)
        return bat_fail(error, BAT_ERR_MEMORY, "out of memory for %zu fragments", count);
    for (uint32_t i = 0; i < reader->function_count; i++)
        if (reader->all[i].flags & BAT_FUNCTION_FRAGMENT)
            insert_parent_of(parents, reader->all[i].name);
    return BAT_OK;
}

/* file is that of a local symbol; NULL for a global one, which may have fragments in any file. */
static bool is_parent(const struct parents *parents, const char *name, const char *file)
{
    struct parent parent = {.name = name, .name_size = strlen(name), .kind = PARENT_OF_ANY};
    if (find_place(parents, &parent)->name)
        return true;
    parent.kind = file ? PARENT_IN_FILE : PARENT_OF_LOCAL;
    parent.file = file;
    parent.file_size = file ? strlen(file) : 0;
    return find_place(parents, &parent)->name;
}

static void mark_if_split(struct bat_code_reader *reader, const struct parents *parents,
                          uint64_t address, const char *name, const char *file)
{
    uint32_t index = bat_functions_find(reader->functions, address);
    if (index == BAT_NONE || reader->all[index].address != address)
        return;
    struct code_wanted *wanted = code_find_wanted(reader, index);
    if (wanted && !wanted->is_split)
        wanted->is_split = is_parent(parents, name, file);
}

static void mark_split(struct bat_code_reader *reader, const struct symbol_table *table,
                       const struct parents *parents)
{
    const char *file = NULL;
    for (uint64_t i = 1; i < table->count; i++) {
        Elf64_Sym symbol = symbol_at(table, i);
        unsigned type = ELF64_ST_TYPE(symbol.st_info);
        if (type == STT_FILE)
            file = name_of(table, &symbol);
        if (type == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
            mark_if_split(reader, parents, symbol.st_value, name_of(table, &symbol),
                          ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ? file : NULL);
    }
}

static enum bat_code find_split(struct bat_code_reader *reader, const struct symbol_table *table,
                                struct bat_error *error)
{
    struct parents parents = {0};
    enum bat_code code = collect_parents(reader, &parents, error);
    if (!code && parents.capacity > 0)
        mark_split(reader, table, &parents);
    free(parents.all);
    for (uint32_t i = 0; i < reader->wanted_count && !code; i++)
        if (reader->all[reader->wanted[i].function].flags & BAT_FUNCTION_FRAGMENT)
            reader->wanted[i].is_split = true;
    return code;
}

/* --- Data in code ------------------------------------------------------------------------- */

/* BOLT moves sections, but not all of their mapping symbols. */
static bool is_in_its_section(const struct symbol_table *table, const Elf64_Sym *symbol)
{
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= table->section_count)
        return false;
    const struct bat_section *section = &table->sections[symbol->st_shndx];
    return (section->flags & SHF_EXECINSTR) && symbol->st_value - section->address <= section->size;
}

/* A mapping symbol of AArch64: $x, $d, also with a dot and anything behind. */
static bool is_marker(const struct symbol_table *table, const Elf64_Sym *symbol)
{
    if (ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE || symbol->st_size != 0)
        return false;
    const char *name = name_of(table, symbol);
    return name[0] == '$' && (name[1] == 'x' || name[1] == 'd') &&
           (name[2] == '\0' || name[2] == '.') && is_in_its_section(table, symbol);
}

static int by_address(const void *left, const void *right)
{
    const struct code_marker *a = left;
    const struct code_marker *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->is_data > b->is_data) - (a->is_data < b->is_data);
}

/* Keep those markers where something changes. */
static void unite_markers(struct bat_code_reader *reader)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < reader->marker_count; i++) {
        const struct code_marker *marker = &reader->markers[i];
        if (kept > 0 && reader->markers[kept - 1].is_data == marker->is_data)
            continue;
        if (kept > 0 && reader->markers[kept - 1].address == marker->address)
            continue;
        reader->markers[kept++] = *marker;
    }
    reader->marker_count = kept;
}

static enum bat_code find_markers(struct bat_code_reader *reader, const struct symbol_table *table,
                                  struct bat_error *error)
{
    uint64_t count = 0;
    for (uint64_t i = 1; i < table->count; i++) {
        Elf64_Sym symbol = symbol_at(table, i);
        count += is_marker(table, &symbol);
    }
    if (count >= BAT_NONE)
        return bat_fail(error, BAT_ERR_ELF, "the symbol table holds more than 2^32 symbols");
    reader->markers = malloc((size_t)(count + 1) * sizeof(*reader->markers));
    if (!reader->markers)
        return bat_fail(error, BAT_ERR_MEMORY, "out of memory for %" PRIu64 " mapping symbols",
                        count);
    for (uint64_t i = 1; i < table->count; i++) {
        Elf64_Sym symbol = symbol_at(table, i);
        if (is_marker(table, &symbol))
            reader->markers[reader->marker_count++] = (struct code_marker){
                .address = symbol.st_value, .is_data = name_of(table, &symbol)[1] == 'd'};
    }
    qsort(reader->markers, reader->marker_count, sizeof(*reader->markers), by_address);
    unite_markers(reader);
    return BAT_OK;
}

enum bat_code code_read_symbols(struct bat_code_reader *reader, const struct bat_elf *symbols,
                                struct bat_error *error)
{
    struct symbol_table table = open_table(symbols);
    enum bat_code code = find_split(reader, &table, error);
    if (!code && reader->machine == EM_AARCH64)
        code = find_markers(reader, &table, error);
    return code;
}
