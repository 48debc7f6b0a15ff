/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Look-ups of offsets, and the fall-throughs of a trace, in a function's blocks (code_blocks.h). */
#include "code_blocks.h"
#include "spec/order.h"

uint32_t bat_code_block_at(const struct bat_code_blocks *blocks, uint64_t offset)
{
    if (blocks->count == 0 || offset < blocks->all[0].start || offset >= blocks->size)
        return BAT_NONE;
    return BAT_COUNT_UP_TO(blocks->all, blocks->count, start, offset) - 1;
}

uint32_t bat_code_entry_id(const struct bat_code_blocks *blocks, uint64_t offset)
{
    uint32_t block = bat_code_block_at(blocks, offset);
    return block == BAT_NONE ? 0 : blocks->all[block].entry_id;
}

/* True if the trace starts where the call at the end of the block before returns to. */
static bool follows_call(const struct bat_code_blocks *blocks, uint32_t first, uint64_t from,
                         unsigned source)
{
    if (first == 0 || !(source & BAT_TRACE_OUTSIDE) || from != blocks->all[first].start)
        return false;
    bool may_be_entered = blocks->all[first].flags & (BAT_BLOCK_ENTRY | BAT_BLOCK_LANDING_PAD);
    if (may_be_entered && !(source & BAT_TRACE_RETURN))
        return false;
    const unsigned both = BAT_BLOCK_REACHES_NEXT | BAT_BLOCK_ENDS_IN_CALL;
    return (blocks->all[first - 1].flags & both) == both;
}

bool bat_code_fallthroughs(const struct bat_code_blocks *blocks, uint64_t from, uint64_t to,
                           unsigned source, struct bat_code_fallthroughs *fallthroughs)
{
    *fallthroughs = (struct bat_code_fallthroughs){0};
    uint32_t first = from <= to ? bat_code_block_at(blocks, from) : BAT_NONE;
    uint32_t last = first == BAT_NONE ? BAT_NONE : bat_code_block_at(blocks, to);
    if (last == BAT_NONE)
        return false;
    if (follows_call(blocks, first, from, source))
        first--;
    if (blocks->all[first].reach < last)
        return false;
    *fallthroughs = (struct bat_code_fallthroughs){.first = first, .end = last};
    return true;
}
