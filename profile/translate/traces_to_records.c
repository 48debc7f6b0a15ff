/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Translates samples of a BOLTed binary to records of its input binary: spec/profiles.md 2. The
 * library functions bat_profile_translate() and bat_profile_translate_moved() are here.
 */
#include <stdlib.h>
#include <string.h>

#include "bat_decoder.h"
#include "binary/code/instructions.h"
#include "binary/original/folded.h"
#include "binary/original/original.h"
#include "profile/event_words.h"
#include "profile/prepare_binary.h"
#include "profile/profile.h"
#include "records.h"
#include "spec/options.h"
#include "tableless.h"
#include "translation.h"

/* --- Addresses ---------------------------------------------------------------------------- */

uint32_t translation_parent(const struct translation *translation, uint32_t function)
{
    const struct bat_map *map = translation_map(translation);
    uint32_t table = translation->records->tables[function];
    if (table == BAT_NONE || map->tables[table].parent == table)
        return function;
    uint64_t parent = map->tables[map->tables[table].parent].address;
    uint32_t found = translation_function(translation, parent);
    return found == BAT_NONE ? function : found;
}

/* As translation_place(), of an address whose function is known. */
static struct place place_in(const struct translation *translation, uint32_t function,
                             uint64_t address, bool is_branch_source)
{
    const struct bat_records *records = translation->records;
    if (function == BAT_NONE)
        return (struct place){.function = BAT_NONE};
    uint64_t offset =
        bat_map_translate(translation_map(translation), records->tables[function],
                          address - records->symbols[function].address, is_branch_source);
    return (struct place){.function = translation_parent(translation, function), .offset = offset};
}

struct place translation_place(const struct translation *translation, uint64_t address,
                               bool is_branch_source)
{
    uint32_t function = translation_function(translation, address);
    return place_in(translation, function, address, is_branch_source);
}

void translation_touch(struct translation *translation, uint32_t function, uint64_t count)
{
    struct bat_records *records = translation->records;
    bool has_table = records->tables[function] != BAT_NONE;
    if (!has_table)
        records->counters.without_table += count;
    if (translation->touched[function] || translation->is_trial)
        return;
    translation->touched[function] = 1;
    records->counters.functions++;
    records->counters.functions_without_table += !has_table;
}

/* --- Records ------------------------------------------------------------------------------ */

static enum bat_code fail_add(struct bat_error *error, enum bat_code code)
{
    return bat_counts_fail(error, code, "the translated profile");
}

enum bat_code translation_add(struct translation *translation, struct place from, struct place to,
                              uint64_t count, uint64_t mispredictions)
{
    const uint64_t unknown = bat_fdata_word(BAT_KIND_UNKNOWN, BAT_NAME_UNKNOWN);
    const uint64_t key[4] = {
        from.function == BAT_NONE ? unknown : bat_fdata_word(BAT_KIND_SYMBOL, from.function),
        from.offset,
        to.function == BAT_NONE ? unknown : bat_fdata_word(BAT_KIND_SYMBOL, to.function),
        to.offset,
    };
    translation->outcome |=
        mispredictions ? OUTCOME_RECORDED | OUTCOME_MISPREDICTED : OUTCOME_RECORDED;
    if (translation->is_trial)
        return BAT_OK;
    translation->records->counters.records.in += count;
    enum bat_code code = bat_counts_add_later(&translation->records->branches, &translation->batch,
                                              key, count, mispredictions);
    return code == BAT_OK ? BAT_OK : fail_add(translation->error, code);
}

/* --- Traces ------------------------------------------------------------------------------- */

/* True if the instruction at this address of the binary is a return. */
static bool is_return_instruction(const struct translation *translation, uint64_t address)
{
    const struct bat_elf *elf = translation->records->binary->elf;
    uint64_t available;
    const uint8_t *bytes = bat_elf_at_address(elf, address, &available);
    return bytes && bat_is_return(bat_elf_machine(elf), bytes, (size_t)available);
}

static bool is_return(const struct translation *translation, const struct trace *trace)
{
    uint64_t branch = trace->branch;
    if (branch >= BAT_TRACE_EXTERNAL_RETURN || branch == BAT_ADDRESS_EXTERNAL)
        return branch == BAT_TRACE_EXTERNAL_RETURN;
    return bat_counts_find(&translation->profile->returns, &branch) != NULL ||
           (trace->in.branch != BAT_NONE && is_return_instruction(translation, branch));
}

