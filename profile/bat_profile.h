/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Profiles. struct bat_profile holds what was sampled on a BOLTed binary: read from files or added
 * from memory, and added up. bat_profile_translate() makes records of the input binary of it
 * (struct bat_records), which llvm-bolt reads as fdata or YAML. spec/profiles.md describes the
 * forms of profiles and the translation, spec/perf-data.md and spec/perf-script.md what perf
 * writes.
 *
 *     bat_binary_open("app.bolt", &binary, &error)
 *     bat_profile_new_of(&binary, &profile, &error)
 *     bat_profile_read(profile, "perf.data", NULL, &error)      or bat_profile_add_trace(...)
 *     bat_profile_translate(profile, &binary, NULL, &records, &error)
 *     bat_records_write_fdata(records, output, &error)          or bat_records_get(...)
 *
 * Addresses are virtual addresses as in the ELF file, unless something else is said. Counts are
 * numbers of samples. Any bytes are safe to read. No global state.
 */
#ifndef BAT_PROFILE_H
#define BAT_PROFILE_H

#include "bat_binary.h"
#include "bat_original.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- What was sampled --------------------------------------------------------------------- */

/* Values of a trace's branch and to that are no addresses (spec/profiles.md 1). */
#define BAT_TRACE_BRANCH_ONLY UINT64_MAX           /* to: the fall-through is not known */
#define BAT_TRACE_FALLTHROUGH_ONLY UINT64_MAX      /* branch: not known */
#define BAT_TRACE_EXTERNAL_ORIGIN (UINT64_MAX - 1) /* branch: outside of the binary */
#define BAT_TRACE_EXTERNAL_RETURN (UINT64_MAX - 2) /* branch: a return outside of the binary */
#define BAT_ADDRESS_EXTERNAL ((uint64_t)0)         /* any address: outside of the binary */

/* The binary that was sampled. */
struct bat_profile_target {
    size_t size; /* sizeof(struct bat_profile_target) */

    const uint8_t *build_id; /* NULL if the binary has none */
    size_t build_id_size;    /* bytes */
    /*
     * Added to addresses in text: 0 for those that perf2bolt takes, which are the file's own also
     * if the binary can be anywhere and its first segment is not at 0.
     */
    uint64_t base_address;
    bool ignore_build_id; /* take each build-id in a profile for the binary's */

    /*
     * The binary's file, for profiles with addresses of processes: perf.data and mappings. Its
     * segments, path and build-id identify the binary in a process. It must outlive the profile.
     * NULL: such profiles are an error.
     */
    const struct bat_elf *elf;
    bool is_bolted; /* the binary has a BAT note */
};

/* What was read and added, for reports. */
struct bat_profile_counters {
    uint64_t bytes;             /* of files */
    uint64_t lines;             /* of text */
    uint64_t trace_records;     /* T, R, B, F, f and r */
    uint64_t sample_records;    /* S */
    uint64_t fdata_records;     /* lines of fdata, but for its header */
    uint64_t foreign_locations; /* locations in another object */

    /*
     * perf.data, and the text of perf script. Samples are the foreign, plain, used and unread ones;
     * entries are the kernel's, those of wrong paths, the dropped and the used ones. The reading
     * fails if they are not.
     */
    uint64_t perf_samples;         /* of all processes */
    uint64_t perf_foreign_samples; /* ... of processes that do not have the binary: not used */
    uint64_t perf_guest_samples;   /* ... in guests of virtual machines: among the foreign ones */
    uint64_t perf_plain_samples;   /* ... of others, without a branch stack */
    uint64_t perf_used_samples;    /* ... with entries, or with an address if that is wanted */
    uint64_t perf_unread_samples;  /* ... behind as many as options.samples_max says */
    uint64_t perf_branches;        /* entries of branch stacks */
    uint64_t perf_kernel_branches; /* ... from or to the kernel: left out */
    uint64_t perf_wrong_path;      /* ... that were speculation and never executed: left out */
    uint64_t perf_dropped;         /* ... the newest two, which may be doubled: left out */
    uint64_t perf_used_branches;   /* ... that are traces of the profile */
    uint64_t perf_lost;            /* records and samples that perf reports as lost */
    uint64_t perf_unknown_records; /* of unknown types */
    uint64_t perf_processes;       /* that have the binary */
};

/*
 * Samples, added up. One handle belongs to one thread at a time; functions that take it as const
 * do not change it, and may run in several threads at once.
 */
struct bat_profile;

/*
 * Make an empty profile. target and its build-id are copied; NULL: a binary at fixed addresses,
 * nothing else being known. *profile is to be freed with bat_profile_free(); it is NULL on failure:
 * BAT_ERR_MEMORY, or BAT_ERR_ARGUMENT for a target without its size.
 */
BAT_API enum bat_code bat_profile_new(const struct bat_profile_target *target,
                                      struct bat_profile **profile, struct bat_error *error);

/*
 * Make an empty profile of an open binary, which must outlive *profile. Its note need not be
 * decoded. Fails as bat_profile_new(), and with BAT_ERR_ARGUMENT for a raw note.
 */
BAT_API enum bat_code bat_profile_new_of(const struct bat_binary *binary,
                                         struct bat_profile **profile, struct bat_error *error);

/* NULL is allowed. */
BAT_API void bat_profile_free(struct bat_profile *profile);

