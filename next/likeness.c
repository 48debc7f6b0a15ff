/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The features of a block are its instructions at three levels of abstraction, pairs of
 * neighbours, what is named, and pseudo probes; each weighs the more the fewer blocks have it
 * ("tf-idf").
 */
#include "likeness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "align_lines.h"
#include "spec/array.h"
#include "support/key_sort.h"

/* Features that more blocks have than this are of no help to find candidates among many. */
#define COMMON_MIN 512u
#define CANDIDATES 12u
#define CANDIDATES_BRIEF 4u
#define EXPANSIONS 3u
#define EXPANSIONS_BRIEF 1u
#define PAIRS_MIN 65536u
#define CONTENT_UNKNOWN UINT64_MAX

#define WEIGHT_KIND 0.5f
#define WEIGHT_SHAPE 1.5f
#define WEIGHT_EXACT 0.5f
#define WEIGHT_NEIGHBOURS 0.6f
#define WEIGHT_NAME 2.0f
#define WEIGHT_FIELD 2.0f
#define WEIGHT_CONSTANT 2.0f
#define WEIGHT_PROBE 4.0f
#define WEIGHT_TESTED 3.0f /* what value the branch tests */
#define WEIGHT_LINE 1.0f
#define WEIGHT_INLINED 6.0f /* a line, and where its function is inlined */

struct postings {
    uint32_t node; /* old ones first */
    float weight;
};

struct features_making {
    const struct next_program *programs[2]; /* old, new */
    const struct next_graph *graphs[2];
    struct likeness *likeness;
    struct bat_counts lines;  /* of the new source: where they were in the old one */
    struct bat_sort_key *raw; /* hash; node and weight. First by node */
    size_t raw_count;
    size_t raw_capacity;
    uint32_t *first_posting; /* for each id */
    struct postings *postings;
    uint32_t id_count;
    struct bat_sort_key *pairs; /* new node and old node; content, or CONTENT_UNKNOWN */
    uint32_t *expanded;         /* for each new node: the old one whose neighbours were paired */
    float *weights;             /* of each id in the new node `weighed`; 0 if it has not that */
    uint32_t weighed;
    size_t pair_count;
    size_t pair_capacity;
    uint32_t candidates; /* of each new node */
    unsigned expansions;
    size_t pairs_wanted; /* when there are so many, those that are there already are dropped */
};

void likeness_free(struct likeness *likeness)
{
    BAT_FREE_ALL(likeness->first, likeness->old_of, likeness->content, likeness->base,
                 likeness->value, likeness->features, likeness->first_feature, likeness->sizes);
    *likeness = (struct likeness){0};
}

/* --- Features ------------------------------------------------------------------------------- */

/* A feature that counts only where both graphs have it: this and all above. */
#define LEVEL_LINE 10u
#define LEVEL_BIT 32u

static bool add_raw(struct features_making *making, uint32_t level, uint32_t hash, uint32_t more,
                    uint32_t node, float weight)
{
    if (!BAT_GROW(making->raw, making->raw_count, making->raw_capacity))
        return false;
    uint32_t bits;
    memcpy(&bits, &weight, sizeof(bits));
    making->raw[making->raw_count++] = (struct bat_sort_key){
        .key = next_hash_pair(hash, more, level) | (uint64_t)(level >= LEVEL_LINE) << LEVEL_BIT,
        .value = (uint64_t)node << 32 | bits};
    return true;
}

/*
 * Add the pseudo probes of a segment of a node, as far as the control flow of their functions is
 * the same in both sources: then the same block of the source has the same number.
 */
static bool add_probes(struct features_making *making, unsigned side,
                       const struct next_segment *segment, uint32_t node)
{
    const struct next_program *program = making->programs[side];
    const struct next_program *other = making->programs[!side];
    const struct bat_probes *probes = program->probes;
    const struct next_unit *unit = program->units[segment->unit];
    if (!probes || !other->probes || segment->first == segment->end)
        return true;
    const uint64_t part = program->all[unit->blocks[segment->block].function].address;
    uint32_t first;
    const uint32_t count =
        bat_probes_between(probes, part + unit->instructions[segment->first].offset,
                           part + unit->instructions[segment->end - 1].offset + 1, &first);
    bool is_fine = true;
    for (uint32_t i = first; i < first + count && is_fine; i++) {
        const uint32_t function = probes->nodes[probes->probes[i].node].function;
        const uint64_t flow = function == BAT_NONE ? 0 : program->flows[function];
        if (flow != 0 && next_has_flow(other, flow))
            is_fine = add_raw(making, 8, (uint32_t)(flow >> 32), probes->probes[i].id, node,
                              WEIGHT_PROBE);
    }
    return is_fine;
}