static bool records_of_table(const struct translation *translation, uint32_t function)
{
    return translation->records->tables[function] != BAT_NONE;
}

/* Add the record of a trace's branch: from its source to where the fall-through starts. */
static enum bat_code translate_branch(struct translation *translation, const struct trace *trace)
{
    struct bat_translate_counters *counters = &translation->records->counters;
    struct place from = place_in(translation, trace->in.branch, trace->branch, true);
    struct place to = place_in(translation, trace->in.from, trace->from, false);
    if (from.function == BAT_NONE && to.function == BAT_NONE) {
        counters->external += trace->count;
        translation->outcome |= OUTCOME_OUTSIDE;
        return BAT_OK;
    }
    counters->inside += trace->count;
    if (from.function != BAT_NONE)
        translation_touch(translation, from.function, trace->count);
    else
        translation_touch(translation, to.function, trace->count);
    if (to.function != BAT_NONE)
        translation_touch(translation, to.function, 0);
    if (!translation->options.keep_all_records && from.function != BAT_NONE &&
        records_of_table(translation, from.function))
        return translation_flow_branch(translation, trace, from, to);
    return translation_add(translation, from, to, trace->count, trace->mispredictions);
}

enum bat_code translation_add_inside(struct translation *translation, uint32_t function,
                                     uint64_t from, uint64_t to, uint64_t count,
                                     uint64_t mispredictions)
{
    struct bat_records *records = translation->records;
    enum bat_code code = translation_add(translation, (struct place){function, from},
                                         (struct place){function, to}, count, mispredictions);
    if (code != BAT_OK || to != 0 || translation->is_trial)
        return code;
    const uint64_t key[2] = {function, from};
    code = bat_counts_add(&records->starts_reached, key, count, 0);
    return code == BAT_OK ? BAT_OK : fail_add(translation->error, code);
}

/* Add fall-throughs in a function with a table. Behind a return they begin in the call's block. */
static enum bat_code translate_by_table(struct translation *translation, uint32_t function,
                                        const struct trace *trace, bool returned)
{
    const struct bat_records *records = translation->records;
    uint64_t start = records->symbols[function].address;
    uint64_t from = trace->from - start;
    if (returned) {
        /* There is no call before a function's start. */
        translation->outcome |= from == 0 ? OUTCOME_INVALID : 0;
        if (from == 0)
            return BAT_OK;
        from--;
    }
    translation->outcome |= trace->from > trace->to ? OUTCOME_INVALID : OUTCOME_WITHIN;
    if (!translation->options.keep_all_records)
        return translation_flow_run(translation, function, start + from, trace);
    uint32_t parent = translation_parent(translation, function);
    struct bat_fallthrough_walk walk = bat_map_fallthroughs(
        translation_map(translation), records->tables[function], from, trace->to - start);
    struct bat_fallthrough pair;
    enum bat_code code = BAT_OK;
    if (walk.last - walk.entry > LONG_RUN)
        return translation_add_long_run(translation, function, walk.table->entry_count,
                                        walk.entry - walk.table->first_entry,
                                        walk.last - walk.table->first_entry, trace->count);
    while (code == BAT_OK && bat_fallthrough_next(&walk, &pair))
        code = translation_add_inside(translation, parent, pair.from, pair.to, trace->count, 0);
    return code;
}

/* The bits of enum bat_trace_source for a trace in a function without a table. */
static unsigned trace_source(const struct bat_function_symbol *symbol, const struct trace *trace,
                             bool returned)
{
    bool is_inside =
        trace->branch == BAT_TRACE_FALLTHROUGH_ONLY ||
        (trace->branch >= symbol->address && trace->branch - symbol->address < symbol->size);
    return (is_inside ? BAT_TRACE_INSIDE : BAT_TRACE_OUTSIDE) |
           (returned ? BAT_TRACE_RETURN : BAT_TRACE_INSIDE);
}

