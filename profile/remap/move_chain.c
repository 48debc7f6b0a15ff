/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Moves samples with a call stack and a branch stack to the input binary, one by one: the library
 * functions bat_chain_mover_new(), bat_chain_move() and bat_chain_mover_free() are here.
 */
#include <stdlib.h>

#include "spec/array.h"
#include "to_input.h"
#include "unfold_chain.h"

/* The moved frames or pieces of something that samples have again and again. */
struct moved_part {
    uint32_t first;
    uint32_t count;
};

struct bat_chain_mover {
    struct input_move move;
    struct bat_original_walks walks;
    struct chain_unfolding *unfolding; /* NULL: BOLT folded nothing */
    struct input_trail trail;          /* the pieces of all traces that were moved */
    struct bat_counts traces;          /* branch, from, to: first piece and their number, frame */
    struct bat_counts callers; /* an address in a call: first of call_frames and their number, 0 */
    uint64_t *call_frames;     /* of calls: their frames, the innermost first */
    size_t call_frame_count;
    size_t call_frame_capacity;
    uint64_t *frames; /* of the moved sample */
    size_t depth;
    size_t frame_capacity;
    struct bat_chain_run *runs; /* likewise */
    size_t run_count;
    size_t run_capacity;
    bool is_half; /* the last of the runs is a second half: its first one is older */
};

static uint64_t part_word(size_t first, size_t end)
{
    return (uint64_t)first << 32 | (uint32_t)(end - first);
}

static struct moved_part part_of(uint64_t word)
{
    return (struct moved_part){(uint32_t)(word >> 32), (uint32_t)word};
}

/* --- Callers -------------------------------------------------------------------------------- */

static enum bat_code add_frame(uint64_t **frames, size_t *count, size_t *capacity, uint64_t frame)
{
    return BAT_APPEND(*frames, *count, *capacity, frame) ? BAT_OK : BAT_ERR_MEMORY;
}

/* Add the calls that BOLT has inlined around a frame of the input, the innermost first. */
static enum bat_code add_inlined(const struct input_flow *flow, uint32_t frame, uint64_t **frames,
                                 size_t *count, size_t *capacity)
{
    for (; frame != INPUT_ROOT_FRAME; frame = flow->frames[frame].caller)
        if (flow->frames[frame].returns_to != 0)
            BAT_TRY(add_frame(frames, count, capacity, flow->frames[frame].returns_to - 1));
    return BAT_OK;
}

/* Move a caller, by an address in its call, once. */
static enum bat_code move_caller(struct bat_chain_mover *mover, uint64_t address,
                                 struct moved_part *part)
{
    const uint64_t *found = bat_counts_find(&mover->callers, &address);
    if (found) {
        *part = part_of(found[1]);
        return BAT_OK;
    }
    const size_t first = mover->call_frame_count;
    uint64_t call;
    uint32_t frame;
    enum bat_code code = input_move_call(&mover->move, address, &call, &frame);
    if (code == BAT_OK && call != BAT_TRACE_FALLTHROUGH_ONLY)
        code = add_frame(&mover->call_frames, &mover->call_frame_count, &mover->call_frame_capacity,
                         call);
    if (code == BAT_OK)
        code = add_inlined(&mover->move.follow.flow, frame, &mover->call_frames,
                           &mover->call_frame_count, &mover->call_frame_capacity);
    const uint64_t word = part_word(first, mover->call_frame_count);
    *part = part_of(word);
    return code ? code : bat_counts_add(&mover->callers, &address, word, 0);
}

/* Add the callers of the sampled code. */
static enum bat_code move_callers(struct bat_chain_mover *mover, const struct bat_call_chain *chain)
{
    enum bat_code code = BAT_OK;
    bool is_caller = false; /* the first frame outside of the kernel is the sampled code itself */
    for (size_t i = 0; i < chain->depth && code == BAT_OK; i++) {
        const uint64_t frame = chain->frames[i];
        if (frame == BAT_FRAME_KERNEL && !is_caller)
            continue;
        struct moved_part part = {0};
        if (is_caller && frame != BAT_ADDRESS_EXTERNAL && frame != BAT_FRAME_KERNEL)
            code = move_caller(mover, frame, &part);
        else if (is_caller)
            code = add_frame(&mover->frames, &mover->depth, &mover->frame_capacity, frame);
        for (uint32_t k = 0; k < part.count && code == BAT_OK; k++)
            code = add_frame(&mover->frames, &mover->depth, &mover->frame_capacity,
                             mover->call_frames[part.first + k]);
        is_caller = true;
    }
    return code;
}

/* --- Runs ----------------------------------------------------------------------------------- */

/* Move a run with its branch, once. *frame is where it starts in the input. */
static enum bat_code move_run(struct bat_chain_mover *mover, const struct bat_chain_run *run,
                              struct moved_part *part, uint32_t *frame)
{
    const uint64_t key[3] = {run->branch, run->from, run->to};
    const uint64_t *found = bat_counts_find(&mover->traces, key);
    if (found) {
        *part = part_of(found[3]);
        *frame = (uint32_t)found[4];
        return BAT_OK;
    }
    const struct input_piece trace = {.branch = run->branch,
                                      .from = run->from,
                                      .to = run->to,
                                      .count = 1,
                                      .start_join = BAT_NONE,
                                      .end_join = BAT_NONE};
    const size_t first = mover->trail.count;
    mover->trail.frame = INPUT_ROOT_FRAME;
    enum bat_code code = input_move_trace(&mover->move, &trace);
    const uint64_t word = part_word(first, mover->trail.count);
    *part = part_of(word);
    *frame = mover->trail.frame;
    return code ? code : bat_counts_add(&mover->traces, key, word, *frame);
}

