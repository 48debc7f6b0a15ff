/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "leaves.h"

#include <string.h>

#include "binary/functions/name_parts.h"

/* Limits of the symbols read at one address, and of a name's length: compilers stay below them. */
#define SYMBOLS_MAX 16u
#define NAME_LENGTH_MAX 4096u

/* Longer than any suffix that a compiler appends without making it another function's name. */
#define SUFFIX_LENGTH_MAX 64u

/* What the symbols at the start of a piece of a function say. Higher values take precedence. */
enum piece_kind {
    PIECE_PART,    /* a part of a function, such as f.cold */
    PIECE_UNNAMED, /* there are no symbols */
    PIECE_OTHER,   /* another name than DWARF has, or the name of a clone */
    PIECE_OWN,     /* the function's own name */
};

/* True if the symbol's name, without suffixes, is wanted, which has wanted_length bytes. */
static bool names_function(const char *name, const char *wanted, size_t wanted_length)
{
    if (wanted_length >= NAME_LENGTH_MAX)
        return strncmp(name, wanted, NAME_LENGTH_MAX) == 0;
    const size_t limit = wanted_length + SUFFIX_LENGTH_MAX;
    return strncmp(name, wanted, wanted_length) == 0 && strnlen(name, limit) < limit &&
           profile_name_length(name) == wanted_length;
}

static enum piece_kind piece_kind(struct bat_debuginfo *debuginfo, uint64_t address,
                                  const char *wanted, size_t wanted_length)
{
    enum piece_kind kind = PIECE_UNNAMED;
    const char *name;
    for (size_t i = 0;
         i < SYMBOLS_MAX && (name = bat_debuginfo_symbol(debuginfo, address, i)) != NULL; i++) {
        if (names_function(name, wanted, wanted_length))
            return PIECE_OWN;
        if (!name_is_of_part(name, strnlen(name, NAME_LENGTH_MAX)))
            kind = PIECE_OTHER;
        else if (kind == PIECE_UNNAMED)
            kind = PIECE_PART;
    }
    return kind;
}

uint64_t entry_of(struct bat_debuginfo *debuginfo, const struct bat_debuginfo_function *function,
                  size_t name_length)
{
    const char *name = function->linkage_name;
    enum piece_kind best = PIECE_PART;
    uint64_t entry = ENTRY_NONE;
    for (size_t i = 0; i < function->range_count && best != PIECE_OWN; i++) {
        uint64_t start = function->ranges[i].start;
        enum piece_kind kind = piece_kind(debuginfo, start, name, name_length);
        if (kind > best) {
            best = kind;
            entry = start;
        }
    }
    return entry;
}
