/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Demangled names, each made once. The mangled names must stay in place: pointers are the keys. */
#pragma once

#include "kept_names.h"

struct demangled_names;

/* demangle(name) is the demangled name, to be freed with free(), or NULL if name is not mangled.
 * NULL if there is no memory. */
struct demangled_names *demangled_names_new(char *(*demangle)(const char *name));
void demangled_names_free(struct demangled_names *names);

/* The demangled name, or name itself. Valid until the next call: some grown ones are not kept. */
const char *demangled(struct demangled_names *names, const char *name);

/* The same, valid as long as names; name itself for a grown one that is not kept. */
const char *demangled_kept(struct demangled_names *names, const char *name);

/* A sentence if demangled_kept() has left names as they are; else false. */
bool demangled_names_warning(const struct demangled_names *names,
                             char text[KEPT_NAMES_WARNING_SIZE]);
