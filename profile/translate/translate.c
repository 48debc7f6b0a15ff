/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The library functions bat_profile_translate() and bat_profile_translate_moved(): the steps from a
 * profile to records. */
#include "bat_decoder.h"
#include "binary/original/folded.h"
#include "binary/original/original.h"
#include "profile/event_words.h"
#include "profile/prepare_binary.h"
#include "profile/profile.h"
#include "records.h"
#include "spec/array.h"
#include "spec/options.h"
#include "support/parallel.h"
#include "tableless.h"
#include "translation.h"
#include "yaml_probes.h"
#include <stdlib.h>

static enum bat_code translate_samples(struct translation *translation)
{
    const struct bat_counts *samples = &translation->profile->samples;
    struct bat_records *records = translation->records;
    for (uint32_t i = 0; i < samples->count; i++) {
        const uint64_t *item = bat_counts_item(samples, i);
        struct place place = translation_place(translation, item[0], false);
        records->counters.samples += item[1];
        translation_settle(&records->counters.balances.samples,
                           place.function == BAT_NONE ? OUTCOME_OUTSIDE : OUTCOME_RECORDED,
                           item[1]);
        if (place.function == BAT_NONE) {
            records->counters.external += item[1];
            continue;
        }
        records->counters.inside += item[1];
        records->counters.records.in += item[1];
        translation_touch(translation, place.function, item[1]);
        const uint64_t key[2] = {bat_fdata_word(BAT_KIND_SYMBOL, place.function), place.offset};
        enum bat_code code = bat_counts_add(&records->samples, key, item[1], 0);
        if (code != BAT_OK)
            return translation_fail(translation->error, code);
    }
    return BAT_OK;
}

static bool find_place(void *context, uint64_t address, uint32_t *function, uint64_t *offset)
{
    struct translation *translation = context;
    struct place place = translation_place(translation, address, false);
    if (place.function == BAT_NONE)
        return false;
    translation_touch(translation, place.function, 0);
    *function = place.function;
    *offset = place.offset;
    return true;
}

/* fdata of basic samples has no form for memory samples. */
static enum bat_code translate_memory(struct translation *translation,
                                      const struct bat_elf *symbols)
{
    struct bat_records *records = translation->records;
    if (records->kind != BAT_PROFILE_BRANCHES)
        return BAT_OK;
    return bat_translate_memory(
        records, translation->profile, symbols ? symbols : records->binary->elf,
        translation->options.keep_unknown_data, find_place, translation, translation->error);
}

/* For each function, find the BAT table that starts at its address. Both ascend by address. */
static enum bat_code find_tables(struct bat_records *records)
{
    const struct bat_map *map = records->binary_map;
    records->tables = malloc(((size_t)records->function_count + 1) * sizeof(*records->tables));
    if (!records->tables)
        return BAT_ERR_MEMORY;
    uint32_t next = 0;
    for (uint32_t i = 0; i < records->function_count; i++) {
        uint64_t address = records->symbols[i].address;
        while (next < bat_map_tables(map) && map->tables[map->by_address[next]].address < address)
            next++;
        bool found =
            next < bat_map_tables(map) && map->tables[map->by_address[next]].address == address;
        records->tables[i] = found ? map->by_address[next] : BAT_NONE;
    }
    return BAT_OK;
}

/* perf2bolt does not ask perf for the names of events whose samples have branch stacks. */
static enum bat_code copy_events(struct bat_records *records, const struct bat_profile *profile)
{
    if (records->is_parity && records->kind == BAT_PROFILE_BRANCHES && !profile->names_events)
        return BAT_OK;
    struct bat_event *sorted;
    uint32_t count;
    enum bat_code code = bat_events_sort(&profile->events, &sorted, &count);
    for (uint32_t i = 0; i < count && code == BAT_OK; i++) {
        uint32_t ignored;
        code = bat_strings_add(&records->events, sorted[i].name, strlen(sorted[i].name), &ignored);
    }
    bat_events_free(sorted, count);
    return code;
}

/* Read functions and map of the binary, or take them from the loading that the profile began. */
static enum bat_code load_binary(struct translation *translation, struct bat_elf *symbols,
                                 struct bat_sparse_map *sparse)
{
    struct bat_records *records = translation->records;
    struct bat_preparation *begun = translation->options.preparation;
    if (begun && bat_preparation_is_for(begun, records->binary, symbols))
        return bat_preparation_take(begun, &records->functions, sparse, translation->error);
    return bat_preparation_load(records->binary, symbols, translation->options.threads,
                                &records->functions, sparse, translation->error);
}

/*
 * Give functions their names in the input binary, where local names may have other numbers (f/2,
 * f/file.c/2).
 */
