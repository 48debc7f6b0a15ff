/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "functions.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "draft.h"
#include "spec/array.h"
#include "spec/large_memory.h"
#include "spec/order.h"

/*
 * Look-ups use buckets: the address range of all functions is divided into about as many buckets of
 * 2^shift bytes as there are functions. starts_below[b] is the number of functions that start below
 * bucket b, so a look-up searches only the functions that start in the address's bucket.
 */
struct bat_functions {
    struct bat_function_symbol *all;
    uint32_t count;
    uint32_t *starts_below; /* bucket_count + 1 */
    uint64_t bucket_count;
    unsigned shift;
    uint64_t *entry_points;
    uint32_t *first_entry_point; /* count + 1: indices into entry_points */
    char *text;
    const struct bat_elf *elf;
    _Atomic(uint8_t) *padding; /* enum padding, by function; found at the first look-up there */
    struct draft *draft;       /* the source of the names; NULL once they are made */
};

enum padding {
    PADDING_UNKNOWN,
    PADDING_ONLY, /* there is only padding between size and extent */
    PADDING_NOT,
};

static void free_draft(struct draft *draft)
{
    if (!draft)
        return;
    draft_symbols_free(&draft->symbols);
    loaded_sections_free(&draft->sections);
    BAT_FREE_ALL(draft->fdes, draft->functions.all, draft->functions.namings, draft->entries.all,
                 draft->texts, draft);
}

void bat_functions_free(struct bat_functions *functions)
{
    if (!functions)
        return;
    BAT_FREE_ALL(functions->all, functions->starts_below, functions->entry_points,
                 functions->first_entry_point, functions->text, (void *)functions->padding);
    free_draft(functions->draft);
    free(functions);
}

/* --- Building ----------------------------------------------------------------------------- */

/* Number the symbols that name the wanted functions (NULL: all). */
static enum bat_code number_symbols(struct draft *draft, const uint8_t *wanted,
                                    struct bat_error *error)
{
    uint32_t *symbols[2]; /* [0]: to number by name; [1]: to number by name and file */
    uint32_t counts[2] = {0, 0};
    bool has_nameless = false;
    for (unsigned i = 0; i < 2; i++)
        symbols[i] = malloc(((size_t)draft->functions.count + 1) * sizeof(*symbols[i]));
    enum bat_code code = BAT_OK;
    if (!symbols[0] || !symbols[1])
        code = bat_fail_memory(error, "for the numbers of local symbols");
    for (uint32_t i = 0; i < draft->functions.count && !code; i++) {
        const struct draft_naming *naming = &draft->functions.namings[i];
        if (wanted && !wanted[i])
            continue;
        if (naming->name == DRAFT_NAME_FILE)
            symbols[1][counts[1]++] = naming->symbol;
        if (naming->name == DRAFT_NAME_LOCAL || naming->name == DRAFT_NAME_PLT)
            symbols[0][counts[0]++] = naming->symbol;
        has_nameless = has_nameless || naming->name == DRAFT_NAME_ANONYMOUS;
    }
    if (has_nameless && !code)
        code = draft_symbols_number_nameless(&draft->symbols, error);
    for (unsigned i = 0; i < 2; i++) {
        if (!code)
            code = draft_symbols_number(&draft->symbols, i == 1, symbols[i], counts[i], error);
        free(symbols[i]);
    }
    return code;
}

/* FDEs are read in a second thread, because symbols and FDEs are independent. */
struct fde_thread {
    struct draft *draft;
    enum bat_code code;
    struct bat_error error;
};

static void *read_fdes(void *context)
{
    struct fde_thread *reading = context;
    reading->code = draft_read_fdes(reading->draft, &reading->error);
    return NULL;
}