/* The line of the old source that a place of the new source was at; false if it was nowhere. */
static bool find_old_line(const struct features_making *making,
                          const struct next_place_in_source *place, uint32_t *line)
{
    const uint64_t key = next_line_key(place);
    const uint64_t *found = bat_counts_find(&making->lines, &key);
    *line = found ? (uint32_t)found[1] : 0;
    return found != NULL;
}

/* Add the lines of the source that a segment of a node is from, each with those that its functions
 * are inlined at, too. */
static bool add_lines(struct features_making *making, unsigned side,
                      const struct next_segment *segment, uint32_t node)
{
    for (uint32_t i = segment->first; i < segment->end; i++) {
        struct next_site site =
            next_site_of(making->programs[side], making->graphs[side], segment, i);
        uint32_t hash = 0;
        bool is_known = site.place != BAT_NONE;
        for (uint32_t level = LEVEL_LINE; is_known; level++) {
            const struct next_place_in_source *place = next_site_place(&site);
            uint32_t line = place->line;
            if (side == 1 && !find_old_line(making, place, &line))
                break;
            hash = next_hash_pair(hash, place->function, line);
            if (!add_raw(making, level, hash, 0, node,
                         level == LEVEL_LINE ? WEIGHT_LINE : WEIGHT_INLINED))
                return false;
            is_known = next_site_caller(&site);
        }
    }
    return true;
}

static bool add_node(struct features_making *making, unsigned side, uint32_t index)
{
    const struct next_node *made = &making->graphs[side]->nodes[index];
    uint32_t node = index + (side ? making->likeness->old_count : 0);
    uint32_t before = 0;
    bool is_fine = true;
    for (uint32_t i = 0; i < made->code_count && is_fine; i++) {
        const struct next_instruction *all = &made->code[i];
        if (all->flags & NEXT_IS_NOP)
            continue;
        making->likeness->sizes[node]++;
        is_fine =
            add_raw(making, 1, all->kind, 0, node, WEIGHT_KIND) &&
            add_raw(making, 2, all->shape, all->name, node, WEIGHT_SHAPE) &&
            add_raw(making, 3, all->exact, all->name, node, WEIGHT_EXACT) &&
            add_raw(making, 4, all->kind, before, node, WEIGHT_NEIGHBOURS) &&
            (!(all->flags & NEXT_NAMES) || add_raw(making, 5, all->name, 0, node, WEIGHT_NAME)) &&
            (!all->field || add_raw(making, 6, all->field, 0, node, WEIGHT_FIELD)) &&
            (!all->constant || add_raw(making, 7, all->constant, 0, node, WEIGHT_CONSTANT));
        before = all->kind;
    }
    const uint32_t tested = making->graphs[side]->tested[index];
    if (tested != 0 && is_fine)
        is_fine = add_raw(making, 9, tested, 0, node, WEIGHT_TESTED);
    for (uint32_t i = made->first; i < made->end && is_fine; i++)
        is_fine = add_probes(making, side, &making->graphs[side]->segments[i], node) &&
                  add_lines(making, side, &making->graphs[side]->segments[i], node);
    return is_fine;
}

static float float_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof(value));
    return value;
}

/* Sort what was found; nothing else is kept of it. */
static bool sort_raw(struct features_making *making)
{
    BAT_SHRINK(making->raw, making->raw_count);
    struct bat_sort_key *spare = malloc((making->raw_count + 1) * sizeof(*spare));
    if (!spare)
        return false;
    bool is_spare = bat_sort_keys(making->raw, spare, making->raw_count) == spare;
    free(is_spare ? making->raw : spare);
    making->raw = is_spare ? spare : making->raw;
    return true;
}

/* True if nodes of both graphs have a feature, whose occurrences these are. */
static bool is_in_both(const struct features_making *making, size_t first, size_t end)
{
    return making->raw[first].value >> 32 < making->likeness->old_count &&
           making->raw[end - 1].value >> 32 >= making->likeness->old_count;
}

