/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The output of perf script as a recording: spec/perf-script.md. Its lines become the records and
 * samples of a session, which goes on as for perf.data. Internal to the library.
 *
 * Records of processes (PERF_RECORD_...) and samples may come in any order, so the text is read
 * twice: first the records, which tell where processes have the binary, then the samples.
 */
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include "bat.h"
#include "profile/line_blocks.h"
#include "profile/text_fields.h"
#include "sample.h"
#include "session.h"

/* The start of a text that perf2bolt wrote, and the start of the names of process records. */
#define PERF_SCRIPT_MAGIC "PERFTEXT;"
#define PERF_SCRIPT_RECORD "PERF_RECORD_"

static inline enum bat_code perf_script_fail(const struct bat_line *line, const char *expected)
{
    return bat_line_fail(line, line->at, expected);
}

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

/* Read a process id of 32 bits, such as "1234" or "-1". */
static inline bool perf_script_read_process(struct bat_line *line, uint32_t *process)
{
    const uint8_t *at = line->at;
    bool is_negative = *at == '-';
    at += is_negative;
    uint64_t number;
    bool fits;
    if (!bat_read_decimal(&at, &number, &fits) || !fits || number > INT32_MAX)
        return false;
    *process = is_negative ? (uint32_t)(0 - number) : (uint32_t)number;
    line->at = at;
    return true;
}

/* Read the time of a sample or a record, "1234.567890:", in nanoseconds, and the blanks behind. */
bool perf_script_read_time(struct bat_line *line, uint64_t *time);

/*
 * True for a line that begins as samples do which perf script prints without options: with a
 * command, in 16 columns, and a process.
 */
bool perf_script_is_for_people(const uint8_t *start);

/*
 * True for a line with a sample of a process. *time is UINT64_MAX if it has none.
 */
bool perf_script_is_sample(const uint8_t *start, uint64_t *time);

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

/* --- Sessions (script.c) ------------------------------------------------------------- */

/* When samples were taken. */
enum perf_script_order {
    PERF_SCRIPT_LAST,        /* after all records of their process: nothing is known */
    PERF_SCRIPT_BY_TIME,     /* samples and records have times */
    PERF_SCRIPT_BY_POSITION, /* neither has, but they stand in order */
};

/* What a session of text has besides. */
struct perf_text {
    const char *path; /* of perf.data that perf prints; NULL: the session's file is the text */
    struct perf_script_sections sections;
    uint64_t lines;

    /* Of the survey */
    bool lacks_processes; /* samples have no process ids: they are of process 0 */
    bool has_sample;
    uint64_t branch_filter; /* of any event that its header names: see perf_branch_filter() */
    bool is_behind_records; /* the first sample */
    bool has_time;          /* ... has one, and others too */
    enum perf_script_order order;

    uint64_t for_people; /* lines of samples that perf script prints without options */
};

/* The first pass over a text, of the session's file or what perf prints. */
enum bat_code perf_script_survey(struct perf_session *session, struct bat_error *error);

/* Then find where processes have the binaries. Fails as perf_processes_finish(). */
enum bat_code perf_script_choose_processes(struct perf_session *session, struct bat_error *error);

/* --- Records (script_records.c) ------------------------------------------------------ */

/*
 * Read a line that holds PERF_SCRIPT_RECORD at `record`. position orders records without a time.
 * Records that do not tell where the binary is are skipped. Losses are added to *lost.
 */
enum bat_code perf_script_read_record(struct perf_processes *processes,
                                      const struct bat_line *whole, const uint8_t *record,
                                      uint64_t position, uint64_t *lost);

/* Read a line of perf buildid-list. */
enum bat_code perf_script_read_build_id(struct perf_processes *processes,
                                        const struct bat_line *whole);

/* --- Samples (script_samples.c) ------------------------------------------------------ */

