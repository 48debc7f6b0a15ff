/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Frames that start with "#" and a number: gdb, the sanitizers, systemd-coredump. */
#include "stack_lines.h"

/* Where gdb's arguments start, at a "(" with a blank before it: the end of the name. */
static const char *arguments_start(struct scan rest)
{
    /* "(anonymous namespace)::f (x=1)": a name may begin with a parenthesis, not with a blank. */
    const char *place = scan_find(&rest, " (");
    return place;
}

/* The text in the last pair of parentheses, which ends the line, or behind which is "(BuildId: ".
 */
static bool last_parentheses(struct scan rest, struct bat_slice *inside, const char **start)
{
    const char *end = rest.end;
    const char *build_id = scan_find(&rest, " (BuildId: ");
    if (build_id)
        end = build_id;
    while (end != rest.at && scan_is_space(end[-1]))
        end--;
    if (end == rest.at || end[-1] != ')')
        return false;
    end--;
    const char *open = end;
    while (open != rest.at && open[-1] != '(' && open[-1] != ')')
        open--;
    if (open == rest.at || open[-1] != '(')
        return false;
    *inside = (struct bat_slice){open, (size_t)(end - open)};
    *start = open - 1;
    return true;
}

/* "f (libc.so.6 + 0x2409b)", with "n/a" for an unknown name. */
static bool read_systemd(struct scan rest, struct bat_stack_line *read)
{
    struct bat_slice inside;
    const char *start;
    if (!last_parentheses(rest, &inside, &start) || !bat_split_module_offset(inside, " + 0x", read))
        return false;
    read->form = BAT_FORM_SYSTEMD;
    struct bat_slice name = bat_trimmed_slice(rest.at, start);
    if (name.length != 3 || memcmp(name.text, "n/a", 3) != 0)
        read->name = name;
    return true;
}

/* " in f a.c:3:5", " in f (/bin/a+0x11d9)", " (/bin/a+0x11d9)". */
static bool read_sanitizer(struct scan rest, struct bat_stack_line *read)
{
    struct bat_slice inside;
    const char *end = rest.end;
    const char *start;
    bool has_module =
        last_parentheses(rest, &inside, &start) && bat_split_module_offset(inside, "+0x", read);
    if (has_module)
        end = start;
    read->form = BAT_FORM_SANITIZER;
    scan_spaces(&rest);
    if (!scan_text(&rest, "in ") || end < rest.at)
        return has_module;
    read->name = bat_trimmed_slice(rest.at, end);
    if (has_module)
        return true;
    /* A source location follows the name. Names can have blanks too: the last blank divides. */
    const char *blank = read->name.text + read->name.length;
    while (blank != read->name.text && !scan_is_space(*(blank - 1)))
        blank--;
    if (blank != read->name.text)
        read->name = bat_trimmed_slice(read->name.text, blank);
    return true;
}

/* "in f (x=1) at a.c:3", "in ?? ()", "in f () from /lib/libc.so.6". */
static bool read_gdb(struct scan rest, struct bat_stack_line *read)
{
    if (read->has_address) {
        scan_spaces(&rest);
        if (!scan_text(&rest, "in "))
            return false;
    }
    const char *arguments = arguments_start(rest);
    if (!arguments)
        return false;
    read->form = BAT_FORM_GDB;
    read->name = bat_trimmed_slice(rest.at, arguments);
    if (read->name.length == 2 && memcmp(read->name.text, "??", 2) == 0)
        read->name = (struct bat_slice){0};
    static const char from[] = ") from ";
    struct scan behind = {arguments, rest.end};
    const char *library = scan_find(&behind, from);
    if (library)
        read->module = bat_trimmed_slice(library + sizeof(from) - 1, rest.end);
    return true;
}

bool bat_read_numbered_line(struct scan line, struct bat_stack_line *read)
{
    const char *start = line.at;
    scan_spaces(&line);
    if (!scan_char(&line, '#'))
        return false;
    read->number_start = (size_t)(line.at - start);
    if (!scan_decimal(&line, &read->number))
        return false;
    read->number_end = (size_t)(line.at - start);
    read->has_number = true;
    if (scan_spaces(&line) == 0)
        return false;
    if (scan_text(&line, "<signal handler called>")) {
        read->kind = BAT_LINE_SIGNAL;
        read->form = BAT_FORM_GDB;
        return true;
    }
    read->kind = BAT_LINE_FRAME;
    read->has_address = scan_0x(&line, &read->address);
    if (!read->has_address)
        return read_gdb(line, read);
    read->address_end = (size_t)(line.at - start);
    if (read_systemd(line, read))
        return true;
    struct bat_stack_line empty = *read;
    if (read_sanitizer(line, read) && read->has_module_offset)
        return true;
    *read = empty;
    return read_gdb(line, read) || read_sanitizer(line, read);
}
