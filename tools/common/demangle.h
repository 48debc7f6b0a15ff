/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Demangles names of C++ and Rust. */
#ifndef BAT_DEMANGLE_H
#define BAT_DEMANGLE_H

#include <stdbool.h>

/*
 * The demangled name, which the caller frees with free(); NULL if the name is not mangled, or if
 * its text would be far longer than any name that a compiler makes.
 */
char *demangle(const char *name);

/* The same without demangle_short(), which takes longer. */
char *demangle_whole(const char *name);

/* The text as libiberty prints it. */
char *demangle_by_libiberty(const char *name, bool can_be_rust);

/* Demangled names, each made once. The mangled names must stay in place: pointers are the keys. */
struct demangled_names;

struct demangled_names *demangled_names_new(void);
void demangled_names_free(struct demangled_names *names);

/* The demangled name, or name itself. Valid as long as names. */
const char *demangled(struct demangled_names *names, const char *name);

#endif
