/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One reader for each form of lines. It takes a line without its newline. If the line does not have
 * its form, it returns false and leaves *read in an unknown state.
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

/* [start, end) without the white space at both ends. */
struct bat_slice bat_trimmed_slice(const char *start, const char *end);

/* Split "function+0x29" into name and name_offset of *read. The offset may be missing. */
void bat_split_name_offset(struct bat_slice name, struct bat_stack_line *read);

/*
 * Split "file+0x11d9" at plus, which is "+0x" or, for systemd, " + 0x", into module and
 * module_offset of *read. False if text does not have this form.
 */
bool bat_split_module_offset(struct bat_slice text, const char *plus, struct bat_stack_line *read);

#endif
