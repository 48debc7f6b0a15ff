/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "build_ids.h"

/*
 * BOLT flips the last bit of the build-id that it copies; since version 24 the first bit as well.
 * An unchanged build-id is accepted too.
 */
bool build_id_is_of_input(const uint8_t *output, size_t size, const uint8_t *input,
                          size_t input_size)
{
    if (size == 0 || size != input_size)
        return false;
    bool flips_last = (output[size - 1] ^ input[size - 1]) & 1;
    bool flips_first = (output[0] ^ input[0]) & 0x80;
    if (flips_first && !flips_last)
        return false;
    for (size_t i = 0; i < size; i++) {
        unsigned flipped = (i == 0 && flips_first ? 0x80u : 0u) | (i + 1 == size && flips_last);
        if ((output[i] ^ input[i]) != flipped)
            return false;
    }
    return true;
}

bool build_ids_share_input(const uint8_t *left, size_t left_size, const uint8_t *right,
                           size_t right_size)
{
    if (left_size == 0 || left_size != right_size)
        return false;
    for (size_t i = 0; i < left_size; i++) {
        unsigned flipped = (i == 0 ? 0x80u : 0u) | (i + 1 == left_size);
        if (((left[i] ^ right[i]) & ~flipped) != 0)
            return false;
    }
    return true;
}
