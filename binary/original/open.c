/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Opens an input binary, and checks that BOLT read it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bat_decoder.h"
#include "binary/build_ids.h"
#include "binary/note_facts.h"
#include "original.h"
#include "spec/array.h"
#include "spec/hex_bytes.h"
#include "spec/options.h"
#include "support/parallel.h"

/* A build-id in hex, at most 32 bytes of it. */
struct id_text {
    char text[2 * 32 + 1];
};

static struct id_text id_text(const uint8_t *id, size_t size)
{
    struct id_text result = {{0}};
    bat_hex_bytes(result.text, sizeof(result.text), id, size);
    return result;
}

/* --- Before pairing ------------------------------------------------------------------------- */

static enum bat_code check_kind(const struct bat_elf *elf, const struct bat_binary *binary,
                                struct bat_error *error)
{
    if (!binary->elf)
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected a BOLTed ELF file for the input binary, found a raw note");
    if (!binary->map && !binary->note)
        return bat_fail(error, BAT_ERR_ARGUMENT, "expected a decoded note, found none");
    if (bat_elf_machine(elf) != bat_elf_machine(binary->elf))
        return bat_fail(
            error, BAT_ERR_MISMATCH,
            "expected an input binary for machine %u like the BOLTed one, found one for "
            "machine %u (ELF numbers)",
            bat_elf_machine(binary->elf), bat_elf_machine(elf));
    if (note_is_bolted(elf))
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected the input binary, found a file that BOLT wrote");
    if (bat_elf_type(elf) != bat_elf_type(binary->elf))
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected an input binary of ELF type %u like the BOLTed one, found one of "
                        "type %u",
                        bat_elf_type(binary->elf), bat_elf_type(elf));
    return BAT_OK;
}

/* *known is set if both files have a build-id. */
static enum bat_code check_build_id(const struct bat_elf *elf, const struct bat_binary *binary,
                                    bool *known, struct bat_error *error)
{
    size_t size;
    size_t input_size;
    const uint8_t *id = bat_elf_build_id(binary->elf, &size);
    const uint8_t *input = bat_elf_build_id(elf, &input_size);
    *known = id && input && size != 0;
    if (!*known)
        return BAT_OK;
    if (build_id_is_of_input(id, size, input, input_size))
        return BAT_OK;
    uint8_t expected[32];
    size_t shown = size < sizeof(expected) ? size : sizeof(expected);
    memcpy(expected, id, shown);
    if (shown == size)
        expected[size - 1] ^= 1;
    return bat_fail(
        error, BAT_ERR_MISMATCH,
        "expected the build-id %s (the BOLTed file's with its last bit flipped back; since "
        "BOLT 24 its first bit as well), found %s: it is not the file that BOLT read",
        id_text(expected, shown).text, id_text(input, input_size).text);
}

/* --- After pairing -------------------------------------------------------------------------- */

/*
 * With the same build-id, it is enough that one table fits. If build-ids are missing or ignored, no
 * function may be too small for its table, and at most a tenth of the tables may lack a function.
 */
static bool is_acceptable(const struct bat_misfits *misfits, uint64_t tables, bool same_build)
{
    if (same_build)
        return misfits->unnamed + misfits->too_small < tables || tables == 0;
    return misfits->too_small == 0 && misfits->unnamed <= tables / 10;
}

static enum bat_code fail_misfits(const struct bat_original *original,
                                  const struct bat_misfits *misfits, struct bat_error *error)
{
    uint32_t output = original->output_of[misfits->example];
    const char *name = output == BAT_NONE ? "" : original->outputs[output].name;
    char detail[160] = "";
    if (misfits->example_size != 0)
        snprintf(detail, sizeof(detail), ", where it has 0x%lx bytes and needs 0x%lx",
                 misfits->example_size, misfits->example_offset + 1);
    return bat_fail(
        error, BAT_ERR_MISMATCH,
        "expected the functions of all %lu tables, found no function for %lu and one that is too "
        "small for %lu (for example \"%.100s\"%s): it is not the file that BOLT read",
        original->counters.tables, misfits->unnamed, misfits->too_small, name, detail);
}

/* --- Opening -------------------------------------------------------------------------------- */

/* Fill table_of and output_of: the table at each function's start, and the reverse. Both ascend by
 * address. */
