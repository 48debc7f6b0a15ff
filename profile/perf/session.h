/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The state of reading one perf.data, or the text of perf script, for one or several binaries, and
 * the steps: head, survey of all records, collection of the samples. Internal to the library.
 */
#pragma once

#include "attributes.h"
#include "perf_data.h"
#include "processes.h"

/*
 * A stretch of records. A file has at most PERF_CHUNKS of them, so that their memory does not grow
 * with the file.
 */
struct perf_chunk {
    uint64_t position;   /* of its first record */
    uint64_t min_time;   /* of its samples */
    uint64_t line;       /* of text: the number of its first line */
    bool has_full_stack; /* some sample has PERF_DOUBLING_ENTRIES entries or more */
};

#define PERF_CHUNKS 1024u

/* Processors with branch stacks of this size sometimes hold the newest entry twice. */
#define PERF_DOUBLING_ENTRIES 32u

struct perf_text;
struct perf_sample;

struct perf_session {
    struct perf_text *text;    /* of perf script (script.h); NULL: perf.data */
    int file;                  /* of a folder, "data" */
    struct perf_pieces pieces; /* none if it is not a folder */
    const struct bat_read_options *options;
    uint64_t file_size;
    uint8_t feature_bits[PERF_FEATURE_BITS / 8];
    uint64_t data_start; /* the records are in [data_start, data_end) of the file */
    uint64_t data_end;
    struct perf_binary *binaries;
    uint32_t binary_count;
    bool doubles_entry; /* that of one of the binaries */
    struct perf_attributes attributes;
    uint64_t id_bytes; /* of the sections of ids that were read so far */
    struct perf_processes processes;

    /* Set by the survey */
    struct bat_profile_counters counters;
    bool is_finished; /* perf_attributes_finish() was called: at the kernel's first record */
    bool is_compressed;
    bool has_trace_data; /* of the processor, which only perf can decode into samples */
    struct perf_chunk chunks[PERF_CHUNKS];
    uint32_t chunk_count;
    uint64_t chunk_size;

    /*
     * For each binary: from this sample on, the two newest entries of each branch stack are left
     * out. A moment after all others if they are always used.
     */
    struct perf_moment *doubling_since;
    struct perf_change
        *doublings; /* the same by time; of process 0, without those that have none */
    uint32_t doubling_count;

    /* Set by the collection */
    struct bat_profiles_counters *shares; /* or NULL */
    uint64_t samples_read;
    uint64_t samples_inside; /* any binary; one may be inside several */
};

/* Read everything in front of the records, and the features behind them. */
enum bat_code perf_session_read_head(struct perf_session *session, struct bat_error *error);

/* Read the bytes of the feature with that number; they may be NULL if size is 0. */
enum bat_code perf_session_feature(struct perf_session *session, uint64_t feature,
                                   const uint8_t *bytes, size_t size, uint64_t offset,
                                   struct bat_error *error);

/* perf ran on this machine, as uname -m names it. A name that is too long is none. */
void perf_session_set_machine(struct perf_session *session, const char *name, size_t size);

/* Read the build-id of a file, from a record or from an element of the feature. */
enum bat_code perf_session_build_id(struct perf_session *session, const uint8_t *bytes, size_t size,
                                    uint64_t offset, struct bat_error *error);

/*
 * The first pass over all records: finds the processes, the events that records describe, and the
 * chunks for the second pass.
 */
enum bat_code perf_session_survey(struct perf_session *session, struct bat_error *error);

/* The chunk of what is at this position, the last one or a new one. */
struct perf_chunk *perf_session_chunk(struct perf_session *session, uint64_t position);

/* Set doubling_since, unless samples come by a pipe. */
enum bat_code perf_session_find_doubling(struct perf_session *session, struct bat_error *error);

/*
 * Set it by a sample, if that is before it and has a full stack. True if it was changed:
 * perf_session_sort_doublings() must follow.
 */
bool perf_session_note_doubling(struct perf_session *session, const struct perf_sample *sample,
                                struct perf_moment moment);
void perf_session_sort_doublings(struct perf_session *session);

/*
 * The second pass: add all samples to the profiles of the binaries, by several threads if the file
 * is large enough.
 */
enum bat_code perf_session_collect(struct perf_session *session,
                                   struct bat_profile *const *profiles, struct bat_error *error);

/* After perf_processes_finish(): list the call chains of the only binary's samples. */
enum bat_code perf_session_list_chains(struct perf_session *session, bat_call_chain_fn *found,
                                       void *context, struct bat_error *error);

/* Open the records in [start, end). */
static inline enum bat_code perf_session_open(struct perf_session *session,
                                              struct perf_stream *stream, uint64_t start,
                                              uint64_t end, struct bat_error *error)
{
    return perf_stream_open(stream, session->file, session->pieces.count ? &session->pieces : NULL,
                            start, end, error);
}

/* True if entries of branch stacks from or to the kernel are used for that binary. */
static inline bool perf_session_keeps_kernel(const struct perf_session *session,
                                             const struct perf_binary *binary)
{
    return session->options->keep_kernel_branches || binary->is_kernel;
}

/* When a sample was taken. */
static inline struct perf_moment perf_session_moment(const struct perf_session *session,
                                                     const struct perf_record *record,
                                                     uint64_t time)
{
    return (struct perf_moment){session->attributes.has_time ? time : 0, record->position};
}

/* Add to the losses. Damaged numbers do not wrap around to few. */
static inline void perf_add_lost(uint64_t *sum, uint64_t lost)
{
    *sum = lost > UINT64_MAX - *sum ? UINT64_MAX : *sum + lost;
}

/* Report progress: each of the two passes counts for half of the bytes. */
static inline void perf_session_progress(const struct perf_session *session, uint64_t bytes)
{
    if (session->options->progress)
        session->options->progress(bytes / 2, session->options->progress_context);
}