/* Reads the samples of a stretch of text. */
struct perf_script_reader {
    const struct perf_text *text;
    struct bat_input input;
    struct bat_lines lines; /* of the current block, from the current line on */
    uint64_t position;      /* of the block's end */
    struct bat_line line;
    const struct perf_script_section *section;
    uint8_t *branches; /* of the last sample, as in perf.data */
    size_t capacity;
    uint8_t *chain; /* likewise: addresses on lines of their own */
    size_t chain_capacity;
    size_t chain_length;
    uint64_t repeats;      /* of the sample that the chain is of; 0: not said */
    bool is_chain_of_last; /* no line of the next sample was read */
    struct bat_strings events;
    uint32_t event; /* the last one */
    const char *event_name;
    size_t event_size;
    uint64_t for_people; /* lines that were skipped: see struct perf_text */
    uint64_t bytes;      /* read */
};

/*
 * Read the lines that begin in [start, end) of a file, or a stream from its current position on, in
 * which samples are behind all records. line is the number of the first one. To be closed in any
 * case.
 */
enum bat_code perf_script_open(struct perf_script_reader *reader, const struct perf_text *text,
                               int file, uint64_t start, uint64_t end, uint64_t line,
                               struct bat_error *error);
void perf_script_close(struct perf_script_reader *reader);

/*
 * Returns the next sample; *is_sample is false behind the last one. Lines of perf script's default
 * output are skipped; a line that begins like a sample but goes on otherwise is an error.
 */
enum bat_code perf_script_next(struct perf_script_reader *reader, struct perf_sample *sample,
                               struct perf_moment *moment, bool *is_sample);

/*
 * Read the branch stack of the last sample. The lines of other processes may hold anything. The
 * entries are valid until the next call.
 */
enum bat_code perf_script_read_stack(struct perf_script_reader *reader, struct perf_sample *sample);

/* The fewest entries of a line by its letters alone; at most limit. */
uint32_t perf_script_count_entries(const uint8_t *start, const uint8_t *newline, uint32_t limit);

/* --- Running perf (script_run.c) ----------------------------------------------------- */

/* Reads what perf prints. */
typedef enum bat_code perf_output_fn(int output, enum perf_script_content content, void *context);

/* Let perf print the records of processes, or the samples, with their times if with_times. */
enum bat_code perf_script_run_records(const char *path, perf_output_fn *read, void *context,
                                      struct bat_error *error);
enum bat_code perf_script_run_samples(const char *path, const struct bat_read_options *options,
                                      bool with_times, perf_output_fn *read, void *context,
                                      struct bat_error *error);

#define PERF_COMPLAINT_MAX 400u

/* A running perf. */
struct perf_child {
    const char *what; /* "perf script", for errors */
    pid_t process;
    int output;            /* to read from; -1 when it is closed */
    int complaints;        /* its standard error, which a thread reads */
    pthread_t complainant; /* that thread */
    char complaint[PERF_COMPLAINT_MAX];
    size_t complaint_size;
    const char *sought; /* text that is looked for in its standard error */
    bool has_sought;    /* it was found */
};

/* The longest text that can be sought. */
#define PERF_SOUGHT_MAX 64u

/*
 * Start perf, without a shell, with at most PERF_ARGUMENTS_MAX arguments, of which the last is
 * NULL, and the options that name the file. Standard input is /dev/null, and signals have their
 * defaults. sought has at most PERF_SOUGHT_MAX bytes. After success perf_child_end() must follow.
 */
#define PERF_ARGUMENTS_MAX 12u
enum bat_code perf_child_start(struct perf_child *process, const char *path,
                               const char *const *arguments, const char *what, const char *sought,
                               struct bat_error *error);

/*
 * Wait for perf to end; it is ended by SIGTERM if its output was not read to the end. *status is
 * what waitpid() gives. Afterwards complaint holds the beginning of its standard error as one line,
 * and has_sought tells whether sought was anywhere in its standard error.
 */
void perf_child_end(struct perf_child *process, int *status);

/* Fail with the status and the beginning of perf's standard error as message. */
enum bat_code perf_child_fail(const struct perf_child *process, int status,
                              struct bat_error *error);
