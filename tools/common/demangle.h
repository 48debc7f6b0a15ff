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
char *demangle_name(const char *name);

/* The same as libiberty prints it: "a<b<int> >", not "a<b<int>>". */
char *demangle_by_libiberty(const char *name);

/* Demangled names, each made once. The mangled names must stay in place: pointers are the keys. */
struct demangled_names;

struct demangled_names *demangled_names_new(void);
void demangled_names_free(struct demangled_names *names);

/* The demangled name, or name itself. Valid until the next call: some grown ones are not kept. */
const char *demangled(struct demangled_names *names, const char *name);

/* The same, valid as long as names; name itself for a grown one that is not kept. */
const char *demangled_kept(struct demangled_names *names, const char *name);

/* Warn if demangled_kept() has left names as they are. path: the program's, or NULL. */
void demangled_names_warn(const struct demangled_names *names, const char *path);

#endif