/* Number the features, and fill the postings; equal ones of a node become one. */
static bool make_postings(struct features_making *making)
{
    if (!sort_raw(making))
        return false;
    making->postings = malloc((making->raw_count + 1) * sizeof(*making->postings));
    making->first_posting = malloc((making->raw_count + 2) * sizeof(*making->first_posting));
    if (!making->postings || !making->first_posting)
        return false;
    const struct bat_sort_key *sorted = making->raw;
    uint32_t count = 0;
    size_t end = 0;
    for (size_t first = 0; first < making->raw_count; first = end) {
        while (end < making->raw_count && sorted[end].key == sorted[first].key)
            end++;
        if (sorted[first].key >> LEVEL_BIT && !is_in_both(making, first, end))
            continue;
        making->first_posting[making->id_count++] = count;
        for (size_t i = first; i < end; i++) {
            const uint32_t node = (uint32_t)(sorted[i].value >> 32);
            if (i > first && making->postings[count - 1].node == node)
                making->postings[count - 1].weight += float_of(sorted[i].value);
            else
                making->postings[count++] = (struct postings){node, float_of(sorted[i].value)};
        }
    }
    making->first_posting[making->id_count] = count;
    making->likeness->feature_count = making->id_count;
    free(making->raw);
    making->raw = NULL;
    return true;
}

/* Turn sums into weights of length 1 for each node, and sort them by node, too. */
static bool make_features(struct features_making *making)
{
    struct likeness *likeness = making->likeness;
    uint32_t nodes = likeness->old_count + likeness->new_count;
    uint32_t count = making->first_posting[making->id_count];
    likeness->features = malloc(((size_t)count + 1) * sizeof(*likeness->features));
    likeness->first_feature = calloc((size_t)nodes + 2, sizeof(*likeness->first_feature));
    float *squares = calloc((size_t)nodes + 1, sizeof(*squares));
    if (!likeness->features || !likeness->first_feature || !squares) {
        free(squares);
        return false;
    }
    for (uint32_t id = 0; id < making->id_count; id++) {
        uint32_t first = making->first_posting[id];
        uint32_t end = making->first_posting[id + 1];
        float rarity = logf(1 + (float)nodes / (float)(end - first));
        for (uint32_t i = first; i < end; i++) {
            struct postings *posting = &making->postings[i];
            posting->weight = sqrtf(posting->weight) * rarity;
            squares[posting->node] += posting->weight * posting->weight;
            likeness->first_feature[posting->node + 2]++;
        }
    }
    for (uint32_t i = 0; i < nodes; i++)
        likeness->first_feature[i + 2] += likeness->first_feature[i + 1];
    for (uint32_t id = 0; id < making->id_count; id++)
        for (uint32_t i = making->first_posting[id]; i < making->first_posting[id + 1]; i++) {
            struct postings *posting = &making->postings[i];
            posting->weight /= sqrtf(squares[posting->node]);
            likeness->features[likeness->first_feature[posting->node + 1]++] =
                (struct likeness_feature){id, posting->weight};
        }
    free(squares);
    return true;
}

float likeness_of_content(const struct likeness *likeness, uint32_t one, uint32_t other)
{
    uint32_t a = likeness->first_feature[one];
    uint32_t b = likeness->first_feature[other];
    float sum = 0;
    while (a < likeness->first_feature[one + 1] && b < likeness->first_feature[other + 1]) {
        const struct likeness_feature *left = &likeness->features[a];
        const struct likeness_feature *right = &likeness->features[b];
        if (left->id == right->id)
            sum += left->weight * right->weight;
        a += left->id <= right->id;
        b += right->id <= left->id;
    }
    return sum < 1 ? sum : 1;
}

/* --- Pairs ---------------------------------------------------------------------------------- */

static bool allocate_pairs(struct likeness *likeness, size_t count)
{
    likeness->pair_count = (uint32_t)count;
    likeness->old_of = malloc((count + 1) * sizeof(*likeness->old_of));
    likeness->content = calloc(count + 1, sizeof(*likeness->content));
    likeness->base = calloc(count + 1, sizeof(*likeness->base));
    likeness->value = calloc(count + 1, sizeof(*likeness->value));
    return likeness->old_of && likeness->content && likeness->base && likeness->value;
}

