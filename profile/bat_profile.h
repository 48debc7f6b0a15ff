/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Profiles: what was sampled on a BOLTed binary, read and added up (struct bat_profile), and what
 * it says of the input binary (struct bat_records), translated and written as llvm-bolt reads it.
 * The forms of profiles are told in spec/profiles.md.
 */
#ifndef BAT_PROFILE_H
#define BAT_PROFILE_H

#include "bat_binary.h"
#include "bat_original.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- What was sampled --------------------------------------------------------------------- */

/* Addresses that stand for something else, in a trace's branch and to. */
#define BAT_TRACE_BRANCH_ONLY UINT64_MAX           /* to: no fall-through is known */
#define BAT_TRACE_FALLTHROUGH_ONLY UINT64_MAX      /* branch: none is known */
#define BAT_TRACE_EXTERNAL_ORIGIN (UINT64_MAX - 1) /* branch: somewhere outside */
#define BAT_TRACE_EXTERNAL_RETURN (UINT64_MAX - 2) /* branch: a return, somewhere outside */
#define BAT_ADDRESS_EXTERNAL ((uint64_t)0)         /* any: outside of the binary */

/* What locations in a profile are measured by. */
struct bat_profile_target {
    const uint8_t *build_id; /* of the profiled binary; NULL if it has none */
    size_t build_id_size;
    uint64_t base_address; /* added to locations: 0 for a fixed-address binary */
    bool ignore_build_id;  /* take every build-id for the binary's */

    /*
     * For perf.data, whose addresses are those of processes: the binary's file, by whose segments,
     * path and build-id its mappings are known. It must outlive the profile. NULL: perf.data is an
     * error.
     */
    const struct bat_elf *elf;
    bool is_bolted; /* the binary has a BAT note */
};

/* What was read, for reports. Counters count records or samples as their names say. */
struct bat_profile_counters {
    uint64_t bytes;
    uint64_t lines;
    uint64_t trace_records;  /* T, R, B, F, f and r */
    uint64_t sample_records; /* S */
    uint64_t fdata_records;
    uint64_t foreign_locations; /* locations of another object */

    /* Of perf.data */
    uint64_t perf_samples;         /* of any process */
    uint64_t perf_foreign_samples; /* ... that were not used: the binary was not mapped in it */
    uint64_t perf_plain_samples;   /* ... that were used, without a branch stack */
    uint64_t perf_branches;        /* entries of branch stacks */
    uint64_t perf_kernel_branches; /* ... that were left out: from or to the kernel */
    uint64_t perf_dropped;         /* ... that were left out as perhaps doubled: the newest two */
    uint64_t perf_lost;            /* records and samples that perf says it lost */
    uint64_t perf_unknown_records; /* of types that are not known here */
    uint64_t perf_processes;       /* in which the binary was mapped */
};

/* Samples added up. Internals in profile/profile.h. */
struct bat_profile;

/* A new, empty profile, or NULL if there is no memory. target is copied. */
BAT_API struct bat_profile *bat_profile_new(const struct bat_profile_target *target);
BAT_API void bat_profile_free(struct bat_profile *profile);

/* bytes more were read; called from every reading thread now and then. */
typedef void bat_progress_fn(uint64_t bytes, void *context);

struct bat_read_options {
    unsigned threads; /* for regular files; 0: as many as there are processors */
    bat_progress_fn *progress;
    void *progress_context;

    /* For perf.data, and the last two for what perf script prints */
    bool basic_samples;        /* where samples were taken, instead of their branch stacks */
    bool keep_kernel_branches; /* entries from or to the kernel, too */
    /*
     * Run perf script (found in PATH) and read what it prints, which is slower; so samples can be
     * made of the data of tracing units, too: with perf's option --itrace=itrace, or for Arm's SPE.
     */
    bool by_perf_script;
    const char *itrace; /* NULL: no such option */
    bool arm_spe;
    bool has_process; /* only samples of this process: */
    int32_t process;
};

/*
 * Read a file ("-": standard input) into the profile, adding to what it holds: a pre-aggregated
 * profile, fdata, or perf.data as perf record writes it, told apart by their first bytes. options
 * may be NULL. On failure error has line and column, for perf.data the offset in the file, and the
 * profile is only good for bat_profile_free().
 * Memory grows with distinct records, for perf.data also with processes; time is linear in the
 * file. perf.data that comes through a pipe is kept in a temporary file (in TMPDIR, else /tmp) that
 * has no name.
 */
BAT_API enum bat_code bat_profile_read(struct bat_profile *profile, const char *path,
                                       const struct bat_read_options *options,
                                       struct bat_error *error);

BAT_API struct bat_profile_counters bat_profile_counters(const struct bat_profile *profile);

