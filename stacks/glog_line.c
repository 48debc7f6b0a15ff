/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "stack_lines.h"

/* Abseil prints the frame's size, in decimal, between the address and the name. */
static void skip_frame_size(struct scan *line)
{
    struct scan inner = *line;
    uint64_t size;
    if (scan_decimal(&inner, &size) && scan_spaces(&inner) >= 2)
        *line = inner;
}

bool bat_read_glog_line(struct scan line, struct bat_stack_line *read)
{
    const char *start = line.at;
    scan_spaces(&line);
    read->kind = scan_text(&line, "PC: ") ? BAT_LINE_PC : BAT_LINE_FRAME;
    scan_spaces(&line);
    if (!scan_char(&line, '@') || scan_spaces(&line) == 0 || !scan_0x(&line, &read->address))
        return false;
    if (line.at != line.end && !scan_is_space(*line.at))
        return false;
    read->form = BAT_FORM_GLOG;
    read->has_address = true;
    read->address_end = (size_t)(line.at - start);
    scan_spaces(&line);
    skip_frame_size(&line);
    read->name = bat_trimmed_slice(line.at, line.end);
    if (read->name.length == strlen("(unknown)") &&
        memcmp(read->name.text, "(unknown)", read->name.length) == 0)
        read->name = (struct bat_slice){0};
    return true;
}