/* All nodes with all. */
static bool pair_all(struct features_making *making)
{
    struct likeness *likeness = making->likeness;
    likeness->is_dense = true;
    if (!allocate_pairs(likeness, (size_t)likeness->old_count * likeness->new_count))
        return false;
    for (uint32_t j = 0; j <= likeness->new_count; j++)
        likeness->first[j] = j * likeness->old_count;
    for (uint32_t j = 0; j < likeness->new_count; j++)
        for (uint32_t i = 0; i < likeness->old_count; i++)
            likeness->old_of[likeness->first[j] + i] = i;
    for (uint32_t id = 0; id < making->id_count; id++) {
        uint32_t first = making->first_posting[id];
        uint32_t end = making->first_posting[id + 1];
        for (uint32_t b = end; b-- > first && making->postings[b].node >= likeness->old_count;) {
            const struct postings *right = &making->postings[b];
            float *row = likeness->content + likeness->first[right->node - likeness->old_count];
            for (uint32_t a = first; a < b && making->postings[a].node < likeness->old_count; a++)
                row[making->postings[a].node] += making->postings[a].weight * right->weight;
        }
    }
    return true;
}

static bool add_pair(struct features_making *making, uint32_t old_node, uint32_t new_node)
{
    return BAT_APPEND(making->pairs, making->pair_count, making->pair_capacity,
                      (struct bat_sort_key){(uint64_t)new_node << 32 | old_node, CONTENT_UNKNOWN});
}

/* The last of so many largest sums, at most CANDIDATES; 0 if there are fewer. */
static float least_of_most(const float *sums, const uint32_t *touched, uint32_t count,
                           uint32_t wanted)
{
    float most[CANDIDATES] = {0};
    for (uint32_t i = 0; i < count; i++) {
        float sum = sums[touched[i]];
        if (sum <= most[wanted - 1])
            continue;
        uint32_t at = wanted - 1;
        for (; at > 0 && most[at - 1] < sum; at--)
            most[at] = most[at - 1];
        most[at] = sum;
    }
    return most[wanted - 1];
}

/* Pair a new node with the candidates: the old ones that have the largest sums. */
static bool add_most(struct features_making *making, uint32_t node, float *sums, uint32_t *touched,
                     uint32_t count)
{
    float least = least_of_most(sums, touched, count, making->candidates);
    uint32_t found = 0; /* those of the most, in their order, stand first */
    for (uint32_t i = 0; i < count; i++)
        if (sums[touched[i]] >= least) {
            const uint32_t other = touched[found];
            touched[found++] = touched[i];
            touched[i] = other;
        }
    bool is_fine = true;
    if (found <= making->candidates) {
        for (uint32_t i = 0; i < found && is_fine; i++)
            is_fine = add_pair(making, touched[i], node);
        return is_fine;
    }
    /* Of equal ones, take some that are not next to each other. */
    for (uint32_t k = 0; k < making->candidates && is_fine; k++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < found; i++)
            if (sums[touched[i]] > sums[touched[best]])
                best = i;
        is_fine = add_pair(making, touched[best], node);
        sums[touched[best]] = 0;
        touched[best] = touched[--found];
    }
    return is_fine;
}

/* The most alike of the old nodes that share a rare feature with a new one. */
static bool find_candidates(struct features_making *making, uint32_t node, float *sums,
                            uint32_t *touched)
{
    const struct likeness *likeness = making->likeness;
    uint32_t touched_count = 0;
    uint32_t all = node + likeness->old_count;
    for (uint32_t i = likeness->first_feature[all]; i < likeness->first_feature[all + 1]; i++) {
        const struct likeness_feature *feature = &likeness->features[i];
        uint32_t first = making->first_posting[feature->id];
        uint32_t end = making->first_posting[feature->id + 1];
        if (end - first > COMMON_MIN)
            continue;
        for (; first < end && making->postings[first].node < likeness->old_count; first++) {
            const struct postings *posting = &making->postings[first];
            /* Without a branch: nothing tells which way it would go. */
            touched[touched_count] = posting->node;
            touched_count += sums[posting->node] == 0;
            sums[posting->node] += posting->weight * feature->weight;
        }
    }
    bool is_fine = add_most(making, node, sums, touched, touched_count);
    for (uint32_t i = 0; i < touched_count; i++)
        sums[touched[i]] = 0;
    return is_fine;
}

