/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds out what a line is: tries the reader of each form in turn. */
#include "stack_lines.h"

static bool is_blank(struct scan line)
{
    while (line.at != line.end && (scan_is_space(*line.at) || *line.at == '\r'))
        line.at++;
    return line.at == line.end;
}

void bat_stack_line_read(const char *line, size_t length, struct bat_stack_line *read)
{
    static bool (*const readers[])(struct scan, struct bat_stack_line *) = {
        bat_read_query_line,       bat_read_numbered_line, bat_read_glog_line,
        bat_read_perf_line,        bat_read_mapping_line,  bat_read_backtrace_line,
        bat_read_perf_sample_line,
    };
    if (length != 0 && line[length - 1] == '\n')
        length--;
    if (length != 0 && line[length - 1] == '\r')
        length--;
    struct scan scan = {line, line + length};
    *read = (struct bat_stack_line){.kind = BAT_LINE_BLANK};
    if (is_blank(scan))
        return;
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
        *read = (struct bat_stack_line){0};
        if (readers[i](scan, read))
            return;
    }
    *read = (struct bat_stack_line){.kind = BAT_LINE_TEXT};
}