/* --- From files --------------------------------------------------------------------------- */

/* Called from each reading thread, from time to time: `bytes` more bytes were read. */
typedef void bat_progress_fn(uint64_t bytes, void *context);

/* How a profile is read. */
struct bat_read_options {
    size_t size; /* sizeof(struct bat_read_options) */

    unsigned threads;          /* at most so many; 0: one for each processor */
    bat_progress_fn *progress; /* may be NULL */
    void *progress_context;

    /* perf.data */
    bool basic_samples;        /* read the sampled addresses, not the branch stacks */
    bool keep_kernel_branches; /* keep entries of branch stacks from or to the kernel */

    /*
     * Run perf script (found in PATH) on perf.data and read its output. It is slower, but perf
     * makes samples of trace data, too: with its option --itrace=itrace, or for Arm's SPE.
     */
    bool by_perf_script;
    const char *itrace; /* NULL: without that option */
    bool arm_spe;

    /* perf.data, and the output of perf script */
    bool has_process; /* read samples of this process alone: */
    int32_t process;
    const int32_t *processes; /* ... or of these, process_count; they need not all be found */
    size_t process_count;     /* 0: of all */
    uint64_t samples_max;     /* read at most so many samples with branch stacks; 0: all */

    /* pprof's and OpenTelemetry's profiles */
    const char *sample_type; /* the type whose values count; NULL: the first */
    bool sample_branches;    /* the places of a stack are sources and targets of branches, the
                                newest first; without it, the innermost place is a basic sample */
};

/*
 * Read a file ("-": standard input) and add what it holds to the profile. Its first bytes tell its
 * form: a pre-aggregated profile, fdata, perf.data, the output of perf script, or a profile of
 * pprof or OpenTelemetry (spec/stacks.md). The folder that perf record --threads makes is read as
 * one perf.data. options may be NULL.
 *
 * On failure the profile is as it was before, so that one bad file among a thousand can be left
 * out. error has line and column, for perf.data the offset in the file. Fails with
 *   BAT_ERR_IO, BAT_ERR_MEMORY;
 *   BAT_ERR_SYNTAX for text of another form;
 *   BAT_ERR_TRUNCATED, BAT_ERR_COUNT, BAT_ERR_SYNTAX for damaged perf.data;
 *   BAT_ERR_UNSUPPORTED for a folder that perf did not make, for perf.data that perf alone can
 *     read, and for pprof's and OpenTelemetry's profiles in a build without protobuf-c;
 *   BAT_ERR_RANGE for counts that are too large, alone or with the profile's;
 *   BAT_ERR_MISMATCH for fdata of another kind than the profile's, for perf.data without samples of
 *     the binary or without branch stacks, for profiles of stacks without such samples or without
 *     the sample type;
 *   BAT_ERR_ARGUMENT for perf.data and profiles of stacks if the profile's target has no elf, and
 * for options without their size.
 *
 * Memory grows with distinct records, for perf.data also with processes; time is linear in the
 * file. perf.data from a pipe is kept in a temporary file without a name (in TMPDIR, else /tmp).
 */
BAT_API enum bat_code bat_profile_read(struct bat_profile *profile, const char *path,
                                       const struct bat_read_options *options,
                                       struct bat_error *error);

/*
 * Read from an open descriptor, which stays open, as bat_profile_read() does. A regular file at
 * position 0 may be read by several threads, and its position does not change; everything else is
 * read from its position to its end.
 */
BAT_API enum bat_code bat_profile_read_file(struct bat_profile *profile, int file,
                                            const struct bat_read_options *options,
                                            struct bat_error *error);

/* Read from memory: size bytes, of which a copy is made while they are read. */
BAT_API enum bat_code bat_profile_read_memory(struct bat_profile *profile, const void *bytes,
                                              size_t size, const struct bat_read_options *options,
                                              struct bat_error *error);

/* Of which binaries samples are, for reports; see bat_profiles_read(). */
struct bat_profiles_counters {
    size_t size; /* sizeof(struct bat_profiles_counters) */

    uint64_t samples; /* that perf took, or the counts of pre-aggregated records */
    uint64_t none;    /* ... with no address in any of the binaries */
    uint64_t *inside; /* ... with an address in each binary: one for each profile, or NULL */
};

/*
 * Read a file once for several binaries of a process, such as a program and its libraries: count
 * profiles, each of another binary and without fdata. Each profile gets what bat_profile_read()
 * would give it, so a branch from one binary into another is in both profiles, with the other end
 * outside. options are those of bat_profile_read().
 *
 * If there are several, a pre-aggregated profile must name each location's object
 * (build-id:offset), and fdata is an error (BAT_ERR_MISMATCH), because it does not name its binary.
 * A binary that no process in the file has gets nothing, but at least one of them must have
 * samples. counters, which may be NULL, are added to. On failure all profiles are as they were
 * before. Fails otherwise as bat_profile_read(), and with BAT_ERR_ARGUMENT for counters without
 * their size and for no profile. Time is linear in the file and in the distinct records; in the
 * text of perf script also in the binaries that a sample's process has.
 */
BAT_API enum bat_code bat_profiles_read(struct bat_profile *const *profiles, size_t count,
                                        const char *path, const struct bat_read_options *options,
                                        struct bat_profiles_counters *counters,
                                        struct bat_error *error);

