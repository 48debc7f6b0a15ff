/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "symbol_index.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "binary/functions/plt.h"
#include "elfnote/text_budget.h"
#include "spec/array.h"
#include "spec/large_memory.h"
#include "spec/order.h"
#include "support/key_sort.h"

/* True for a symbol that can name an address. */
static bool can_name(const struct bat_elf *elf, const struct bat_symbol *symbol)
{
    size_t count;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    /* What is not loaded has offsets for addresses: gcc's link-time optimization has symbols in
       .debug_info. */
    if (symbol->section == BAT_SECTION_UNDEFINED || symbol->section >= count ||
        !(sections[symbol->section].flags & SHF_ALLOC) ||
        (sections[symbol->section].flags & SHF_TLS))
        return false;
    switch (symbol->type) {
    case STT_NOTYPE:
        /* Mapping symbols: "$x", "$d.5". */
        return symbol->name[0] != '$' || bat_elf_machine(elf) == EM_X86_64;
    case STT_FUNC:
    case STT_OBJECT:
    case STT_GNU_IFUNC:
        return true;
    default:
        return false;
    }
}

/* True if b names their address rather than a, which stands before it. */
static bool is_better(const struct bat_symbol *a, const struct bat_symbol *b)
{
    return a->size != b->size ? a->size < b->size : a->order <= b->order;
}

/* What is sorted: first the entries of procedure linkage tables, then the file's symbols. */
struct unsorted {
    const struct bat_symbol *plt;
    size_t plt_count;
    const struct bat_symbol *symbols;
};

/* Fill by_address, which has space for all symbols, from sorted keys: addresses and places. */
static void keep_best(struct symbol_index *index, const struct unsorted *unsorted,
                      const struct bat_sort_key *sorted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t place = sorted[i].value;
        const struct bat_symbol *symbol = place < unsorted->plt_count
                                              ? &unsorted->plt[place]
                                              : &unsorted->symbols[place - unsorted->plt_count];
        const size_t kept = index->count;
        if (kept == 0 || index->addresses[kept - 1] != symbol->address) {
            index->addresses[kept] = symbol->address;
            index->by_address[index->count++] = symbol;
        } else if (is_better(index->by_address[kept - 1], symbol)) {
            index->by_address[kept - 1] = symbol;
        }
    }
}

/* --- Procedure linkage tables --------------------------------------------------------------- */

static const char plt_suffix[] = "@plt";

/* How many entries, from the first, have names of at most limit bytes together; *size is theirs. */
static size_t count_plt_names(const struct bat_plt_entry *entries, size_t count, uint64_t limit,
                              size_t *size)
{
    *size = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t left = limit - *size;
        size_t length = entries[i].symbol ? strnlen(entries[i].symbol, left) : 0;
        if (length + sizeof(plt_suffix) > left)
            return i;
        *size += entries[i].symbol ? length + sizeof(plt_suffix) : 0;
    }
    return count;
}

/* An entry reaches to the next one, or to the end of its section. */
static uint64_t plt_entry_size(const struct bat_plt_entry *entries, size_t count, size_t i)
{
    const struct bat_section *section = entries[i].in;
    uint64_t end = section->address + section->size;
    if (i + 1 < count && entries[i + 1].address < end)
        end = entries[i + 1].address;
    return end - entries[i].address;
}

/* Make a symbol for each entry whose function has a name; *count is their number. */
static enum bat_code make_plt(struct symbol_index *index, size_t *count, struct bat_error *error)
{
    struct bat_plt_entry *entries;
    size_t entry_count;
    *count = 0;
    enum bat_code code = bat_plt_entries(index->elf, &entries, &entry_count, error);
    if (code != BAT_OK || entry_count == 0) {
        free(entries);
        return code;
    }
    size_t size;
    size_t named =
        count_plt_names(entries, entry_count, bat_budget_of_names(index->elf).left, &size);
    index->plt = calloc(entry_count, sizeof(*index->plt));
    index->plt_names = malloc(size + 1);
    if (!index->plt || !index->plt_names) {
        free(entries);
        return bat_fail_memory(error, "for %zu symbols", entry_count);
    }
    char *name = index->plt_names;
    for (size_t i = 0; i < named; i++) {
        if (!entries[i].symbol)
            continue;
        index->plt[(*count)++] = (struct bat_symbol){
            .address = entries[i].address,
            .size = plt_entry_size(entries, entry_count, i),
            .name = name,
            .section = entries[i].in->index,
            .type = STT_FUNC,
        };
        name = stpcpy(stpcpy(name, entries[i].symbol), plt_suffix) + 1;
    }
    free(entries);
    return BAT_OK;
}