/* Add fall-throughs in a function that BOLT has left in place, by its instructions. */
static enum bat_code translate_by_code(struct translation *translation, uint32_t function,
                                       const struct trace *trace, bool returned)
{
    const struct bat_function_symbol *symbol = &translation->records->symbols[function];
    translation->outcome |= OUTCOME_WITHIN;
    if (symbol->flags & BAT_FUNCTION_PLT)
        return BAT_OK;
    const struct bat_code_blocks *blocks;
    enum bat_code code = bat_tableless_blocks(&translation->records->tableless, function, &blocks,
                                              translation->error);
    if (code != BAT_OK)
        return code;
    struct bat_code_fallthroughs found;
    if (!bat_code_fallthroughs(blocks, trace->from - symbol->address, trace->to - symbol->address,
                               trace_source(symbol, trace, returned), &found)) {
        translation->outcome |= OUTCOME_INVALID;
        translation->records->counters.invalid += trace->count;
        translation->records->counters.unread += blocks->count == 0 ? trace->count : 0;
        return BAT_OK;
    }
    if (found.end > found.first + LONG_RUN)
        return translation_add_long_run(translation, function, blocks->count, found.first,
                                        found.end, trace->count);
    for (uint32_t i = found.first; i < found.end && code == BAT_OK; i++)
        code = translation_add_fallthrough(translation, function, &blocks->all[i], trace->count);
    return code;
}

/*
 * The function that holds both ends of a fall-through, or BAT_NONE. *is_invalid is true if the ends
 * are in two different functions.
 */
static uint32_t fallthrough_function(const struct trace *trace, bool *is_invalid)
{
    uint32_t from = trace->in.from;
    uint32_t to = trace->in.to;
    *is_invalid = from != BAT_NONE && to != BAT_NONE && from != to;
    return from == to ? from : BAT_NONE;
}

/* Add the fall-through of a trace, from the branch's target to the next branch. */
static enum bat_code translate_fallthrough(struct translation *translation,
                                           const struct trace *trace, bool returned)
{
    struct bat_translate_counters *counters = &translation->records->counters;
    bool is_invalid;
    uint32_t function = fallthrough_function(trace, &is_invalid);
    counters->fallthroughs += trace->count;
    if (function == BAT_NONE) {
        translation->outcome |= is_invalid ? OUTCOME_INVALID : OUTCOME_OUTSIDE;
        counters->invalid += is_invalid ? trace->count : 0;
        counters->out_of_range += is_invalid ? 0 : trace->count;
        counters->elsewhere += trace->from == 0 || trace->to == 0 ? trace->count : 0;
        return BAT_OK;
    }
    translation_touch(translation, translation_parent(translation, function), 0);
    if (translation->records->tables[function] != BAT_NONE)
        return translate_by_table(translation, function, trace, returned);
    return translate_by_code(translation, function, trace, returned);
}

/* Add a count to a balance by what became of it; to none if nothing is known of that. */
static void settle(struct bat_balance *balance, unsigned outcome, uint64_t count)
{
    if (outcome & OUTCOME_RECORDED)
        balance->out += count;
    else if (outcome & OUTCOME_INVALID)
        balance->invalid += count;
    else if (outcome & OUTCOME_OUTSIDE)
        balance->outside += count;
    else if (outcome & OUTCOME_LEFT_OUT)
        balance->left_out += count;
    else if (outcome & OUTCOME_WITHIN)
        balance->joined += count;
}

/* Settle a trace's branch. Records need not have its mispredictions. */
static void settle_branch(struct translation *translation, const struct trace *trace)
{
    struct bat_balances *balances = &translation->records->counters.balances;
    unsigned outcome = translation->outcome;
    if (trace->branch < BAT_TRACE_EXTERNAL_RETURN)
        settle(&balances->branches, outcome, trace->count);
    if (trace->branch >= BAT_TRACE_EXTERNAL_RETURN ||
        (outcome & (OUTCOME_RECORDED | OUTCOME_MISPREDICTED)) == OUTCOME_RECORDED)
        outcome = OUTCOME_LEFT_OUT;
    settle(&balances->mispredictions, outcome, trace->mispredictions);
}

static enum bat_code translate_trace(struct translation *translation, const struct trace *trace)
{
    struct bat_translate_counters *counters = &translation->records->counters;
    counters->samples += trace->count;
    translation->outcome = 0;
    bool returned = is_return(translation, trace);
    bool has_branch = trace->branch < BAT_TRACE_EXTERNAL_RETURN;
    enum bat_code code = BAT_OK;
    if (returned || !has_branch) {
        counters->returns += returned ? trace->count : 0;
        uint32_t function = trace->in.from;
        if (function == BAT_NONE) {
            counters->external += trace->count;
            translation->outcome |= OUTCOME_OUTSIDE;
        } else {
            counters->inside += trace->count;
            translation->outcome |= OUTCOME_WITHIN; /* the run stands for the return */
            translation_touch(translation, translation_parent(translation, function), trace->count);
        }
    } else {
        code = translate_branch(translation, trace);
    }
    settle_branch(translation, trace);
    if (code != BAT_OK || trace->to == BAT_TRACE_BRANCH_ONLY)
        return code;
    translation->outcome = 0;
    code = translate_fallthrough(translation, trace, returned);
    settle(&counters->balances.runs, translation->outcome, trace->count);
    return code;
}