/* Add a piece, which is older than all before. */
static enum bat_code add_piece(struct bat_chain_mover *mover, const struct input_piece *piece)
{
    const bool completes = mover->is_half && piece->end_join != BAT_NONE;
    const bool is_nothing =
        piece->branch == BAT_TRACE_FALLTHROUGH_ONLY && piece->to == BAT_TRACE_BRANCH_ONLY;
    if (is_nothing && piece->start_join == BAT_NONE)
        return BAT_OK;
    if (!completes) {
        if (!BAT_GROW(mover->runs, mover->run_count, mover->run_capacity))
            return BAT_ERR_MEMORY;
        /* Of what runs in another file nothing is known but that it comes back. */
        const bool comes_back = piece->from == BAT_ADDRESS_EXTERNAL && mover->run_count != 0 &&
                                mover->runs[mover->run_count - 1].branch == BAT_ADDRESS_EXTERNAL;
        mover->runs[mover->run_count++].to = comes_back ? BAT_ADDRESS_EXTERNAL : piece->to;
    }
    struct bat_chain_run *run = &mover->runs[mover->run_count - 1];
    run->branch = piece->branch;
    run->from = piece->from;
    mover->is_half = piece->start_join != BAT_NONE;
    return BAT_OK;
}

/* Move all runs, the newest first. *frame is that of the newest code. */
static enum bat_code move_runs(struct bat_chain_mover *mover, const struct bat_call_chain *chain,
                               uint32_t *frame)
{
    enum bat_code code = BAT_OK;
    mover->is_half = false;
    *frame = INPUT_ROOT_FRAME;
    for (size_t i = 0; i < chain->run_count && code == BAT_OK; i++) {
        struct moved_part part;
        uint32_t start;
        code = move_run(mover, &chain->runs[i], &part, &start);
        *frame = i == 0 ? start : *frame;
        for (uint32_t k = part.count; k-- > 0 && code == BAT_OK;)
            code = add_piece(mover, &mover->trail.pieces[part.first + k]);
    }
    return code;
}

/* --- Samples -------------------------------------------------------------------------------- */

enum bat_code bat_chain_move(struct bat_chain_mover *mover, const struct bat_call_chain *chain,
                             struct bat_call_chain *moved)
{
    uint32_t frame;
    mover->run_count = 0;
    mover->depth = 0;
    enum bat_code code = move_runs(mover, chain, &frame);
    const uint64_t leaf = mover->run_count ? mover->runs[0].from : BAT_ADDRESS_EXTERNAL;
    code = code ? code : add_frame(&mover->frames, &mover->depth, &mover->frame_capacity, leaf);
    if (code == BAT_OK)
        code = add_inlined(&mover->move.follow.flow, frame, &mover->frames, &mover->depth,
                           &mover->frame_capacity);
    code = code ? code : move_callers(mover, chain);
    if (code == BAT_OK && mover->unfolding)
        code = chain_unfold(mover->unfolding, mover->frames, mover->depth, mover->runs,
                            mover->run_count, chain->count);
    *moved = (struct bat_call_chain){.frames = mover->frames,
                                     .depth = mover->depth,
                                     .runs = mover->runs,
                                     .run_count = mover->run_count,
                                     .count = chain->count};
    return code;
}

enum bat_code bat_chain_mover_new(struct bat_binary *binary, const struct bat_original *original,
                                  struct bat_chain_mover **mover, struct bat_error *error)
{
    *mover = NULL;
    BAT_TRY(input_check_pair(binary, original, error));
    struct bat_chain_mover *made = calloc(1, sizeof(*made));
    BAT_TRY_MEMORY(made, error, "to move samples");
    made->traces = bat_counts_new(3);
    made->callers = bat_counts_new(1);
    made->move = (struct input_move){
        .original = original, .walks = &made->walks, .sights = input_no_sights()};
    made->move.joins = input_joins_new(NULL, &made->move.counters);
    made->move.joins.trail = &made->trail;
    made->move.starts = input_starts_new();
    made->move.nodes_left = UINT64_MAX;
    enum bat_code code = input_follow_open(&made->move.follow, original);
    code = code ? code : input_explained_open(&made->move);
    code = code ? code : chain_unfolding_new(original, &made->unfolding);
    if (code == BAT_OK) {
        *mover = made;
        return BAT_OK;
    }
    bat_chain_mover_free(made);
    return bat_fail_memory(error, "to move samples");
}

void bat_chain_mover_free(struct bat_chain_mover *mover)
{
    if (!mover)
        return;
    input_follow_close(&mover->move.follow);
    bat_original_walks_free(&mover->walks);
    input_joins_free(&mover->move.joins);
    input_starts_free(&mover->move.starts);
    input_explained_close(&mover->move);
    chain_unfolding_free(mover->unfolding);
    bat_counts_free(&mover->traces);
    bat_counts_free(&mover->callers);
    BAT_FREE_ALL(mover->trail.pieces, mover->call_frames, mover->frames, mover->runs, mover);
}
