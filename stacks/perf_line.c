/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Lines that perf script prints for samples and their call chains. */
#include "stack_lines.h"

static bool slice_is(struct bat_slice slice, const char *text)
{
    return slice.length == strlen(text) && memcmp(slice.text, text, slice.length) == 0;
}

/*
 * The file in parentheses at the end of [start, *end): *end is moved in front of it. Files may have
 * parentheses, symbols too: "f(int) const+0x29 (/tmp/a (deleted))". A file starts with "/" or "[".
 */
static bool take_module(const char *start, const char **end, struct bat_stack_line *read)
{
    if (*end == start || (*end)[-1] != ')')
        return false;
    struct bat_slice text = {start, (size_t)(*end - start)};
    for (size_t i = 0; i + 2 < text.length; i++) {
        bool opens = text.text[i] == '(' && (i == 0 || scan_is_space(text.text[i - 1]));
        if (!opens || (text.text[i + 1] != '/' && text.text[i + 1] != '['))
            continue;
        read->module = (struct bat_slice){text.text + i + 1, text.length - i - 2};
        *end = text.text + i;
        return true;
    }
    const char *open = memrchr(start, '(', text.length);
    if (!open || (open != start && !scan_is_space(open[-1])))
        return false;
    read->module = (struct bat_slice){open + 1, (size_t)(*end - open - 2)};
    *end = open;
    return true;
}

/* "f+0x29 (/bin/a)", "f (inlined)", "[unknown] ([unknown])", or less, up to the end. */
static bool read_symbol(struct scan rest, struct bat_stack_line *read)
{
    struct bat_slice text = bat_trimmed_slice(rest.at, rest.end);
    const char *end = text.text + text.length;
    bool has_module = take_module(text.text, &end, read);
    if (has_module && slice_is(read->module, "inlined")) {
        read->is_inlined = true;
        read->module = (struct bat_slice){0};
    }
    /* "(/bin/a+0x11d9)" is how perf prints dsoff: an offset in the file, which the address is too.
     */
    struct bat_slice module = read->module;
    if (has_module && module.text && bat_split_module_offset(module, "+0x", read)) {
        read->has_module_offset = false;
        read->module_offset = 0;
    }
    bat_split_name_offset(bat_trimmed_slice(text.text, end), read);
    if (slice_is(read->name, "[unknown]"))
        read->name = (struct bat_slice){0};
    if (slice_is(read->module, "[unknown]"))
        read->module = (struct bat_slice){0};
    return has_module || read->has_name_offset;
}

bool bat_read_perf_line(struct scan line, struct bat_stack_line *read)
{
    const char *start = line.at;
    if (scan_spaces(&line) == 0)
        return false;
    const char *digits = line.at;
    if (!scan_hex(&line, &read->address))
        return false;
    if (line.at != line.end && !scan_is_space(*line.at))
        return false;
    read->kind = BAT_LINE_FRAME;
    read->has_address = true;
    read->address_end = (size_t)(line.at - start);
    /*
     * Call chains start with a tab; a sample without call chain and other fields does not. Chains
     * of simpleperf's report_sample.py do not either, but have a tab behind the address.
     */
    const bool is_alone = read->address_end == 16 && *start == ' ';
    read->form = is_alone && (line.at == line.end || *line.at != '\t') ? BAT_FORM_PERF_SAMPLE
                                                                       : BAT_FORM_PERF;
    /* Only perf prints a column of 16 behind a tab; otherwise the rest must look like a symbol. */
    bool column = *start == '\t' && digits - start >= 1 && line.at - start == 17;
    return read_symbol(line, read) || column;
}

/* Find the name and the pid in "NAME PID/TID ", where names can have blanks. */
static bool find_pid(struct scan line, struct bat_slice *command, uint64_t *pid)
{
    const char *start = line.at;
    while (line.at != line.end) {
        while (line.at != line.end && !scan_is_space(*line.at))
            line.at++;
        const char *end = line.at;
        if (scan_spaces(&line) == 0)
            return false;
        struct scan number = line;
        uint64_t tid;
        if (!scan_decimal(&number, pid))
            continue;
        if (scan_char(&number, '/') && !scan_decimal(&number, &tid))
            continue;
        if (number.at != number.end && !scan_is_space(*number.at))
            continue;
        *command = bat_trimmed_slice(start, end);
        return command->length != 0;
    }
    return false;
}

bool bat_sample_head(const char *line, size_t length, struct bat_slice *command, uint64_t *pid)
{
    if (length != 0 && line[length - 1] == '\n')
        length--;
    struct scan scan = {line, line + length};
    scan_spaces(&scan);
    return find_pid(scan, command, pid);
}

bool bat_read_perf_sample_line(struct scan line, struct bat_stack_line *read)
{
    const char *start = line.at;
    struct bat_slice command;
    struct scan head = line;
    scan_spaces(&head);
    /* The address is behind the last ":" that has blanks and a number behind it. */
    struct scan rest = {NULL, line.end};
    for (const char *at = line.at; at != line.end; at++) {
        struct scan behind = {at + 1, line.end};
        uint64_t address;
        if (*at != ':' || scan_spaces(&behind) == 0 || !scan_hex(&behind, &address) ||
            (behind.at != behind.end && !scan_is_space(*behind.at)))
            continue;
        rest.at = behind.at;
        read->address = address;
    }
    if (!rest.at || rest.at == rest.end || !read_symbol(rest, read) || !read->name.text)
        return false;
    find_pid(head, &command, &read->pid);
    read->kind = BAT_LINE_FRAME;
    read->form = BAT_FORM_PERF_SAMPLE;
    read->has_address = true;
    read->address_end = (size_t)(rest.at - start);
    return true;
}