/* A file that a process had mapped. Later versions of the library may add members at the end. */
struct bat_mapped_file {
    const char *path;
    const uint8_t *build_id; /* NULL if it is not known */
    size_t build_id_size;    /* bytes; 20, padded with zeros, if perf did not record the size */
};

/* Receives a mapped file, valid during the call, with context. Returns false to stop. */
typedef bool bat_mapped_file_fn(const struct bat_mapped_file *file, void *context);

/*
 * List the files whose code processes had mapped, by perf.data or the text of perf script: each
 * path and build-id once. Without samples being read, this is a first reading of the file. Fails
 * with BAT_ERR_UNSUPPORTED for other forms of profiles and for what can be read only once, with
 * BAT_ERR_MEMORY if found() returns false, and as bat_profile_read().
 */
BAT_API enum bat_code bat_mapped_files(const char *path, bat_mapped_file_fn *found, void *context,
                                       struct bat_error *error);

/* In a call chain: code of the kernel. */
#define BAT_FRAME_KERNEL UINT64_MAX

/* A run of a sample's branch stack: see struct bat_trace. */
struct bat_chain_run {
    uint64_t branch; /* BAT_ADDRESS_EXTERNAL; or BAT_TRACE_FALLTHROUGH_ONLY: not known */
    uint64_t from;   /* BAT_ADDRESS_EXTERNAL */
    uint64_t to;     /* BAT_ADDRESS_EXTERNAL; or BAT_TRACE_BRANCH_ONLY, as always of the newest */
};

/* A sample's call chain. Later versions of the library may add members at the end. */
struct bat_call_chain {
    /*
     * Addresses of the binary's ELF file: first the sampled one, then of each caller one in the
     * instruction that calls. BAT_ADDRESS_EXTERNAL and BAT_FRAME_KERNEL stand for one or several
     * frames in other files, and in the kernel.
     */
    const uint64_t *frames;
    size_t depth;   /* at least 1 */
    uint64_t count; /* of equal samples, or what a profile of stacks counts */
    /* The branches before the sample, the newest first; none without a branch stack. */
    const struct bat_chain_run *runs;
    size_t run_count;
};

/* Receives a chain, valid during the call, with context. Returns false to stop. */
typedef bool bat_call_chain_fn(const struct bat_call_chain *chain, void *context);

/*
 * List the call chains of perf.data, or of the text of perf script without processes (-F
 * ip,brstack): one for each sample of a process that has the profile's binary, in the order of the
 * file, if the kernel followed the callers (perf record -g with frame pointers). Samples without
 * such a chain are left out. Of a profile of pprof or OpenTelemetry, list all stacks. The profile
 * is not changed. options, which may be NULL, and the errors are those of bat_profile_read(); fails
 * with BAT_ERR_UNSUPPORTED, too, for other forms of profiles and for what can be read only once,
 * and with BAT_ERR_MEMORY if found() returns false. Time is linear in the file.
 */
BAT_API enum bat_code bat_profile_call_chains(const struct bat_profile *profile, const char *path,
                                              const struct bat_read_options *options,
                                              bat_call_chain_fn *found, void *context,
                                              struct bat_error *error);

/* Writes samples with call chains as the text of perf script that llvm-profgen reads. */
struct bat_chains_writer;

/*
 * Begin to write to output, which the caller begins and commits. Fails with BAT_ERR_MEMORY. After
 * success bat_chains_writer_end() must follow.
 */
BAT_API enum bat_code bat_chains_writer_new(struct bat_output *output,
                                            struct bat_chains_writer **writer,
                                            struct bat_error *error);

/*
 * Write a sample: its count, its call stack, and its branches up to the first that is not known.
 * One without branches is left out. Errors are kept until the end.
 */
BAT_API void bat_chains_writer_add(struct bat_chains_writer *writer,
                                   const struct bat_call_chain *chain);

/* Write the rest if code is BAT_OK, and free the writer. Returns code, or else its first error. */
BAT_API enum bat_code bat_chains_writer_end(struct bat_chains_writer *writer, enum bat_code code);

/*
 * Write the text that perf prints of the perf.data at path (perf script, perf buildid-list), with
 * all that a profile needs, in the form of perf2bolt's --profile-format=perfscript: it can be read
 * where perf is not installed. perf must be in PATH. Of options, which may be NULL, basic_samples,
 * itrace and arm_spe count. The caller begins and commits output. Fails with BAT_ERR_IO, also if
 * perf fails, and BAT_ERR_MEMORY. The text is kept in a temporary file first.
 */
BAT_API enum bat_code bat_perf_script_write(const char *path,
                                            const struct bat_read_options *options,
                                            struct bat_output *output, struct bat_error *error);

/*
 * Add all that `from` holds: the result is that of reading both. Both must be of the same binary.
 * On failure profile is as it was before: BAT_ERR_MEMORY, BAT_ERR_RANGE for counts that add up to
 * 2^63 or more, BAT_ERR_MISMATCH for fdata of another kind, BAT_ERR_ARGUMENT if both are the same
 * profile. Linear in from.
 */
BAT_API enum bat_code bat_profile_merge(struct bat_profile *profile, const struct bat_profile *from,
                                        struct bat_error *error);

/* --- From memory -------------------------------------------------------------------------- */

