/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Look-ups in what batreport collects, and messages. */
#include "report.h"

#include <string.h>

#include "binary/functions/functions.h"
#include "binary/original/original.h"
#include "spec/binary_search.h"

uint32_t report_piece_at(const struct report *report, uint64_t address)
{
    uint32_t count = BAT_COUNT_UP_TO(report->pieces, report->piece_count, address, address);
    const struct report_piece *last = count ? &report->pieces[count - 1] : NULL;
    return last && address - last->address < last->size ? count - 1 : BAT_NONE;
}

uint32_t report_block_at(const struct report *report, const struct report_piece *piece,
                         uint64_t offset)
{
    uint32_t count =
        BAT_COUNT_UP_TO(report->blocks + piece->first_block, piece->block_count, output, offset);
    return count ? count - 1 : 0;
}

uint32_t report_section_at(const struct report_sections *sections, uint64_t address)
{
    uint32_t count = BAT_COUNT_UP_TO(sections->all, sections->count, address, address);
    const struct report_section *last = count ? &sections->all[count - 1] : NULL;
    return last && address - last->address < last->size ? count - 1 : BAT_NONE;
}

bool report_is_old_section(const struct report_section *section)
{
    static const char prefix[] = ".bolt.org.";
    return strncmp(section->name, prefix, strlen(prefix)) == 0;
}

enum tool_exit report_fail(const struct report *report, const char *file)
{
    return tool_report(file, &report->error);
}

uint32_t report_function_of_records(const struct report *report, uint64_t address)
{
    uint64_t output = address;
    if (report->is_moved) {
        const struct bat_original *original = report->original;
        uint32_t input = bat_functions_find(original->input_functions, address);
        if (input == BAT_NONE || original->first_home[input] == original->first_home[input + 1])
            return BAT_NONE;
        output = original->outputs[original->homes[original->first_home[input]]].address;
    }
    uint32_t piece = report_piece_at(report, output);
    return piece == BAT_NONE ? BAT_NONE : report->pieces[piece].function;
}
