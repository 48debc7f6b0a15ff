/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writes records as BOLT's YAML profile: spec/profiles.md 4. */
#include <stdlib.h>

#include "bat_decoder.h"
#include "profile/profile.h"
#include "records.h"
#include "spec/array.h"
#include "spec/hex_bytes.h"
#include "spec/large_memory.h"
#include "support/parallel.h"
#include "tableless.h"
#include "yaml_function.h"
#include "yaml_function_probes.h"

/* The longest build-id that is written; real ones have 20 bytes. */
#define BUILD_ID_MAX 256u

/* What the parts of the text are made of: the header, groups of functions, the end. */
struct yaml_file {
    const struct bat_records *records;
    struct bat_yaml_profile profile; /* its header and tables; all but the events are others' */
    char build_id[2 * BUILD_ID_MAX + 1];
    uint32_t *guids;   /* of the profile, in order */
    uint32_t *entries; /* of struct bat_yaml_writer */
    uint32_t *numbers;
    struct bat_yaml_range *functions; /* that records name */
    uint32_t function_count;
    uint32_t *groups; /* the first function of each group, and function_count */
    uint32_t group_count;
    struct bat_tableless code; /* of functions without a table, if the binary has no note */
    struct bat_yaml_writer writers[BAT_PARALLEL_MAX]; /* for each thread */
};

/* --- Entries by target -------------------------------------------------------------------- */

/* The function that a record enters: another one, or its own at the start. BAT_NONE: none. */
static uint32_t entered_function(const struct yaml_file *file, const uint64_t *item)
{
    bool is_inside = item[0] == item[2] && item[3] != 0;
    bool is_entry = item[0] >> 32 <= BAT_KIND_SYMBOL && item[2] >> 32 == BAT_KIND_SYMBOL &&
                    (uint32_t)item[2] < file->records->function_count && !is_inside;
    return is_entry ? (uint32_t)item[2] : BAT_NONE;
}

/*
 * Fill entries. ends, of an item more than there are functions and 0 at first, gets for each
 * function the end of its entries, which begin where those of the function before end.
 */
static bool sort_entries(struct yaml_file *file, uint32_t *ends)
{
    uint32_t count = file->records->branches.count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t function = entered_function(file, bat_records_branch(file->records, i));
        if (function != BAT_NONE)
            ends[function + 1]++;
    }
    for (uint32_t i = 0; i < file->records->function_count; i++)
        ends[i + 1] += ends[i];
    file->entries =
        bat_large_array((size_t)ends[file->records->function_count] + 1, sizeof(*file->entries));
    if (!file->entries)
        return false;
    /* Each item, so far the function's begin, moves to its end. */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t function = entered_function(file, bat_records_branch(file->records, i));
        if (function != BAT_NONE)
            file->entries[ends[function]++] = i;
    }
    return true;
}

/* --- The list of functions ---------------------------------------------------------------- */

static int compare_functions(const void *left_pointer, const void *right_pointer)
{
    const struct bat_yaml_range *left = left_pointer;
    const struct bat_yaml_range *right = right_pointer;
    if (left->has_table != right->has_table)
        return left->has_table - right->has_table;
    int difference = left->has_table ? bat_yaml_compare_keys(&left->key, &right->key) : 0;
    return difference ? difference
                      : (left->function > right->function) - (left->function < right->function);
}

/* List the functions that records name: those without a table by address, then by name. */
static void list_functions(struct yaml_file *file, const uint32_t *entry_ends)
{
    const struct bat_records *records = file->records;
    uint32_t next = 0;
    for (uint32_t i = 0; i < records->function_count; i++) {
        uint64_t word = bat_fdata_word(BAT_KIND_SYMBOL, i);
        struct bat_yaml_range range = {.function = i,
                                       .first_entry = i == 0 ? 0 : entry_ends[i - 1],
                                       .end_entry = entry_ends[i]};
        while (next < records->branches.count && bat_records_branch(file->records, next)[0] < word)
            next++;
        range.first = next;
        while (next < records->branches.count && bat_records_branch(file->records, next)[0] == word)
            next++;
        range.end = next;
        if (range.first == range.end && range.first_entry == range.end_entry)
            continue;
        range.has_table = records->tables[i] != BAT_NONE;
        if (range.has_table)
            range.key = bat_yaml_key(records->symbols[i].name);
        file->functions[file->function_count++] = range;
    }
    if (file->function_count > 1)
        qsort(file->functions, file->function_count, sizeof(*file->functions), compare_functions);
}

