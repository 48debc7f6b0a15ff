/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The processes in which binaries were mapped, when, and where. The events of processes are
 * collected in any order and then sorted by time. Internal to the library.
 */
#pragma once

#include "binary.h"
#include "support/counts.h"
#include "support/string_table.h"

/* When something happened: by time, and if that is equal or unknown, by its place in the file. */
struct perf_moment {
    uint64_t time;
    uint64_t position;
};

static inline bool perf_moment_before(struct perf_moment left, struct perf_moment right)
{
    return left.time != right.time ? left.time < right.time : left.position < right.position;
}

/* A path that was mapped, or that a list of build-ids names. */
struct perf_object {
    uint8_t build_id[PERF_BUILD_ID_SIZE];
    uint8_t build_id_size; /* 0 if none was seen */
    bool is_mapped;        /* at least one mapping was seen */
    bool is_other_build;   /* of a binary: its name, with another build-id */
    uint32_t listed;       /* its last listed build-id: number in listings + 1, or 0 */
    uint64_t samples;      /* that perf_census() has found in it */
    uint64_t stacks;       /* ... with a branch stack */
};

/* Samples that perf_census() has looked at. */
struct perf_census_sums {
    uint64_t all;
    uint64_t kernel;
    uint64_t stacks; /* samples with a branch stack */
};

/* The longest name of a machine, with its zero. */
#define PERF_MACHINE_SIZE 32u

/*
 * The most windows that a process can have to the binary at a time: a shared library can be in
 * several places, and what else is mapped over a part of one leaves two windows.
 */
#define PERF_WINDOWS_MAX 4u

/* Addresses of a process that are a binary's; less the bias, they are the binary's own. */
struct perf_window {
    uint64_t low;
    uint64_t high;
    uint64_t bias;
};

/* From a moment on, a process has these windows to a binary, the newest first, or none. */
struct perf_span {
    uint32_t process;
    uint32_t binary;
    struct perf_moment since;
    uint32_t window_count;
    struct perf_window windows[PERF_WINDOWS_MAX];
};

/* From a moment on, something is different for a binary: in a process, or for all of them. */
struct perf_change {
    uint32_t process;
    uint32_t binary;
    struct perf_moment since;
};

/* Compare changes by process, then by time, for qsort(). */
int perf_compare_changes(const void *left, const void *right);

/* What was found of a binary. */
struct perf_found {
    uint32_t processes;   /* that have it */
    bool has_other_build; /* a file of its name has another build-id */
    bool is_elsewhere;    /* a file of its name is mapped where it has no code */
};

struct perf_event;
struct perf_listing;

struct perf_processes {
    const struct perf_binary *binaries;
    uint32_t binary_count;
    struct bat_strings names; /* paths of objects */
    struct perf_object *objects;
    size_t object_capacity;
    struct perf_listing *listings; /* build-ids of the lists */
    uint32_t listing_count;
    size_t listing_capacity;
    /*
     * Files that were mapped: the number of the path, and the mapping's own build-id in three words
     * (see struct perf_event). A file's number is that of its item.
     */
    struct bat_counts files;
    struct perf_event *events;
    size_t event_count;
    size_t event_capacity;

    char machine[PERF_MACHINE_SIZE]; /* that perf ran on, as uname -m names it; or empty */
    bool is_text;                    /* perf script may not have printed all */

    /* After perf_processes_finish() */
    bool lacks_all; /* it failed: no process has any of the binaries */
    struct perf_census_sums census;
    struct perf_span *spans; /* by process, then by binary, then by time */
    size_t span_count;
    struct perf_change *changes; /* a span begins: by process, in the same places, then by time */
    struct bat_counts table;     /* process: index of its first span, number of its spans */
    struct perf_found *found;    /* of each binary */
};

/* binaries must outlive processes. */
void perf_processes_init(struct perf_processes *processes, const struct perf_binary *binaries,
                         uint32_t binary_count);
void perf_processes_free(struct perf_processes *processes);

/* --- Collecting events. All fail with BAT_ERR_MEMORY only. --------------------------------- */

/* Find or add the object of a path. Its number is that of the path. */
enum bat_code perf_processes_name(struct perf_processes *processes, const char *path,
                                  uint32_t *number);

/* Add an element of a list of build-ids. size is as for perf_binary_match_build_id(). */
enum bat_code perf_processes_list(struct perf_processes *processes, const char *path,
                                  const uint8_t *build_id, size_t size, bool knows_size);

struct perf_mapping {
    uint32_t process;
    struct perf_moment moment;
    uint64_t address;
    uint64_t length;
    uint64_t offset;
    const char *path;
    const uint8_t *build_id; /* NULL if not known */
    size_t build_id_size;
    bool is_data; /* it has no code, and is left out */
};

enum bat_code perf_processes_map(struct perf_processes *processes,
                                 const struct perf_mapping *mapping);
enum bat_code perf_processes_fork(struct perf_processes *processes, uint32_t process,
                                  uint32_t parent, struct perf_moment moment);
enum bat_code perf_processes_exec(struct perf_processes *processes, uint32_t process,
                                  struct perf_moment moment);

/* List the files that were mapped, as bat_mapped_files() does. */
enum bat_code perf_processes_list_files(const struct perf_processes *processes,
                                        bat_mapped_file_fn *found, void *context,
                                        struct bat_error *error);

/* --- The result ---------------------------------------------------------------------------- */