/*
 * A branch that was taken, and the code that ran from its target to the next branch
 * (spec/profiles.md 1). Later versions of the library add no members.
 */
struct bat_trace {
    uint64_t branch; /* address of the branch; 0 or a BAT_TRACE_* */
    uint64_t from;   /* its target, where the run starts; 0: outside of the binary */
    uint64_t to;     /* the next branch, where the run ends; 0, or BAT_TRACE_BRANCH_ONLY */
    uint64_t count;
    uint64_t mispredictions; /* of the branch */
    bool is_return;          /* the branch is known as a return */
};

/*
 * Add a trace, a basic sample, a load with the address that it read, or the name of the event that
 * was sampled. Addresses are those of the binary's ELF file, unless bat_profile_set_mapping() was
 * called. A load that is not of the binary is left out.
 *
 * On failure the profile is as it was: BAT_ERR_MEMORY; BAT_ERR_RANGE if the profile's counts add up
 * to 2^63 or more, or the mispredictions of a trace to 2^64 or more; BAT_ERR_ARGUMENT for an event
 * without a name. Constant time, on average.
 */
BAT_API enum bat_code bat_profile_add_trace(struct bat_profile *profile,
                                            const struct bat_trace *trace, struct bat_error *error);
BAT_API enum bat_code bat_profile_add_sample(struct bat_profile *profile, uint64_t address,
                                             uint64_t count, struct bat_error *error);
BAT_API enum bat_code bat_profile_add_load(struct bat_profile *profile, uint64_t address,
                                           uint64_t data_address, uint64_t count,
                                           struct bat_error *error);
BAT_API enum bat_code bat_profile_add_event(struct bat_profile *profile, const char *name,
                                            struct bat_error *error);

/* Code of the binary's file in the memory of a process, as mmap(), /proc/PID/maps and perf say. */
struct bat_mapping {
    uint64_t address;     /* of its first byte in the process */
    uint64_t size;        /* bytes */
    uint64_t file_offset; /* of its first byte in the file */
};

/*
 * Says that the addresses that the functions above get from now on are those of a process with this
 * mapping of the binary. They are converted to the binary's own; those outside of the binary become
 * BAT_ADDRESS_EXTERNAL. NULL: they are the binary's own again, as in a new profile. On failure
 * nothing changes: BAT_ERR_MISMATCH if the binary has no code that can be mapped so,
 * BAT_ERR_ARGUMENT if the profile's target has no elf, BAT_ERR_ELF for a binary without segments or
 * with more than 128 of code.
 */
BAT_API enum bat_code bat_profile_set_mapping(struct bat_profile *profile,
                                              const struct bat_mapping *mapping,
                                              struct bat_error *error);

/* --- What it holds ------------------------------------------------------------------------ */

/*
 * Number i, counted from 0, of the profile's distinct traces, basic samples, loads and events;
 * false or NULL behind the last one. The order is unspecified, and does not change as long as the
 * profile does not. Addresses are the binary's own. fdata records are not among these. Constant
 * time. A string belongs to the profile, and is valid until it is changed.
 */
BAT_API bool bat_profile_trace(const struct bat_profile *profile, uint64_t i,
                               struct bat_trace *trace);
BAT_API bool bat_profile_sample(const struct bat_profile *profile, uint64_t i, uint64_t *address,
                                uint64_t *count);
BAT_API bool bat_profile_load(const struct bat_profile *profile, uint64_t i, uint64_t *address,
                              uint64_t *data_address, uint64_t *count);
BAT_API const char *bat_profile_event(const struct bat_profile *profile, uint64_t i);

/* What was read and added up to now. */
BAT_API struct bat_profile_counters bat_profile_counters(const struct bat_profile *profile);

/*
 * The object, other than the binary, that most locations in text name: a build-id or "X". NULL if
 * none does. Belongs to the profile, and is valid until it is changed.
 */
BAT_API const char *bat_profile_foreign_id(const struct bat_profile *profile);

/*
 * Where the samples are of a recording by perf that has none in its binaries: files with their
 * build-ids, most samples first, as part of a sentence. Empty for other profiles. Belongs to the
 * profile, and is valid until it is changed.
 */
BAT_API const char *bat_profile_elsewhere(const struct bat_profile *profile);

/* The number of distinct traces, basic samples and fdata records. */
BAT_API uint64_t bat_profile_distinct(const struct bat_profile *profile);

enum bat_profile_kind {
    BAT_PROFILE_BRANCHES, /* traces; basic samples are left out */
    BAT_PROFILE_SAMPLES,  /* basic samples; traces are left out */
};

/* SAMPLES for a profile that holds basic samples and no traces, else BRANCHES. */
BAT_API enum bat_profile_kind bat_profile_main_kind(const struct bat_profile *profile);

/*
 * Write a profile as pre-aggregated text (spec/profiles.md 1): a record a line, in the order of
 * their addresses. Reading the text gives the same traces, samples, returns and events; the texts
 * of parts, read into one profile, are written as the same bytes as the whole. Loads have no form
 * there and are left out; neither have fdata records, which are an error (BAT_ERR_MISMATCH).
 * BAT_ERR_RANGE if the mispredictions of a branch add up to 2^63 or more. The caller begins and
 * commits output (bat_output.h). Time n log n in the distinct records, memory one copy of them.
 */
