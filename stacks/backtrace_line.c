/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "stack_lines.h"

/* The text in the parentheses behind the file, as in "(f+0x29)", "(+0x11d9)", "()". */
static void read_place(struct bat_slice inside, struct bat_stack_line *read)
{
    bat_split_name_offset(inside, read);
    if (read->has_name_offset && read->name.length == 0) {
        /* No symbol: the offset is the file's. */
        read->module_offset = read->name_offset;
        read->has_module_offset = true;
        read->has_name_offset = false;
        read->name_offset = 0;
        read->name = (struct bat_slice){0};
    }
}

bool bat_read_backtrace_line(struct scan line, struct bat_stack_line *read)
{
    const char *start = line.at;
    while (line.at != line.end && scan_is_space(line.end[-1]))
        line.end--;
    /* " [0x", 16 digits and "]" at most. */
    size_t tail = scan_left(&line) < 21 ? scan_left(&line) : 21;
    struct scan address = {line.end - tail, line.end};
    const char *bracket = scan_find(&address, " [0x");
    if (!bracket)
        return false;
    address.at = bracket + 2;
    if (!scan_0x(&address, &read->address) || !scan_char(&address, ']') ||
        address.at != address.end)
        return false;
    struct bat_slice place = bat_trimmed_slice(line.at, bracket);
    if (place.length == 0)
        return false;
    if (place.text[place.length - 1] == ')') {
        /* Symbols here have no parentheses: they are not demangled. */
        const char *open = memrchr(place.text, '(', place.length);
        if (!open || open == place.text)
            return false;
        const char *close = place.text + place.length - 1;
        read_place((struct bat_slice){open + 1, (size_t)(close - open - 1)}, read);
        place.length = (size_t)(open - place.text);
    }
    /* A program can print text in front of the file: "frame 3: ./a(f+0x29) [0x55d0]". */
    const char *blank = place.text + place.length;
    while (blank != place.text && !scan_is_space(blank[-1]))
        blank--;
    read->module = (struct bat_slice){blank, (size_t)(place.text + place.length - blank)};
    if (read->module.length == 0 || (!read->has_module_offset && !read->has_name_offset &&
                                     !memchr(place.text, '/', place.length)))
        return false;
    read->kind = BAT_LINE_FRAME;
    read->form = BAT_FORM_BACKTRACE;
    read->has_address = true;
    read->address_end = (size_t)(line.end - start);
    return true;
}
