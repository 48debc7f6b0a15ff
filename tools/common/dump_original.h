/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Addresses of the BOLTed binary in the one that BOLT read, and back. */
#ifndef BAT_DUMP_ORIGINAL_H
#define BAT_DUMP_ORIGINAL_H

#include "bat_original.h"
#include "dump_text.h"
#include "output.h"

/*
 * A line for each output address: where it was in the input binary. False, with a message, at an
 * address that was nowhere there. path is the BOLTed file's.
 */
bool dump_to_input(struct output *output, const char *path, const struct bat_original *original,
                   const struct dump_address *addresses, size_t count);

/*
 * A line for each place that an instruction of the input binary went to; places are "0xADDR" or
 * "FUNCTION+0xOFFSET". False, with a message, at one that is no place in the input binary.
 */
bool dump_to_output(struct output *output, const char *original_path,
                    const struct bat_original *original, const struct bat_names *names,
                    const char *const *places, size_t count);

#endif
