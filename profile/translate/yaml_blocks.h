/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The blocks of a function with a table as YAML names them: spec/profiles.md 4. For perf2bolt's
 * YAML they are what perf2bolt makes of the note (6), also where that is wrong. Internal.
 */
#pragma once

#include <string.h>

#include "bat_decoder.h"
#include "records.h"

/*
 * True if blocks stand in places, as perf2bolt has them: all blocks with the index N are in place
 * N, there are as many places as the input function had blocks, and place N has the bid and hash of
 * the Nth block by input offset. That is another one if the note lacks a block, or has one that
 * BOLT made. Otherwise each block has its own bid and hash.
 */
static inline bool bat_yaml_has_places(const struct bat_records *records)
{
    return records->is_parity && bat_map_has_hashes(records->map);
}

/* As bat_map_blocks(): the blocks that records are divided among. */
static inline uint32_t bat_yaml_blocks(const struct bat_records *records, uint32_t table,
                                       struct bat_block *blocks, uint32_t capacity)
{
    /* Mostly they were put together to read the output's code. */
    const struct bat_output_flow *flow =
        records->shared_flows && !records->is_parity
            ? bat_output_flows_known(records->shared_flows, records->map->tables[table].parent)
            : NULL;
    if (flow && blocks && flow->block_count <= capacity)
        memcpy(blocks, flow->blocks, flow->block_count * sizeof(*blocks));
    if (flow)
        return flow->block_count;
    return (records->is_parity ? bat_map_noted_blocks : bat_map_blocks)(records->map, table, blocks,
                                                                        capacity);
}

/*
 * Where one of count blocks is found in YAML: *bid and *hash are set. False if it is not written;
 * place_count is the function's number of blocks in the input.
 */
static inline bool bat_yaml_find_block(const struct bat_records *records,
                                       const struct bat_block *blocks, uint32_t count,
                                       uint32_t place_count, uint32_t block, uint32_t *bid,
                                       uint64_t *hash)
{
    uint32_t place = blocks[block].index;
    if (!bat_yaml_has_places(records)) {
        *bid = place;
        *hash = blocks[block].hash;
        return true;
    }
    *bid = place < count ? blocks[place].index : 0;
    *hash = place < count ? blocks[place].hash : 0;
    return place < place_count;
}
