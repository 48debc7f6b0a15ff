/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* battranslate's options. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bat_views.h"
#include "tools/common/check_print.h"
#include "tools/common/tool.h"
#include "views/heatmap.h"

/* The format of -o. */
enum translate_format {
    FORMAT_FDATA,
    FORMAT_YAML,
    FORMAT_PREAGG,  /* the samples, not translated */
    FORMAT_AUTOFDO, /* for compilers, of the input binary */
    FORMAT_PROFGEN,
    FORMAT_CSSPGO,
    FORMAT_HYBRID,     /* the samples themselves, as the text that llvm-profgen reads */
    FORMAT_PERFSCRIPT, /* perf's text of perf.data; BINARY is not read */
    FORMAT_FOLDED,     /* for viewers, of the input's functions */
    FORMAT_PPROF,
    FORMAT_SPEEDSCOPE,
    FORMAT_FIREFOX,
    FORMAT_OTLP,
    FORMATS
};

struct work;

/* What there is to say of each format; translate_work.h has the functions. */
struct translate_format_row {
    const char *name;
    const char *extension; /* of its files in --output-dir */
    enum tool_exit (*open)(struct work *work);
    enum tool_exit (*finish)(struct work *work);
    enum bat_viewer_format viewer; /* or BAT_VIEWER_NONE */
    bool is_records;               /* fdata, YAML: for BOLT */
    bool has_contexts;             /* made of samples with call stacks */
};

extern const struct translate_format_row translate_formats[FORMATS];

/* An old build whose profile --for carries: a BINARY, and the options that follow it. */
struct release {
    const char *binary;
    const char *symbols;
    const char *note;
    const char *original;
    size_t first_profile; /* in the request's profiles; those of the next release end them */
};

/* battranslate's options. Strings are owned by the caller, and NULL if an option is not given. */
struct translate_request {
    const char *binary;
    const char **binaries; /* all arguments; binary is the first */
    size_t binary_count;
    size_t binary_capacity;
    struct release *releases; /* one for each of binaries, or one */
    size_t release_count;
    size_t release_capacity;
    const char **profiles;
    size_t profile_count;
    size_t profile_capacity;
    const char *output;
    const char *yaml;
    const char *symbols;
    const char *note;
    const char *debug_file;
    const char *original;
    const char *next;      /* --for */
    const char *explain;   /* --explain */
    const char *recording; /* --explain-recording */
    const char *output_folder;
    const char *originals;                  /* a folder */
    const struct translate_format_row *row; /* of format */
    int32_t *processes;                     /* reading's; owned */
    size_t process_capacity;
    double density_threshold;        /* a lower density asks for more samples */
    double min_overlap;              /* --min-overlap, 0 to 1 */
    struct bat_read_options reading; /* how profiles are read, and with how many threads */
    struct bat_stores stores;
    struct heatmap_options heatmap;
    struct bat_verdict_options check;
    enum translate_format format;
    uint32_t density_cutoff; /* millionths of the samples */
    bool all;                /* --all */
    bool also_yaml;          /* for several binaries: fdata and YAML */
    /* Symbols of a stripped binary are taken from its separate debug file. */
    bool is_one_of_several;
    bool impute_runs;
    bool drop_memory;
    bool keep_unknown_data;
    bool keep_going; /* a profile that cannot be read is left out */
    bool once;       /* a profile whose parts were counted is left out */
    bool parity;     /* records as perf2bolt makes them */
    bool has_format; /* --format was given */
    bool by_lines;   /* --use-dwarf-correlation: also if there are probes */
    bool ignore_build_id;
    bool yaml_extern;
    bool yaml_probes;
    bool show_density;
    bool wants_check; /* --check */
    bool compares;    /* --compare: the binaries are profiles */
    bool is_common;   /* --common: likewise */
    bool quiet;
    bool json_report;
};

/* The key of an option that sets a member of it. */
#define SETS(how, member) TOOL_KEY(how, struct translate_request, member)
