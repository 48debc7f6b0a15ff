/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The speed of reading and writing a note depends on the distribution of its numbers: which are
 * longer than a byte, and how well a processor predicts that. So BOLT's own are taken, of a program
 * with more entries than a processor can learn.
 */
#include "repeated_note.h"

#include <stdio.h>
#include <stdlib.h>

#include "bat_binary.h"
#include "bat_encoder.h"
#include "spec/array.h"

#define START 0x10000000u   /* address of the first copy */
#define LAST_TABLE 0x10000u /* bytes of code from a copy's last table on */

static _Noreturn void give_up(const char *path, const char *message)
{
    fprintf(stderr, "bat_bench: %s: %s\n", path, message);
    exit(1);
}

/* The copies' tables stand for the same entries. */
static void repeat_tables(const struct bat_map *one, uint32_t copies, struct bat_map *all)
{
    uint32_t count = bat_map_tables(one);
    uint64_t first = one->tables[one->by_address[0]].address;
    uint64_t step = one->tables[one->by_address[count - 1]].address - first + LAST_TABLE;
    for (uint32_t copy = 0; copy < copies; copy++) {
        uint32_t hot = copy * one->hot_count;
        uint32_t cold = copies * one->hot_count - one->hot_count + copy * one->cold_count;
        for (uint32_t i = 0; i < count; i++) {
            struct bat_table *table = &all->tables[(i < one->hot_count ? hot : cold) + i];
            *table = one->tables[i];
            table->address += START - first + copy * step;
            table->parent += hot;
            uint32_t at = one->by_address[i];
            all->by_address[copy * count + i] = (at < one->hot_count ? hot : cold) + at;
        }
    }
}

uint8_t *repeated_note(const char *path, uint32_t copies, size_t *size)
{
    struct bat_binary binary;
    struct bat_error error;
    if (bat_binary_open(path, &binary, &error) != BAT_OK)
        give_up(path, error.message);
    struct bat_map all = *binary.map;
    all.index = NULL;
    all.hot_count *= copies;
    all.cold_count *= copies;
    all.tables = bat_array_new(bat_map_tables(&all), sizeof(*all.tables));
    all.by_address = bat_array_new(bat_map_tables(&all), sizeof(*all.by_address));
    if (!all.tables || !all.by_address)
        give_up(path, "out of memory");
    repeat_tables(binary.map, copies, &all);
    uint8_t *note;
    if (bat_encode(&all, &note, size, &error) != BAT_OK)
        give_up(path, error.message);
    free(all.tables);
    free(all.by_address);
    bat_binary_close(&binary);
    return note;
}