/* --- By address ----------------------------------------------------------------------------- */

enum bat_code symbol_index_make(struct symbol_index *index, struct bat_elf *elf,
                                struct bat_error *error)
{
    *index = (struct symbol_index){.elf = elf};
    const struct bat_symbol *symbols;
    size_t count;
    enum bat_code code = bat_elf_symbols(elf, false, &symbols, &count, error);
    if (code == BAT_OK && count == 0)
        code = bat_elf_symbols(elf, true, &symbols, &count, error);
    size_t plt_count = 0;
    BAT_TRY(code);
    BAT_TRY(make_plt(index, &plt_count, error));
    const size_t most = count + plt_count;
    struct bat_sort_key *keys = bat_large_array(2 * most + 1, sizeof(*keys));
    index->by_address = bat_large_array(most + 1, sizeof(*index->by_address));
    index->addresses = bat_large_array(most + 1, sizeof(*index->addresses));
    if (!keys || !index->by_address || !index->addresses) {
        free(keys);
        return bat_fail_memory(error, "for %zu symbols", count);
    }
    size_t used = 0;
    for (size_t i = 0; i < plt_count; i++)
        keys[used++] = (struct bat_sort_key){index->plt[i].address, i};
    for (size_t i = 0; i < count; i++)
        if (can_name(elf, &symbols[i]))
            keys[used++] = (struct bat_sort_key){symbols[i].address, plt_count + i};
    const struct unsorted unsorted = {index->plt, plt_count, symbols};
    keep_best(index, &unsorted, bat_sort_keys(keys, keys + most, used), used);
    free(keys);
    return BAT_OK;
}

static void free_plain_names(struct symbol_index *index)
{
    for (size_t i = 0; i < index->plain_count; i++)
        free((char *)index->by_plain[i].name);
    index->plain_count = 0;
}

void symbol_index_free(struct symbol_index *index)
{
    free_plain_names(index);
    BAT_FREE_ALL(index->by_plain, index->by_name, index->by_address, index->addresses, index->plt,
                 index->plt_names);
    *index = (struct symbol_index){0};
}

/* True if symbol number i is the nearest one at or below the address. */
static bool is_nearest(const struct symbol_index *index, size_t i, uint64_t address)
{
    return i < index->count && index->addresses[i] <= address &&
           (i + 1 == index->count || index->addresses[i + 1] > address);
}

const struct bat_symbol *symbol_index_near(const struct symbol_index *index, uint64_t address,
                                           size_t *last)
{
    if (!is_nearest(index, *last, address)) {
        const size_t up_to = BAT_NUMBERS_UP_TO(index->addresses, index->count, address);
        if (up_to == 0)
            return NULL;
        *last = up_to - 1;
    }
    const struct bat_symbol *symbol = index->by_address[*last];
    if (symbol->size != 0)
        return address - symbol->address < symbol->size ? symbol : NULL;
    size_t count;
    const struct bat_section *section = bat_elf_sections(index->elf, &count) + symbol->section;
    bool inside = address >= section->address && address - section->address < section->size;
    return inside ? symbol : NULL;
}

const struct bat_symbol *symbol_index_at(const struct symbol_index *index, uint64_t address)
{
    size_t last = 0;
    return symbol_index_near(index, address, &last);
}

const struct bat_symbol *symbol_index_of_all(const struct symbol_index *index, uint64_t start,
                                             uint64_t end)
{
    size_t place = 0;
    const struct bat_symbol *symbol = symbol_index_near(index, start, &place);
    if (!symbol || symbol->size == 0)
        return NULL;
    uint64_t size = symbol->size;
    if (place + 1 < index->count && index->addresses[place + 1] - symbol->address < size)
        size = index->addresses[place + 1] - symbol->address;
    return end > start && end - symbol->address <= size ? symbol : NULL;
}

/* --- By name ------------------------------------------------------------------------------ */

static int compare_names(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t shorter = a_length < b_length ? a_length : b_length;
    int order = memcmp(a, b, shorter);
    return order ? order : a_length < b_length ? -1 : a_length > b_length;
}

static int by_name(const void *left, const void *right)
{
    const struct named_symbol *a = left;
    const struct named_symbol *b = right;
    int order = compare_names(a->name, a->length, b->name, b->length);
    if (order)
        return order;
    if (a->symbol->address != b->symbol->address)
        return a->symbol->address < b->symbol->address ? -1 : 1;
    /* Size 0, which means not known, comes first, then the largest. */
    uint64_t left_size = a->symbol->size - 1;
    uint64_t right_size = b->symbol->size - 1;
    return left_size > right_size ? -1 : left_size < right_size;
}

