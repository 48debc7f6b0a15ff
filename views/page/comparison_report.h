/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The page about two binaries: what batreport collects for it, and how it is written. */
#pragma once

#include "binary/compare/comparison.h"
#include "report.h"
#include "support/text_writer.h"

enum { OLD, NEW };

/*
 * What is said of a function of the new binary: the bits of enum function_change, and these. A
 * function that only one binary's note has may be in the other binary, too, left in place.
 */
enum pair_flag {
    PAIR_COMPARED = 32, /* both notes have it */
    PAIR_APPEARED = 64, /* only the new one's */
};

struct report_comparison {
    struct bat_page_request requests[2]; /* of each side alone */
    struct report sides[2];
    struct comparison facts;
    uint32_t *pairs[2]; /* of each function the other side's, or BAT_NONE */
    uint8_t *flags;     /* of the new side's functions: enum function_change, enum pair_flag */
    uint8_t *went;      /* of the old side's functions: 1 if only its note has it */
};

/* bat_page_write() of a request with old_binary. */
enum bat_code comparison_run(const struct bat_page_request *request, struct bat_output *output,
                             const char **file, struct bat_error *error);

/* Pair the functions of both sides. False without memory. */
bool comparison_pair(struct report_comparison *comparison);

/* The page, as report_write(). */
enum bat_code comparison_write(struct report_comparison *comparison, struct bat_output *output,
                               struct bat_error *error);

/* Its parts, in order. */
void comparison_write_summary(const struct report_comparison *comparison,
                              struct bat_text_writer *page);

/* False without memory. */
bool comparison_write_lists(const struct report_comparison *comparison,
                            struct bat_text_writer *page);
enum bat_code comparison_write_data(const struct report_comparison *comparison,
                                    struct bat_text_writer *page);
