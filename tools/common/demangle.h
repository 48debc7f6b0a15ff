/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Demangles names of C++ and Rust. */
#ifndef BAT_DEMANGLE_H
#define BAT_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The demangled name, which the caller frees with free(); NULL if the name is not mangled, or if
 * its text would be far longer than any name that a compiler makes.
 */
char *demangle(const char *name);

/* The same without demangle_short(), which takes longer. */
char *demangle_whole(const char *name);

/* The text as libiberty prints it. */
char *demangle_by_libiberty(const char *name, bool can_be_rust);

/*
 * True if text of that length is so much longer than the name it was made of that only a name made
 * to use up memory has it: of 97,000 names in LLVM's libraries three have. Those who keep texts
 * keep so many bytes of such ones.
 */
bool demangled_is_grown(const char *name, size_t length);
#define DEMANGLED_GROWN_MAX ((size_t)4 << 20)

/* Demangled names, each made once. The mangled names must stay in place: pointers are the keys. */
struct demangled_names;

struct demangled_names *demangled_names_new(void);
void demangled_names_free(struct demangled_names *names);

/* The demangled name, or name itself. Valid until the next call: some grown ones are not kept. */
const char *demangled(struct demangled_names *names, const char *name);

/* The same, valid as long as names; name itself for a grown one that is not kept. */
const char *demangled_kept(struct demangled_names *names, const char *name);

/* Print a warning if demangled_kept() left names as they are. path: the program's, or NULL. */
void demangled_names_warn(const struct demangled_names *names, const char *path);

#endif
