/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writes the page: its parts, in the order in which they stand in the file. */
#ifndef BAT_TOOLS_BATREPORT_PAGE_H
#define BAT_TOOLS_BATREPORT_PAGE_H

#include "html.h"
#include "pack.h"
#include "report.h"

/* Code or style of a page, made of the files in page/ when batreport is built. */
struct report_file {
    const uint8_t *bytes;
    size_t size;
    uint8_t sha256[32];
};

extern const struct report_file report_script;     /* of the page about one binary */
extern const struct report_file comparison_script; /* of the page about two */
extern const struct report_file report_style;

/* From the start to the title's text, and from behind that to the style; the end of what is read,
 * with a remark for those without scripts; then the script and the end. */
void page_write_head(struct bat_text_writer *page, const struct report_file *script);
void page_write_style(struct bat_text_writer *page);
void page_write_remark(struct bat_text_writer *page);
void page_write_end(struct bat_text_writer *page, const struct report_file *script);

/* The last part of a path, without markup. */
const char *page_name_of(const char *path);

/* The whole page. The caller begins and commits output. */
enum bat_code report_write(struct report *report, struct bat_output *output,
                           struct bat_error *error);

/* What can be read without scripts. */
void report_write_summary(struct report *report, struct bat_text_writer *page);
void report_write_banner(const struct report *report, struct bat_text_writer *page);
void report_write_check(const struct report *report, struct bat_text_writer *page);
void report_write_pages(const struct report *report, struct bat_text_writer *page);

/* The curves of pages and huge pages; before may be NULL. names: of both, no markup. */
void report_write_curves(const struct report_pages before[2], const struct report_pages after[2],
                         const char *const names[2], struct bat_text_writer *page);
void report_write_hottest(const struct report *report, struct bat_text_writer *page);

/* The name of a function in profiles, demangled; with a link to its page unless it is BAT_NONE. */
void report_write_name(const struct report *report, uint32_t function, const char *name,
                       struct bat_text_writer *page);

/* --- The data of the page's code: spec/report.md ---------------------------------------------- */

/* Several columns that are filled side by side, then put behind each other. */
#define REPORT_COLUMNS 8u

struct report_columns {
    struct pack all[REPORT_COLUMNS];
};

/* Write a part with columns, or one of bytes, as the element data-NAME, and free them. */
enum bat_code report_write_columns(struct bat_text_writer *page, const char *name,
                                   struct report_columns *columns);
enum bat_code report_write_part(struct bat_text_writer *page, const char *name, struct pack *pack);

/* The members of the description that are about one binary, without braces. */
void report_write_members(const struct report *report, struct bat_text_writer *page);

/*
 * The parts of one binary's code; their names begin with prefix. Functions that are nameless, by
 * their numbers, get empty names; NULL: none is.
 */
enum bat_code report_write_code(const struct report *report, const char *prefix,
                                const bool *is_nameless, struct bat_text_writer *page);

/* All parts of the page about one binary. */
enum bat_code report_write_data(struct report *report, struct bat_text_writer *page);

#endif