static bool is_function(const struct bat_elf *elf, const struct bat_symbol *symbol)
{
    return can_name(elf, symbol) && symbol->type != STT_OBJECT &&
           bat_elf_is_executable(elf, symbol->address);
}

/* Sort the names of all functions. by_address does not have them all: it has one an address. */
static bool make_names(struct symbol_index *index)
{
    const struct bat_symbol *symbols = NULL;
    size_t count = 0;
    struct bat_elf *elf = index->elf;
    if (bat_elf_symbols(elf, false, &symbols, &count, NULL) != BAT_OK)
        return false;
    if (count == 0 && bat_elf_symbols(elf, true, &symbols, &count, NULL) != BAT_OK)
        return false;
    index->by_name = calloc(count ? count : 1, sizeof(*index->by_name));
    if (!index->by_name)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!is_function(elf, &symbols[i]))
            continue;
        index->by_name[index->name_count++] =
            (struct named_symbol){symbols[i].name, symbols[i].name_length, &symbols[i]};
    }
    qsort(index->by_name, index->name_count, sizeof(*index->by_name), by_name);
    return true;
}

/*
 * The length of a demangled name without parameters and what follows them: up to the "(" that
 * matches the last ")". "operator()" and "(anonymous namespace)" have parentheses of their own.
 */
static size_t without_parameters(const char *name, size_t length)
{
    size_t end = length;
    while (end != 0 && name[end - 1] != ')')
        end--;
    /* Behind the parameters there is " const" or the like, not more of a name. */
    if (end == 0 || memchr(name + end, ':', length - end))
        return length;
    size_t depth = 0;
    for (size_t at = end; at != 0; at--) {
        if (name[at - 1] == ')')
            depth++;
        else if (name[at - 1] == '(' && --depth == 0)
            return at - 1 == 0 ? length : at - 1;
    }
    return length;
}

/*
 * Demangled names can be hundreds of times as long as mangled ones. If all together have more than
 * so many bytes for each byte of the file, none is known by its demangled name. clang's take as
 * many bytes as the file's symbols and strings.
 */
#define PLAIN_FACTOR 16u

static bool make_plain(struct symbol_index *index, bat_demangle_fn *demangle)
{
    struct bat_budget left;
    bat_elf_bytes(index->elf, &left.left);
    left.left *= PLAIN_FACTOR;
    index->by_plain = calloc(index->name_count ? index->name_count : 1, sizeof(*index->by_plain));
    if (!index->by_plain)
        return false;
    for (size_t i = 0; i < index->name_count; i++) {
        char *plain = demangle(index->by_name[i].name);
        if (!plain)
            continue;
        const size_t length = strlen(plain);
        index->by_plain[index->plain_count++] = (struct named_symbol){
            plain, without_parameters(plain, length), index->by_name[i].symbol};
        if (!bat_budget_spend(&left, length + 1)) {
            free_plain_names(index);
            break;
        }
    }
    qsort(index->by_plain, index->plain_count, sizeof(*index->by_plain), by_name);
    return true;
}

/* The first element whose name is not below name or, if behind is true, is above it. */
static size_t bound(const struct named_symbol *names, size_t count, struct bat_slice name,
                    bool behind)
{
    struct bat_search search = {.high = count};
    while (bat_search_next(&search)) {
        const struct named_symbol *named = &names[search.middle];
        int order = compare_names(named->name, named->length, name.text, name.length);
        bat_search_go(&search, order < 0 || (order == 0 && behind));
    }
    return search.low;
}

/* The elements equal to name in a sorted array. */
static size_t equal_range(const struct named_symbol *names, size_t count, struct bat_slice name,
                          const struct named_symbol **first)
{
    size_t start = bound(names, count, name, false);
    size_t end = bound(names, count, name, true);
    *first = end == start ? NULL : &names[start];
    return end - start;
}

size_t symbol_index_named(struct symbol_index *index, struct bat_slice name,
                          bat_demangle_fn *demangle, const struct named_symbol **first)
{
    *first = NULL;
    if (name.length == 0 || (!index->by_name && !make_names(index)))
        return 0;
    size_t count = equal_range(index->by_name, index->name_count, name, first);
    if (count != 0 || !demangle || (!index->by_plain && !make_plain(index, demangle)))
        return count;
    name.length = without_parameters(name.text, name.length);
    return equal_range(index->by_plain, index->plain_count, name, first);
}