static enum bat_code rename_functions(struct bat_records *records,
                                      const struct bat_original *original)
{
    records->renamed = malloc(((size_t)records->function_count + 1) * sizeof(*records->renamed));
    if (!records->renamed)
        return BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < records->function_count; i++) {
        records->renamed[i] = records->symbols[i];
        const char *name = bat_original_name(original, records->symbols[i].address);
        if (name && records->symbols[i].name)
            records->renamed[i].name = name;
    }
    records->symbols = records->renamed;
    return BAT_OK;
}

/* Records of the input binary take the hashes from the BOLTed binary's note. */
static void take_hashes(struct bat_records *records, const struct bat_original *original)
{
    const struct bat_map *map = original->binary->map;
    records->map = map;
    for (uint32_t table = 0; table < map->hot_count; table++) {
        uint32_t input = bat_original_input_of_table(original, table);
        uint32_t function = input == BAT_NONE ? BAT_NONE
                                              : bat_functions_find(records->functions,
                                                                   original->inputs[input].address);
        if (function != BAT_NONE)
            records->tables[function] = table;
    }
}

/* Folded functions have the hashes of the function that BOLT kept, if their code is equal. */
static enum bat_code take_folded_hashes(struct translation *translation, struct folded *folded)
{
    struct bat_records *records = translation->records;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < folded->body_count && code == BAT_OK; i++) {
        const struct folded_body *body = &folded->bodies[i];
        const struct folded_member *kept = &folded->members[body->first_member];
        uint32_t with_table = bat_functions_find(records->functions, kept->start);
        if (with_table == BAT_NONE || records->tables[with_table] == BAT_NONE)
            continue;
        for (uint32_t j = 1; j < body->member_count && code == BAT_OK; j++) {
            uint32_t function = bat_functions_find(records->functions, kept[j].start);
            if (function == BAT_NONE || !translation->touched[function] ||
                records->tables[function] != BAT_NONE)
                continue;
            code = folded_read(folded, i);
            code = code ? code : folded_compare(folded, body->first_member + j);
            if (code == BAT_OK && kept[j].fit == FOLDED_EQUAL)
                records->tables[function] = records->tables[with_table];
        }
    }
    return code;
}

static enum bat_code take_all_hashes(struct translation *translation)
{
    const struct bat_original *original = translation->hashes_of;
    struct folded folded;
    take_hashes(translation->records, original);
    enum bat_code code = folded_open(&folded, original);
    code = code ? code : take_folded_hashes(translation, &folded);
    folded_close(&folded);
    return code == BAT_OK ? BAT_OK : translation_fail(translation->error, code);
}

/* Read the binary: functions, and as much of the map as the samples need. */
static enum bat_code open_binary(struct translation *translation, struct bat_elf *symbols,
                                 const struct bat_original *original)
{
    struct bat_records *records = translation->records;
    struct bat_sparse_map sparse = {0};
    /* Before the wait for threads that load the binary. */
    enum bat_code code = translation_sort_traces(translation);
    BAT_TRY(code);
    BAT_TRY(load_binary(translation, symbols, &sparse));
    records->symbols = bat_functions_all(records->functions, &records->function_count);
    records->binary_map = sparse.map ? sparse.map : records->binary->map;
    if (find_tables(records) != BAT_OK)
        code = translation_fail(translation->error, BAT_ERR_MEMORY);
    code = code ? code : translation_survey(translation, &sparse, original != NULL);
    /* Take the binary's map from binary, or from *sparse, which is empty afterwards. */
    records->own_map = sparse.map;
    sparse.map = NULL;
    records->binary_map = records->own_map ? records->own_map : records->binary->map;
    records->map = records->binary_map;
    bat_sparse_free(&sparse);
    return code;
}

static enum bat_code translate_traces(struct translation *translation)
{
    if (!translation->has_uncovered)
        BAT_TRY(translation_open_uncovered(translation, translation->error));
    return translation_all_traces(translation);
}

/* For each function: a sample names it as its address, or as an end of its branch. */
static void mark_sampled(const struct translation *translation, uint8_t *sampled)
{
    const struct bat_profile *profile = translation->profile;
    const struct bat_records *records = translation->records;
    /* Bytes behind the last function are for addresses in none. */
    const uint32_t none = records->function_count;
    for (uint32_t i = 0; i < profile->traces.count; i++) {
        const struct trace_functions *ends = &translation->ends[i];
        /* The known ends of a fall-through alone are its start and its end. */
        const bool has_branch = bat_counts_item(&profile->traces, i)[0] < BAT_TRACE_EXTERNAL_RETURN;
        const uint32_t other = has_branch ? ends->branch : ends->to;
        sampled[ends->from == BAT_NONE ? none : ends->from] = 1;
        sampled[other == BAT_NONE ? none : other] = 1;
    }
    for (uint32_t i = 0; i < profile->samples.count; i++) {
        const uint32_t function =
            translation_function(translation, bat_counts_item(&profile->samples, i)[0]);
        sampled[function == BAT_NONE ? none : function] = 1;
    }
}

