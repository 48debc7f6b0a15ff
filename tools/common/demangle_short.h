/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Demangles most names of C++ functions in one pass, many times as fast as libiberty, and to the
 * same text. The others are left to libiberty. Internal to demangle.c.
 */
#ifndef BAT_DEMANGLE_SHORT_H
#define BAT_DEMANGLE_SHORT_H

/*
 * The text of a name of the form "_Z...", which the caller frees with free(). NULL if the name has
 * anything but namespaces, classes, functions, operators and templates, or if there is no memory.
 */
char *demangle_short(const char *mangled);

#endif