static struct trace trace_at(const struct translation *translation, uint32_t i)
{
    const uint64_t *item = bat_counts_item(&translation->profile->traces, i);
    return (struct trace){.branch = item[0],
                          .from = item[1],
                          .to = item[2],
                          .count = item[3],
                          .mispredictions = item[4],
                          .in = translation->ends[i]};
}

/* Mark a function without a table: its code must be read. */
static void want_code(const struct translation *translation, uint32_t function, uint8_t *wanted)
{
    const struct bat_records *records = translation->records;
    if (function != BAT_NONE && records->tables[function] == BAT_NONE &&
        !(records->symbols[function].flags & BAT_FUNCTION_PLT))
        wanted[function] = 1;
}

/*
 * Open the code of all functions without a table that traces run through; they must be opened
 * together. To judge the records, all functions that the records name are needed.
 */
static enum bat_code open_uncovered(struct translation *translation, struct bat_elf *symbols)
{
    struct bat_records *records = translation->records;
    bool is_judged = translation->options.will_be_judged;
    uint8_t *wanted = calloc((size_t)records->function_count + 1, 1);
    if (!wanted)
        return fail_add(translation->error, BAT_ERR_MEMORY);
    for (uint32_t i = 0; i < translation->profile->traces.count; i++) {
        struct trace trace = trace_at(translation, i);
        bool is_invalid;
        if (trace.to != BAT_TRACE_BRANCH_ONLY)
            want_code(translation, fallthrough_function(&trace, &is_invalid), wanted);
        if (is_judged && trace.branch < BAT_TRACE_EXTERNAL_RETURN)
            want_code(translation, trace.in.branch, wanted);
        if (is_judged)
            want_code(translation, trace.in.from, wanted);
    }
    enum bat_code code = bat_tableless_open(&records->tableless, records->binary->elf, symbols,
                                            records->functions, wanted, translation->error);
    records->tableless.has_graphs = is_judged;
    free(wanted);
    return code == BAT_OK ? bat_tableless_read_all(&records->tableless, translation->error) : code;
}

static enum bat_code translate_traces(struct translation *translation, struct bat_elf *symbols)
{
    enum bat_code code = open_uncovered(translation, symbols);
    return code == BAT_OK ? translation_all_traces(translation) : code;
}

enum bat_code translation_traces(struct translation *translation, uint32_t first, uint32_t end)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = first; i < end && code == BAT_OK; i++) {
        struct trace trace = trace_at(translation, (uint32_t)translation->order[i].value);
        code = translate_trace(translation, &trace);
    }
    if (code == BAT_OK)
        code = translation_end_long_runs(translation);
    free(translation->long_runs.steps);
    translation->long_runs = (struct long_runs){0};
    if (code != BAT_OK)
        return code;
    code = bat_counts_flush(&translation->records->branches, &translation->batch);
    return code == BAT_OK ? BAT_OK : fail_add(translation->error, code);
}

/* --- Basic samples ------------------------------------------------------------------------ */

static enum bat_code translate_samples(struct translation *translation)
{
    const struct bat_counts *samples = &translation->profile->samples;
    struct bat_records *records = translation->records;
    for (uint32_t i = 0; i < samples->count; i++) {
        const uint64_t *item = bat_counts_item(samples, i);
        struct place place = translation_place(translation, item[0], false);
        records->counters.samples += item[1];
        settle(&records->counters.balances.samples,
               place.function == BAT_NONE ? OUTCOME_OUTSIDE : OUTCOME_RECORDED, item[1]);
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
            return fail_add(translation->error, code);
    }
    return BAT_OK;
}

/* --- Memory samples ----------------------------------------------------------------------- */

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

/* --- The profile -------------------------------------------------------------------------- */

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

/* Take the binary's map from binary, or from *sparse, which is empty afterwards. */
static void take_map(struct bat_records *records, struct bat_sparse_map *sparse)
{
    records->own_map = sparse->map;
    sparse->map = NULL;
    records->binary_map = records->own_map ? records->own_map : records->binary->map;
    records->map = records->binary_map;
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
            if (code == BAT_OK)
                code = folded_compare(folded, body->first_member + j);
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
    if (code == BAT_OK)
        code = take_folded_hashes(translation, &folded);
    folded_close(&folded);
    return code == BAT_OK ? BAT_OK : fail_add(translation->error, code);
}

