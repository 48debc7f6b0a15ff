/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Translates addresses of the BOLTed binary to the binary that BOLT read, and back. */
#ifndef BAT_TOOLS_BATDUMP_DUMP_ORIGINAL_H
#define BAT_TOOLS_BATDUMP_DUMP_ORIGINAL_H

#include "bat_original.h"
#include "dump_text.h"
#include "tools/common/output.h"

/*
 * Print a line for each output address: the address that it had in the input binary. False, with a
 * message, at an address that it did not have. path is the BOLTed file's.
 */
bool dump_to_input(struct output *output, const char *path, const struct bat_original *original,
                   const struct dump_address *addresses, size_t count);

/*
 * Print a line for each output address of an instruction of the input binary, which is given as
 * "0xADDR" or "FUNCTION+0xOFFSET". False, with a message, if the input binary does not have one of
 * the instructions.
 */
bool dump_to_output(struct output *output, const char *original_path,
                    const struct bat_original *original, const struct bat_names *names,
                    const char *const *instructions, size_t count);

#endif
