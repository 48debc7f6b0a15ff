/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "stack_lines.h"

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

bool bat_read_query_line(struct scan line, struct bat_stack_line *read)
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
