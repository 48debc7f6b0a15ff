/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds out what a line is: tries the reader of each form in turn. */
#include "stack_lines.h"

/* --- Addresses: what llvm-symbolizer and addr2line read --------------------------------------- */

/* An address up to the end of the line: hexadecimal, with or without "0x". */
static bool read_address(struct scan line, struct bat_stack_line *read)
{
    scan_spaces(&line);
    if (!scan_0x(&line, &read->address) && !scan_hex(&line, &read->address))
        return false;
    read->address_end = (size_t)(line.at - read->module.text);
    scan_spaces(&line);
    return line.at == line.end;
}

/* A file's name, in quotes if it has blanks. */
static bool read_module(struct scan *line, struct bat_slice *module)
{
    scan_spaces(line);
    if (line->at == line->end)
        return false;
    char quote = *line->at;
    const char *start = line->at;
    if (quote == '"' || quote == '\'') {
        start++;
        const char *end = memchr(start, quote, (size_t)(line->end - start));
        if (!end)
            return false;
        *module = (struct bat_slice){start, (size_t)(end - start)};
        line->at = end + 1;
        return module->length != 0;
    }
    while (line->at != line->end && !scan_is_space(*line->at))
        line->at++;
    *module = (struct bat_slice){start, (size_t)(line->at - start)};
    return true;
}

/*
 * perf script prints call chains with addresses alone behind a tab, 16 characters wide: these are
 * frames.
 */
static bool is_perf_column(struct scan line)
{
    if (!scan_char(&line, '\t'))
        return false;
    size_t spaces = scan_spaces(&line);
    const char *start = line.at;
    uint64_t value;
    return scan_hex(&line, &value) && spaces + (size_t)(line.at - start) == 16;
}

/* An address by itself or behind a file's name: what llvm-symbolizer and addr2line read. */
static bool bat_read_query_line(struct scan line, struct bat_stack_line *read)
{
    const char *start = line.at;
    if (is_perf_column(line))
        return false;
    read->kind = BAT_LINE_QUERY;
    read->form = BAT_FORM_QUERY;
    read->has_address = true;
    if (scan_text(&line, "DATA "))
        read->is_data = true;
    else if (scan_text(&line, "FRAME "))
        read->is_locals = true;
    else
        scan_text(&line, "CODE ");
    read->module.text = start; /* what address_end counts from */
    if (read_address(line, read)) {
        read->module.text = NULL;
        return true;
    }
    scan_text(&line, "FILE:");
    struct bat_slice module;
    if (!read_module(&line, &module) || line.at == line.end || !scan_is_space(*line.at))
        return false;
    /* Behind a name only "0x" makes an address: "all dead" is text. */
    struct scan digits = line;
    scan_spaces(&digits);
    if (!scan_text(&digits, "0x") && !scan_text(&digits, "0X"))
        return false;
    if (!read_address(line, read))
        return false;
    read->module = module;
    return true;
}

/* --- glog, Abseil ----------------------------------------------------------------------------- */

/* Abseil prints the frame's size, in decimal, between the address and the name. */
static void skip_frame_size(struct scan *line)
{
    struct scan inner = *line;
    uint64_t size;
    if (scan_decimal(&inner, &size) && scan_spaces(&inner) >= 2)
        *line = inner;
}

/* "@ 0x...", "PC: @ 0x...": glog, Abseil. */
static bool bat_read_glog_line(struct scan line, struct bat_stack_line *read)
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

/* --- Where files are mapped ------------------------------------------------------------------- */

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

/* "PERF_RECORD_MMAP..." by perf script, and lines of /proc/PID/maps. */
static bool bat_read_mapping_line(struct scan line, struct bat_stack_line *read)
{
    read->kind = BAT_LINE_MAPPING;
    const char *event = scan_find(&line, "PERF_RECORD_MMAP");
    if (!event)
        return read_proc_maps(line, read);
    line.at = event + strlen("PERF_RECORD_MMAP");
    scan_char(&line, '2');
    return read_perf_event(line, read);
}

/* --- backtrace_symbols() ---------------------------------------------------------------------- */

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

/* "file(name+0x1) [0x...]": backtrace_symbols(). */
static bool bat_read_backtrace_line(struct scan line, struct bat_stack_line *read)
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
