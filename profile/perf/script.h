/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reading the output of perf script as a profile: spec/perf-script.md. Internal to the library.
 *
 * Records of processes (PERF_RECORD_...) and samples may come in any order, so the text is read
 * twice: first the records, which tell where processes have the binary, then the samples.
 */
#ifndef BAT_PROFILE_PERF_SCRIPT_H
#define BAT_PROFILE_PERF_SCRIPT_H

#include "perf_data.h"
#include "processes.h"
#include "profile/profile.h"

/* The start of a text that perf2bolt wrote, and the start of the names of process records. */
#define PERF_SCRIPT_MAGIC "PERFTEXT;"
#define PERF_SCRIPT_RECORD "PERF_RECORD_"

/* A line being read. It ends with a newline, so no step checks for the text's end. */
struct perf_script_line {
    const struct bat_lines *lines;
    const uint8_t *start;
    const uint8_t *at;
};

/* True if perf script prints such a line; newline is its end. See section 1 of the spec. */
bool perf_script_is_line(const uint8_t *start, const uint8_t *newline);

/*
 * The form of a text, by one of its lines: samples have a process id before them, or none, as perf
 * script -F ip,brstack prints them for llvm-profgen. Lines of numbers may be of either form.
 */
enum perf_script_form {
    PERF_SCRIPT_EITHER,
    PERF_SCRIPT_WITH_PROCESSES,
    PERF_SCRIPT_WITHOUT_PROCESSES,
};

enum perf_script_form perf_script_form_of(const uint8_t *start);

/* The expectation for a branch stack without a process id in a text that has them. */
#define PERF_SCRIPT_WITH_PROCESS                                                                   \
    "a process id in front of a branch stack (perf script --show-mmap-events -F "                  \
    "pid,brstack)"

/* When samples were taken. */
enum perf_script_order {
    PERF_SCRIPT_LAST,        /* after all records of their process: nothing is known */
    PERF_SCRIPT_BY_TIME,     /* samples and records have times */
    PERF_SCRIPT_BY_POSITION, /* neither has, but they stand in order */
};

/* Read the time of a sample or a record, "1234.567890:", in nanoseconds, and the blanks behind. */
bool perf_script_read_time(struct perf_script_line *line, uint64_t *time);

/* True if any record that was read has a time. */
bool perf_script_records_have_times(const struct perf_processes *processes);

/* True for a line with a sample of a process. *has_time says whether it has a time. */
bool perf_script_is_sample(const uint8_t *start, bool *has_time);

/* --- Sections (script_sections.c) ---------------------------------------------------- */

/* The kinds of lines in a section. */
enum perf_script_content {
    PERF_SCRIPT_ANYTHING,
    PERF_SCRIPT_BUILD_IDS, /* of perf buildid-list */
    PERF_SCRIPT_RECORDS,
    PERF_SCRIPT_SAMPLES,
};

struct perf_script_section {
    enum perf_script_content content;
    uint64_t end; /* offset in the file; a section starts at the end of the one before */
};

#define PERF_SCRIPT_SECTIONS_MAX 16u

/* The sections of a text: those that its first line lists, or else one of PERF_SCRIPT_ANYTHING. */
struct perf_script_sections {
    uint64_t start; /* of the first */
    struct perf_script_section all[PERF_SCRIPT_SECTIONS_MAX];
    uint32_t count;
};

/* Find the sections of a regular file of size bytes. Fails with line and column. */
enum bat_code perf_script_find_sections(int file, uint64_t size,
                                        struct perf_script_sections *sections,
                                        struct bat_error *error);

/* The section that holds this byte of the file; NULL in front of the first and behind the last. */
const struct perf_script_section *
perf_script_section_at(const struct perf_script_sections *sections, uint64_t offset);

/*
 * Read all of a regular file of size bytes; or, if path is not NULL, let perf print the perf.data
 * at path, and read its output: only perf can decode trace data. Errors in the text have line and
 * column. Fails with BAT_ERR_MISMATCH if no process has the binary; the message lists what was
 * found. Fails with BAT_ERR_IO and the beginning of perf's standard error if perf fails.
 */
enum bat_code perf_script_read(struct bat_profile *profile, const char *path, int file,
                               uint64_t size, const struct bat_read_options *options,
                               struct bat_error *error);

/*
 * Read a file once for several binaries, into a profile each, which are empty and on failure may
 * only be freed. Fails with BAT_ERR_MISMATCH if no process has any of them. What was read is added
 * to shares.
 */
enum bat_code perf_script_read_several(struct bat_profile *const *profiles, uint32_t count,
                                       int file, uint64_t size,
                                       const struct bat_read_options *options,
                                       struct perf_shares *shares, struct bat_error *error);

/* Run perf once for several binaries, as perf_script_read_several(). */
enum bat_code perf_script_run_several(struct bat_profile *const *profiles, uint32_t count,
                                      const char *path, const struct bat_read_options *options,
                                      struct perf_shares *shares, struct bat_error *error);

/* List the files that processes had mapped, by the text in a regular file. */
enum bat_code perf_script_list_files(int file, uint64_t size, bat_mapped_file_fn *found,
                                     void *context, struct bat_error *error);

