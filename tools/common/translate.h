/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What battranslate does once its options are known. */
#ifndef BAT_TOOL_TRANSLATE_H
#define BAT_TOOL_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool.h"

/* What -o writes. */
enum translate_format {
    FORMAT_FDATA,
    FORMAT_YAML,
    FORMAT_PREAGG,  /* what was sampled, as it is */
    FORMAT_AUTOFDO, /* what compilers read, of the input binary */
    FORMAT_PROFGEN,
};

/* What battranslate's options say. Strings are owned by the caller; NULL where nothing was said. */
struct translate_request {
    const char *binary;
    const char **profiles;
    size_t profile_count;
    const char *output;
    const char *yaml;
    const char *symbols;
    const char *note;
    const char *debug_file;
    const char *original;
    unsigned threads;
    bool has_process;
    int32_t process; /* --pid */
    bool keep_interrupts;
    bool by_perf_script;
    bool arm_spe;
    const char *itrace;
    bool drop_memory;
    bool keep_unknown_data;
    bool parity; /* records as perf2bolt makes them */
    enum translate_format format;
    bool basic_samples;
    bool ignore_build_id;
    bool quiet;
    bool json_report;
};

/* Do it, and report; what is wrong is told on standard error. Outputs are there whole or not at
 * all. */
enum tool_exit translate_run(const struct translate_request *request);

#endif
