/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The readers of single forms of lines. Each takes a line without its newline, and returns false,
 * with *read in an unknown state, if the line is none of its form.
 */
#ifndef BAT_STACKS_STACK_LINES_H
#define BAT_STACKS_STACK_LINES_H

#include "bat_stacks.h"
#include "text_scan.h"

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

/* What [start, end) is, with white space on both sides left out. */
struct bat_slice bat_trimmed_slice(const char *start, const char *end);

/* name is "function+0x29": cut the offset off, and keep it in *read. */
void bat_split_name_offset(struct bat_slice name, struct bat_stack_line *read);

/*
 * "(file+0x11d9)" or, for systemd, "(file + 0x11d9)" is the module and its offset. text has no
 * parentheses. False if it is none.
 */
bool bat_split_module_offset(struct bat_slice text, const char *plus, struct bat_stack_line *read);

#endif
