/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Demangles names of C++ and Rust. */
#pragma once

/*
 * The demangled name, which the caller frees with free(); NULL if the name is not mangled, or if
 * its text would be far longer than any name that a compiler makes.
 */
char *demangle_name(const char *name);

/* The same as libiberty prints it: "a<b<int> >", not "a<b<int>>". */
char *demangle_by_libiberty(const char *name);