static void find_tables(struct bat_original *original)
{
    const struct bat_map *map = original->map;
    const uint32_t tables = bat_map_tables(map);
    for (uint32_t table = 0; table < tables; table++)
        original->output_of[table] = BAT_NONE;
    uint32_t place = 0;
    for (uint32_t i = 0; i < original->output_count; i++) {
        const uint64_t address = original->outputs[i].address;
        while (place < tables && map->tables[map->by_address[place]].address < address)
            place++;
        uint32_t table = place < tables ? map->by_address[place] : BAT_NONE;
        if (table != BAT_NONE &&
            (map->tables[table].address != address || bat_map_is_unemitted(map, table)))
            table = BAT_NONE;
        original->table_of[i] = table;
        if (table != BAT_NONE)
            original->output_of[table] = i;
    }
}

/* What is read of the two files, at the same time: functions and symbols of one, or the note. */
struct reading {
    const struct bat_elf *elf; /* NULL: decode the note */
    const struct bat_elf *symbols;
    struct bat_binary *binary;
    unsigned threads;
    bool no_names;
    struct bat_functions *functions;
    struct bat_symbol_side *side;
    struct bat_sparse_map *sparse; /* decode into this one; NULL: into binary */
    enum bat_code code;
    struct bat_error error;
};

/*
 * Decode what look-ups need. A table at address 0 may be one that was not emitted, which its
 * entries tell: then all are decoded.
 */
static enum bat_code decode_sparse(struct reading *reading)
{
    struct bat_sparse_map *sparse = reading->sparse;
    enum bat_code code = bat_binary_decode_sparse(reading->binary, true, sparse, &reading->error);
    if (code != BAT_OK || !sparse->tables || bat_map_tables(sparse->map) == 0 ||
        sparse->map->tables[sparse->map->by_address[0]].address != 0)
        return code;
    return bat_binary_load_tables(reading->binary, sparse, NULL, NULL, &reading->error);
}

static enum bat_code decode_note(struct reading *reading)
{
    if (reading->binary->map)
        return BAT_OK;
    return reading->sparse ? decode_sparse(reading)
                           : bat_binary_decode(reading->binary, &reading->error);
}

/* Name the functions: all, or only those without a symbol, which are paired by their names. */
static enum bat_code name_functions(struct reading *reading)
{
    if (!reading->no_names)
        return bat_functions_name(reading->functions, NULL, &reading->error);
    uint32_t count;
    const struct bat_function_symbol *all = bat_functions_all(reading->functions, &count);
    uint8_t *wanted = malloc((size_t)count + 1);
    BAT_TRY_MEMORY(wanted, &reading->error, "for the names of %u functions", count);
    for (uint32_t i = 0; i < count; i++)
        wanted[i] = (all[i].flags & ((uint32_t)BAT_FUNCTION_PLT | (uint32_t)BAT_FUNCTION_FDE)) != 0;
    enum bat_code code = bat_functions_name(reading->functions, wanted, &reading->error);
    free(wanted);
    return code;
}

static void read_one(struct reading *reading)
{
    if (reading->elf) {
        reading->code = bat_functions_create_unnamed(
            reading->elf, reading->symbols, reading->threads, &reading->functions, &reading->error);
        if (reading->code == BAT_OK)
            reading->code = name_functions(reading);
        if (reading->code == BAT_OK)
            bat_symbol_side_read(reading->side);
    } else {
        reading->code = decode_note(reading);
    }
}

static void read_some(void *context, size_t first, size_t end, unsigned thread)
{
    (void)thread;
    struct reading *readings = context;
    for (size_t i = first; i < end; i++)
        read_one(&readings[i]);
}

/* The readings. The one that takes longest comes first. */
enum { OUTPUT, INPUT, NOTE, READINGS };

/* Pass a reading's error on. Callers put the input's name in front, so the output's is added. */
static enum bat_code fail_reading(const struct reading *reading, bool is_output,
                                  struct bat_error *error)
{
    if (is_output)
        return bat_fail(error, reading->code, "%.200s: %s", bat_elf_path(reading->elf),
                        reading->error.message);
    if (error)
        *error = reading->error;
    return reading->code;
}