/* Read the binary: functions, and as much of the map as the samples need. */
static enum bat_code open_binary(struct translation *translation, struct bat_elf *symbols,
                                 const struct bat_original *original)
{
    struct bat_records *records = translation->records;
    struct bat_sparse_map sparse = {0};
    /* Before the wait for threads that load the binary. */
    enum bat_code code = translation_sort_traces(translation);
    if (code == BAT_OK)
        code = load_binary(translation, symbols, &sparse);
    if (code != BAT_OK)
        return code;
    records->symbols = bat_functions_all(records->functions, &records->function_count);
    records->binary_map = sparse.map ? sparse.map : records->binary->map;
    if (find_tables(records) != BAT_OK)
        code = fail_add(translation->error, BAT_ERR_MEMORY);
    if (code == BAT_OK)
        code = translation_survey(translation, &sparse, original != NULL);
    take_map(records, &sparse);
    bat_sparse_free(&sparse);
    return code;
}

static enum bat_code fill_records(struct translation *translation, struct bat_elf *symbols,
                                  const struct bat_original *original)
{
    struct bat_records *records = translation->records;
    enum bat_code code = open_binary(translation, symbols, original);
    if (code != BAT_OK)
        return code;
    records->original = original;
    records->symbols_elf = symbols;
    if (copy_events(records, translation->profile) != BAT_OK)
        return fail_add(translation->error, BAT_ERR_MEMORY);
    if (records->kind == BAT_PROFILE_BRANCHES)
        code = translate_traces(translation, symbols);
    else
        code = translate_samples(translation);
    if (code == BAT_OK)
        code = translate_memory(translation, symbols);
    /* fdata inputs may name any function; without them only functions with samples need names. */
    bool is_named = translation->fdata_of->fdata.seen;
    if (code == BAT_OK && !translation->has_names)
        code = translation_name(translation, is_named ? NULL : translation->touched);
    if (code == BAT_OK && original && rename_functions(records, original) != BAT_OK)
        code = fail_add(translation->error, BAT_ERR_MEMORY);
    if (code == BAT_OK)
        code = bat_records_add_fdata(records, translation->fdata_of, translation->error);
    if (code == BAT_OK && translation->hashes_of)
        code = take_all_hashes(translation);
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
    return code == BAT_OK ? BAT_OK : fail_add(translation->error, code);
}

/* Translate translation->profile; see fdata_of and hashes_of there. */
static enum bat_code translate_profile(struct translation *translation, struct bat_binary *binary,
                                       struct bat_elf *symbols, const struct bat_original *original,
                                       enum bat_profile_kind kind, struct bat_records **records)
{
    *records = NULL;
    struct bat_records *made = calloc(1, sizeof(*made));
    if (!made)
        return fail_add(translation->error, BAT_ERR_MEMORY);
    translation->records = made;
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
    free(translation->touched);
    free(translation->surveyed);
    free(translation->ends);
    free(translation->keys);
    if (code == BAT_OK)
        code = sort_records(translation);
    if (code == BAT_OK)
        weigh_records(translation);
    for (unsigned i = 0; i < translation->other_count; i++)
        bat_counts_free(&translation->others[i]);
    free(translation->others);
    if (code == BAT_OK)
        code = bat_records_find_entries(made, symbols, translation->error);
    if (code == BAT_OK)
        code = bat_records_find_places(made, translation->error);
    if (code != BAT_OK) {
        bat_records_free(made);
        return code;
    }
    if (!translation->options.will_be_judged)
        bat_records_forget_code(made);
    *records = made;
    return BAT_OK;
}

/* The options as the library has them, and what kind of samples they ask for. */
static enum bat_code read_options(struct translation *translation,
                                  const struct bat_translate_options *options,
                                  enum bat_profile_kind *kind)
{
    enum bat_code code = bat_options_copy(&translation->options, sizeof(translation->options),
                                          options, "bat_translate_options", translation->error);
    if (code != BAT_OK)
        return code;
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
    enum bat_code code = read_options(&translation, options, &kind);
    if (code != BAT_OK)
        return code;
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
    enum bat_code code = read_options(&translation, options, &kind);
    if (code != BAT_OK)
        return code;
    translation.options.preparation = NULL;
    struct bat_binary *input = calloc(1, sizeof(*input));
    if (!input)
        return fail_add(error, BAT_ERR_MEMORY);
    code = bat_binary_without_note(original->elf, input, error);
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
