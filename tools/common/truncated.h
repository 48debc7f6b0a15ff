/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files that become shorter while they are read. */
#ifndef BAT_TRUNCATED_H
#define BAT_TRUNCATED_H

/*
 * From now on reading a mapped file behind its new end, which raises SIGBUS, ends the tool with a
 * sentence and exit status 1, and temporary files are removed. name is the tool's; it is kept.
 */
void truncated_catch(const char *name);

#endif
