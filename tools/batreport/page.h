/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writes the page: its parts, in the order in which they stand in the file. */
#ifndef BAT_TOOLS_BATREPORT_PAGE_H
#define BAT_TOOLS_BATREPORT_PAGE_H

#include "html.h"
#include "report.h"

/* The page's code and style, made of the files in page/ when batreport is built. */
extern const uint8_t report_script[];
extern const size_t report_script_size;
extern const uint8_t report_script_sha256[32];
extern const uint8_t report_style[];
extern const size_t report_style_size;
extern const uint8_t report_style_sha256[32];

/* The whole page. The caller begins and commits output. */
enum bat_code report_write(struct report *report, struct bat_output *output,
                           struct bat_error *error);

/* What can be read without scripts. */
void report_write_summary(struct report *report, struct bat_text_writer *page);
void report_write_pages(const struct report *report, struct bat_text_writer *page);
void report_write_hottest(const struct report *report, struct bat_text_writer *page);

/* The data of the page's code: spec/report.md. */
enum bat_code report_write_data(struct report *report, struct bat_text_writer *page);

#endif
