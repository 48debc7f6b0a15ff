/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How dense a profile is: executed bytes for each byte of a function. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "binary/functions/name_parts.h"
#include "density.h"
#include "profile/profile.h"
#include "records.h"
#include "spec/order.h"

/* What a profile has of a function with all its fragments. */
struct sampled {
    uint64_t bytes;    /* executed */
    uint64_t branches; /* of its records */
    uint64_t size;     /* bytes of code; 0: it does not count */
    bool is_split;     /* has a fragment */
    double density;
    uint32_t function;
};

/* The function that a fragment is of; other functions are their own. */
static uint32_t parent_of(const struct bat_records *records, uint32_t function)
{
    const struct bat_map *map = records->map;
    uint32_t table = records->tables[function];
    if (table == BAT_NONE || map->tables[table].parent == table)
        return function;
    uint32_t found =
        bat_functions_find(records->functions, map->tables[map->tables[table].parent].address);
    return found == BAT_NONE ? function : found;
}

static void count_bytes(const struct bat_records *records, const struct bat_profile *profile,
                        struct sampled *sampled)
{
    for (uint32_t i = 0; i < profile->traces.count; i++) {
        const uint64_t *trace = bat_counts_item(&profile->traces, i);
        if (trace[2] == BAT_TRACE_BRANCH_ONLY)
            continue;
        uint32_t from = bat_functions_find(records->functions, trace[1]);
        if (from != BAT_NONE && from == bat_functions_find(records->functions, trace[2]))
            sampled[parent_of(records, from)].bytes += trace[3] * (trace[2] - trace[1]);
    }
}

static void count_branches(const struct bat_records *records, struct sampled *sampled)
{
    for (uint32_t i = 0; i < records->branches.count; i++) {
        const uint64_t *item = bat_records_branch(records, i);
        if (item[0] >> 32 == BAT_KIND_SYMBOL && (uint32_t)item[0] < records->function_count)
            sampled[(uint32_t)item[0]].branches += item[4];
    }
}

static void add_sizes(const struct bat_records *records, struct sampled *sampled)
{
    for (uint32_t i = 0; i < records->function_count; i++) {
        if (records->symbols[i].flags & BAT_FUNCTION_PLT)
            continue;
        uint32_t parent = parent_of(records, i);
        sampled[parent].size += records->symbols[i].size;
        sampled[parent].is_split |= parent != i;
    }
}

/* --- Fragments of the compiler --------------------------------------------------------------- */

/* Functions with fragments, by their names and files. */
struct stems {
    struct bat_strings names; /* "name" and "/file" */
    uint32_t *functions;      /* that has the name; BAT_NONE if none was met */
};

/* The number of a name of size bytes in a file; with add, it is added. BAT_NONE if that fails. */
static uint32_t stem_number(struct stems *stems, const char *name, size_t size, const char *file,
                            bool add)
{
    size_t file_size = file ? strlen(file) : 0;
    char *key = malloc(size + file_size + 2);
    uint32_t number = BAT_NONE;
    if (!key)
        return BAT_NONE;
    memcpy(key, name, size);
    key[size] = '/';
    memcpy(key + size + 1, file ? file : "", file_size + 1);
    if (!add)
        number = bat_strings_find(&stems->names, key, size + 1 + file_size);
    else if (bat_strings_add(&stems->names, key, size + 1 + file_size, &number) != BAT_OK)
        number = BAT_NONE;
    free(key);
    return number;
}

/* The function that starts where a symbol is; BAT_NONE if none does. */
static uint32_t function_at(const struct bat_records *records, const struct bat_symbol *symbol)
{
    uint32_t function = bat_functions_find(records->functions, symbol->address);
    bool starts = function != BAT_NONE && symbol->type == STT_FUNC &&
                  records->symbols[function].address == symbol->address;
    return starts ? function : BAT_NONE;
}

/* Add the sizes of fragments f.cold that BOLT found in its input to those of f. */
static enum bat_code add_compiler_fragments(const struct bat_records *records,
                                            struct sampled *sampled, struct bat_error *error)
{
    struct stems stems = {0};
    const struct bat_symbol *symbols;
    size_t count;
    const struct bat_elf *elf = records->symbols_elf ? records->symbols_elf : records->binary->elf;
    BAT_TRY(bat_elf_symbols((struct bat_elf *)elf, false, &symbols, &count, error));
    for (size_t i = 0; i < count; i++) {
        size_t stem = fragment_name_any_stem(symbols[i].name);
        if (stem != 0 && symbols[i].type == STT_FUNC)
            stem_number(&stems, symbols[i].name, stem, symbols[i].file, true);
    }
    stems.functions = malloc(((size_t)stems.names.count + 1) * sizeof(*stems.functions));
    for (uint32_t i = 0; stems.functions && i < stems.names.count; i++)
        stems.functions[i] = BAT_NONE;
    for (size_t i = 0; stems.functions && i < count; i++) {
        uint32_t number =
            stem_number(&stems, symbols[i].name, strlen(symbols[i].name), symbols[i].file, false);
        if (number != BAT_NONE)
            stems.functions[number] = function_at(records, &symbols[i]);
    }
    for (size_t i = 0; stems.functions && i < count; i++) {
        size_t stem = fragment_name_any_stem(symbols[i].name);
        uint32_t fragment = stem ? function_at(records, &symbols[i]) : BAT_NONE;
        if (fragment == BAT_NONE || parent_of(records, fragment) != fragment)
            continue;
        uint32_t number = stem_number(&stems, symbols[i].name, stem, symbols[i].file, false);
        uint32_t parent = number == BAT_NONE ? BAT_NONE : stems.functions[number];
        if (parent == BAT_NONE || parent == fragment || records->tables[parent] == BAT_NONE)
            continue;
        sampled[parent].size += records->symbols[fragment].size;
        sampled[parent].is_split = true;
    }
    enum bat_code code = stems.functions ? BAT_OK : bat_fail_memory(error, "for the density");
    free(stems.functions);
    bat_strings_free(&stems.names);
    return code;
}