/*
 * The object that locations other than the binary's most often name: a build-id or "X". NULL if
 * there are none. Owned by the profile.
 */
BAT_API const char *bat_profile_foreign_id(const struct bat_profile *profile);

/* Distinct traces and sampled addresses. */
BAT_API uint64_t bat_profile_distinct(const struct bat_profile *profile);

enum bat_profile_kind {
    BAT_PROFILE_BRANCHES, /* traces; basic samples are left out */
    BAT_PROFILE_SAMPLES,  /* basic samples; traces are left out */
};

/* SAMPLES for a profile that holds basic samples alone, else BRANCHES. */
BAT_API enum bat_profile_kind bat_profile_main_kind(const struct bat_profile *profile);

/*
 * Write a profile as pre-aggregated text (spec/profiles.md 1), which, read again, gives the same
 * traces, samples, returns and events: a record a line, in the order of their addresses. Memory
 * samples have no form there and are left out, fdata records have none either and are an error
 * (BAT_ERR_MISMATCH). output is begun and committed by the caller (bat_output.h). Time n log n in
 * the distinct records, memory one copy of them.
 */
BAT_API enum bat_code bat_profile_write_preagg(const struct bat_profile *profile,
                                               struct bat_output *output, struct bat_error *error);

/* Memory samples (loads with the address they read), the sum of their counts. */
BAT_API uint64_t bat_profile_memory_samples(const struct bat_profile *profile);

/* Forget them. */
BAT_API void bat_profile_drop_memory(struct bat_profile *profile);

/*
 * Whether loads from what is no data of the binary (stack, heap, other objects) are translated
 * too. They are not unless this says so: BOLT has no use for them.
 */
BAT_API void bat_profile_keep_unknown_data(struct bat_profile *profile, bool keep);

/*
 * Whether bat_profile_translate() makes every record that perf2bolt makes. It leaves out those that
 * cannot be edges of the input function unless this says so: llvm-bolt throws the whole profile of
 * a function away for one of them.
 */
BAT_API void bat_profile_keep_all_records(struct bat_profile *profile, bool keep);

/*
 * Whether the records that are made of this profile will be judged (bat_records_judge()): what was
 * read of functions' code is kept for that. Not needed, only faster; it takes memory.
 */
BAT_API void bat_profile_expect_judgement(struct bat_profile *profile, bool expect);

/* --- Moved to the input binary ------------------------------------------------------------ */

/* What became of the samples, for reports. All count samples (the sums of counts). */
struct bat_to_input_counters {
    uint64_t samples;      /* traces, or basic samples */
    uint64_t moved;        /* of which something is in the input profile */
    uint64_t external;     /* outside of the binary, or where its input function is not known */
    uint64_t promoted;     /* runs through tests of promoted calls' and jumps' targets */
    uint64_t inlined;      /* runs through code of calls that BOLT has inlined */
    uint64_t unfollowed;   /* runs that the input's code does not have: cut where they leave it */
    uint64_t left_out;     /* branches that the input's code does not have */
    uint64_t unjoined;     /* runs whose other half was not sampled */
    uint64_t folded;       /* in the code of functions that BOLT has folded into one */
    uint64_t folded_known; /* ... and of the one of them that calls name, or that runs before do */
};

/*
 * Make a profile of the input binary out of a profile of the BOLTed one: what would have been
 * sampled if the input binary had run. Traces are cut where the input's code is not contiguous,
 * with the branch that the input has there, and put together where BOLT's branch is none in the
 * input. Constants (-1, -2, -3) and external ends are kept. fdata records are left out. The
 * profile's build-id and base address are the input binary's. counters may be NULL.
 *
 * binary must be the one that original was opened with. *input_profile is to be freed with
 * bat_profile_free(). Time is linear in distinct traces and what they run through.
 */
BAT_API enum bat_code
bat_profile_to_input(const struct bat_profile *profile, struct bat_binary *binary,
                     const struct bat_original *original, struct bat_profile **input_profile,
                     struct bat_to_input_counters *counters, struct bat_error *error);

/*
 * Begin to find out, beside the reading, what bat_profile_translate() will need of this binary;
 * its arguments are the same. Not needed, only faster. The profile must be freed before both.
 * Until bat_profile_translate(), which gives binary its map if it has none, nothing in binary
 * changes: it may be read, decoded and paired meanwhile.
 */
BAT_API void bat_profile_prepare(struct bat_profile *profile, struct bat_binary *binary,
                                 struct bat_elf *symbols);

/* --- What it says of the input binary ----------------------------------------------------- */

struct bat_records;

