/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a sound note fulfils beyond being decodable, checked against itself, against the binary
 * that carries it, and against the binary that BOLT read. spec/checks.md tells each check.
 */
#ifndef BAT_VALIDATE_H
#define BAT_VALIDATE_H

#include "bat_binary.h"

#ifdef __cplusplus
extern "C" {
#endif

enum bat_severity {
    BAT_NOTE,    /* worth knowing */
    BAT_WARNING, /* works, but not as well as it could */
    BAT_ERROR,   /* translation with this note goes wrong */
};

struct bat_finding {
    enum bat_severity severity;
    const char *check;              /* stable id, for example "hot-index"; static */
    uint32_t table;                 /* index in map->functions, or BAT_NONE */
    uint32_t entry;                 /* position in the map's entry arrays, or BAT_NONE */
    uint64_t offset;                /* byte offset in the section, or BAT_NO_OFFSET */
    char message[BAT_MESSAGE_SIZE]; /* a sentence that names the table's address; control
                                       characters of names are escaped as in bat_error */
};

/* Receives one finding; it is only valid during the call. */
typedef void bat_finding_fn(const struct bat_finding *finding, void *context);

/* How many findings of each severity there were. */
struct bat_verdict {
    uint64_t notes;
    uint64_t warnings;
    uint64_t errors;
    uint32_t tables; /* that were checked: 0 if the note could not be decoded */
};

struct bat_validate_options {
    bool round_trip;          /* encode again and compare with the bytes */
    struct bat_elf *original; /* the binary that BOLT read, or NULL */
};

/*
 * Run every check on an opened binary. Its note may still have to be decoded (as
 * bat_binary_find_note() leaves it): one that does not decode is one finding. A map that is
 * there already is taken as it is; where binary->note is NULL then, findings have no offset, and
 * nothing is compared with bytes.
 *
 * A check finds at most one fault in a function or fragment, the first; the message says how many
 * more there are. finding may be NULL; it is called on the caller's thread, check by check, in
 * order of tables. What is checked is what the note's bytes decoded to, once: bytes that change
 * meanwhile, because somebody writes to their file, do no harm. options may be NULL: no round
 * trip, no original.
 *
 * Returns BAT_OK whatever is found; anything else (BAT_ERR_MEMORY, a damaged symbol table) means
 * that the checks did not end. Time is n log n in entries and symbols; memory, beside the map,
 * 16 bytes for each block of the largest function, 8 for each table and for each symbol.
 * No global state.
 */
BAT_API enum bat_code bat_validate(struct bat_binary *binary,
                                   const struct bat_validate_options *options,
                                   bat_finding_fn *finding, void *context,
                                   struct bat_verdict *verdict, struct bat_error *error);

/* A check that bat_validate() makes. */
struct bat_check {
    const char *id;             /* what bat_finding.check says */
    enum bat_severity severity; /* of its findings */
    const char *summary;        /* what a sound note fulfils, in a few words */
};

/* All checks, in the order in which they are made; static. */
BAT_API const struct bat_check *bat_checks(size_t *count);

/* "note", "warning" or "error"; static. */
BAT_API const char *bat_severity_name(enum bat_severity severity);

#ifdef __cplusplus
}
#endif

#endif
