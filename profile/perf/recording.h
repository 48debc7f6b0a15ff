/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a recording by perf holds, without any binary: for people who do not know yet which one to
 * give. Internal to the library and its tools.
 */
#pragma once

#include "bat.h"
#include "perf_data.h"

/* A file with samples, or what stands for one: "[vdso]", "[kernel.kallsyms]". */
struct perf_recorded_file {
    const char *path;
    const uint8_t *build_id;
    size_t build_id_size; /* bytes; 0 if it is not known */
    uint64_t samples;
    uint64_t stacks; /* ... with a branch stack */
};

#define PERF_RECORDED_EVENTS 8u
#define PERF_RECORDED_NAME 128u

struct perf_recording {
    const struct perf_recorded_file *files; /* most samples first */
    size_t file_count;
    char events[PERF_RECORDED_EVENTS][PERF_RECORDED_NAME]; /* the first; none of text */
    size_t event_count;
    char machine[64];                /* as uname -m names it; empty if it is not known */
    char filter[PERF_RECORDED_NAME]; /* of branches, as perf record -j names it; or empty */
    uint64_t samples;
    uint64_t placed;      /* ... that were looked at for files, stacks and kernel */
    uint64_t stacks;      /* of placed: with a branch stack */
    uint64_t kernel;      /* of placed: without any address of user space */
    uint64_t lost;        /* records and samples, as perf reports */
    bool has_call_stacks; /* branch stacks are call stacks (--call-graph lbr) */
    bool has_trace_data;  /* of the processor, which only perf can decode into samples */
    bool lacks_processes; /* text without processes: it does not say which files there were */
    bool is_for_people;   /* text has samples as perf script prints them without -F */
    bool is_of_stacks;    /* pprof's or OpenTelemetry's: samples are what the first type counts */
};

/* Receives a recording, valid during the call, with context. */
typedef enum bat_code perf_recording_fn(const struct perf_recording *recording, void *context,
                                        struct bat_error *error);

/*
 * Read perf.data, the text of perf script, or a profile of stacks, and call take() with what it
 * holds; returns what that returns. Fails before as bat_mapped_files() and stack_profile_read().
 */
enum bat_code perf_recording_read(const char *path, perf_recording_fn *take, void *context,
                                  struct bat_error *error);

/* The same of an open recording. */
enum bat_code perf_recording_read_source(const struct perf_source *source, perf_recording_fn *take,
                                         void *context, struct bat_error *error);

/* Sort files: most samples first, then by path. */
void perf_recording_sort(struct perf_recorded_file *files, size_t count);

struct perf_session;

/*
 * After perf_census(): fill recording, except for its filter. The caller frees *files. Fails with
 * BAT_ERR_MEMORY.
 */
enum bat_code perf_recording_fill(const struct perf_session *session,
                                  struct perf_recording *recording,
                                  struct perf_recorded_file **files, struct bat_error *error);
