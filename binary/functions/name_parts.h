/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What compilers and BOLT append to the names of functions, and what the name is without it. All
 * code that looks at suffixes does it by these functions; each says whose reading it is.
 * Internal to the library.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The length of "f" in a fragment's name, which has length bytes: "f.cold", "f.warm", "f.cold.0" or
 * "f.warm.0"; 0 if it is not such a name. BOLT and compilers give these names.
 */
size_t fragment_name_stem(const char *name, size_t length);

/*
 * The same where anything may follow: "f" in "f.cold.org.0" or "f.cold.llvm.1", too. BOLT takes
 * every name with .cold or .warm in it for a fragment of a function that the compiler split, and
 * the last of them ends the parent's name.
 */
size_t fragment_name_any_stem(const char *name);

/*
 * True if a word between dots of a name, which has length bytes, marks a part of a function, also
 * one of a coroutine: "f.cold", "f.resume", "f.__part.1".
 */
bool name_is_of_part(const char *name, size_t length);

/*
 * The length of "f" in "f.org.0", which has length bytes: where f began before BOLT moved it, and
 * patched a jump to it. 0 if it is not such a name.
 */
size_t patched_name_stem(const char *name, size_t length);

/*
 * The length of a name without the suffixes that LLVM appends after it has matched names with a
 * sample profile: ".llvm.123" and ".part.1", in this order from the end. ".__uniq.123" is appended
 * before that, and stays.
 */
size_t profile_name_length(const char *name);

/* The length of a name without "/N" or "/FILE/N" at its end, as profiles name local functions. */
size_t unnumbered_name_length(const char *name);

/* The length of a name without "<separator><digits>" at its end, or length if that is not there. */
size_t name_without_number(const char *name, size_t length, char separator);