/*
 * BOLT leaves the code of functions that it moves where it was, and code that it does not change
 * may go on to call it there: by jumps that it cannot lengthen. Symbols say nothing of it, and
 * .eh_frame only of code that it described before.
 */
static enum bat_code add_old_code(struct bat_original *original, struct bat_error *error)
{
    uint32_t count;
    const struct bat_function_symbol *inputs = bat_functions_all(original->input_functions, &count);
    struct bat_function_symbol *old = malloc(((size_t)count + 1) * sizeof(*old));
    BAT_TRY_MEMORY(old, error, "for %u functions", count);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (bat_functions_at(original->output_functions, inputs[i].address) != BAT_NONE ||
            inputs[i].size == 0 || !bat_original_is_same_code(original, &inputs[i]))
            continue;
        old[kept] = inputs[i];
        old[kept++].flags = BAT_FUNCTION_FDE | BAT_FUNCTION_LATE;
    }
    enum bat_code code =
        kept ? bat_functions_add(original->output_functions, old, kept, error) : BAT_OK;
    free(old);
    return code;
}

static enum bat_code find_functions(struct bat_original *original, bool no_names,
                                    struct bat_error *error)
{
    const unsigned threads = original->threads;
    struct reading readings[READINGS] = {
        [INPUT] = {.elf = original->elf,
                   .symbols = original->input_symbols,
                   .side = &original->input_side,
                   .threads = threads,
                   .no_names = no_names},
        [OUTPUT] = {.elf = original->binary->elf,
                    .symbols = original->output_symbols,
                    .side = &original->output_side,
                    .threads = threads,
                    .no_names = no_names},
        [NOTE] = {.binary = original->binary,
                  .sparse = original->only_look_ups ? &original->sparse : NULL},
    };
    bat_parallel_run(READINGS, 1, bat_parallel_threads(threads, READINGS), read_some, readings);
    original->output_functions = readings[OUTPUT].functions;
    original->input_functions = readings[INPUT].functions;
    for (unsigned i = READINGS; i-- > 0;)
        if (readings[i].code != BAT_OK)
            return fail_reading(&readings[i], i == OUTPUT, error);
    BAT_TRY(add_old_code(original, error));
    original->outputs = bat_functions_all(original->output_functions, &original->output_count);
    original->inputs = bat_functions_all(original->input_functions, &original->input_count);
    original->map = original->sparse.map ? original->sparse.map : original->binary->map;
    size_t tables = bat_map_tables(original->map);
    original->input_of = malloc(((size_t)original->output_count + 1) * sizeof(*original->input_of));
    original->table_of = malloc(((size_t)original->output_count + 1) * sizeof(*original->table_of));
    original->output_of = malloc((tables + 1) * sizeof(*original->output_of));
    if (original->sparse.tables)
        original->entries = calloc(tables + 1, sizeof(*original->entries));
    if (!original->input_of || !original->table_of || !original->output_of ||
        (original->sparse.tables && !original->entries))
        return bat_fail_memory(error, "for %u functions", original->output_count);
    find_tables(original);
    return BAT_OK;
}

/* What is done when the files are read, at the same time. */
struct pairing_step {
    struct bat_original *original;
    struct bat_misfits *misfits;
    const struct bat_original_beside *beside;
    enum bat_code code;
    struct bat_error error;
};

enum { PAIR, BESIDE, STEPS };

static void pair_some(void *context, size_t first, size_t end, unsigned thread)
{
    (void)thread;
    struct pairing_step *step = context;
    for (size_t i = first; i < end; i++)
        if (i == PAIR)
            step->code = bat_original_pair_functions(step->original, step->misfits, &step->error);
        else
            step->beside->run(step->beside->context, step->original->elf);
}

static enum bat_code read_and_pair(struct bat_original *original, bool no_names,
                                   const struct bat_original_beside *beside,
                                   struct bat_misfits *misfits, struct bat_error *error)
{
    const unsigned steps = beside ? STEPS : BESIDE;
    struct pairing_step step = {.original = original, .misfits = misfits, .beside = beside};
    enum bat_code code = find_functions(original, no_names, error);
    if (code != BAT_OK) {
        if (beside)
            beside->run(beside->context, original->elf);
        return code;
    }
    bat_parallel_run(steps, 1, bat_parallel_threads(original->threads, steps), pair_some, &step);
    if (step.code != BAT_OK && error)
        *error = step.error;
    return step.code;
}

