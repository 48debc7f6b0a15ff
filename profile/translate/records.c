/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Records of a translation: look-ups, and adding the records of fdata inputs (records.h). */
#include "records.h"

#include <stdlib.h>
#include <string.h>

#include "escape_name.h"
#include "profile/profile.h"
#include "spec/array.h"
#include "spec/order.h"

void bat_records_free(struct bat_records *records)
{
    if (!records)
        return;
    bat_records_forget_code(records);
    bat_functions_free(records->functions);
    if (records->input) {
        records->input->elf = NULL;
        bat_binary_close(records->input);
        free(records->input);
    }
    bat_map_free(records->own_map);
    BAT_FREE_ALL(records->renamed, records->stale, records->stale_as[0], records->stale_as[1],
                 records->tables);
    bat_strings_free(&records->extra_names);
    bat_strings_free(&records->events);
    bat_counts_free(&records->branches);
    bat_counts_free(&records->samples);
    bat_counts_free(&records->starts_reached);
    free(records->yaml_places);
    bat_counts_free(&records->entry_ids);
    if (records->probes) {
        bat_probes_free(records->probes->all);
        BAT_FREE_ALL(records->probes->is_read, records->probes->guids, records->probes->hashes,
                     records->probes);
    }
    free(records);
}

/* The flows, made at their first use; NULL if there is no memory. */
static struct bat_output_flows *flows_of(struct bat_records *records)
{
    const struct bat_program program = {records->binary_map, records->binary->elf,
                                        records->functions};
    if (!records->flows)
        records->flows = bat_output_flows_new(&program);
    return records->flows;
}

enum bat_code bat_records_flow(struct bat_records *records, uint32_t hot,
                               const struct bat_output_flow **flow, struct bat_error *error)
{
    struct bat_output_flows *flows = flows_of(records);
    return flows ? bat_output_flows_get(flows, hot, flow, error)
                 : bat_fail_memory(error, "for the code of functions");
}

bool bat_records_can_lend_flows(struct bat_records *records)
{
    struct bat_output_flows *flows = flows_of(records);
    return flows && bat_output_flows_are_independent(flows);
}

enum bat_code bat_records_borrow_flow(struct bat_records *records, uint32_t hot,
                                      struct bat_flow_reader **reader,
                                      const struct bat_output_flow **flow,
                                      struct bat_output_flow **own, struct bat_error *error)
{
    *own = NULL;
    if (!bat_records_can_lend_flows(records))
        return bat_records_flow(records, hot, flow, error);
    *flow = bat_output_flows_known(records->flows, hot);
    if (!*flow && !*reader)
        *reader = bat_flow_reader_new(records->flows, NULL);
    if (!*flow && *reader)
        *flow = *own = bat_flow_reader_read(*reader, hot);
    return *flow ? BAT_OK : bat_fail_memory(error, "for the code of functions");
}

enum bat_code bat_records_read_flows(struct bat_records *records, const uint8_t *wanted,
                                     struct bat_error *error)
{
    struct bat_output_flows *flows = flows_of(records);
    BAT_TRY_MEMORY(flows, error, "for the code of functions");
    return bat_output_flows_read_many(flows, wanted, records->threads, error);
}

void bat_records_forget_code(struct bat_records *records)
{
    bat_tableless_close(&records->tableless);
    records->counters.limited += bat_output_flows_limited(records->flows);
    bat_output_flows_free(records->flows);
    records->flows = NULL;
    records->shared_flows = NULL;
}

struct bat_translate_counters bat_records_counters(const struct bat_records *records)
{
    struct bat_translate_counters counters = records->counters;
    counters.limited += bat_output_flows_limited(records->flows);
    return counters;
}

bool bat_records_have_note(const struct bat_records *records)
{
    return records->binary->note != NULL;
}

uint64_t bat_records_count(const struct bat_records *records)
{
    return records->kind == BAT_PROFILE_BRANCHES ? records->branches.count : records->samples.count;
}

static struct bat_record_end end_of(const struct bat_records *records, const uint64_t *words)
{
    struct bat_record_end end = {.kind = (unsigned)(words[0] >> 32), .offset = words[1]};
    end.name = bat_records_name(records, (uint32_t)words[0], &end.is_escaped);
    return end;
}

bool bat_records_get(const struct bat_records *records, uint64_t i, struct bat_record *record)
{
    if (i >= bat_records_count(records))
        return false;
    bool has_branches = records->kind == BAT_PROFILE_BRANCHES;
    const struct bat_counts *counts = has_branches ? &records->branches : &records->samples;
    const uint64_t *item = bat_counts_item(counts, (uint32_t)i);
    *record = (struct bat_record){.from = end_of(records, item),
                                  .count = item[counts->words],
                                  .mispredictions = item[counts->words + 1]};
    if (has_branches)
        record->to = end_of(records, item + 2);
    return true;
}

const char *bat_records_name(const struct bat_records *records, uint32_t name, bool *is_escaped)
{
    *is_escaped = false;
    if (name == BAT_NAME_UNKNOWN)
        return "[unknown]";
    if (name < records->function_count)
        return records->symbols[name].name;
    *is_escaped = true;
    return bat_strings_get(&records->extra_names, name - records->function_count);
}

/* --- fdata inputs ------------------------------------------------------------------------- */

/*
 * The code that BOLT wrote anew has the name in profiles. The old code, which some binaries still
 * have, may get the same name from the input binary.
 */