BAT_API enum bat_code bat_profile_write_preagg(const struct bat_profile *profile,
                                               struct bat_output *output, struct bat_error *error);

/*
 * Give an end to each trace whose end was not sampled (BAT_TRACE_BRANCH_ONLY): the mean length of
 * the runs behind the same branch to the same place. If there are none, the run is the instruction
 * that the branch went to, and one byte of the next unless that instruction is a jump, a call or a
 * return (perf2bolt's --impute-trace-fall-through). On failure the profile is as it was:
 * BAT_ERR_MEMORY, BAT_ERR_RANGE, BAT_ERR_ARGUMENT if the profile's target has no elf. Time n log n
 * in the distinct traces.
 */
BAT_API enum bat_code bat_profile_impute_runs(struct bat_profile *profile, struct bat_error *error);

/*
 * Write the profiles of several binaries as one text, with locations build-id:offset: each profile
 * can be read from it again, with bat_profile_read() or bat_profiles_read(), without the traces and
 * samples that have no address in its binary. A trace between two binaries is written for each of
 * them. Fails as bat_profile_write_preagg(), and with BAT_ERR_MISMATCH for a binary without a
 * build-id.
 */
BAT_API enum bat_code bat_profiles_write_preagg(const struct bat_profile *const *profiles,
                                                size_t count, struct bat_output *output,
                                                struct bat_error *error);

/*
 * Write which branches recordings were restricted to, as perf record -j names them: "any_call" or
 * "any_ret,cond". Their traces have no runs. names has size bytes, at least 1, and gets as much as
 * fits, with a zero. Returns the length of all names: 0 if no recording was restricted.
 */
BAT_API size_t bat_profile_branch_filter(const struct bat_profile *profile, char *names,
                                         size_t size);

/* The sum of the counts of all loads. */
BAT_API uint64_t bat_profile_memory_samples(const struct bat_profile *profile);

/* Forget all loads. */
BAT_API void bat_profile_drop_memory(struct bat_profile *profile);

/* --- Moved to the input binary ------------------------------------------------------------ */

/*
 * What became of one kind of counts (spec/profiles.md 8): in + made = out + joined + left_out +
 * invalid + outside, modulo 2^64. Each number is counted where it arises, not computed from others:
 * if they do not add up, counts were lost or counted twice.
 */
struct bat_balance {
    uint64_t in;       /* in the profile that was given */
    uint64_t made;     /* more of them, where the result has several for one */
    uint64_t out;      /* in the result, summed up at its end */
    uint64_t joined;   /* needed no count of their own, or became a part of another */
    uint64_t left_out; /* not possible in the input's code, or not known there */
    uint64_t invalid;  /* of runs: not one run of code */
    uint64_t outside;  /* in no function of the binary, or in one whose input is not known */
};

/* in + made - out - ...: 0 if they add up. */
BAT_API uint64_t bat_balance_missing(const struct bat_balance *balance);

/* Balances of what profiles have. */
struct bat_balances {
    struct bat_balance branches;       /* counts of traces with a known branch */
    struct bat_balance runs;           /* counts of traces with a fall-through */
    struct bat_balance mispredictions; /* of branches */
    struct bat_balance samples;        /* basic samples */
    struct bat_balance loads;          /* memory samples */
};

/*
 * A function of the BOLTed binary whose code is not what BOLT is known to do (spec/remap.md 5): its
 * profile is moved by the note alone. Counts are of runs and of branches.
 */
struct bat_unexplained {
    const char *name;  /* of the input function; owned by the original; NULL: see no_names there */
    uint64_t counts;   /* all, of the function with its fragments */
    uint64_t cut;      /* runs without a way in the input's code */
    uint64_t left_out; /* branches that the input's code does not have */
    uint64_t unlisted; /* runs through branches and calls that are neither the input's nor made by a
                          known pass */
};

/* Those of its counts that are explained. */
static inline uint64_t bat_unexplained_rest(const struct bat_unexplained *function)
{
    return function->counts - function->cut - function->left_out - function->unlisted;
}

#define BAT_UNEXPLAINED_MAX 8u

/* Numbers of samples (sums of counts) by what became of them, for reports. */
struct bat_to_input_counters {
    uint64_t samples;      /* traces and basic samples */
    uint64_t moved;        /* ... of which at least a part is in the input profile */
    uint64_t external;     /* ... outside of the binary, or whose input function is not known */
    uint64_t promoted;     /* runs through the target tests of promoted calls and jumps */
    uint64_t inlined;      /* runs through calls that BOLT inlined */
    uint64_t unfollowed;   /* runs that leave the input's code: cut there */
    uint64_t left_out;     /* branches that the input's code does not have */
    uint64_t misfits;      /* samples with one or both of these two */
    uint64_t unjoined;     /* runs whose other half was not sampled */
    uint64_t folded;       /* in the code of functions that BOLT folded into one */
    uint64_t folded_known; /* ... where a call, or a run before it, tells which of them ran */
    /* Not samples: walks through the input's code, runs and joins that were given up because all of
     * them together took too much work. */
    uint64_t limited;
    struct bat_balances balances;