enum bat_code bat_original_pair(struct bat_elf *elf, struct bat_binary *binary,
                                const struct bat_original_options *options, bool only_look_ups,
                                const struct bat_original_beside *beside,
                                struct bat_original **original, struct bat_misfits *misfits,
                                struct bat_error *error)
{
    *original = NULL;
    struct bat_original *made = calloc(1, sizeof(*made));
    BAT_TRY_MEMORY(made, error, "for an input binary");
    made->binary = binary;
    made->elf = elf;
    made->only_look_ups = only_look_ups;
    made->threads = options ? options->threads : 0;
    made->output_symbols =
        options && options->output_symbols ? options->output_symbols : binary->elf;
    made->input_symbols = options && options->input_symbols ? options->input_symbols : elf;
    made->output_side.elf = made->output_symbols;
    made->input_side.elf = made->input_symbols;
    enum bat_code code = read_and_pair(made, options && options->no_names, beside, misfits, error);
    bat_symbol_side_free(&made->output_side);
    bat_symbol_side_free(&made->input_side);
    if (code != BAT_OK) {
        bat_original_close(made);
        return code;
    }
    *original = made;
    return BAT_OK;
}

static enum bat_code open_and_pair(const char *path, struct bat_binary *binary,
                                   const struct bat_original_options *options, bool only_look_ups,
                                   const struct bat_original_beside *beside,
                                   struct bat_original **original, struct bat_error *error)
{
    *original = NULL;
    struct bat_original_options own;
    BAT_TRY(bat_options_copy(&own, sizeof(own), options, "bat_original_options", error));
    struct bat_elf *elf;
    BAT_TRY(bat_elf_open(path, &elf, error));
    bool is_known = false;
    struct bat_original *made = NULL;
    struct bat_misfits misfits;
    enum bat_code code = check_kind(elf, binary, error);
    if (code == BAT_OK && !own.ignore_build_id)
        code = check_build_id(elf, binary, &is_known, error);
    if (code == BAT_OK)
        code = bat_original_pair(elf, binary, &own, only_look_ups, beside, &made, &misfits, error);
    if (code == BAT_OK && made && !is_acceptable(&misfits, made->counters.tables, is_known)) {
        if (own.no_names) {
            /* The message has a name. */
            bat_original_close(made);
            own.no_names = false;
            code =
                bat_original_pair(elf, binary, &own, only_look_ups, NULL, &made, &misfits, error);
        }
        code = code ? code : fail_misfits(made, &misfits, error);
    }
    if (code != BAT_OK || !made) {
        bat_original_close(made);
        bat_elf_close(elf);
        return code;
    }
    made->owns_elf = true;
    *original = made;
    return BAT_OK;
}

enum bat_code bat_original_open(const char *path, struct bat_binary *binary,
                                const struct bat_original_options *options,
                                struct bat_original **original, struct bat_error *error)
{
    return open_and_pair(path, binary, options, false, NULL, original, error);
}

enum bat_code bat_original_open_for_look_ups(const char *path, struct bat_binary *binary,
                                             const struct bat_original_options *options,
                                             const struct bat_original_beside *beside,
                                             struct bat_original **original,
                                             struct bat_error *error)
{
    return open_and_pair(path, binary, options, true, beside, original, error);
}

void bat_original_close(struct bat_original *original)
{
    if (!original)
        return;
    for (uint32_t i = 0; original->entries && i < bat_map_tables(original->map); i++)
        free(original->entries[i]);
    free((void *)original->entries);
    bat_sparse_free(&original->sparse);
    bat_functions_free(original->output_functions);
    bat_functions_free(original->input_functions);
    BAT_FREE_ALL(original->input_of, original->table_of, original->output_of, original->first_home,
                 original->homes);
    if (original->owns_elf)
        bat_elf_close(original->elf);
    free(original);
}

bool bat_original_lacks_memory(const struct bat_original *original)
{
    return original->no_memory;
}

struct bat_elf *bat_original_elf(const struct bat_original *original)
{
    return original->elf;
}

struct bat_original_counters bat_original_counters(const struct bat_original *original)
{
    return original->counters;
}
