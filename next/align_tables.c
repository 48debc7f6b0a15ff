/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Aligns the jump tables of two graphs as sequences: the cases of a switch keep their order when
 * some are added. Interpreters are one such switch.
 */
#include <stdlib.h>
#include <string.h>

#include "flooding.h"
#include "spec/array.h"

#define GAP (-0.12f)
#define RAISE_TARGET 0.35f
#define RAISE_REGION 0.15f
#define BASE_MAX 1.3f

/* Entries of two tables together: the alignment takes time and memory for each pair of them. */
#define CELLS_MAX (UINT64_C(1) << 22)

/* A table, as nodes. */
struct sequence {
    uint32_t *nodes; /* BAT_NONE for entries that lead nowhere */
    uint32_t count;
};

struct alignment {
    const struct flooding_side *a;
    const struct flooding_side *b;
    struct likeness *likeness;
    uint32_t *uses[2]; /* for each node: entries of the table that lead to it */
    struct bat_error *error;
};

static const struct next_table *table_of(const struct flooding_side *side, uint32_t node,
                                         const struct next_unit **code)
{
    const struct next_segment *last = next_last_segment(side->graph, node);
    *code = side->program->units[last->unit];
    const uint32_t table = (*code)->blocks[last->block].table;
    return last->ends && table != BAT_NONE ? &(*code)->tables[table] : NULL;
}

/* The targets of a node's table. NULL without memory. */
static bool read_sequence(const struct flooding_side *side, uint32_t node,
                          struct sequence *sequence)
{
    const struct next_unit *code;
    const struct next_table *table = table_of(side, node, &code);
    const struct next_graph *graph = side->graph;
    sequence->count = table->count;
    sequence->nodes = malloc(((size_t)table->count + 1) * sizeof(*sequence->nodes));
    uint32_t *node_of = malloc(((size_t)code->block_count + 1) * sizeof(*node_of));
    if (sequence->nodes && node_of) {
        memset(node_of, 0xff, ((size_t)code->block_count + 1) * sizeof(*node_of));
        for (uint32_t i = graph->out[node]; i < graph->out[node + 1]; i++)
            node_of[next_first_segment(graph, graph->links[i].to)->block] = graph->links[i].to;
        for (uint32_t i = 0; i < table->count; i++) {
            uint32_t block = code->targets[table->first + i];
            sequence->nodes[i] = block == BAT_NONE ? BAT_NONE : node_of[block];
        }
    }
    free(node_of);
    return sequence->nodes && node_of;
}

/* The old table that is most like that of a new node; BAT_NONE. */
static uint32_t find_partner(const struct alignment *alignment, uint32_t new_node)
{
    const struct next_unit *code;
    const struct next_table *table = table_of(alignment->b, new_node, &code);
    float best = 0.1f;
    uint32_t found = BAT_NONE;
    const struct likeness *likeness = alignment->likeness;
    for (uint32_t i = likeness->first[new_node]; i < likeness->first[new_node + 1]; i++) {
        const struct next_table *other = table_of(alignment->a, likeness->old_of[i], &code);
        if (!other || other->count == 0)
            continue;
        float sizes = other->count < table->count ? (float)other->count / (float)table->count
                                                  : (float)table->count / (float)other->count;
        float value = likeness->value[i] + 0.2f * sizes;
        if (value > best) {
            best = value;
            found = likeness->old_of[i];
        }
    }
    return found;
}

static float likeness_of_entries(const struct alignment *alignment, uint32_t a, uint32_t b)
{
    if (a == BAT_NONE || b == BAT_NONE)
        return 0;
    uint32_t pair = likeness_pair(alignment->likeness, a, b);
    return pair == BAT_NONE ? 0 : alignment->likeness->value[pair];
}

enum step { STEP_BOTH, STEP_OLD, STEP_NEW };

/* Needleman and Wunsch's alignment: for each new entry the old one, or BAT_NONE. */
static bool align(const struct alignment *alignment, const struct sequence *a,
                  const struct sequence *b, uint32_t *old_of)
{
    size_t width = (size_t)b->count + 1;
    float *row = malloc(width * sizeof(*row));
    uint8_t *steps = malloc(((size_t)a->count + 1) * width);
    if (!row || !steps) {
        BAT_FREE_ALL(row, steps);
        return false;
    }
    for (uint32_t j = 0; j <= b->count; j++) {
        row[j] = GAP * (float)j;
        steps[j] = STEP_NEW;
        if (j < b->count)
            old_of[j] = BAT_NONE;
    }
    for (uint32_t i = 1; i <= a->count; i++) {
        float diagonal = row[0];
        row[0] = GAP * (float)i;
        steps[i * width] = STEP_OLD;
        for (uint32_t j = 1; j <= b->count; j++) {
            float both =
                diagonal + likeness_of_entries(alignment, a->nodes[i - 1], b->nodes[j - 1]);
            float old_gap = row[j] + GAP;
            float new_gap = row[j - 1] + GAP;
            diagonal = row[j];
            bool is_both = both >= old_gap && both >= new_gap;
            row[j] = is_both ? both : old_gap >= new_gap ? old_gap : new_gap;
            steps[i * width + j] = is_both ? STEP_BOTH : old_gap >= new_gap ? STEP_OLD : STEP_NEW;
        }
    }
    for (uint32_t i = a->count, j = b->count; i > 0 && j > 0;) {
        enum step step = steps[i * width + j];
        if (step == STEP_BOTH)
            old_of[j - 1] = i - 1;
        i -= step != STEP_NEW;
        j -= step != STEP_OLD;
    }
    BAT_FREE_ALL(row, steps);
    return true;
}