    /* Runs and branches in functions with a table, and those of them that are explained. */
    uint64_t parts;
    uint64_t parts_explained;
    /* Functions that are not explained, their runs and branches, and those with most of them. */
    uint64_t by_note_functions;
    uint64_t by_note_parts;
    struct bat_unexplained heaviest[BAT_UNEXPLAINED_MAX];
};

/*
 * Make a profile of the input binary from a profile of the BOLTed one: the samples that a run of
 * the input binary would have given (spec/profiles.md 5). A trace is cut where the input's code is
 * not contiguous, with the branch that the input has there; traces are joined where BOLT's branch
 * does not exist in the input. Constants (-1, -2, -3) and external ends are kept. fdata records are
 * left out. The build-id and base address of *input_profile are the input binary's.
 *
 * A function of which more than 5% of the runs and branches are not explained by BOLT's known
 * passes is moved by the note alone: it gets the edges between blocks that bat_profile_translate()
 * finds. Then the traces are followed twice. The counters name such functions.
 *
 * binary must be the one that original was opened with (else BAT_ERR_ARGUMENT); counters may be
 * NULL. *input_profile is to be freed with bat_profile_free(). Time is linear in the distinct
 * traces and the code that they run through.
 */
BAT_API enum bat_code
bat_profile_to_input(const struct bat_profile *profile, struct bat_binary *binary,
                     const struct bat_original *original, struct bat_profile **input_profile,
                     struct bat_to_input_counters *counters, struct bat_error *error);

/* Moves samples with call chains to the input binary. Belongs to one thread at a time. */
struct bat_chain_mover;

/*
 * binary must be the one that original was opened with (else BAT_ERR_ARGUMENT); both must outlive
 * *mover, which is to be freed with bat_chain_mover_free(). Fails otherwise as
 * bat_profile_to_input().
 */
BAT_API enum bat_code bat_chain_mover_new(struct bat_binary *binary,
                                          const struct bat_original *original,
                                          struct bat_chain_mover **mover, struct bat_error *error);

/*
 * Make of a sample of the BOLTed binary that of the input's own run: calls that BOLT has inlined
 * become branches and callers, branches of BOLT's own are dropped, and functions that it folded
 * into one are those that were called. What is not known there becomes BAT_ADDRESS_EXTERNAL and
 * BAT_TRACE_FALLTHROUGH_ONLY. *moved is valid until the next call. Fails with BAT_ERR_MEMORY or
 * BAT_ERR_RANGE. Linear in the sample's stacks, and once in the code that it runs through.
 */
BAT_API enum bat_code bat_chain_move(struct bat_chain_mover *mover,
                                     const struct bat_call_chain *chain,
                                     struct bat_call_chain *moved);

/* NULL is allowed. */
BAT_API void bat_chain_mover_free(struct bat_chain_mover *mover);

/* --- What it says of the input binary ----------------------------------------------------- */

/* Records of the input binary: what fdata and YAML are written from. */
struct bat_records;

/* The map and functions of a binary, found by threads of their own before a translation. */
struct bat_preparation;

/*
 * Start these threads, while profiles are still being read: the translation is the same without,
 * and slower. A caller that wants no other threads leaves this out. symbols is that of struct
 * bat_translate_options. binary does not change before the translation; meanwhile it may be
 * decoded, and opened with bat_original_open(). Returns NULL without memory, and for a raw note. To
 * be freed with bat_preparation_free() before binary and symbols are closed.
 */
BAT_API struct bat_preparation *bat_preparation_begin(struct bat_binary *binary,
                                                      struct bat_elf *symbols);

/* Free it, after its threads have ended. NULL is allowed. */
BAT_API void bat_preparation_free(struct bat_preparation *preparation);

/* How a profile is translated. */
struct bat_translate_options {
    size_t size; /* sizeof(struct bat_translate_options) */

    struct bat_elf *symbols; /* an unstripped copy of the binary; NULL: its own symbols */

    /* Names functions as the input binary does; or NULL. */
    const struct bat_original *original;

    /* Started for the same binary and symbols, and used up by the translation; or NULL. */
    struct bat_preparation *preparation;

    /* Translate basic samples. Otherwise bat_profile_main_kind() decides. */
    bool basic_samples;

    /*
     * Make every record that perf2bolt makes, also those that cannot be edges of the input
     * function. llvm-bolt drops the whole profile of a function for one of them.
     */
    bool keep_all_records;

    /* Translate loads from the stack, the heap and other objects, too. BOLT does not use them. */
    bool keep_unknown_data;

    /*
     * Keep the code that is read for bat_records_judge(). It gives the same result without, and is
     * slower then.
     */
    bool will_be_judged;

    /* In YAML, write how often functions were entered from outside: BOLT 22 and later read that. */
    bool yaml_extern;

    /* Translate, and judge the records, with at most so many threads; 0: one for each processor. */
    unsigned threads;

    /*
     * In YAML, write pseudo probes (spec/pseudo-probes.md 4), if the binary has them. Fails then as
     * bat_probes_read() does, too.
     */
    bool yaml_probes;
};

/* Numbers of samples (sums of counts) by what became of them, for reports. */
struct bat_translate_counters {
    uint64_t samples;       /* all traces, or all basic samples */
    uint64_t inside;        /* ... with at least one end in a function of the binary */
    uint64_t external;      /* ... with both ends outside */
    uint64_t returns;       /* traces from a return: only their fall-throughs are recorded */
    uint64_t fallthroughs;  /* traces with a fall-through */
    uint64_t invalid;       /* ... whose ends are not one run of code */
    uint64_t out_of_range;  /* ... with an end in no function */
    uint64_t without_table; /* samples in functions without a BAT table */
    uint64_t functions;     /* functions with samples: these two count functions */
    uint64_t functions_without_table;

