/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What a sound note fulfils beyond being decodable, checked against itself, against the binary
 * that carries it, and against the binary that BOLT read.
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
    const char *check;     /* stable id, for example "hot-index"; static */
    uint32_t table;        /* index in map->functions, or BAT_NONE */
    uint32_t entry;        /* position in the map's entry arrays, or BAT_NONE */
    uint64_t offset;       /* byte offset in the section, or BAT_NO_OFFSET */
    char message[BAT_MESSAGE_SIZE]; /* a sentence that names the table's address */
};

/* Receives one finding; it is only valid during the call. */
typedef void bat_finding_fn(const struct bat_finding *finding, void *context);

/* How many findings of each severity there were. */
struct bat_verdict {
    uint64_t notes;
    uint64_t warnings;
    uint64_t errors;
};

struct bat_validate_options {
    bool round_trip;             /* encode again and compare with the bytes */
    struct bat_elf *original;    /* the binary that BOLT read, or NULL */
};

/*
 * Run every check on an opened binary whose note may or may not decode (bat_binary_find_note()):
 * a note that does not decode is one finding. finding may be NULL. Returns BAT_OK whatever is
 * found; anything else (BAT_ERR_MEMORY, a damaged symbol table) means the checks did not end.
 */
BAT_API enum bat_code bat_validate(struct bat_binary *binary,
                                   const struct bat_validate_options *options,
                                   bat_finding_fn *finding, void *context,
                                   struct bat_verdict *verdict, struct bat_error *error);

#ifdef __cplusplus
}
#endif

#endif
