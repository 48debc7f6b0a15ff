/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The demo's input and BOLTed binary with any tables that a note can hold, and any traces: moved
 * traces lie in the input's functions and run forwards, and no sample is lost or counted twice.
 */
#include <stdlib.h>

#include "bat_decoder.h"
#include "demo.h"
#include "fuzz.h"
#include "pair_checks.h"

static struct bat_binary *demo(void)
{
    static struct bat_binary binary;
    if (!binary.elf)
        fuzz_expect(bat_binary_open(demo_bolted(), &binary, NULL) == BAT_OK,
                    "the demonstration's binary can be opened");
    return &binary;
}

static int compare_offsets(const void *left, const void *right)
{
    uint32_t left_offset = *(const uint32_t *)left;
    uint32_t right_offset = *(const uint32_t *)right;
    return left_offset < right_offset ? -1 : left_offset > right_offset;
}

/* Change some entries; their output offsets must ascend. */
static void change_map(struct bat_map *map, struct fuzz_bytes *bytes)
{
    for (uint64_t changes = fuzz_take(bytes, 1) % 16; changes > 0; changes--) {
        uint32_t entry = (uint32_t)(fuzz_take(bytes, 2) % map->entry_count);
        uint32_t value = (uint32_t)fuzz_take(bytes, fuzz_take(bytes, 1) % 8 == 0 ? 4 : 1);
        if (fuzz_take(bytes, 1) & 1)
            map->output_offsets[entry] = value;
        else
            map->input_offsets[entry] = value << 1 | (map->input_offsets[entry] & 1);
    }
    for (uint32_t i = 0; i < bat_map_tables(map); i++)
        qsort(map->output_offsets + map->tables[i].first_entry, map->tables[i].entry_count,
              sizeof(*map->output_offsets), compare_offsets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    struct bat_binary binary = *demo();
    fuzz_expect(bat_decode(binary.note, binary.note_size, NULL, &binary.map, NULL) == BAT_OK,
                "the demonstration's note can be decoded");
    change_map(binary.map, &bytes);
    struct bat_elf *elf;
    fuzz_expect(bat_elf_open(demo_input(), &elf, NULL) == BAT_OK, "the input can be opened");
    struct bat_original *original;
    const struct bat_original_options options = {.size = sizeof(options), .threads = 1};
    struct bat_misfits misfits;
    fuzz_expect(bat_original_pair(elf, &binary, &options, false, NULL, &original, &misfits, NULL) ==
                    BAT_OK,
                "any tables can be paired");
    fuzz_check_pair(&binary, original, false, &bytes);
    bat_original_close(original);
    bat_elf_close(elf);
    bat_map_free(binary.map);
    return 0;
}
