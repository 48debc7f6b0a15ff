/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Demangles names of C++, Rust and D with libiberty. */
#ifndef BAT_DEMANGLE_H
#define BAT_DEMANGLE_H

/* The demangled name, which the caller frees with free(); NULL if the name is not mangled. */
char *demangle(const char *name);

/* The same by libiberty alone, which takes longer. */
char *demangle_by_libiberty(const char *name);

/* Demangled names, each made once. The mangled names must stay in place: pointers are the keys. */
struct demangled_names;

struct demangled_names *demangled_names_new(void);
void demangled_names_free(struct demangled_names *names);

/* The demangled name, or name itself. Valid as long as names. */
const char *demangled(struct demangled_names *names, const char *name);

#endif