/*
 * Fail with BAT_ERR_MISMATCH if the profiles of binaries, read from a whole text, have samples but
 * no records.
 */
enum bat_code perf_script_check(struct bat_profile *const *profiles,
                                const struct perf_binary *binaries, uint32_t count,
                                const struct bat_read_options *options, struct bat_error *error);

/* --- Records (script_records.c) ------------------------------------------------------ */

/*
 * Read a line that holds PERF_SCRIPT_RECORD at `record`. position orders records without a time.
 * Records that do not tell where the binary is are skipped. Losses are added to *lost.
 */
enum bat_code perf_script_read_record(struct perf_processes *processes,
                                      const struct perf_script_line *whole, const uint8_t *record,
                                      uint64_t position, uint64_t *lost);

/* Read a line of perf buildid-list. */
enum bat_code perf_script_read_build_id(struct perf_processes *processes,
                                        const struct perf_script_line *whole);

/* --- Samples (script_samples.c) ------------------------------------------------------ */

struct perf_script_branch {
    uint64_t from;
    uint64_t to;
    bool is_mispredicted;
};

/*
 * The newest entries of the samples before this stretch's first sample of 32 entries. They are left
 * out if an earlier stretch of the text has such a sample (spec/perf-data.md), which is known only
 * afterwards. So both outcomes are kept.
 */
struct perf_script_newest {
    struct bat_counts kept;    /* the traces of the three newest entries, if all are used */
    struct bat_counts dropped; /* ... if the newest two are not */
    uint64_t dropped_entries;
    bool has_full_stack; /* a sample of 32 entries was met */
};

/* Counts of equal traces or samples. */
struct perf_script_tally {
    uint64_t count;
    uint64_t mispredictions;
};

/* What a binary sees of code elsewhere: an end that is not known, or one. And basic samples. */
enum perf_script_outside {
    PERF_SCRIPT_WITHOUT_END,
    PERF_SCRIPT_WITH_END,
    PERF_SCRIPT_BASIC,
    PERF_SCRIPT_OUTSIDE_KINDS
};

/* The state of reading samples for one binary. */
struct perf_script_part {
    struct bat_profile *profile;
    const struct perf_binary *binary;
    const struct perf_span *span; /* of the current process; NULL if that has not the binary */
    struct perf_script_newest newest;
    struct perf_script_tally outside[PERF_SCRIPT_OUTSIDE_KINDS];
    uint64_t samples; /* of processes that have it */
    uint64_t inside;  /* samples that lie in it, without those in `undecided` */
};

/* A sample lies in so many binaries by its newest two entries at most: two branches have four ends.
 */
#define PERF_SCRIPT_UNDECIDED_MAX 4u

struct perf_script_reader {
    struct perf_script_part *parts; /* of each binary */
    uint32_t part_count;
    const struct perf_processes *processes;
    const struct bat_read_options *options;
    bool keeps_kernel;                /* for some binary */
    bool lacks_processes;             /* the spans of all parts are set once */
    struct perf_script_branch *stack; /* of the current sample, the newest entry first */
    struct perf_script_branch *own;   /* the same as a binary has it */
    uint32_t stack_count;
    uint32_t own_count;
    size_t stack_capacity;
    size_t own_capacity;
    uint32_t left_out;     /* entries of the kernel that are not in the stack */
    uint64_t samples_left; /* that may be read */
    uint64_t samples;      /* that were read */
    uint64_t unread;       /* others */
    uint64_t none;         /* ... and lie in no binary, without those in `undecided` */
    /*
     * Samples that lie in some binaries only by newest entries that may be left out: the numbers of
     * these binaries plus 1, and the second counter counts those that lie in another binary.
     */
    struct bat_counts undecided;
    enum perf_script_order order;
    uint64_t position;        /* of the current sample, as those of records */
    uint32_t last_process;    /* what was last looked up */
    struct perf_period valid; /* ... and for how long; never at first */
    uint32_t member_count;    /* parts with a span */
    char last_event[64];      /* whose name all parts with a span have */
    size_t last_event_size;
};

/* For these profiles, one for each binary of processes. False if there is no memory. */
bool perf_script_reader_init(struct perf_script_reader *reader, struct bat_profile *const *profiles,
                             const struct perf_processes *processes,
                             const struct bat_read_options *options);
void perf_script_reader_free(struct perf_script_reader *reader);

/*
 * Complete the profiles after the last line. has_full_stack tells for each binary whether there is
 * a sample of 32 entries before this reader's stretch, and is brought up to its end. What was read
 * is added to shares.
 */
enum bat_code perf_script_reader_finish(struct perf_script_reader *reader, bool *has_full_stack,
                                        struct perf_shares *shares, struct bat_error *error);

/*
 * Read the line and move its `at` behind the newline. Lines of perf script's default output are
 * skipped; a line that begins like a sample but goes on otherwise is an error.
 */
enum bat_code perf_script_read_sample(struct perf_script_reader *reader,
                                      struct perf_script_line *line);

#endif
