/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is asked of instructions that Zydis has decoded. Internal to profile/. */
#ifndef BAT_PROFILE_INSTRUCTIONS_X86_H
#define BAT_PROFILE_INSTRUCTIONS_X86_H

#include <Zydis/Zydis.h>
#include <stdbool.h>

/* LLVM takes a LOCK prefix that comes first for an instruction of its own. */
#define X86_LOCK_PREFIX 0xf0

/*
 * True if there is a segment prefix, also one that means nothing in 64-bit mode or is NOTRACK:
 * BOLT recognizes no jump table behind them.
 */
static inline bool x86_has_segment_prefix(const ZydisDecodedInstruction *decoded)
{
    for (ZyanU8 i = 0; i < decoded->raw.prefix_count; i++) {
        ZyanU8 value = decoded->raw.prefixes[i].value;
        bool is_old = (value & 0xe7) == 0x26; /* ES, CS, SS, DS */
        if (is_old || value == 0x64 || value == 0x65)
            return true;
    }
    return false;
}

#endif