/* Make groups of consecutive functions with about as many records each. */
static void group_functions(struct yaml_file *file)
{
    size_t size = BAT_RECORDS_PER_PART;
    for (uint32_t i = 0; i < file->function_count; i++) {
        const struct bat_yaml_range *range = &file->functions[i];
        if (size >= BAT_RECORDS_PER_PART) {
            file->groups[file->group_count++] = i;
            size = 0;
        }
        size += (size_t)range->end - range->first + range->end_entry - range->first_entry + 1;
    }
    file->groups[file->group_count] = file->function_count;
}

static enum bat_code find_functions(struct yaml_file *file, struct bat_error *error)
{
    size_t count = file->records->function_count;
    uint32_t *entry_ends = calloc(count + 1, sizeof(*entry_ends));
    file->numbers = bat_yaml_numbers(file->records);
    file->functions = malloc((count + 1) * sizeof(*file->functions));
    file->groups = malloc((count + 1) * sizeof(*file->groups));
    bool has_memory = entry_ends && file->numbers && file->functions && file->groups &&
                      sort_entries(file, entry_ends);
    if (has_memory) {
        list_functions(file, entry_ends);
        group_functions(file);
    }
    free(entry_ends);
    return has_memory ? BAT_OK : bat_fail_memory(error, "to write YAML");
}

/* Read the code of the functions without a table. In a binary without a note they have the blocks
 * of their code. */
static enum bat_code read_code(struct yaml_file *file, struct bat_error *error)
{
    const struct bat_records *records = file->records;
    uint8_t *wanted = calloc((size_t)records->function_count + 1, 1);
    BAT_TRY_MEMORY(wanted, error, "to write YAML");
    for (uint32_t i = 0; i < file->function_count; i++) {
        uint32_t function = file->functions[i].function;
        wanted[function] =
            !file->functions[i].has_table && !(records->symbols[function].flags & BAT_FUNCTION_PLT);
    }
    file->code.threads = records->threads;
    enum bat_code code = bat_tableless_open(&file->code, records->binary->elf, records->symbols_elf,
                                            records->functions, wanted, error);
    free(wanted);
    return code ? code : bat_tableless_read_all(&file->code, error);
}

/* --- The file ----------------------------------------------------------------------------- */

/* Join all events to one string, separated by commas. NULL if there is no memory. */
static char *join_events(const struct bat_strings *events)
{
    size_t size = 1;
    for (uint32_t i = 0; i < events->count; i++)
        size += strlen(bat_strings_get(events, i)) + 1;
    char *joined = malloc(size);
    char *at = joined;
    for (uint32_t i = 0; joined && i < events->count; i++) {
        at = bat_put_text(at, i ? "," : "");
        at = bat_put_text(at, bat_strings_get(events, i));
    }
    if (joined)
        *at = '\0';
    return joined;
}

/* Fill the header and the tables of probes. False if there is no memory. */
static bool make_profile(struct yaml_file *file)
{
    const struct bat_records *records = file->records;
    size_t size;
    const uint8_t *id = bat_elf_build_id(records->binary->elf, &size);
    if (!id || size > BUILD_ID_MAX)
        strcpy(file->build_id, "<unknown>");
    else
        bat_hex_bytes(file->build_id, sizeof(file->build_id), id, size);
    file->profile = (struct bat_yaml_profile){
        .version = 1,
        .binary = (char *)bat_elf_path(records->binary->elf),
        .build_id = file->build_id,
        .flags = records->kind == BAT_PROFILE_BRANCHES ? BAT_YAML_FLAG_LBR : BAT_YAML_FLAG_SAMPLE,
        .origin = records->is_parity ? "perf data aggregator" : "battranslate",
        .events = join_events(&records->events),
        .has_xxh3 = true};
    if (records->probes) {
        file->profile.guids = records->probes->guids;
        file->profile.guid_count = records->probes->guid_count;
        file->profile.hashes = records->probes->hashes;
        file->profile.hash_count = records->probes->hash_count;
    }
    file->guids = bat_yaml_guids_in_order(&file->profile);
    return file->profile.events && file->guids;
}

