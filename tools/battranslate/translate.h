/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* battranslate's work, after its options were read. */
#ifndef BAT_TOOLS_BATTRANSLATE_TRANSLATE_H
#define BAT_TOOLS_BATTRANSLATE_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/common/tool.h"

/* The format of -o. */
enum translate_format {
    FORMAT_FDATA,
    FORMAT_YAML,
    FORMAT_PREAGG,  /* the samples, not translated */
    FORMAT_AUTOFDO, /* for compilers, of the input binary */
    FORMAT_PROFGEN,
};

/* battranslate's options. Strings are owned by the caller, and NULL if an option is not given. */
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

/* Translate and report. Prints errors to standard error. Outputs are written completely or not at
 * all. */
enum tool_exit translate_run(const struct translate_request *request);

#endif