/* --- The density ----------------------------------------------------------------------------- */

/*
 * perf2bolt leaves out functions that are not simple, unless BOLT split them: the code of others
 * has to be read.
 */
static enum bat_code drop_unread(const struct bat_records *records, struct sampled *sampled,
                                 struct bat_error *error)
{
    struct bat_tableless tableless = {.threads = records->threads};
    uint8_t *wanted = calloc((size_t)records->function_count + 1, 1);
    BAT_TRY_MEMORY(wanted, error, "for the density");
    for (uint32_t i = 0; i < records->function_count; i++)
        wanted[i] = sampled[i].branches != 0 && !sampled[i].is_split && sampled[i].size != 0;
    enum bat_code code = bat_tableless_open(&tableless, records->binary->elf, records->symbols_elf,
                                            records->functions, wanted, error);
    tableless.has_graphs = true;
    for (uint32_t i = 0; i < records->function_count && code == BAT_OK; i++) {
        const struct bat_code_graph *graph;
        if (!wanted[i])
            continue;
        code = bat_tableless_graph(&tableless, i, &graph, error);
        if (code == BAT_OK && !graph->is_simple)
            sampled[i].size = 0;
    }
    bat_tableless_close(&tableless);
    free(wanted);
    return code;
}

/* Compute the densities of the functions that count, and put these first. Returns their number. */
static uint32_t sort_by_density(struct sampled *sampled, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (sampled[i].size == 0 || sampled[i].branches == 0)
            continue;
        sampled[i].density = (double)sampled[i].bytes / (double)sampled[i].size;
        sampled[kept++] = sampled[i];
    }
    BAT_SORT(sampled, kept, BAT_DESCENDING(struct sampled, density),
             BAT_ASCENDING(struct sampled, branches));
    return kept;
}

/* The density of the last function that is needed for this share of all branches. */
static double density_of(const struct sampled *sampled, uint32_t kept, uint32_t cutoff)
{
    /* Functions of one instruction have no bytes that a trace could count: they say nothing. */
    uint64_t total = 0;
    for (uint32_t i = 0; i < kept && sampled[i].bytes != 0; i++)
        total += sampled[i].branches;
    /* In single precision, and then cut to a whole number, as LLVM does it. */
    const uint64_t enough = (uint64_t)((float)total * (float)cutoff / 1000000);
    uint64_t sum = 0;
    double density = 0;
    for (uint32_t i = 0; i < kept && sum < enough; i++) {
        sum += sampled[i].branches;
        density = sampled[i].density;
    }
    return density;
}

/* All functions that count, the densest first. The caller frees *sampled, also after a failure. */
static enum bat_code sample_functions(const struct bat_records *records,
                                      const struct bat_profile *profile, struct sampled **sampled,
                                      uint32_t *count, struct bat_error *error)
{
    *sampled = calloc((size_t)records->function_count + 1, sizeof(**sampled));
    BAT_TRY_MEMORY(*sampled, error, "for the density");
    for (uint32_t i = 0; i < records->function_count; i++)
        (*sampled)[i].function = i;
    count_bytes(records, profile, *sampled);
    count_branches(records, *sampled);
    add_sizes(records, *sampled);
    enum bat_code code = add_compiler_fragments(records, *sampled, error);
    code = code ? code : drop_unread(records, *sampled, error);
    if (code == BAT_OK)
        *count = sort_by_density(*sampled, records->function_count);
    return code;
}

enum bat_code bat_records_measure_density(const struct bat_records *records,
                                          const struct bat_profile *profile, uint32_t cutoff,
                                          double *density, bat_function_density_fn *found,
                                          void *context, struct bat_error *error)
{
    struct sampled *sampled;
    uint32_t count = 0;
    *density = 0;
    enum bat_code code = sample_functions(records, profile, &sampled, &count, error);
    if (code == BAT_OK)
        *density = density_of(sampled, count, cutoff);
    for (uint32_t i = 0; i < count && found && code == BAT_OK; i++) {
        const struct bat_function_density one = {.name = records->symbols[sampled[i].function].name,
                                                 .branches = sampled[i].branches,
                                                 .density = sampled[i].density};
        if (!found(&one, context))
            code = bat_fail_memory(error, "for the densities");
    }
    free(sampled);
    return code;
}

enum bat_code bat_records_density(const struct bat_records *records,
                                  const struct bat_profile *profile, uint32_t cutoff,
                                  double *density, struct bat_error *error)
{
    return bat_records_measure_density(records, profile, cutoff, density, NULL, NULL, error);
}

enum bat_code bat_records_densities(const struct bat_records *records,
                                    const struct bat_profile *profile,
                                    bat_function_density_fn *found, void *context,
                                    struct bat_error *error)
{
    return bat_records_measure_density(records, profile, 0, &(double){0}, found, context, error);
}
