/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How much profiles agree, as text and as JSON. Internal to the library and the tools. */
#pragma once

#include "report.h"
#include "support/text_writer.h"

struct compared_profiles {
    const char *const *paths;
    uint32_t count; /* at least 2 */
    const char
        *symbols; /* of the ELF file whose functions pre-aggregated profiles are in; or NULL */
    double min_overlap; /* 0 to 1 */
    bool as_json;
    bool is_quiet; /* nothing is printed */
    report_tell_fn *tell;
};

/*
 * Read and compare the profiles (spec/compare.md), and print two with their functions, more as a
 * matrix. *is_low: an overlap, or of more than two profiles the median of one, is below the lowest
 * that is wanted. After a failure *failed is the path that it is of, or NULL.
 */
enum bat_code compare_profiles(const struct compared_profiles *request,
                               struct bat_text_writer *output, bool *is_low, const char **failed,
                               struct bat_error *error);
