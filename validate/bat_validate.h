/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Checks a note beyond decoding it: for consistency, against the binary that carries it, and
 * against the binary that BOLT read. spec/checks.md describes each check.
 */
#ifndef BAT_VALIDATE_H
#define BAT_VALIDATE_H

#include "bat_binary.h"

#ifdef __cplusplus
extern "C" {
#endif

enum bat_severity {
    BAT_NOTE,    /* information */
    BAT_WARNING, /* works, but not as well as it could */
    BAT_ERROR,   /* translation with this note goes wrong */
};

struct bat_finding {
    enum bat_severity severity;
    const char *check;              /* stable id, for example "hot-index"; static */
    uint32_t table;                 /* index in map->tables, or BAT_NONE */
    uint32_t entry;                 /* position in the map's entry arrays, or BAT_NONE */
    uint64_t offset;                /* byte offset in the section, or BAT_NO_OFFSET */
    char message[BAT_MESSAGE_SIZE]; /* a sentence with the table's address; control characters
                                       are escaped as in bat_error */
};

/* Receives one finding; it is only valid during the call. */
typedef void bat_finding_fn(const struct bat_finding *finding, void *context);

/* The number of findings of each severity. */
struct bat_verdict {
    uint64_t notes;
    uint64_t warnings;
    uint64_t errors;
    uint32_t tables; /* number of tables checked; 0 if the note could not be decoded */
};

struct bat_validate_options {
    size_t size;              /* sizeof(struct bat_validate_options) */
    bool round_trip;          /* encode again and compare with the bytes */
    struct bat_elf *original; /* the binary that BOLT read, or NULL */
};

/*
 * Run every check on an open binary. If binary->map is NULL, as after bat_binary_find_note(), the
 * note is decoded first; a note that cannot be decoded is one finding. Otherwise the map is
 * checked as it is; if binary->note is NULL, findings have no offset, and nothing is compared
 * with bytes.
 *
 * A check reports only the first fault of a function or fragment; the message gives the number of
 * such faults. finding may be NULL; it is called on the caller's thread, check by check, in order
 * of tables. The note is decoded once, so it is safe if another program changes its file
 * meanwhile. options may be NULL: no round trip, no original.
 *
 * Returns BAT_OK whatever is found; another code (BAT_ERR_MEMORY, a damaged symbol table, options
 * without their size) means that not all checks were made. Time is n log n in entries and symbols;
 * memory, besides the map, 16 bytes for each block of the largest function, 8 for each table and
 * for each symbol. No global state.
 */
BAT_API enum bat_code bat_validate(struct bat_binary *binary,
                                   const struct bat_validate_options *options,
                                   bat_finding_fn *finding, void *context,
                                   struct bat_verdict *verdict, struct bat_error *error);

/* A check that bat_validate() makes. */
struct bat_check {
    const char *id;             /* as in bat_finding.check */
    enum bat_severity severity; /* of its findings */
    const char *summary;        /* in a few words, what holds for a sound note */
};

/* All checks, in the order in which they are made; static. */
BAT_API const struct bat_check *bat_checks(size_t *count);

/* "note", "warning" or "error"; static. */
BAT_API const char *bat_severity_name(enum bat_severity severity);

#ifdef __cplusplus
}
#endif

#endif