/*
 * Sort the events and make the spans. has_time is false if moments have positions only, which are
 * not quite in order: then a process has the binary from its start on. Processes that options do
 * not want are left out; NULL wants all. Fails with BAT_ERR_MISMATCH if no process has one of the
 * binaries, or only others have; the message lists what was found. Without binaries it only sorts.
 */
enum bat_code perf_processes_finish(struct perf_processes *processes, bool has_time,
                                    const struct bat_read_options *options,
                                    struct bat_error *error);

/*
 * Fail as perf_processes_finish() does if no process has one of the binaries: once more, when
 * perf_census() has counted samples.
 */
enum bat_code perf_processes_fail(const struct perf_processes *processes, struct bat_error *error);

/*
 * Write where perf_census() has found the samples: files with their build-ids, most samples first.
 * The text may be empty.
 */
void perf_processes_describe_samples(const struct perf_processes *processes, char *buffer,
                                     size_t size);

/* Take these spans for the result, and free them. Fails with BAT_ERR_MEMORY. */
enum bat_code perf_processes_set_spans(struct perf_processes *processes, struct perf_span *spans,
                                       size_t count);

/* The number of samples to read; basic samples have no limit, as in perf2bolt. */
static inline uint64_t perf_samples_max(const struct bat_read_options *options)
{
    return options->samples_max == 0 || options->basic_samples ? UINT64_MAX : options->samples_max;
}

/* How many processes have the binary of that number. */
uint32_t perf_processes_count(const struct perf_processes *processes, uint32_t binary);

/* The spans of a process, *count of them; NULL if it has no binary at any time. */
const struct perf_span *perf_processes_spans(const struct perf_processes *processes,
                                             uint32_t process, size_t *count);

/* When they begin, by time: as many. */
static inline const struct perf_change *
perf_processes_changes(const struct perf_processes *processes, const struct perf_span *spans)
{
    return spans ? processes->changes + (spans - processes->spans) : NULL;
}

/* A stretch of time. */
struct perf_period {
    struct perf_moment since;
    struct perf_moment until; /* not included */
};

static inline struct perf_period perf_always(void)
{
    return (struct perf_period){{0, 0}, {UINT64_MAX, UINT64_MAX}};
}

static inline bool perf_period_has(const struct perf_period *period, struct perf_moment moment)
{
    return !perf_moment_before(moment, period->since) && perf_moment_before(moment, period->until);
}

/*
 * Of spans of one process and one binary, the one at that moment; NULL if the process does not have
 * the binary then. *period, around the moment, becomes as short as that holds for; or it is NULL.
 */
const struct perf_span *perf_spans_at(const struct perf_span *spans, size_t count,
                                      struct perf_moment moment, struct perf_period *period);

/* The span of a process and a binary at that moment, or NULL. */
const struct perf_span *perf_processes_find(const struct perf_processes *processes, uint32_t binary,
                                            uint32_t process, struct perf_moment moment);

/*
 * Convert an address in a process to the binary's; BAT_ADDRESS_EXTERNAL if it is outside. If it is
 * outside but looks like an address of a position-independent binary, UINT64_MAX: unknown.
 */
static inline uint64_t perf_own_address(const struct perf_binary *binary,
                                        const struct perf_span *span, uint64_t address)
{
    for (uint32_t i = 0; i < span->window_count; i++) {
        const struct perf_window *window = &span->windows[i];
        if (address - window->low < window->high - window->low)
            return address - window->bias;
    }
    return !binary->is_fixed && address < binary->high ? UINT64_MAX : BAT_ADDRESS_EXTERNAL;
}

enum perf_event_kind {
    PERF_EVENT_MAP,    /* it mapped a file */
    PERF_EVENT_MEMORY, /* it mapped memory, or what the kernel has made */
    PERF_EVENT_FORK,   /* it began as a copy of its parent */
    PERF_EVENT_EXEC,   /* it became another program */
};

struct perf_event {
    enum perf_event_kind kind;
    uint32_t process;
    struct perf_moment moment;
    /* Of a FORK: the parent; of a MAP: the number of its file; of MEMORY: of its name. */
    uint32_t other;
    bool is_stext; /* of a kernel's MAP: offset is the address of _stext, not of _text */
    uint64_t address;
    uint64_t length;
    uint64_t offset;
};

/* A build-id that a list gives to a path. */
struct perf_listing {
    uint8_t build_id[PERF_BUILD_ID_SIZE]; /* padded with zeros; not all zeros */
    uint8_t size;                         /* PERF_BUILD_ID_SIZE if it is not known */
    bool knows_size;
    uint32_t next; /* of the same path: number + 1, or 0 */
};

/* Words of a key in files: path, build-id (its last 4 bytes are the size and zeros). */
#define PERF_FILE_WORDS 4u

/* A binary that a file is of; or, if is_other_build, only of its name. */
struct perf_owner {
    uint32_t binary;
    bool is_other_build;
};

/* The binaries of each mapped file. */
struct perf_owners {
    uint32_t *starts; /* in list: those of file i are [starts[i], starts[i + 1]) */
    struct perf_owner *list;
    uint32_t count;
    size_t capacity;
};

/* Fails with BAT_ERR_MEMORY. To be freed in any case. */
enum bat_code perf_owners_find(struct perf_owners *owners, const struct perf_processes *processes);
void perf_owners_free(struct perf_owners *owners);

/* Make the spans and the table from the events. */
enum bat_code perf_processes_order(struct perf_processes *processes, bool has_time);
