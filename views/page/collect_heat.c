/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where the samples are: pieces, blocks and branches of the output. */
#include <stdlib.h>

#include "report.h"

bool report_walk_next(const struct bat_profile *profile, struct report_walk *walk,
                      struct bat_trace *trace)
{
    if (bat_profile_trace(profile, walk->trace, trace)) {
        walk->trace++;
        return true;
    }
    *trace = (struct bat_trace){.branch = BAT_TRACE_FALLTHROUGH_ONLY, .to = BAT_TRACE_BRANCH_ONLY};
    return bat_profile_sample(profile, walk->sample++, &trace->from, &trace->count);
}

static void add_executed(struct report_piece *piece, uint64_t bytes, uint64_t count)
{
    uint64_t product;
    if (__builtin_mul_overflow(bytes, count, &product) ||
        __builtin_add_overflow(piece->executed, product, &piece->executed))
        piece->executed = UINT64_MAX;
}

/*
 * Add to the changes of counts from block to block; sums are modulo 2^64. The last instruction of a
 * run counts as one byte in a piece without blocks. A run that begins inside of a block, behind a
 * call, is not another time that the block ran; nor is a branch without a run if the profile has
 * runs without branches, for one of these begins there. They only tell of a block of which nothing
 * else does.
 */
static void count_run(struct report *report, struct report_piece *piece,
                      const struct bat_trace *trace)
{
    bool is_alone = trace->to == BAT_TRACE_BRANCH_ONLY;
    uint64_t start = trace->from - piece->address;
    uint64_t end = start;
    if (trace->to != BAT_TRACE_BRANCH_ONLY && trace->to >= trace->from &&
        trace->to - piece->address < piece->size)
        end = trace->to - piece->address;
    if (piece->block_count == 0) {
        add_executed(piece, end - start + 1, trace->count);
        return;
    }
    uint32_t first = piece->first_block + report_block_at(report, piece, start);
    uint32_t last = piece->first_block + report_block_at(report, piece, end);
    bool is_sample = trace->branch == BAT_TRACE_FALLTHROUGH_ONLY && is_alone;
    if (!is_sample &&
        (report->blocks[first].output != start || (is_alone && report->has_runs_alone)))
        report->block_hints[first++] += trace->count;
    if (first > last)
        return;
    report->block_counts[first] += trace->count;
    report->block_counts[last + 1] -= trace->count;
}

/* Make counts of the changes. Blocks without output code have none. */
static void sum_blocks(struct report *report)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < report->piece_count; i++) {
        struct report_piece *piece = &report->pieces[i];
        for (uint32_t j = 0; j < piece->block_count; j++) {
            uint32_t block = piece->first_block + j;
            uint64_t start = report->blocks[block].output;
            uint64_t end = report_block_end(report, piece, j);
            count += report->block_counts[block];
            uint64_t ran = count ? count : report->block_hints[block];
            report->block_counts[block] = start < end ? ran : 0;
            if (start < end && ran != 0)
                add_executed(piece, end - start, ran);
        }
    }
}

static void count_piece(struct report *report, uint32_t piece, const struct bat_trace *trace)
{
    report->samples += trace->count;
    if (piece == BAT_NONE) {
        uint32_t section = trace->from == BAT_ADDRESS_EXTERNAL
                               ? BAT_NONE
                               : report_section_at(&report->output, trace->from);
        *(section == BAT_NONE                                   ? &report->samples_outside
          : report_is_old_section(&report->output.all[section]) ? &report->samples_old
                                                                : &report->samples_nowhere) +=
            trace->count;
        return;
    }
    struct report_piece *hit = &report->pieces[piece];
    hit->samples += trace->count;
    report->functions[hit->function].samples += trace->count;
    report->samples_of_kind[hit->kind] += trace->count;
}

/* --- Branches -------------------------------------------------------------------------------- */

static int by_ends(const void *left, const void *right)
{
    const struct report_edge *a = left;
    const struct report_edge *b = right;
    if (a->from_piece != b->from_piece)
        return a->from_piece < b->from_piece ? -1 : 1;
    if (a->from_block != b->from_block)
        return a->from_block < b->from_block ? -1 : 1;
    if (a->to_piece != b->to_piece)
        return a->to_piece < b->to_piece ? -1 : 1;
    if (a->to_block != b->to_block)
        return a->to_block < b->to_block ? -1 : 1;
    return a->is_entry - b->is_entry;
}

size_t report_join_edges(struct report_edge *edges, size_t count)
{
    if (count > 1)
        qsort(edges, count, sizeof(*edges), by_ends);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept != 0 && by_ends(&edges[kept - 1], &edges[i]) == 0) {
            edges[kept - 1].count += edges[i].count;
            edges[kept - 1].mispredictions += edges[i].mispredictions;
        } else {
            edges[kept++] = edges[i];
        }
    }
    return kept;
}

static void add_edge(struct report *report, uint32_t to, const struct bat_trace *trace)
{
    if (!report_is_branch(trace))
        return;
    uint32_t from = report_piece_at(report, trace->branch);
    if (from == BAT_NONE && to == BAT_NONE)
        return;
    struct report_edge *edge = &report->edges[report->edge_count++];
    *edge = (struct report_edge){.from_piece = from,
                                 .to_piece = to,
                                 .count = trace->count,
                                 .mispredictions = trace->mispredictions};
    if (from != BAT_NONE) {
        const struct report_piece *piece = &report->pieces[from];
        edge->from_block = report_block_at(report, piece, trace->branch - piece->address);
    }
    if (to != BAT_NONE) {
        const struct report_piece *piece = &report->pieces[to];
        edge->to_block = report_block_at(report, piece, trace->from - piece->address);
        edge->is_entry =
            trace->from == piece->address && report->functions[piece->function].main_piece == to;
    }
}

/* The piece that a trace begins in, or BAT_NONE. */
static uint32_t piece_of(const struct report *report, const struct bat_trace *trace)
{
    return trace->from ? report_piece_at(report, trace->from) : BAT_NONE;
}

enum bat_code report_collect_samples(struct report *report)
{
    struct bat_trace trace;
    for (struct report_walk walk = {0};
         report->has_profile && report_walk_next(report->profile, &walk, &trace);) {
        count_piece(report, piece_of(report, &trace), &trace);
        report->has_runs_alone |=
            trace.branch == BAT_TRACE_FALLTHROUGH_ONLY && trace.to != BAT_TRACE_BRANCH_ONLY;
        report->edge_count += report_is_branch(&trace);
    }
    return BAT_OK;
}

enum bat_code report_collect_heat(struct report *report)
{
    if (!report->has_profile)
        return BAT_OK;
    report->edges = malloc((report->edge_count + 1) * sizeof(*report->edges));
    if (!report->edges)
        return report_no_memory(report);
    report->edge_count = 0;
    struct bat_trace trace;
    for (struct report_walk walk = {0}; report_walk_next(report->profile, &walk, &trace);) {
        uint32_t piece = piece_of(report, &trace);
        if (piece != BAT_NONE)
            count_run(report, &report->pieces[piece], &trace);
        add_edge(report, piece, &trace);
    }
    sum_blocks(report);
    free(report->block_hints);
    report->block_hints = NULL;
    report->edge_count = report_join_edges(report->edges, report->edge_count);
    return BAT_OK;
}