/* Sort the pairs. Of several of the same nodes, the first is kept: its content may be known. */
static bool sort_pairs(struct features_making *making)
{
    struct bat_sort_key *spare = malloc((making->pair_count + 1) * sizeof(*spare));
    if (!spare)
        return false;
    struct bat_sort_key *sorted = bat_sort_keys(making->pairs, spare, making->pair_count);
    size_t kept = 0;
    for (size_t i = 0; i < making->pair_count; i++)
        if (i == 0 || sorted[i].key != sorted[kept - 1].key)
            sorted[kept++] = sorted[i];
    if (sorted == spare)
        memcpy(making->pairs, spare, kept * sizeof(*spare));
    making->pair_count = kept;
    free(spare);
    return true;
}

/* Set the weights of a new node, in place of those of the one before. */
static void weigh_node(struct features_making *making, uint32_t new_node)
{
    const struct likeness *likeness = making->likeness;
    const uint32_t *first = likeness->first_feature + likeness->old_count;
    const uint32_t before = making->weighed;
    for (uint32_t i = before == BAT_NONE ? 0 : first[before];
         before != BAT_NONE && i < first[before + 1]; i++)
        making->weights[likeness->features[i].id] = 0;
    for (uint32_t i = first[new_node]; i < first[new_node + 1]; i++)
        making->weights[likeness->features[i].id] = likeness->features[i].weight;
    making->weighed = new_node;
}

/* The content of a pair, found only once; those of one new node are asked for together. */
static float content_of(struct features_making *making, struct bat_sort_key *pair)
{
    if (pair->value != CONTENT_UNKNOWN)
        return float_of(pair->value);
    const struct likeness *likeness = making->likeness;
    const uint32_t old_node = (uint32_t)pair->key;
    if (making->weighed != (uint32_t)(pair->key >> 32))
        weigh_node(making, (uint32_t)(pair->key >> 32));
    float content = 0;
    for (uint32_t i = likeness->first_feature[old_node]; i < likeness->first_feature[old_node + 1];
         i++)
        content += likeness->features[i].weight * making->weights[likeness->features[i].id];
    content = content < 1 ? content : 1;
    uint32_t bits;
    memcpy(&bits, &content, sizeof(bits));
    pair->value = bits;
    return content;
}

/* Pair all successors, or all predecessors, of two nodes that are alike; few of them each. */
static bool pair_neighbours(struct features_making *making, uint32_t old_node, uint32_t new_node)
{
    const struct next_graph *a = making->graphs[0];
    const struct next_graph *b = making->graphs[1];
    const uint32_t most = 4;
    bool is_fine = true;
    uint32_t outs[2] = {a->out[old_node + 1] - a->out[old_node],
                        b->out[new_node + 1] - b->out[new_node]};
    uint32_t ins[2] = {a->into[old_node + 1] - a->into[old_node],
                       b->into[new_node + 1] - b->into[new_node]};
    for (uint32_t i = 0; i < outs[0] && outs[0] <= most && outs[1] <= most; i++)
        for (uint32_t k = 0; k < outs[1] && is_fine; k++)
            is_fine = add_pair(making, a->links[a->out[old_node] + i].to,
                               b->links[b->out[new_node] + k].to);
    for (uint32_t i = 0; i < ins[0] && ins[0] <= most && ins[1] <= most; i++)
        for (uint32_t k = 0; k < ins[1] && is_fine; k++)
            is_fine = add_pair(making, a->links[a->by_target[a->into[old_node] + i]].from,
                               b->links[b->by_target[b->into[new_node] + k]].from);
    /* Neighbours in the code. */
    for (uint32_t k = 0; k < 2 && is_fine; k++) {
        uint32_t i = k ? old_node + 1 : old_node - 1;
        uint32_t j = k ? new_node + 1 : new_node - 1;
        if (i < a->node_count && j < b->node_count)
            is_fine = add_pair(making, i, j);
    }
    return is_fine;
}

