/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which node and place of a forest the instructions of a program belong to: spec/autofdo.md 3. */
#pragma once

#include "bat_debuginfo.h"
#include "forest.h"

struct leaf_unit;

struct leaves {
    struct bat_debuginfo *debuginfo;
    struct forest *forest;
    bool has_fs_discriminators;
    struct bat_counts names; /* from the address of a name in DWARF to its forest number */
    struct leaf_unit *units; /* what is known of each unit */
    size_t unit_count;
    uint32_t *chain; /* calls that are being looked up, the innermost first */
    size_t chain_capacity;
};

/* The node and place of addresses. */
struct leaf {
    uint64_t end; /* behind the last address that has them, too */
    uint64_t place;
    uint32_t node;
    uint32_t discriminator; /* as the compiler encoded it */
    bool is_found;          /* false: the address is in no function that has a name */
};

/* Both must outlive the result. Free it with leaves_free(). Fails with BAT_ERR_MEMORY. */
enum bat_code leaves_new(struct leaves *leaves, struct bat_debuginfo *debuginfo,
                         struct forest *forest);
void leaves_free(struct leaves *leaves);

/*
 * Find an address's node, which is made together with those around it if it is new. Quick near the
 * last address. Fails with BAT_ERR_MEMORY.
 */
enum bat_code leaves_find(struct leaves *leaves, uint64_t address, struct leaf *leaf);

/* No entry: the function is not called by its name, as the part of a coroutine that resumes it. */
#define ENTRY_NONE UINT64_MAX

/*
 * The address that calls of a function go to, or ENTRY_NONE. name_length is the length of the
 * function's name without suffixes (name_parts.h). Linear in the function's ranges, times the
 * logarithm of the number of symbols.
 */
uint64_t entry_of(struct bat_debuginfo *debuginfo, const struct bat_debuginfo_function *function,
                  size_t name_length);
