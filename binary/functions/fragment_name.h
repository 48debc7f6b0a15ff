/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names of the fragments of split functions. Internal to binary/. */
#ifndef BAT_BINARY_FRAGMENT_NAME_H
#define BAT_BINARY_FRAGMENT_NAME_H

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

/* The length of a name without "<separator><digits>" at its end, or length if that is not there. */
size_t name_without_number(const char *name, size_t length, char separator);

#endif
