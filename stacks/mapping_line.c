/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Lines that describe where files are mapped. */
#include "stack_lines.h"

/* " 10450/10450: [0x5568d759d000(0x1000) @ 0x1000 fe:00 530 194]: r-xp /bin/a" */
static bool read_perf_event(struct scan line, struct bat_stack_line *read)
{
    uint64_t tid;
    scan_spaces(&line);
    /* The kernel's own, which are every process's, are those of process -1. */
    read->pid = 0;
    if ((!scan_text(&line, "-1") && !scan_decimal(&line, &read->pid)) || !scan_char(&line, '/') ||
        !scan_decimal(&line, &tid))
        return false;
    if (!scan_text(&line, ": [") || !scan_0x(&line, &read->address) || !scan_char(&line, '(') ||
        !scan_0x(&line, &read->size) || !scan_text(&line, ") @ "))
        return false;
    /* perf prints 0 without "0x". */
    if (!scan_0x(&line, &read->file_offset) && !scan_hex(&line, &read->file_offset))
        return false;
    const char *end = scan_find(&line, "]: ");
    if (!end)
        return false;
    line.at = end + 3;
    while (line.at != line.end && !scan_is_space(*line.at))
        line.at++;
    read->module = bat_trimmed_slice(line.at, line.end);
    return read->module.length != 0;
}

static bool is_permission(char c)
{
    return c == 'r' || c == 'w' || c == 'x' || c == 's' || c == 'p' || c == '-';
}

/* "5568d759d000-5568d759e000 r-xp 00001000 fe:00 5308647    /bin/a" */
static bool read_proc_maps(struct scan line, struct bat_stack_line *read)
{
    uint64_t end;
    scan_spaces(&line);
    if (!scan_hex(&line, &read->address) || !scan_char(&line, '-') || !scan_hex(&line, &end) ||
        !scan_char(&line, ' ') || end <= read->address)
        return false;
    read->size = end - read->address;
    for (int i = 0; i < 4; i++)
        if (line.at == line.end || !is_permission(*line.at++))
            return false;
    uint64_t device, inode;
    if (!scan_char(&line, ' ') || !scan_hex(&line, &read->file_offset) || !scan_char(&line, ' ') ||
        !scan_hex(&line, &device) || !scan_char(&line, ':') || !scan_hex(&line, &device) ||
        !scan_char(&line, ' ') || !scan_decimal(&line, &inode))
        return false;
    read->module = bat_trimmed_slice(line.at, line.end);
    return true;
}

bool bat_read_mapping_line(struct scan line, struct bat_stack_line *read)
{
    read->kind = BAT_LINE_MAPPING;
    const char *event = scan_find(&line, "PERF_RECORD_MMAP");
    if (!event)
        return read_proc_maps(line, read);
    line.at = event + strlen("PERF_RECORD_MMAP");
    scan_char(&line, '2');
    return read_perf_event(line, read);
}
