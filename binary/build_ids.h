/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Build-ids of BOLTed files and of their input. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if a BOLTed file's build-id is the input's, apart from the one or two bits that BOLT flips.
 */
bool build_id_is_of_input(const uint8_t *output, size_t size, const uint8_t *input,
                          size_t input_size);

/* True if the build-ids of two BOLTed files may be of one input: they differ in these bits alone.
 */
bool build_ids_share_input(const uint8_t *left, size_t left_size, const uint8_t *right,
                           size_t right_size);
