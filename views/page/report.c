/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Look-ups in what batreport collects, and messages. */
#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "binary/functions/functions.h"
#include "binary/original/original.h"
#include "spec/order.h"

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

bool report_is_branch(const struct bat_trace *trace)
{
    return trace->branch != BAT_TRACE_FALLTHROUGH_ONLY &&
           trace->branch != BAT_TRACE_EXTERNAL_ORIGIN && trace->branch != BAT_TRACE_EXTERNAL_RETURN;
}

enum bat_code report_fail(struct report *report, const char *file)
{
    report->failed = file;
    return report->error.code;
}

enum bat_code report_no_memory(struct report *report)
{
    bat_fail_memory(&report->error, "to make the page");
    return report_fail(report, NULL);
}

enum bat_code report_refuse(struct report *report, const char *file, const char *format, ...)
{
    char text[BAT_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    bat_fail(&report->error, BAT_ERR_SYNTAX, "%s", text);
    return report_fail(report, file);
}

void report_warn(const struct report *report, const char *file, const char *format, ...)
{
    if (!report->request->warn)
        return;
    char text[BAT_MESSAGE_SIZE + 64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    report->request->warn(file, text, report->request->context);
}

char *report_plain_name(const struct bat_page_request *request, const char *name)
{
    return request->demangle ? request->demangle(name) : NULL;
}

/* True if function a stands before b: more samples, then the lower number. */
static bool is_hotter(const struct report *report, uint32_t a, uint32_t b)
{
    uint64_t left = report->functions[a].samples;
    uint64_t right = report->functions[b].samples;
    return left != right ? left > right : a < b;
}

uint32_t report_find_hottest(const struct report *report, uint32_t *hottest, uint32_t most)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < report->function_count; i++) {
        if (report->functions[i].samples == 0 ||
            (count == most && !is_hotter(report, i, hottest[count - 1])))
            continue;
        uint32_t at = count < most ? count++ : count - 1;
        for (; at != 0 && is_hotter(report, i, hottest[at - 1]); at--)
            hottest[at] = hottest[at - 1];
        hottest[at] = i;
    }
    return count;
}

uint32_t report_function_at(const struct report *report, unsigned side, uint64_t address)
{
    uint64_t output = address;
    if (side == REPORT_BEFORE) {
        const struct bat_original *original = report->original;
        uint32_t input = bat_functions_find(original->input_functions, address);
        if (input == BAT_NONE || original->first_home[input] == original->first_home[input + 1])
            return BAT_NONE;
        output = original->outputs[original->homes[original->first_home[input]]].address;
    }
    uint32_t piece = report_piece_at(report, output);
    return piece == BAT_NONE ? BAT_NONE : report->pieces[piece].function;
}

uint32_t report_function_of_records(const struct report *report, uint64_t address)
{
    return report_function_at(report, report->is_moved ? REPORT_BEFORE : REPORT_AFTER, address);
}
