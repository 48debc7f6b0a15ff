/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One reader for each form of lines. It takes a line without its newline. If the line does not have
 * its form, it returns false and leaves *read in an unknown state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bat_stacks.h"

/* The unread rest of a line: [at, end). */
struct scan {
    const char *at;
    const char *end;
};

static inline size_t scan_left(const struct scan *scan)
{
    return (size_t)(scan->end - scan->at);
}

static inline bool scan_char(struct scan *scan, char wanted)
{
    if (scan->at == scan->end || *scan->at != wanted)
        return false;
    scan->at++;
    return true;
}

static inline bool scan_text(struct scan *scan, const char *wanted)
{
    size_t length = strlen(wanted);
    if (scan_left(scan) < length || memcmp(scan->at, wanted, length) != 0)
        return false;
    scan->at += length;
    return true;
}

static inline bool scan_is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* Skip blanks. Returns their number. */
static inline size_t scan_spaces(struct scan *scan)
{
    const char *start = scan->at;
    while (scan->at != scan->end && scan_is_space(*scan->at))
        scan->at++;
    return (size_t)(scan->at - start);
}

/* The value of a hexadecimal digit, 16 or more for another character. */
static inline unsigned scan_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A') + 10;
    return 16;
}

/* Read a hexadecimal number of any length. False without digits, or if it exceeds 64 bits. */
static inline bool scan_hex(struct scan *scan, uint64_t *value)
{
    const char *at = scan->at;
    uint64_t number = 0;
    for (; at != scan->end && scan_hex_digit(*at) < 16; at++) {
        if (number >> 60)
            return false;
        number = number << 4 | scan_hex_digit(*at);
    }
    if (at == scan->at)
        return false;
    scan->at = at;
    *value = number;
    return true;
}

/* The same with "0x" in front. */
static inline bool scan_0x(struct scan *scan, uint64_t *value)
{
    struct scan inner = *scan;
    if (!scan_text(&inner, "0x") && !scan_text(&inner, "0X"))
        return false;
    if (!scan_hex(&inner, value))
        return false;
    *scan = inner;
    return true;
}

/* Read a decimal number of any length. False without digits, or if it exceeds 64 bits. */
static inline bool scan_decimal(struct scan *scan, uint64_t *value)
{
    const char *at = scan->at;
    uint64_t number = 0;
    for (; at != scan->end && *at >= '0' && *at <= '9'; at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    if (at == scan->at)
        return false;
    scan->at = at;
    *value = number;
    return true;
}

/* The first occurrence of wanted in the rest, or NULL. */
static inline const char *scan_find(const struct scan *scan, const char *wanted)
{
    size_t left = scan_left(scan);
    return left == 0 ? NULL : (const char *)memmem(scan->at, left, wanted, strlen(wanted));
}

/* "#3 ...": gdb, the sanitizers, systemd-coredump. */
bool bat_read_numbered_line(struct scan line, struct bat_stack_line *read);

/* "@ 0x...", "PC: @ 0x...": glog, Abseil. */
bool bat_read_glog_line(struct scan line, struct bat_stack_line *read);

/* "file(name+0x1) [0x...]": backtrace_symbols(). */
bool bat_read_backtrace_line(struct scan line, struct bat_stack_line *read);

/* A frame of a call chain by perf script. */
bool bat_read_perf_line(struct scan line, struct bat_stack_line *read);

/* A sample without call chain by perf script, in one line. */
bool bat_read_perf_sample_line(struct scan line, struct bat_stack_line *read);

/* "PERF_RECORD_MMAP..." by perf script, and lines of /proc/PID/maps. */
bool bat_read_mapping_line(struct scan line, struct bat_stack_line *read);

/* An address by itself or behind a file's name: what llvm-symbolizer and addr2line read. */
bool bat_read_query_line(struct scan line, struct bat_stack_line *read);

/* [start, end) without the white space at both ends. */
struct bat_slice bat_trimmed_slice(const char *start, const char *end);

/* Split "function+0x29" into name and name_offset of *read. The offset may be missing. */
void bat_split_name_offset(struct bat_slice name, struct bat_stack_line *read);

/*
 * Split "file+0x11d9" at plus, which is "+0x" or, for systemd, " + 0x", into module and
 * module_offset of *read. False if text does not have this form.
 */
bool bat_split_module_offset(struct bat_slice text, const char *plus, struct bat_stack_line *read);