static bool is_better(const struct bat_records *records, uint32_t function, uint32_t before)
{
    return bat_records_have_note(records) && records->tables[before] == BAT_NONE &&
           records->tables[function] != BAT_NONE;
}

/* Find the functions that have a name of an fdata input: of each name the first one with a table,
 * else the first. Linear in all functions. */
static enum bat_code find_named(const struct bat_records *records, const struct bat_strings *names,
                                uint32_t *numbers)
{
    size_t capacity = 0;
    char *buffer = NULL;
    memset(numbers, 0xff, names->count * sizeof(*numbers));
    for (uint32_t i = 0; i < records->function_count; i++) {
        const char *name = records->symbols[i].name;
        size_t length = strlen(name);
        if (!bat_reserve(&buffer, &capacity, 0, BAT_NAME_ESCAPED_BYTE * length + 1, 1) || !buffer) {
            free(buffer);
            return BAT_ERR_MEMORY;
        }
        size_t size = (size_t)(bat_escape_name(buffer, name, length) - buffer);
        uint32_t number = bat_strings_find(names, buffer, size);
        if (number != BAT_NONE &&
            (numbers[number] == BAT_NONE || is_better(records, i, numbers[number])))
            numbers[number] = i;
    }
    free(buffer);
    return BAT_OK;
}

/* A name that no function has. */
struct other_name {
    const char *name;
    uint32_t number; /* in the input */
};

/*
 * Make the names of an fdata input that no function has. They are added in alphabetical order,
 * because records are sorted by them and must not depend on the order of reading.
 */
static enum bat_code add_others(struct bat_records *records, const struct bat_strings *names,
                                uint32_t *numbers)
{
    struct other_name *others = bat_array_new(names->count, sizeof(*others));
    enum bat_code code = others ? BAT_OK : BAT_ERR_MEMORY;
    uint32_t count = 0;
    for (uint32_t i = 0; i < names->count && others; i++)
        if (numbers[i] == BAT_NONE)
            others[count++] = (struct other_name){bat_strings_get(names, i), i};
    if (others)
        BAT_SORT_BY(others, count, name);
    for (uint32_t i = 0; i < count && code == BAT_OK; i++) {
        uint32_t *number = &numbers[others[i].number];
        if (strcmp(others[i].name, "[unknown]") == 0) {
            *number = BAT_NAME_UNKNOWN;
            continue;
        }
        code =
            bat_strings_add(&records->extra_names, others[i].name, strlen(others[i].name), number);
        *number += records->function_count;
    }
    free(others);
    return code;
}

static enum bat_code add_renamed(struct bat_counts *counts, const struct bat_counts *from,
                                 const uint32_t *numbers)
{
    struct bat_counts_batch batch = {.count = 0};
    enum bat_code code =
        from->count == 0 ? BAT_OK : bat_counts_expect(counts, counts->count + from->count);
    for (uint32_t i = 0; i < from->count && code == BAT_OK; i++) {
        const uint64_t *item = bat_counts_item(from, i);
        uint64_t key[BAT_COUNTS_MAX_WORDS];
        for (uint32_t word = 0; word < from->words; word += 2) {
            key[word] = bat_fdata_word((uint32_t)(item[word] >> 32), numbers[(uint32_t)item[word]]);
            key[word + 1] = item[word + 1];
        }
        code = bat_counts_add_later(counts, &batch, key, item[from->words], item[from->words + 1]);
    }
    return code ? code : bat_counts_flush(counts, &batch);
}

/* fdata must match the records: of a BOLTed binary or not, and of branches or of samples. */
static enum bat_code check_header(const struct bat_records *records, const struct bat_fdata *fdata,
                                  struct bat_error *error)
{
    bool is_bolted = bat_records_have_note(records);
    if (is_bolted && !fdata->bolted)
        return bat_fail(
            error, BAT_ERR_MISMATCH,
            "expected fdata of a BOLTed binary (\"boltedcollection\" in its first line), "
            "found fdata without it");
    if (!is_bolted && fdata->bolted)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected fdata of a binary without a BAT note, found fdata of a BOLTed "
                        "one (\"boltedcollection\" in its first line)");
    if (fdata->no_lbr != (records->kind == BAT_PROFILE_SAMPLES))
        return bat_fail(error, BAT_ERR_MISMATCH, "expected fdata of %s, found %s",
                        fdata->no_lbr ? "branches" : "basic samples (no_lbr)",
                        fdata->no_lbr ? "basic samples (no_lbr)" : "branches");
    return BAT_OK;
}

enum bat_code bat_records_add_fdata(struct bat_records *records, const struct bat_profile *profile,
                                    struct bat_error *error)
{
    const struct bat_fdata *fdata = &profile->fdata;
    if (!fdata->seen)
        return BAT_OK;
    BAT_TRY(check_header(records, fdata, error));
    uint32_t *numbers = malloc(((size_t)fdata->names.count + 1) * sizeof(*numbers));
    enum bat_code code = numbers ? find_named(records, &fdata->names, numbers) : BAT_ERR_MEMORY;
    code = code ? code : add_others(records, &fdata->names, numbers);
    code = code ? code : add_renamed(&records->branches, &fdata->branches, numbers);
    code = code ? code : add_renamed(&records->samples, &fdata->samples, numbers);
    free(numbers);
    return bat_counts_fail(error, code, "the fdata records");
}