/* Mark the functions that records of fdata name. */
static void mark_named(const struct bat_records *records, uint8_t *sampled)
{
    for (uint32_t i = 0; i < records->branches.count; i++) {
        const uint64_t *item = bat_records_branch(records, i);
        for (uint32_t end = 0; end <= 2; end += 2)
            if (bat_records_is_function(records, item[end]))
                sampled[(uint32_t)item[end]] = 1;
    }
}

static enum bat_code read_probes(const struct translation *translation)
{
    struct bat_records *records = translation->records;
    uint8_t *sampled = calloc((size_t)records->function_count + 1, 1);
    if (!sampled)
        return translation_fail(translation->error, BAT_ERR_MEMORY);
    mark_sampled(translation, sampled);
    if (translation->fdata_of->fdata.seen)
        mark_named(records, sampled);
    enum bat_code code = bat_yaml_probes_read(records, sampled, translation->error);
    free(sampled);
    return code;
}

static enum bat_code fill_records(struct translation *translation, struct bat_elf *symbols,
                                  const struct bat_original *original)
{
    struct bat_records *records = translation->records;
    records->symbols_elf = symbols;
    BAT_TRY(open_binary(translation, symbols, original));
    enum bat_code code = BAT_OK;
    records->original = original;
    if (copy_events(records, translation->profile) != BAT_OK)
        return translation_fail(translation->error, BAT_ERR_MEMORY);
    if (records->kind == BAT_PROFILE_BRANCHES)
        code = translate_traces(translation);
    else
        code = translate_samples(translation);
    code = code ? code : translate_memory(translation, symbols);
    /* fdata inputs may name any function; without them only functions with samples need names. */
    bool is_named = translation->fdata_of->fdata.seen;
    if (code == BAT_OK && !translation->has_names)
        code = translation_name(translation, is_named ? NULL : translation->touched);
    if (code == BAT_OK && original && rename_functions(records, original) != BAT_OK)
        code = translation_fail(translation->error, BAT_ERR_MEMORY);
    code = code ? code : bat_records_add_fdata(records, translation->fdata_of, translation->error);
    if (code == BAT_OK && translation->hashes_of)
        code = take_all_hashes(translation);
    if (code == BAT_OK && translation->options.yaml_probes)
        code = read_probes(translation);
    return code;
}

/* Sum up what is in the profile and in the records. One kind of samples makes all records. */
static void weigh_records(struct translation *translation)
{
    struct bat_records *records = translation->records;
    const struct bat_fdata *fdata = &translation->fdata_of->fdata;
    const struct bat_balances sums = bat_profile_sums(translation->profile);
    struct bat_balances *balances = &records->counters.balances;
    balances->branches.in = sums.branches.in;
    balances->runs.in = sums.runs.in;
    balances->mispredictions.in = sums.mispredictions.in;
    balances->samples.in = sums.samples.in;
    balances->loads.in = sums.loads.in;
    if (records->kind == BAT_PROFILE_BRANCHES) {
        balances->samples.left_out = sums.samples.in;
    } else {
        balances->branches.left_out = sums.branches.in;
        balances->runs.left_out = sums.runs.in;
        balances->mispredictions.left_out = sums.mispredictions.in;
        balances->loads.left_out = sums.loads.in;
    }
    records->counters.records.made +=
        fdata->seen ? bat_counts_sum(&fdata->branches) + bat_counts_sum(&fdata->samples) : 0;
    records->counters.records.out =
        bat_counts_sum(&records->branches) + bat_counts_sum(&records->samples);
}

/* Sort the records; add up those of all threads. */
static enum bat_code sort_records(struct translation *translation)
{
    struct bat_records *records = translation->records;
    bat_counts_sort(&records->samples);
    enum bat_code code =
        bat_counts_sort_together(&records->branches, translation->others, translation->other_count);
    return code == BAT_OK ? BAT_OK : translation_fail(translation->error, code);
}

/* One of the two searches in the sorted records. */
struct search {
    struct translation *translation;
    struct bat_elf *symbols;
    bool is_for_places;
    enum bat_code code;
    struct bat_error error;
};

static void *run_search(void *context)
{
    struct search *search = context;
    struct bat_records *records = search->translation->records;
    if (search->is_for_places) {
        search->code = bat_records_find_places(records, &search->error);
        return NULL;
    }
    weigh_records(search->translation);
    search->code = bat_records_find_entries(records, search->symbols, &search->error);
    return NULL;
}

