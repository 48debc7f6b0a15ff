/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What perf script prints, as a profile: spec/perf-script.md. Internal to the library.
 *
 * Records of processes (PERF_RECORD_...) and samples may stand in any order, so the text is read
 * twice: first the records, which tell where processes have the binary, then the samples.
 */
#ifndef BAT_PROFILE_PERF_SCRIPT_H
#define BAT_PROFILE_PERF_SCRIPT_H

#include "perf_processes.h"
#include "profile.h"

/* The first words of a text that perf2bolt has put together, and what tells records. */
#define PERF_SCRIPT_MAGIC "PERFTEXT;"
#define PERF_SCRIPT_RECORD "PERF_RECORD_"

/* A line being read. It ends with a newline, so that no step needs to ask for the end. */
struct perf_script_line {
    const struct bat_lines *lines;
    const uint8_t *start;
    const uint8_t *at;
};

/* True if this line, up to its newline, is one that perf script prints (see the spec's section 1).
 */
bool perf_script_is_line(const uint8_t *start, const uint8_t *newline);

/*
 * What a line says of the text: whether samples have their processes before them, or none, as
 * perf script -F ip,brstack prints them for llvm-profgen. Many lines may be of either: numbers.
 */
enum perf_script_form {
    PERF_SCRIPT_EITHER,
    PERF_SCRIPT_WITH_PROCESSES,
    PERF_SCRIPT_WITHOUT_PROCESSES,
};

enum perf_script_form perf_script_form_of(const uint8_t *start);

/* What is expected where a branch stack has no process, but those before it have. */
#define PERF_SCRIPT_WITH_PROCESS                                                                   \
    "a process's number in front of a branch stack (perf script --show-mmap-events -F "            \
    "pid,brstack)"

/* --- Sections (perf_script_sections.c) ---------------------------------------------------- */

/* What the lines of a section may be. */
enum perf_script_content {
    PERF_SCRIPT_ANYTHING,
    PERF_SCRIPT_BUILD_IDS, /* of perf buildid-list */
    PERF_SCRIPT_RECORDS,
    PERF_SCRIPT_SAMPLES,
};

struct perf_script_section {
    enum perf_script_content content;
    uint64_t end; /* in the file; it starts where the one before ends, the first with the text */
};

#define PERF_SCRIPT_SECTIONS_MAX 16u

/* What a text consists of: one section of anything, or those that its first line tells. */
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
 * Read all of a regular file. Fails with line and column; with BAT_ERR_MISMATCH, saying what there
 * is, if no process has the binary.
 */
enum bat_code perf_script_read_file(struct bat_profile *profile, int file, uint64_t size,
                                    const struct bat_read_options *options,
                                    struct bat_error *error);

/*
 * Let perf make text of the perf.data at path, and read that: what trace data says, perf alone can
 * tell. Fails with BAT_ERR_IO and perf's own complaint if it cannot.
 */
enum bat_code perf_script_run(struct bat_profile *profile, const char *path,
                              const struct bat_read_options *options, struct bat_error *error);

/* Fail with BAT_ERR_MISMATCH if a text, all of which is in profile, had nothing of use. */
enum bat_code perf_script_check(const struct bat_profile *profile, const struct perf_binary *binary,
                                const struct bat_read_options *options, struct bat_error *error);

/* --- Records (perf_script_records.c) ------------------------------------------------------ */

/*
 * Read a line that holds PERF_SCRIPT_RECORD at `record`. position orders what has no time. Records
 * that say nothing of where the binary is are left out; lost is added to.
 */
enum bat_code perf_script_read_record(struct perf_processes *processes,
                                      const struct perf_script_line *whole, const uint8_t *record,
                                      uint64_t position, uint64_t *lost);

/* Read a line of perf buildid-list. */
enum bat_code perf_script_read_build_id(struct perf_processes *processes,
                                        const struct perf_script_line *whole);

/* --- Samples (perf_script_samples.c) ------------------------------------------------------ */

struct perf_script_branch {
    uint64_t from;
    uint64_t to;
    bool is_mispredicted;
};

/*
 * What the doubled newest entry of branch stacks (spec/perf-data.md) makes of samples that come
 * before the first one of 32 entries: it is known only afterwards whether there was such a sample
 * in an earlier stretch of the text.
 */
struct perf_script_newest {
    struct bat_counts kept;    /* the traces of the three newest entries, if all are used */
    struct bat_counts dropped; /* ... if the newest two are not */
    uint64_t dropped_entries;
    bool has_full_stack; /* a sample of 32 entries was met */
};

struct perf_script_reader {
    struct bat_profile *profile;
    const struct perf_processes *processes;
    const struct bat_read_options *options;
    const struct perf_span *only_span; /* of all samples, where they have no processes; or NULL */
    struct perf_script_newest newest;
    struct perf_script_branch *stack; /* of the sample at hand, the newest entry first */
    uint32_t stack_count;
    uint32_t stack_capacity;
    uint32_t last_process; /* what was last looked up */
    const struct perf_span *last_span;
    bool has_last;
};

void perf_script_reader_init(struct perf_script_reader *reader, struct bat_profile *profile,
                             const struct perf_processes *processes,
                             const struct bat_read_options *options);
void perf_script_reader_free(struct perf_script_reader *reader);

/*
 * All is read: make the profile whole. has_full_stack says whether a sample of 32 entries was met
 * before this reader's stretch.
 */
enum bat_code perf_script_reader_finish(struct perf_script_reader *reader, bool has_full_stack,
                                        struct bat_error *error);

/*
 * Read the line, whose `at` is behind its newline then. What perf script prints for people is
 * passed over; what begins like a sample and goes on otherwise is an error.
 */
enum bat_code perf_script_read_sample(struct perf_script_reader *reader,
                                      struct perf_script_line *line);

#endif