/* From the most alike pair of each new node to the pairs around it. */
static bool expand_pairs(struct features_making *making)
{
    size_t end = making->pair_count;
    bool is_fine = true;
    for (size_t first = 0, next; first < end && is_fine; first = next) {
        float best = 0;
        float second = 0;
        uint32_t found = 0;
        uint32_t node = (uint32_t)(making->pairs[first].key >> 32);
        for (next = first; next < end && making->pairs[next].key >> 32 == node; next++) {
            float value = content_of(making, &making->pairs[next]);
            second = value > best ? best : value > second ? value : second;
            if (value > best) {
                best = value;
                found = (uint32_t)making->pairs[next].key;
            }
        }
        if (best > 0.5f && best - second > 0.02f && making->expanded[node] != found) {
            making->expanded[node] = found;
            is_fine = pair_neighbours(making, found, node);
        }
    }
    return is_fine && sort_pairs(making);
}

/* The jump table of a node; NULL if it does not end in one. */
static const struct next_table *table_of(const struct features_making *making, unsigned side,
                                         uint32_t node, const struct next_unit **unit)
{
    const struct next_segment *last = next_last_segment(making->graphs[side], node);
    *unit = making->programs[side]->units[last->unit];
    const uint32_t table = (*unit)->blocks[last->block].table;
    return last->ends && table != BAT_NONE ? &(*unit)->tables[table] : NULL;
}

/* The nodes that the entries of a node's table lead to; BAT_NONE for those that lead nowhere. */
static uint32_t *find_targets(const struct features_making *making, unsigned side, uint32_t node)
{
    const struct next_unit *unit;
    const struct next_graph *graph = making->graphs[side];
    const struct next_table *table = table_of(making, side, node, &unit);
    uint32_t *nodes = malloc(((size_t)table->count + 1) * sizeof(*nodes));
    for (uint32_t i = 0; i < table->count && nodes; i++) {
        nodes[i] = BAT_NONE;
        for (uint32_t k = graph->out[node]; k < graph->out[node + 1] && nodes[i] == BAT_NONE; k++)
            if (next_first_segment(graph, graph->links[k].to)->block ==
                unit->targets[table->first + i])
                nodes[i] = graph->links[k].to;
    }
    return nodes;
}

#define ENTRY_WINDOW 4u
#define TABLE_ALIKE 0.2f

/* Pair targets of two tables that are near each other in them. */
static bool pair_targets(struct features_making *making, uint32_t old_node, uint32_t new_node)
{
    const struct next_unit *unit;
    uint32_t a = table_of(making, 0, old_node, &unit)->count;
    uint32_t b = table_of(making, 1, new_node, &unit)->count;
    uint32_t *olds = find_targets(making, 0, old_node);
    uint32_t *news = find_targets(making, 1, new_node);
    uint32_t window = ENTRY_WINDOW + (a > b ? a - b : b - a);
    window = window < 4 * ENTRY_WINDOW ? window : 4 * ENTRY_WINDOW;
    bool is_fine = olds && news;
    for (uint32_t k = 0; k < b && is_fine; k++) {
        const uint32_t first = k > window ? k - window : 0;
        for (uint32_t i = first; i < a && i <= k + window && is_fine; i++)
            if (news[k] != BAT_NONE && olds[i] != BAT_NONE &&
                (i == first || olds[i] != olds[i - 1]))
                is_fine = add_pair(making, olds[i], news[k]);
    }
    BAT_FREE_ALL(olds, news);
    return is_fine;
}

/* How alike two nodes with tables are, which have about the same size; negative if they do not. */
static float compare_tables(const struct features_making *making, uint32_t old_node,
                            uint32_t new_node)
{
    const struct next_unit *unit;
    const struct next_table *a = table_of(making, 0, old_node, &unit);
    const struct next_table *b = table_of(making, 1, new_node, &unit);
    if (!a || a->count > 2 * b->count || b->count > 2 * a->count)
        return -1;
    return likeness_of_content(making->likeness, old_node, new_node + making->likeness->old_count);
}

/* Keep pairs once if there may be many of them several times: tables share targets. */
static bool drop_repeated(struct features_making *making)
{
    if (making->pair_count < making->pairs_wanted)
        return true;
    bool is_fine = sort_pairs(making);
    making->pairs_wanted = PAIRS_MIN + 2 * making->pair_count;
    return is_fine;
}