static enum bat_code read_symbols_and_fdes(struct draft *draft, const struct bat_elf *symbols,
                                           unsigned threads, struct bat_error *error)
{
    struct fde_thread reading = {.draft = draft};
    pthread_t thread;
    bool is_started = threads != 1 && pthread_create(&thread, NULL, read_fdes, &reading) == 0;
    enum bat_code code = draft_symbols_read(symbols, true, &draft->symbols, error);
    if (is_started)
        pthread_join(thread, NULL);
    else
        read_fdes(&reading);
    if (code || !reading.code)
        return code;
    if (error)
        *error = reading.error;
    return reading.code;
}

static enum bat_code find_functions(struct draft *draft, const struct bat_elf *symbols,
                                    unsigned threads, struct bat_error *error)
{
    draft->symbols.names = bat_budget_of_names(draft->elf);
    if (symbols != draft->elf)
        draft->symbols.names.left += bat_budget_of_names(symbols).left;
    enum bat_code code = read_symbols_and_fdes(draft, symbols, threads, error);
    code = code ? code : loaded_sections_read(&draft->sections, draft->elf, true, error);
    code = code ? code : draft_discover(draft, error);
    code = code ? code : draft_add_plt(draft, error);
    code = code ? code : draft_add_fdes(draft, error);
    code = code ? code : draft_set_sizes(draft, error);
    return code;
}

static enum bat_code take_functions(struct bat_functions *functions, struct draft *draft,
                                    struct bat_error *error)
{
    const uint32_t count = draft->functions.count;
    functions->all = draft->functions.all;
    draft->functions.all = NULL;
    functions->padding = calloc((size_t)count + 1, sizeof(*functions->padding));
    BAT_TRY_MEMORY(functions->padding, error, "for the table of functions");
    functions->elf = draft->elf;
    functions->count = count;
    return BAT_OK;
}

static enum bat_code fill_entry_points(struct bat_functions *functions, const struct draft *draft,
                                       struct bat_error *error)
{
    const struct draft_entries *entries = &draft->entries;
    functions->entry_points =
        malloc(((size_t)entries->count + 1) * sizeof(*functions->entry_points));
    functions->first_entry_point =
        malloc(((size_t)functions->count + 1) * sizeof(*functions->first_entry_point));
    if (!functions->entry_points || !functions->first_entry_point)
        return bat_fail_memory(error, "for the table of functions");
    uint32_t entry = 0;
    for (uint32_t i = 0; i < functions->count; i++) {
        functions->first_entry_point[i] = entry;
        for (; entry < entries->count && entries->all[entry].function == i; entry++)
            functions->entry_points[entry] = entries->all[entry].address;
    }
    functions->first_entry_point[functions->count] = entry;
    return BAT_OK;
}

/* --- Look-ups ----------------------------------------------------------------------------- */

static enum bat_code fill_buckets(struct bat_functions *functions, struct bat_error *error)
{
    uint32_t count = functions->count;
    uint64_t range = count ? functions->all[count - 1].address - functions->all[0].address : 0;
    functions->shift = 0;
    while (range >> functions->shift > count)
        functions->shift++;
    functions->bucket_count = (range >> functions->shift) + 1;
    functions->starts_below =
        malloc((functions->bucket_count + 1) * sizeof(*functions->starts_below));
    BAT_TRY_MEMORY(functions->starts_below, error, "for the table of functions");
    uint32_t below = 0;
    for (uint64_t bucket = 0; bucket <= functions->bucket_count; bucket++) {
        while (below < count && (functions->all[below].address - functions->all[0].address) >>
                                    functions->shift < bucket)
            below++;
        functions->starts_below[bucket] = below;
    }
    return BAT_OK;
}

/*
 * True if only padding follows a function up to its extent. Two threads may find out at the same
 * time; both get the same result.
 */
static bool is_padded(const struct bat_functions *functions, uint32_t index)
{
    const struct bat_function_symbol *function = &functions->all[index];
    enum padding known = atomic_load_explicit(&functions->padding[index], memory_order_relaxed);
    if (known == PADDING_UNKNOWN) {
        known =
            draft_is_padding(functions->elf, function->address + function->size, function->padding)
                ? PADDING_ONLY
                : PADDING_NOT;
        atomic_store_explicit(&functions->padding[index], (uint8_t)known, memory_order_relaxed);
    }
    return known == PADDING_ONLY;
}