/* Find entry points and places, by two threads: each search reads all records. */
static enum bat_code search_records(struct translation *translation, struct bat_elf *symbols)
{
    struct search searches[2] = {{.translation = translation, .symbols = symbols},
                                 {.translation = translation, .is_for_places = true}};
    if (translation->options.threads != 1)
        bat_parts_run(run_search, searches, sizeof(searches[0]), 2);
    for (size_t i = 0; i < 2; i++) {
        if (translation->options.threads == 1)
            run_search(&searches[i]);
        if (searches[i].code == BAT_OK)
            continue;
        if (translation->error)
            *translation->error = searches[i].error;
        return searches[i].code;
    }
    return BAT_OK;
}

/* Translate translation->profile; see fdata_of and hashes_of there. */
static enum bat_code translate_profile(struct translation *translation, struct bat_binary *binary,
                                       struct bat_elf *symbols, const struct bat_original *original,
                                       enum bat_profile_kind kind, struct bat_records **records)
{
    *records = NULL;
    struct bat_records *made = calloc(1, sizeof(*made));
    if (!made)
        return translation_fail(translation->error, BAT_ERR_MEMORY);
    translation->records = made;
    translation->last_start = UINT64_MAX; /* in no function */
    translation->last_place.function = BAT_NONE;
    made->binary = binary;
    made->kind = kind;
    made->threads = translation->options.threads;
    made->tableless.threads = made->threads;
    made->is_parity = translation->options.keep_all_records;
    made->has_extern = translation->options.yaml_extern;
    made->branches = bat_counts_new(4);
    made->samples = bat_counts_new(2);
    made->starts_reached = bat_counts_new(2);
    made->entry_ids = bat_counts_new(2);
    enum bat_code code = fill_records(translation, symbols, original);
    BAT_FREE_ALL(translation->touched, translation->surveyed, translation->ends, translation->keys);
    code = code ? code : sort_records(translation);
    for (unsigned i = 0; i < translation->other_count; i++)
        bat_counts_free(&translation->others[i]);
    free(translation->others);
    code = code ? code : search_records(translation, symbols);
    if (code != BAT_OK) {
        bat_records_free(made);
        return code;
    }
    if (!translation->options.will_be_judged)
        bat_records_forget_code(made);
    if (made->flows && made->map == made->binary_map && bat_records_can_lend_flows(made))
        made->shared_flows = made->flows;
    *records = made;
    return BAT_OK;
}

/* The options as the library has them, and what kind of samples they ask for. */
static enum bat_code read_options(struct translation *translation,
                                  const struct bat_translate_options *options,
                                  enum bat_profile_kind *kind)
{
    BAT_TRY(bat_options_copy(&translation->options, sizeof(translation->options), options,
                             "bat_translate_options", translation->error));
    *kind = translation->options.basic_samples ? BAT_PROFILE_SAMPLES
                                               : bat_profile_main_kind(translation->fdata_of);
    return BAT_OK;
}

enum bat_code bat_profile_translate(const struct bat_profile *profile, struct bat_binary *binary,
                                    const struct bat_translate_options *options,
                                    struct bat_records **records, struct bat_error *error)
{
    *records = NULL;
    if (!binary->elf)
        return bat_fail(error, BAT_ERR_ARGUMENT, "expected an ELF file, found a raw note");
    struct translation translation = {.profile = profile, .fdata_of = profile, .error = error};
    enum bat_profile_kind kind;
    BAT_TRY(read_options(&translation, options, &kind));
    return translate_profile(&translation, binary, translation.options.symbols,
                             translation.options.original, kind, records);
}

enum bat_code bat_profile_translate_moved(const struct bat_profile *moved,
                                          const struct bat_profile *profile,
                                          const struct bat_original *original,
                                          const struct bat_translate_options *options,
                                          struct bat_records **records, struct bat_error *error)
{
    *records = NULL;
    struct translation translation = {
        .profile = moved, .fdata_of = profile, .hashes_of = original, .error = error};
    enum bat_profile_kind kind;
    BAT_TRY(read_options(&translation, options, &kind));
    translation.options.preparation = NULL;
    struct bat_binary *input = calloc(1, sizeof(*input));
    if (!input)
        return translation_fail(error, BAT_ERR_MEMORY);
    enum bat_code code = bat_binary_without_note(original->elf, input, error);
    if (code == BAT_OK)
        code = translate_profile(&translation, input, original->input_symbols, NULL, kind, records);
    if (code == BAT_OK) {
        (*records)->input = input;
        return BAT_OK;
    }
    /* original owns the file. */
    input->elf = NULL;
    bat_binary_close(input);
    free(input);
    return code;
}