static void raise(struct likeness *likeness, uint32_t i, uint32_t j, float by)
{
    uint32_t pair = likeness_pair(likeness, i, j);
    if (pair != BAT_NONE) {
        float value = likeness->base[pair] + by;
        likeness->base[pair] = value < BASE_MAX ? value : BASE_MAX;
    }
}

/* For each node the target of the table that dominates it; BAT_NONE. */
static uint32_t *find_regions(const struct flooding_side *side, const struct sequence *sequence)
{
    uint32_t count = side->graph->node_count;
    uint32_t *region = malloc(((size_t)count + 1) * sizeof(*region));
    const uint32_t not_known = BAT_NONE - 1;
    if (!region)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        region[i] = not_known;
    for (uint32_t i = 0; i < sequence->count; i++)
        if (sequence->nodes[i] != BAT_NONE)
            region[sequence->nodes[i]] = sequence->nodes[i];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        uint32_t steps = 0;
        while (at != BAT_NONE && region[at] == not_known && steps++ < count)
            at = side->dominators[at];
        uint32_t found = at == BAT_NONE || region[at] == not_known ? BAT_NONE : region[at];
        for (at = i; at != BAT_NONE && region[at] == not_known; at = side->dominators[at])
            region[at] = found;
    }
    return region;
}

/* What the target of an entry dominates is like what the target of the other one dominates. */
static bool raise_regions(const struct alignment *alignment, const struct sequence *a,
                          const struct sequence *b, const uint32_t *partner)
{
    uint32_t *regions[2] = {find_regions(alignment->a, a), find_regions(alignment->b, b)};
    struct likeness *likeness = alignment->likeness;
    for (uint32_t j = 0; regions[0] && regions[1] && j < likeness->new_count; j++) {
        uint32_t region = regions[1][j];
        if (region == BAT_NONE || partner[region] == BAT_NONE)
            continue;
        uint32_t uses = alignment->uses[0][partner[region]] > alignment->uses[1][region]
                            ? alignment->uses[0][partner[region]]
                            : alignment->uses[1][region];
        for (uint32_t i = likeness->first[j]; i < likeness->first[j + 1]; i++)
            if (regions[0][likeness->old_of[i]] == partner[region])
                raise(likeness, likeness->old_of[i], j, RAISE_REGION / (float)uses);
    }
    bool is_fine = regions[0] && regions[1];
    BAT_FREE_ALL(regions[0], regions[1]);
    return is_fine;
}

static void count_uses(const struct sequence *sequence, uint32_t *uses, uint32_t node_count)
{
    memset(uses, 0, ((size_t)node_count + 1) * sizeof(*uses));
    for (uint32_t i = 0; i < sequence->count; i++)
        if (sequence->nodes[i] != BAT_NONE)
            uses[sequence->nodes[i]]++;
}

static bool raise_targets(struct alignment *alignment, const struct sequence *a,
                          const struct sequence *b, const uint32_t *old_of, bool with_regions)
{
    uint32_t news = alignment->likeness->new_count;
    uint32_t *partner = malloc(((size_t)news + 1) * sizeof(*partner));
    if (!partner)
        return false;
    memset(partner, 0xff, ((size_t)news + 1) * sizeof(*partner));
    count_uses(a, alignment->uses[0], alignment->likeness->old_count);
    count_uses(b, alignment->uses[1], news);
    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t old_node = old_of[j] == BAT_NONE ? BAT_NONE : a->nodes[old_of[j]];
        uint32_t new_node = b->nodes[j];
        if (old_node == BAT_NONE || new_node == BAT_NONE)
            continue;
        uint32_t uses = alignment->uses[0][old_node] > alignment->uses[1][new_node]
                            ? alignment->uses[0][old_node]
                            : alignment->uses[1][new_node];
        raise(alignment->likeness, old_node, new_node, RAISE_TARGET / (float)uses);
        if (partner[new_node] == BAT_NONE)
            partner[new_node] = old_node;
    }
    bool is_fine = !with_regions || raise_regions(alignment, a, b, partner);
    free(partner);
    return is_fine;
}

static bool align_node(struct alignment *alignment, uint32_t new_node, bool with_regions)
{
    uint32_t old_node = find_partner(alignment, new_node);
    if (old_node == BAT_NONE)
        return true;
    struct sequence a = {0};
    struct sequence b = {0};
    bool is_fine =
        read_sequence(alignment->a, old_node, &a) && read_sequence(alignment->b, new_node, &b);
    uint32_t *old_of = malloc(((size_t)b.count + 1) * sizeof(*old_of));
    if (is_fine && (uint64_t)a.count * b.count <= CELLS_MAX)
        is_fine = old_of && align(alignment, &a, &b, old_of) &&
                  raise_targets(alignment, &a, &b, old_of, with_regions);
    BAT_FREE_ALL(old_of, a.nodes, b.nodes);
    return is_fine;
}

enum bat_code flooding_align_tables(const struct flooding_side *old_side,
                                    const struct flooding_side *new_side, struct likeness *likeness,
                                    bool with_regions, struct bat_error *error)
{
    struct alignment alignment = {
        .a = old_side, .b = new_side, .likeness = likeness, .error = error};
    alignment.uses[0] = malloc(((size_t)likeness->old_count + 1) * sizeof(uint32_t));
    alignment.uses[1] = malloc(((size_t)likeness->new_count + 1) * sizeof(uint32_t));
    bool is_fine = alignment.uses[0] && alignment.uses[1];
    for (uint32_t j = 0; j < likeness->new_count && is_fine; j++) {
        const struct next_unit *code;
        const struct next_table *table = table_of(new_side, j, &code);
        if (table && table->count > 0)
            is_fine = align_node(&alignment, j, with_regions);
    }
    BAT_FREE_ALL(alignment.uses[0], alignment.uses[1]);
    return is_fine ? BAT_OK : bat_fail_memory(error, "for jump tables");
}