/* The last function that starts at or below an address, or BAT_NONE. */
static uint32_t find_last(const struct bat_functions *functions, uint64_t address)
{
    if (functions->count == 0 || address < functions->all[0].address)
        return BAT_NONE;
    uint64_t bucket = (address - functions->all[0].address) >> functions->shift;
    if (bucket >= functions->bucket_count)
        bucket = functions->bucket_count - 1;
    /* Functions that start below the bucket start below the address; function 0 is never above. */
    const uint32_t low = functions->starts_below[bucket];
    const uint32_t count = functions->starts_below[bucket + 1] - low;
    return low + BAT_COUNT_UP_TO(functions->all + low, count, address, address) - 1;
}

uint32_t bat_functions_at(const struct bat_functions *functions, uint64_t address)
{
    uint32_t index = find_last(functions, address);
    return index != BAT_NONE && functions->all[index].address == address ? index : BAT_NONE;
}

uint32_t bat_functions_find(const struct bat_functions *functions, uint64_t address)
{
    uint32_t index = find_last(functions, address);
    if (index == BAT_NONE)
        return BAT_NONE;
    uint64_t offset = address - functions->all[index].address;
    if (offset < functions->all[index].size)
        return index;
    bool is_padding = offset - functions->all[index].size < functions->all[index].padding &&
                      is_padded(functions, index);
    return is_padding ? index : BAT_NONE;
}

const struct bat_function_symbol *bat_functions_all(const struct bat_functions *functions,
                                                    uint32_t *count)
{
    *count = functions->count;
    return functions->all;
}

const uint64_t *bat_functions_entry_points(const struct bat_functions *functions, uint32_t index,
                                           uint32_t *count)
{
    uint32_t first = functions->first_entry_point[index];
    *count = functions->first_entry_point[index + 1] - first;
    return functions->entry_points + first;
}

enum bat_code bat_functions_create_unnamed(const struct bat_elf *elf, const struct bat_elf *symbols,
                                           unsigned threads, struct bat_functions **functions,
                                           struct bat_error *error)
{
    *functions = NULL;
    struct bat_functions *result = calloc(1, sizeof(*result));
    struct draft *draft = calloc(1, sizeof(*draft));
    if (!result || !draft) {
        BAT_FREE_ALL(result, draft);
        return bat_fail_memory(error, "for the table of functions");
    }
    size_t section_count;
    draft->elf = elf;
    draft->file_sections = bat_elf_sections(elf, &section_count);
    result->draft = draft;
    enum bat_code code = BAT_OK;
    if (section_count > DRAFT_SECTIONS_END)
        code =
            bat_fail(error, BAT_ERR_UNSUPPORTED, "%zu sections are not supported", section_count);
    if (!code)
        code = find_functions(draft, symbols ? symbols : elf, threads, error);
    code = code ? code : take_functions(result, draft, error);
    code = code ? code : fill_entry_points(result, draft, error);
    code = code ? code : fill_buckets(result, error);
    if (code) {
        bat_functions_free(result);
        return code;
    }
    *functions = result;
    return BAT_OK;
}

/* What bat_functions_add() makes of a table. */
struct addition {
    struct bat_functions *functions;
    struct bat_function_symbol *all;
    uint32_t *first_entry_point;
    uint32_t kept;
    uint32_t next;      /* of the table's own functions */
    uint64_t added_end; /* of the last function that was added */
};

/* Take the table's own functions up to an address, but no labels in one that was added. */
static void take_own(struct addition *addition, uint64_t up_to)
{
    const struct bat_functions *functions = addition->functions;
    for (; addition->next < functions->count && functions->all[addition->next].address <= up_to;
         addition->next++) {
        const struct bat_function_symbol *own = &functions->all[addition->next];
        if (own->flags & BAT_FUNCTION_UNSIZED && own->address < addition->added_end)
            continue;
        addition->first_entry_point[addition->kept] = functions->first_entry_point[addition->next];
        addition->all[addition->kept++] = *own;
    }
}

