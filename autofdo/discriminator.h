/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What LLVM packs into a DWARF discriminator: the base discriminator (which of the blocks of a
 * line), the duplication factor (of unrolled and vectorized loops) and a copy's number, one after
 * the other from the lowest bit. A component that is 0 is one bit, 1. Else its lowest bit is 0, and
 * 5 bits follow, and a bit that says whether 7 more do.
 */
#ifndef BAT_AUTOFDO_DISCRIMINATOR_H
#define BAT_AUTOFDO_DISCRIMINATOR_H

#include <stdint.h>

/* The first component. */
static inline uint32_t discriminator_base(uint32_t packed)
{
    if (packed & 1)
        return 0;
    uint32_t low = packed >> 1 & 0x1f;
    return packed & 0x40 ? low | (packed >> 7 & 0x7f) << 5 : low;
}

/* The second component; 0 stands for 1. */
static inline uint32_t discriminator_factor(uint32_t packed)
{
    unsigned first = packed & 1 ? 1 : packed & 0x40 ? 14 : 7;
    uint32_t factor = discriminator_base(packed >> first);
    return factor ? factor : 1;
}

#endif
