/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* llvm-profgen's unsymbolized profile: the number of ranges, the ranges, then branches likewise. */
#include <elf.h>

#include "bat_autofdo.h"
#include "ranges.h"
#include "support/text_writer.h"

#define PAGE UINT64_C(0x1000)
#define LINE_MAX_SIZE 80u

/* The base of offsets: the page of the first executable segment. */
static uint64_t base_of(const struct bat_elf *elf)
{
    struct bat_segment segment;
    for (size_t i = 0; bat_elf_segment(elf, i, &segment); i++)
        if (segment.flags & PF_X)
            return segment.address & ~(PAGE - 1);
    return 0;
}

static void write_table(struct bat_text_writer *text, const struct bat_counts *table,
                        const char *separator, uint64_t base)
{
    char *at = bat_put_decimal(bat_text_room(text, LINE_MAX_SIZE), table->count);
    *at++ = '\n';
    bat_text_end(text, at);
    for (uint32_t i = 0; i < table->count; i++) {
        const uint64_t *item = bat_counts_item(table, i);
        at = bat_put_hex(bat_text_room(text, LINE_MAX_SIZE), item[0] - base);
        at = bat_put_text(at, separator);
        at = bat_put_hex(at, item[1] - base);
        *at++ = ':';
        at = bat_put_decimal(at, item[2]);
        *at++ = '\n';
        bat_text_end(text, at);
    }
}

static enum bat_code write_ranges(const struct ranges *ranges, const struct bat_elf *elf,
                                  struct bat_output *output, struct bat_error *error)
{
    if (ranges->ranges.count == 0 && ranges->branches.count == 0)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected traces in the program's code, found none");
    struct bat_text_writer text;
    BAT_TRY(bat_text_begin(&text, output, error));
    write_table(&text, &ranges->ranges, "-", base_of(elf));
    write_table(&text, &ranges->branches, "->", base_of(elf));
    return bat_text_finish(&text, BAT_OK);
}

enum bat_code bat_profgen_write(const struct bat_profile *profile, const struct bat_elf *elf,
                                struct bat_output *output, struct bat_autofdo_counters *counters,
                                struct bat_error *error)
{
    struct bat_autofdo_counters counted = {0};
    struct code_map map;
    BAT_TRY(code_map_create(&map, elf, error));
    struct ranges ranges;
    enum bat_code code = ranges_collect(&ranges, profile, &map, &counted, error);
    if (code == BAT_OK) {
        code = write_ranges(&ranges, elf, output, error);
        ranges_free(&ranges);
    }
    code_map_free(&map);
    if (counters)
        *counters = counted;
    return code;
}