/* Add a function unless it starts in one; one whose size only what follows tells ends there. */
static void add_one(struct addition *addition, const struct bat_function_symbol *added)
{
    struct bat_function_symbol *before = addition->kept ? &addition->all[addition->kept - 1] : NULL;
    const uint64_t distance = before ? added->address - before->address : 0;
    if (before && distance < before->size) {
        if (distance == 0 || !(before->flags & BAT_FUNCTION_UNSIZED))
            return;
        before->size = distance;
    }
    if (before && distance < bat_function_extent(before))
        before->padding = (uint32_t)(distance - before->size);
    addition->first_entry_point[addition->kept] =
        addition->functions->first_entry_point[addition->next];
    addition->all[addition->kept++] = *added;
    addition->added_end = added->address + added->size;
}

enum bat_code bat_functions_add(struct bat_functions *functions,
                                const struct bat_function_symbol *added, uint32_t count,
                                struct bat_error *error)
{
    const uint64_t room = (uint64_t)functions->count + count;
    struct addition addition = {.functions = functions};
    void *padding = calloc(room + 1, sizeof(*functions->padding));
    addition.all = room < BAT_NONE ? malloc((room + 1) * sizeof(*addition.all)) : NULL;
    addition.first_entry_point = malloc((room + 1) * sizeof(*addition.first_entry_point));
    if (!addition.all || !addition.first_entry_point || !padding) {
        BAT_FREE_ALL(addition.all, addition.first_entry_point, padding);
        return bat_fail_memory(error, "for the table of functions");
    }
    for (uint32_t i = 0; i < count; i++) {
        take_own(&addition, added[i].address);
        add_one(&addition, &added[i]);
    }
    take_own(&addition, UINT64_MAX);
    addition.first_entry_point[addition.kept] = functions->first_entry_point[functions->count];
    BAT_FREE_ALL(functions->all, functions->first_entry_point, (void *)functions->padding,
                 functions->starts_below);
    functions->all = addition.all;
    functions->first_entry_point = addition.first_entry_point;
    functions->padding = padding;
    functions->count = addition.kept;
    return fill_buckets(functions, error);
}

void bat_functions_take_first_names(struct bat_functions *functions)
{
    struct draft *draft = functions->draft;
    for (uint32_t i = 0; draft && i < draft->functions.count; i++) {
        struct draft_naming *naming = &draft->functions.namings[i];
        bool is_of_symbol = naming->name == DRAFT_NAME_PLAIN || naming->name == DRAFT_NAME_LOCAL ||
                            naming->name == DRAFT_NAME_FILE;
        if (!is_of_symbol || naming->first == BAT_NONE)
            continue;
        const struct draft_symbol *symbol = &draft->symbols.all[naming->first];
        naming->symbol = naming->first;
        if (symbol->is_nameless)
            naming->name = DRAFT_NAME_ANONYMOUS;
        else
            naming->name = symbol->binding == STB_LOCAL ? DRAFT_NAME_LOCAL : DRAFT_NAME_PLAIN;
    }
}

enum bat_code bat_functions_name(struct bat_functions *functions, const uint8_t *wanted,
                                 struct bat_error *error)
{
    struct draft *draft = functions->draft;
    if (!draft)
        return BAT_OK;
    enum bat_code code = number_symbols(draft, wanted, error);
    code = code ? code : draft_write_names(draft, wanted, functions->all, &functions->text, error);
    functions->draft = NULL;
    free_draft(draft);
    return code;
}

enum bat_code bat_functions_create(const struct bat_elf *elf, const struct bat_elf *symbols,
                                   struct bat_functions **functions, struct bat_error *error)
{
    enum bat_code code = bat_functions_create_unnamed(elf, symbols, 0, functions, error);
    code = code ? code : bat_functions_name(*functions, NULL, error);
    if (code) {
        bat_functions_free(*functions);
        *functions = NULL;
    }
    return code;
}