/* What became of the samples, for reports. All count samples (the sums of counts). */
struct bat_translate_counters {
    uint64_t samples;       /* basic samples, or traces, in all */
    uint64_t inside;        /* at least one end in a function of the binary */
    uint64_t external;      /* both ends outside */
    uint64_t returns;       /* branches that are returns: their fall-throughs count only */
    uint64_t fallthroughs;  /* traces with a fall-through */
    uint64_t invalid;       /* ... whose ends are not one run of code */
    uint64_t out_of_range;  /* ... one of whose ends is in no function */
    uint64_t without_table; /* samples in functions that have no BAT table */
    uint64_t functions;     /* distinct functions with samples */
    uint64_t functions_without_table;

    /* Of code that BOLT made; where perf2bolt's records are asked for they stay 0. */
    uint64_t within_blocks;   /* branches and fall-throughs inside one block of the input */
    uint64_t left_out;        /* ... that are no edge of the input, or not known as one */
    uint64_t inlined_calls;   /* calls of functions that BOLT inlined: their own records are made */
    uint64_t unknown_callers; /* calls and jumps to other functions whose place in the input is
                                 not known: their entry counts, as from an unknown place */

    uint64_t memory_samples; /* loads with the address they read; not among samples */
    uint64_t memory_inside;  /* ... that became records */
    uint64_t memory_unknown; /* ... of the binary that did not: what they read is not its data */
};

/*
 * Translate a profile of binary into records of the input binary. symbols is the ELF file to take
 * symbols from: binary's own, or an unstripped copy of it. The profile may hold fdata records too;
 * they join the translated ones. With original, which may be NULL, functions are called what they
 * are called in the input binary. binary, symbols and original must outlive the records. A binary
 * whose note was found but not decoded (bat_binary_find_note()) is decoded here, beside other work;
 * errors in its note have BAT_PLACE_SECTION.
 */
BAT_API enum bat_code bat_profile_translate(const struct bat_profile *profile,
                                            struct bat_binary *binary, struct bat_elf *symbols,
                                            const struct bat_original *original,
                                            enum bat_profile_kind kind,
                                            struct bat_records **records, struct bat_error *error);
/*
 * The same for a profile that bat_profile_to_input() has moved: by the code of the input binary, in
 * which each function is one without a table, and with the hashes that the BOLTed binary's note
 * keeps of it, for YAML. The records are those of the input's own run. profile is the one that was
 * moved: its fdata records join, too. moved may be freed afterwards; original must outlive the
 * records.
 */
BAT_API enum bat_code
bat_profile_translate_moved(const struct bat_profile *moved, const struct bat_profile *profile,
                            const struct bat_original *original, enum bat_profile_kind kind,
                            struct bat_records **records, struct bat_error *error);
BAT_API void bat_records_free(struct bat_records *records);
BAT_API struct bat_translate_counters bat_records_counters(const struct bat_records *records);
/* False if the binary has no BAT note: BOLT has not written it (bat_binary_without_note()). */
BAT_API bool bat_records_have_note(const struct bat_records *records);
BAT_API uint64_t bat_records_count(const struct bat_records *records);

/*
 * What llvm-bolt makes of records when they are attached to the input binary: it refuses a
 * function's whole profile ("invalid (possibly stale)") for one record that does not fit its code.
 * Samples are counted as llvm-bolt does: of fdata, all records from the functions; of YAML, those
 * inside of them.
 */
struct bat_judgement {
    uint64_t functions;         /* with a profile, those left out that llvm-bolt gives up anyway */
    uint64_t stale_functions;   /* ... whose profile it refuses */
    uint64_t samples;           /* of the functions */
    uint64_t stale_samples;     /* ... of the stale ones */
    uint64_t functions_by_note; /* ... that were judged without the input's code */
};

/*
 * Judge records as fdata or as YAML has them, by llvm-bolt's rules (spec/profiles.md 7). Functions
 * are judged by their code in the input binary: what records are of that
 * bat_profile_translate_moved() or a binary without a note gives, or with original. Else by what
 * the note and the output's code tell of it. Hashes of YAML are not computed: a function of other
 * code with the same blocks is taken for the same. Code that is read is kept with the records. Time
 * is linear in the code and the functions' records, n log n in one function's.
 */
BAT_API enum bat_code bat_records_judge(struct bat_records *records, bool is_yaml,
                                        struct bat_judgement *judgement, struct bat_error *error);

/*
 * Write records: fdata as perf2bolt's -o, YAML as its -w. output is begun and committed by
 * the caller (bat_output.h). The two may run at the same time, for an output each.
 */
BAT_API enum bat_code bat_records_write_fdata(const struct bat_records *records,
                                              struct bat_output *output, struct bat_error *error);
BAT_API enum bat_code bat_records_write_yaml(const struct bat_records *records,
                                             struct bat_output *output, struct bat_error *error);

#ifdef __cplusplus
}
#endif

#endif