/* Tables of about the same size, and the targets of those that are alike, or the most alike. */
static bool pair_tables(struct features_making *making)
{
    const struct next_unit *unit;
    bool is_fine = true;
    for (uint32_t j = 0; j < making->graphs[1]->node_count && is_fine; j++) {
        if (!table_of(making, 1, j, &unit))
            continue;
        float best = -1;
        uint32_t found = BAT_NONE;
        for (uint32_t i = 0; i < making->graphs[0]->node_count && is_fine; i++) {
            float value = compare_tables(making, i, j);
            if (value < 0)
                continue;
            is_fine = add_pair(making, i, j) &&
                      (value <= TABLE_ALIKE || pair_targets(making, i, j)) && drop_repeated(making);
            if (value > best) {
                best = value;
                found = i;
            }
        }
        if (is_fine && found != BAT_NONE && best <= TABLE_ALIKE)
            is_fine = pair_targets(making, found, j);
    }
    return is_fine;
}

static bool pair_some(struct features_making *making)
{
    struct likeness *likeness = making->likeness;
    float *sums = calloc((size_t)likeness->old_count + 1, sizeof(*sums));
    uint32_t *touched = malloc(((size_t)likeness->old_count + 1) * sizeof(*touched));
    making->expanded = malloc(((size_t)likeness->new_count + 1) * sizeof(*making->expanded));
    making->weights = calloc((size_t)making->id_count + 1, sizeof(*making->weights));
    making->weighed = BAT_NONE;
    bool is_fine = sums && touched && making->expanded && making->weights;
    for (uint32_t j = 0; j < likeness->new_count && is_fine; j++) {
        making->expanded[j] = BAT_NONE;
        is_fine = find_candidates(making, j, sums, touched);
    }
    BAT_FREE_ALL(sums, touched);
    if (is_fine)
        is_fine = add_pair(making, making->graphs[0]->entry, making->graphs[1]->entry) &&
                  pair_tables(making);
    if (is_fine)
        is_fine = sort_pairs(making);
    for (uint32_t i = 0; i < making->expansions && is_fine; i++)
        is_fine = expand_pairs(making);
    if (!is_fine || !allocate_pairs(likeness, making->pair_count))
        return false;
    uint32_t at = 0;
    for (uint32_t j = 0; j <= likeness->new_count; j++) {
        while (at < making->pair_count && making->pairs[at].key >> 32 < j)
            at++;
        likeness->first[j] = at;
    }
    for (uint32_t i = 0; i < making->pair_count; i++) {
        likeness->old_of[i] = (uint32_t)making->pairs[i].key;
        likeness->content[i] = content_of(making, &making->pairs[i]);
    }
    return true;
}

enum bat_code likeness_open(const struct next_program *old_program,
                            const struct next_graph *old_graph,
                            const struct next_program *new_program,
                            const struct next_graph *new_graph, bool is_brief,
                            struct likeness *likeness, struct bat_error *error)
{
    *likeness =
        (struct likeness){.old_count = old_graph->node_count, .new_count = new_graph->node_count};
    struct features_making making = {.programs = {old_program, new_program},
                                     .graphs = {old_graph, new_graph},
                                     .likeness = likeness,
                                     .candidates = is_brief ? CANDIDATES_BRIEF : CANDIDATES,
                                     .expansions = is_brief ? EXPANSIONS_BRIEF : EXPANSIONS,
                                     .lines = bat_counts_new(1),
                                     .pairs_wanted = PAIRS_MIN};
    size_t nodes = (size_t)likeness->old_count + likeness->new_count;
    likeness->first = malloc(((size_t)likeness->new_count + 2) * sizeof(*likeness->first));
    likeness->sizes = calloc(nodes + 1, sizeof(*likeness->sizes));
    bool is_fine = likeness->first && likeness->sizes;
    if (old_program->lines && new_program->lines)
        is_fine = is_fine &&
                  next_align_lines(making.programs, making.graphs, &making.lines, error) == BAT_OK;
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < making.graphs[side]->node_count && is_fine; i++)
            is_fine = add_node(&making, side, i);
    is_fine = is_fine && make_postings(&making) && make_features(&making);
    bool is_small = (uint64_t)likeness->old_count * likeness->new_count <= LIKENESS_DENSE_MAX;
    is_fine = is_fine && (is_small ? pair_all(&making) : pair_some(&making));
    bat_counts_free(&making.lines);
    BAT_FREE_ALL(making.raw, making.postings, making.first_posting, making.pairs, making.expanded,
                 making.weights);
    return is_fine ? BAT_OK : bat_fail_memory(error, "to compare blocks");
}
