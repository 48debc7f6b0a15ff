/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Translates memory samples to records: spec/profiles.md 2. Internal to the library. */
#ifndef BAT_PROFILE_TRANSLATE_MEMORY_H
#define BAT_PROFILE_TRANSLATE_MEMORY_H

#include "profile/profile.h"
#include "records.h"

/*
 * Translate an address of the binary to the input binary: a function and an offset in it. The
 * function will need its name. False outside of functions.
 */
typedef bool bat_place_fn(void *context, uint64_t address, uint32_t *function, uint64_t *offset);

/*
 * Add the profile's memory samples to the records' branches. symbols is the file with symbols.
 * keep_unknown: also those that read no data of the binary.
 */
enum bat_code bat_translate_memory(struct bat_records *records, const struct bat_profile *profile,
                                   const struct bat_elf *symbols, bool keep_unknown,
                                   bat_place_fn *find_place, void *context,
                                   struct bat_error *error);

#endif