    /* In code that BOLT made. With keep_all_records all of these are 0. */
    uint64_t within_blocks;   /* branches and fall-throughs inside a block of the input */
    uint64_t left_out;        /* ... that are not edges of the input, or not known as edges */
    uint64_t inlined_calls;   /* calls that BOLT inlined: recorded for the inlined function */
    uint64_t unknown_callers; /* calls and jumps to other functions from an unknown place of the
                                 input: recorded as entries from "[unknown]" */

    uint64_t memory_samples; /* loads; not among samples */
    uint64_t memory_inside;  /* ... that became records */
    uint64_t memory_unknown; /* ... by the binary, from no data of it: left out */

    uint64_t elsewhere; /* of out_of_range: in other objects, as the profile says by address 0 */
    uint64_t unread;    /* of invalid: in functions whose code is not followed, as by perf2bolt */

    /* Functions whose inlined calls were not all looked for, because that took too much work. */
    uint64_t limited;

    /* Of traces that gave at least one record; within a block a trace needs none (joined). */
    struct bat_balances balances;
    struct bat_balance records; /* counts of all records: in the traces' and samples', made fdata's
                                   and loads' */
};

/*
 * Translate a profile of binary into records of the input binary (spec/profiles.md 2). options may
 * be NULL. fdata records of the profile are added to the translated ones. binary, and what options
 * point to, must outlive *records, which are to be freed with bat_records_free(); NULL on failure.
 * If the binary's note was found but not decoded (bat_binary_find_note()), it is checked here
 * beside other work, and the entries that the samples need are decoded; binary stays without a map.
 *
 * Fails with BAT_ERR_MEMORY, BAT_ERR_RANGE for counts that do not fit, BAT_ERR_MISMATCH for fdata
 * of another kind, BAT_ERR_ARGUMENT for a raw note or options without their size, and as
 * bat_binary_decode() (then with BAT_PLACE_SECTION) and bat_elf_symbols() do.
 */
BAT_API enum bat_code bat_profile_translate(const struct bat_profile *profile,
                                            struct bat_binary *binary,
                                            const struct bat_translate_options *options,
                                            struct bat_records **records, struct bat_error *error);

/*
 * Translate a profile that bat_profile_to_input() made, by the code of the input binary, whose
 * functions have no tables; for YAML, with their hashes from the note of the BOLTed binary. The
 * records are those of a run of the input binary. profile is the one that moved was made of: its
 * fdata records are added. moved may be freed afterwards; original must outlive the records.
 * options may be NULL; its symbols, original and preparation are not used. Fails as
 * bat_profile_translate().
 */
BAT_API enum bat_code bat_profile_translate_moved(const struct bat_profile *moved,
                                                  const struct bat_profile *profile,
                                                  const struct bat_original *original,
                                                  const struct bat_translate_options *options,
                                                  struct bat_records **records,
                                                  struct bat_error *error);

/* NULL is allowed. */
BAT_API void bat_records_free(struct bat_records *records);

/* What became of the profile's samples. */
BAT_API struct bat_translate_counters bat_records_counters(const struct bat_records *records);

/* False if the binary has no BAT note: BOLT did not write it (bat_binary_without_note()). */
BAT_API bool bat_records_have_note(const struct bat_records *records);

/* --- Records one by one --------------------------------------------------------------------- */

/* How many records there are. */
BAT_API uint64_t bat_records_count(const struct bat_records *records);

/* An end of a record: a function or datum of the input binary, and an offset in it. */
struct bat_record_end {
    /* What fdata writes as the first digit (spec/profiles.md 3): 0 unknown, 1 a function, 3 unknown
     * data, 4 data; another one if fdata that was read has it. */
    unsigned kind;
    bool is_escaped;  /* name is spelled as fdata spells it: a backslash in front of a blank */
    const char *name; /* "[unknown]" outside of functions; belongs to the records */
    uint64_t offset;  /* bytes from its start; for unknown data the address */
};

/* A branch, a fall-through or a load in the input binary; or a basic sample: `to` is all 0 then. */
struct bat_record {
    struct bat_record_end from;
    struct bat_record_end to;
    uint64_t count;
    uint64_t mispredictions; /* of a branch */
};

/*
 * Record number i, counted from 0, in the order of fdata: by function, then by offset. False behind
 * the last, number bat_records_count() - 1. Constant time.
 */
BAT_API bool bat_records_get(const struct bat_records *records, uint64_t i,
                             struct bat_record *record);

/* --- What llvm-bolt takes ------------------------------------------------------------------- */

/*
 * What llvm-bolt does with records when it attaches them to the input binary. It refuses the whole
 * profile of a function ("invalid (possibly stale)") for one record that does not fit its code.
 * Samples are counted as llvm-bolt counts them: in fdata, all records from the functions; in YAML,
 * those inside them.
 */
