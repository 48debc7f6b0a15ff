/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A program and what BOLT could make of it, both made of the bytes: functions of a few blocks;
 * then the blocks in any order, also copied, inlined elsewhere or in a cold fragment, with a note.
 * Bytes of the code, the note and sizes of symbols may be wrong. What holds for any pair of
 * binaries and any profile must hold (pair_checks.h).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "made_program.h"
#include "pair_checks.h"

/* Write one block into the output's function i. */
static void write_copy(struct side *side, struct tables *tables, const struct function *all,
                       unsigned i, struct place place, unsigned next, size_t ends[][BLOCKS])
{
    const struct side *input = tables->input;
    const struct function *in = &all[place.function];
    size_t offset =
        input->starts[place.function][place.block] - input->function_start[place.function];
    tables->has_entries = place.function == i;
    if (tables->has_entries) {
        bat_builder_add_block(tables->builder, tables->current, side->size - tables->start, offset,
                              place.block + 1, place.block, NULL);
        side->starts[i][place.block] = side->size;
    }
    made_emit_body(side, tables, &in->blocks[place.block], offset);
    made_emit_ending(side, tables, in, place, next, ends[place.function][place.block]);
}

static void write_function(struct side *side, struct tables *tables, const struct function *all,
                           unsigned i, struct fuzz_bytes *bytes, size_t ends[][BLOCKS])
{
    unsigned form = (unsigned)fuzz_take(bytes, 1);
    unsigned count = all[i].count + form % 8;
    unsigned cold = form / 8 % 4 == 0 ? 1 + form / 32 : count;
    struct place places[BLOCKS + 8];
    for (unsigned k = 0; k < count; k++) {
        unsigned choice = (unsigned)fuzz_take(bytes, 1);
        unsigned function = choice >= 224 ? choice % FUNCTIONS : i;
        unsigned block = k < all[i].count && choice < 64 ? k : choice;
        places[k] = (struct place){function, block % all[function].count};
    }
    side->function_start[i] = side->size;
    for (unsigned k = 0; k < count; k++) {
        if (k == cold) {
            side->function_size[i] = side->size - side->function_start[i];
            side->cold_start[i] = side->size;
            tables->start = side->size;
            bat_builder_add_fragment(tables->builder, side->address + side->size, tables->current,
                                     &tables->current, NULL);
        }
        bool has_next = k + 1 < count && k + 1 != cold && places[k + 1].function == i;
        write_copy(side, tables, all, i, places[k], has_next ? places[k + 1].block : BLOCKS, ends);
    }
    if (cold < count)
        side->cold_size[i] = side->size - side->cold_start[i];
    else
        side->function_size[i] = side->size - side->function_start[i];
}

static void write_output(struct side *side, struct tables *tables, const struct function *all,
                         struct fuzz_bytes *bytes, size_t ends[][BLOCKS])
{
    memset(side->starts, 0xff, sizeof(side->starts));
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        if (fuzz_take(bytes, 1) % 8 == 7)
            made_emit(side, "\x90\x90\xcc", 3); /* padding */
        tables->start = side->size;
        bat_builder_add_function(tables->builder, side->address + side->size, i, all[i].count,
                                 &tables->current, NULL);
        write_function(side, tables, all, i, bytes, ends);
    }
    made_resolve(side);
}

static void check_files(const char *output, const char *input, struct fuzz_bytes *bytes)
{
    struct bat_binary binary;
    struct bat_error error;
    enum bat_code code = bat_binary_open(output, &binary, &error);
    if (code != BAT_OK) {
        fuzz_expect_error(code, &error, UINT64_MAX);
        return;
    }
    struct bat_elf *elf;
    fuzz_expect(bat_elf_open(input, &elf, NULL) == BAT_OK, "the input can be opened");
    struct bat_original *original;
    const struct bat_original_options options = {.size = sizeof(options), .threads = 1};
    struct bat_misfits misfits;
    code = bat_original_pair(elf, &binary, &options, false, NULL, &original, &misfits, &error);
    if (code == BAT_OK) {
        fuzz_check_pair(&binary, original, made_is_damaged, bytes);
        bat_original_close(original);
    } else {
        fuzz_expect_error(code, &error, UINT64_MAX);
    }
    bat_elf_close(elf);
    bat_binary_close(&binary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_poison_gaps(true);
    made_is_damaged = false;
    struct fuzz_bytes bytes = {data, size};
    struct function all[FUNCTIONS];
    static const unsigned order[FUNCTIONS] = {0, 1, 2, 3};
    static struct side input;
    static struct side output;
    static size_t ends[FUNCTIONS][BLOCKS];
    input = (struct side){.size = 0};
    output = (struct side){.address = made_choose_base(&bytes, 0x801000, CODE_MAX / 4)};
    made_take_program(&bytes, all);
    made_write_program(&input, all, order, ends);
    input.address = made_choose_base(&bytes, 0x401000, input.size);
    struct tables tables = {.builder = bat_builder_new(), .input = &input};
    fuzz_expect(tables.builder, "there is memory for a builder");
    write_output(&output, &tables, all, &bytes, ends);
    struct bat_map *map;
    struct bat_error error;
    uint8_t *note = NULL;
    size_t note_size;
    if (bat_builder_finish(tables.builder, NULL, &map, &error) == BAT_OK &&
        bat_encode(map, &note, &note_size, &error) == BAT_OK) {
        made_patch(input.code, input.size, &bytes, true);
        made_patch(output.code, output.size, &bytes, false);
        made_patch(note, note_size, &bytes, false);
        char *output_path = made_write_file(&output, "output", note, note_size, &bytes);
        char *input_path = made_write_file(&input, "input", NULL, 0, &bytes);
        check_files(output_path, input_path, &bytes);
        unlink(output_path);
        unlink(input_path);
        free(output_path);
        free(input_path);
    } else {
        fuzz_expect_error(error.code, &error, UINT64_MAX);
    }
    free(note);
    bat_map_free(map);
    bat_builder_free(tables.builder);
    return 0;
}
