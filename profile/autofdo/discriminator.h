/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * LLVM packs three components into a DWARF discriminator, from the lowest bit up: the base
 * discriminator (which basic block of a line), the duplication factor (of unrolled and vectorized
 * loops) and the number of a copy. A component of 0 is the single bit 1. Any other component is a 0
 * bit, 5 bits of the value, and a bit that is set if 7 more bits of the value follow.
 *
 * With -fpseudo-probe-for-profiling, calls have a probe instead: the lowest three bits are set, and
 * the probe's number follows in 16 bits. If bit 28 is set, the number has 13 bits, and a base
 * discriminator of 3 bits follows it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

static inline bool discriminator_is_probe(uint32_t packed)
{
    return (packed & 7) == 7 && packed != 7;
}

/* What distinguishes the blocks of a line in a probe: the base discriminator, else its number. */
static inline uint32_t discriminator_of_probe(uint32_t packed)
{
    return packed & UINT32_C(1) << 28 ? packed >> 16 & 7 : packed >> 3 & 0xffff;
}

/* The component in the lowest bits. */
static inline uint32_t discriminator_component(uint32_t packed)
{
    if (packed & 1)
        return 0;
    uint32_t low = packed >> 1 & 0x1f;
    return packed & 0x40 ? low | (packed >> 7 & 0x7f) << 5 : low;
}

/* The first component, or its counterpart in a probe. */
static inline uint32_t discriminator_base(uint32_t packed)
{
    return discriminator_is_probe(packed) ? discriminator_of_probe(packed)
                                          : discriminator_component(packed);
}

/* The second component; 0 stands for 1. */
static inline uint32_t discriminator_factor(uint32_t packed)
{
    if (discriminator_is_probe(packed))
        return 1;
    unsigned first = packed & 1 ? 1 : packed & 0x40 ? 14 : 7;
    uint32_t factor = discriminator_component(packed >> first);
    return factor ? factor : 1;
}