struct bat_judgement {
    uint64_t functions;         /* with a profile, without those that llvm-bolt does not process */
    uint64_t stale_functions;   /* ... whose profile it refuses */
    uint64_t samples;           /* of the functions */
    uint64_t stale_samples;     /* ... of the stale ones */
    uint64_t functions_by_note; /* functions that were judged without the input's code */
};

/*
 * Judge records as fdata or as YAML has them, by llvm-bolt's rules (spec/profiles.md 7): by the
 * code of the input binary, if the records come from bat_profile_translate_moved(), from a binary
 * without a note or from a translation with original; otherwise by what the note and the output's
 * code tell of it. Hashes in YAML are not computed: code that changed and kept its blocks is not
 * found out. Code that is read is kept with the records. A thread may judge records while others
 * write them. Fails with BAT_ERR_MEMORY, and as bat_elf_symbols() does. Time is linear in the code
 * and in the records, n log n in those of one function.
 */
BAT_API enum bat_code bat_records_judge(struct bat_records *records, bool is_yaml,
                                        struct bat_judgement *judgement, struct bat_error *error);

/* Why llvm-bolt refuses the profile of a function. Later versions may add reasons at the end. */
enum bat_stale_reason {
    BAT_STALE_EDGE,    /* a branch or fall-through that the function's code does not have */
    BAT_STALE_EXIT,    /* a branch or call from a place where the code has none */
    BAT_STALE_NO_HASH, /* YAML has no hash of the function */
    BAT_STALE_BLOCKS,  /* the note has other blocks than the function's code */
};

/* A function whose profile llvm-bolt will refuse. */
struct bat_stale_function {
    const char *name; /* belongs to the records */
    uint64_t samples; /* as bat_judgement counts them */
    enum bat_stale_reason reason;
    uint64_t record; /* the first that does not fit, for bat_records_get(); UINT64_MAX: no single
                        one is the reason */
    bool is_by_note; /* judged without the input's code */
    uint64_t
        address; /* where the function starts in the binary that the records were made by: the
                    input binary for bat_profile_translate_moved(), else the one with the note */
};

/*
 * Number i, counted from 0, of the stale functions of records that were judged
 * (bat_records_judge()), by ascending address. False behind the last, and if they were not judged.
 * Constant time.
 */
BAT_API bool bat_records_stale(const struct bat_records *records, bool is_yaml, uint64_t i,
                               struct bat_stale_function *stale);

/* --- Written -------------------------------------------------------------------------------- */

/*
 * How dense the profile of the records is, by perf2bolt's measure: the executed bytes of a function
 * for each of its bytes. *density is that of the function which, with all denser ones, makes up
 * cutoff millionths of the branches; 0 if there is none. profile is that of
 * bat_profile_translate(), with keep_all_records for perf2bolt's own number. Functions whose code
 * perf2bolt gives up do not count. Linear in records, traces and the code of functions with
 * records. Fails as bat_profile_translate().
 */
BAT_API enum bat_code bat_records_density(const struct bat_records *records,
                                          const struct bat_profile *profile, uint32_t cutoff,
                                          double *density, struct bat_error *error);

/* How dense the profile of one function is. Later versions may add members at the end. */
struct bat_function_density {
    const char *name;  /* belongs to the records */
    uint64_t branches; /* counts of its records */
    double density;
};

/* Receives a function's density, valid during the call, with context. Returns false to stop. */
typedef bool bat_function_density_fn(const struct bat_function_density *density, void *context);

/*
 * The same for each of the functions from which bat_records_density() computes its number, the
 * densest first. Fails as it does, and with BAT_ERR_MEMORY if found() returns false.
 */
BAT_API enum bat_code bat_records_densities(const struct bat_records *records,
                                            const struct bat_profile *profile,
                                            bat_function_density_fn *found, void *context,
                                            struct bat_error *error);

/*
 * Write records as fdata, like perf2bolt's -o, or as YAML, like its -w (spec/profiles.md 3 and 4).
 * The caller begins and commits output (bat_output.h): a file, or a function of its own
 * (bat_output_begin_callback()). Both may run at the same time, each with its own output. Fail with
 * BAT_ERR_MEMORY, BAT_ERR_IO, BAT_ERR_RANGE for counts that llvm-bolt cannot read, and, YAML,
 * BAT_ERR_VERSION if the note has no hashes (bat_map_has_function_hashes()).
 */
BAT_API enum bat_code bat_records_write_fdata(const struct bat_records *records,
                                              struct bat_output *output, struct bat_error *error);
BAT_API enum bat_code bat_records_write_yaml(const struct bat_records *records,
                                             struct bat_output *output, struct bat_error *error);

/* A profile that is written from records. */
struct bat_records_output {
    struct bat_output *output; /* stays the caller's */
    bool is_yaml;              /* else fdata */
    enum bat_code code;        /* filled: how it ended, as bat_records_write_fdata() ends */
    struct bat_error error;    /* filled if code is not BAT_OK */
};

/*
 * Write several of them at the same time, each as one of the functions above does, by as many
 * threads as the translation was given (bat_translate_options). An output that is a function of the
 * caller is called by one thread at a time, not always by the same one. A failure of one output
 * leaves the others as they are. Returns the first code that is not BAT_OK.
 */
BAT_API enum bat_code bat_records_write(const struct bat_records *records,
                                        struct bat_records_output *outputs, size_t count);

#ifdef __cplusplus
}
#endif

#endif
