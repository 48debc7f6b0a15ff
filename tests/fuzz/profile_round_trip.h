/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Functions that the fuzz targets for profiles share: a real binary, and profiles translated for
 * it. */
#pragma once

#include "bat_profile.h"

/* The BOLTed program of tests/data/demo, opened once. */
struct bat_binary *profile_binary(void);

/*
 * Read a profile from bytes in memory. NULL if it is not a profile; then the error must have a code
 * and, if it has a place, a line and column inside the text.
 */
struct bat_profile *profile_read(const void *bytes, size_t size);

/*
 * Translate a profile for the binary, and write it as fdata and YAML. NULL if that fails; otherwise
 * the fdata, with a terminating zero; the caller frees it.
 */
char *profile_translate(const struct bat_profile *profile, size_t *size);
