/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How much memory names as in the source take that somebody keeps. A grown one is more than 16
 * times as long as the linker's: of 97,000 names in LLVM's libraries three are, and names that were
 * made to use up memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct kept_names {
    size_t grown; /* bytes of grown names */
    size_t left;  /* grown names that were too many */
};

/* True if a name's text of that length may be kept, too: all grown ones together have 4 MiB. */
bool kept_names_has_room(struct kept_names *kept, const char *name, size_t length);

#define KEPT_NAMES_WARNING_SIZE 192u

/* A sentence if names were left as they are; else false. */
bool kept_names_warning(const struct kept_names *kept, char text[KEPT_NAMES_WARNING_SIZE]);
