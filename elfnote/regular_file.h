/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Opens files that other files name, or that a search comes upon. Internal to the library. */
#ifndef BAT_ELF_REGULAR_FILE_H
#define BAT_ELF_REGULAR_FILE_H

#include "spec/bat.h"

/*
 * Open a regular file for reading; a relative path begins in folder, or for AT_FDCWD in the current
 * one. Nothing else is opened, not even for a moment: a FIFO may wait for a writer, or take one
 * from another reader, and a device may do something, such as rewind a tape. The result is no
 * standard descriptor. -1 with errno on failure: EISDIR for a folder, ENXIO for whatever else is no
 * file.
 */
int bat_regular_open(int folder, const char *path);

/* Fail with BAT_ERR_IO for the errno of bat_regular_open(). */
enum bat_code bat_regular_fail(struct bat_error *error);

#endif
