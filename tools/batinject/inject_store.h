/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* batinject --store: the whole file goes into a store, and what is loaded stays. */
#ifndef BAT_TOOLS_BATINJECT_INJECT_STORE_H
#define BAT_TOOLS_BATINJECT_INJECT_STORE_H

#include "inject.h"

/*
 * Put the file into the store request->argument, which is made if it does not exist; when it is on
 * the disk, write the file's shipped form to request->output or in its place. A file that was
 * shipped before, and whose whole is in the store, stays as it is. Prints errors and what was done.
 */
bool inject_store(const struct inject_request *request);

#endif