static const char *note_without_hashes(enum bat_version version)
{
    static const char *const names[] = {
        [BAT_VERSION_1] = "one of version 1 (BOLT 17 or earlier)",
        [BAT_VERSION_2] = "one of version 2 (BOLT 18)",
        [BAT_VERSION_3] = "one that was upgraded from an older version",
    };
    return names[version];
}

/* Each thread's memory for the probes of a function. */
static enum bat_code begin_probes(struct yaml_file *file, struct bat_error *error)
{
    for (size_t i = 0; i < BAT_PARALLEL_MAX; i++) {
        file->writers[i].probes = calloc(1, sizeof(*file->writers[i].probes));
        BAT_TRY_MEMORY(file->writers[i].probes, error, "to write YAML");
    }
    return BAT_OK;
}

static enum bat_code begin(const void *subject, void **state, size_t *parts,
                           struct bat_error *error)
{
    const struct bat_records *records = subject;
    if (!bat_map_has_function_hashes(records->map))
        return bat_fail(error, BAT_ERR_VERSION,
                        "expected a BAT note with the hashes that YAML needs, found %s, which has "
                        "none: write fdata",
                        note_without_hashes(records->map->version));
    struct yaml_file *file = calloc(1, sizeof(*file));
    BAT_TRY_MEMORY(file, error, "to write YAML");
    *state = file;
    file->records = records;
    BAT_TRY_MEMORY(make_profile(file), error, "to write YAML");
    /* BOLT's YAML has no form for basic samples of a BOLTed binary: the list stays empty. */
    if (records->kind != BAT_PROFILE_SAMPLES) {
        enum bat_code code = find_functions(file, error);
        if (code == BAT_OK && !bat_records_have_note(records))
            code = read_code(file, error);
        if (code != BAT_OK)
            return code;
    }
    for (size_t i = 0; i < BAT_PARALLEL_MAX; i++)
        file->writers[i] = (struct bat_yaml_writer){
            .records = records,
            .map = records->map,
            .entries = file->entries,
            .numbers = file->numbers,
            .out = {.profile = &file->profile, .guids = file->guids, .is_in_lines = true},
            .code = file->code.reader ? &file->code : NULL};
    *parts = (size_t)file->group_count + 2;
    return records->probes ? begin_probes(file, error) : BAT_OK;
}

/* The first part is the header, the last one the end. */
static enum bat_code write_part(void *state, size_t part, unsigned thread,
                                struct bat_text_writer *text, struct bat_error *error)
{
    struct yaml_file *file = state;
    struct bat_yaml_out *out = &file->writers[thread].out;
    out->text = text;
    if (part == 0)
        bat_yaml_write_header(out, file->function_count);
    if (part == 0)
        return BAT_OK;
    if (part > file->group_count) {
        if (file->records->probes)
            BAT_TRY_MEMORY(bat_yaml_write_tables(out), error, "to write YAML");
        bat_text_string(text, "...\n");
        return BAT_OK;
    }
    for (uint32_t i = file->groups[part - 1]; i < file->groups[part]; i++) {
        if (i + 2 < file->groups[part])
            bat_yaml_fetch_table(&file->writers[thread], &file->functions[i + 2]);
        if (i + 1 < file->groups[part])
            bat_yaml_fetch_function(&file->writers[thread], &file->functions[i + 1]);
        BAT_TRY(bat_yaml_write_function(&file->writers[thread], &file->functions[i], text, error));
    }
    return BAT_OK;
}

static void end(void *state)
{
    struct yaml_file *file = state;
    if (!file)
        return;
    for (size_t i = 0; i < BAT_PARALLEL_MAX; i++)
        bat_yaml_writer_free(&file->writers[i]);
    bat_tableless_close(&file->code);
    BAT_FREE_ALL(file->profile.events, file->guids, file->entries, file->numbers, file->functions,
                 file->groups, file);
}

const struct bat_text_source bat_yaml_source = {begin, write_part, end};
