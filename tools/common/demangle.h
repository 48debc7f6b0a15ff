/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names as they are in the source, by libiberty: C++, Rust, D. */
#ifndef BAT_DEMANGLE_H
#define BAT_DEMANGLE_H

/* The plain form, to be freed with free(); NULL if the name is not mangled. */
char *demangle(const char *name);

/* Plain forms of names that stay where they are, each made once. */
struct demangled_names;

struct demangled_names *demangled_names_new(void);
void demangled_names_free(struct demangled_names *names);

/* The plain form, or name itself. Valid as long as names. */
const char *demangled(struct demangled_names *names, const char *name);

#endif
