/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Blocks that one compiler made two of: what the match of an old block lacks of its code is looked
 * for in unmatched blocks around. A piece has the beginning or the end of the old block, and with
 * it the links there; so has a block that the compiler copied an end to.
 */
#include <math.h>
#include <stdlib.h>

#include "match_blocks.h"
#include "spec/array.h"
#include "support/key_sort.h"

#define HOPS 3u
#define HOPS_FOR_EXTRA 4u
#define FRONT_MAX 12u   /* nodes from which a hop goes on */
#define NEAR_MAX 96u    /* nodes around one */
#define COMMON_MIN 2.0f /* weight of code, as of an instruction that few blocks have */
#define COMMON_SURE 5.0f
#define EXTRA_MIN 4.0f
#define SAME_END_MIN 0.6f /* of a test's code */
#define CHAIN_MAX 4u      /* blocks that lead to a branch */
#define TWIN_VALUE_MIN 0.1f
#define TWIN_CONTENT_MIN 0.8f

struct token {
    uint32_t id;
    uint32_t count;
};

struct tokens {
    struct token *all;
    uint32_t *first; /* for each node, old ones first */
    float *rarity;   /* of each id */
};

struct ends {
    const struct next_graph *a;
    const struct next_graph *b;
    struct next_match *match;
    const uint32_t *conditions[2]; /* old, new */
    struct tokens tokens;
    struct token *left; /* of old nodes: what their matches lack; as tokens.all */
    uint32_t *new_of;   /* for each old node */
    uint32_t *twin_of;  /* ... the new one that has its code, too, or BAT_NONE */
    uint32_t *mark;     /* for each node of either graph: the walk that last saw it */
    uint32_t walk;
    uint32_t near[NEAR_MAX];
    uint8_t distance[NEAR_MAX];
};

/* --- Tokens --------------------------------------------------------------------------------- */

static bool collect(const struct flooding_side *side, uint32_t base, struct bat_sort_key **keys,
                    size_t *count, size_t *capacity)
{
    for (uint32_t i = 0; i < side->graph->node_count; i++) {
        const struct next_instruction *code = side->graph->nodes[i].code;
        for (uint32_t k = 0; k < side->graph->nodes[i].code_count; k++) {
            if (code[k].flags & NEXT_IS_NOP)
                continue;
            if (!BAT_APPEND(
                    *keys, *count, *capacity,
                    (struct bat_sort_key){.key = next_hash_pair(code[k].shape, code[k].name, 0),
                                          .value = base + i}))
                return false;
        }
    }
    return true;
}

/* Make the lists of nodes from sorted keys; those of one hash are in the order of the nodes. */
static bool fill(struct ends *ends, const struct bat_sort_key *keys, size_t count)
{
    struct tokens *tokens = &ends->tokens;
    uint32_t nodes = ends->a->node_count + ends->b->node_count;
    tokens->all = malloc((count + 1) * sizeof(*tokens->all));
    tokens->first = calloc((size_t)nodes + 2, sizeof(*tokens->first));
    tokens->rarity = malloc((count + 1) * sizeof(*tokens->rarity));
    if (!tokens->all || !tokens->first || !tokens->rarity)
        return false;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || keys[i].key != keys[i - 1].key || keys[i].value != keys[i - 1].value)
            tokens->first[keys[i].value + 2]++;
    for (uint32_t i = 0; i < nodes; i++)
        tokens->first[i + 2] += tokens->first[i + 1];
    uint32_t id = 0;
    uint32_t users = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t node = (uint32_t)keys[i].value;
        bool is_new_id = i > 0 && keys[i].key != keys[i - 1].key;
        if (is_new_id) {
            tokens->rarity[id++] = logf(1 + (float)nodes / (float)users);
            users = 0;
        }
        if (i > 0 && !is_new_id && keys[i].value == keys[i - 1].value) {
            tokens->all[tokens->first[node + 1] - 1].count++;
            continue;
        }
        users++;
        tokens->all[tokens->first[node + 1]++] = (struct token){id, 1};
    }
    if (users > 0)
        tokens->rarity[id] = logf(1 + (float)nodes / (float)users);
    return true;
}

static bool make_tokens(struct ends *ends, const struct flooding_side *a,
                        const struct flooding_side *b)
{
    struct bat_sort_key *keys = NULL;
    size_t count = 0;
    size_t capacity = 0;
    bool is_fine = collect(a, 0, &keys, &count, &capacity) &&
                   collect(b, a->graph->node_count, &keys, &count, &capacity);
    struct bat_sort_key *spare = malloc((count + 1) * sizeof(*spare));
    is_fine = is_fine && spare && fill(ends, bat_sort_keys(keys, spare, count), count);
    BAT_FREE_ALL(keys, spare);
    return is_fine;
}

/* A list of tokens that ascend. */
struct list {
    struct token *all;
    uint32_t count;
};

static struct list list_of(const struct ends *ends, struct token *from, uint32_t node)
{
    uint32_t first = ends->tokens.first[node];
    return (struct list){from + first, ends->tokens.first[node + 1] - first};
}

static struct list old_code(const struct ends *ends, uint32_t node)
{
    return list_of(ends, ends->tokens.all, node);
}

static struct list new_code(const struct ends *ends, uint32_t node)
{
    return list_of(ends, ends->tokens.all, ends->a->node_count + node);
}

static struct list left_of(const struct ends *ends, uint32_t node)
{
    return list_of(ends, ends->left, node);
}

static float weigh(const struct ends *ends, struct list list)
{
    float sum = 0;
    for (uint32_t i = 0; i < list.count; i++)
        sum += ends->tokens.rarity[list.all[i].id] * (float)list.all[i].count;
    return sum;
}

/* The weight of what both have; it is taken out of the first if is_taken. */
static float share(const struct ends *ends, struct list from, struct list other, bool is_taken)
{
    float sum = 0;
    for (uint32_t i = 0, k = 0; i < from.count && k < other.count;) {
        uint32_t a = from.all[i].id;
        uint32_t b = other.all[k].id;
        if (a == b) {
            uint32_t common =
                from.all[i].count < other.all[k].count ? from.all[i].count : other.all[k].count;
            sum += ends->tokens.rarity[a] * (float)common;
            if (is_taken)
                from.all[i].count -= common;
        }
        i += a <= b;
        k += b <= a;
    }
    return sum;
}

/* --- What is near ---------------------------------------------------------------------------- */

/* Fill near with what some hops from a new node on lead to; their number. */
static uint32_t walk(struct ends *ends, uint32_t start, bool is_out, uint32_t hops)
{
    const struct next_graph *graph = ends->b;
    uint32_t count = 0;
    uint32_t front = 0;
    ends->mark[start] = ++ends->walk;
    for (uint32_t hop = 0; hop < hops; hop++) {
        uint32_t end = count;
        uint32_t sources = hop == 0 ? 1 : end - front;
        for (uint32_t s = 0; s < sources && s < FRONT_MAX; s++) {
            uint32_t from = hop == 0 ? start : ends->near[front + s];
            for (uint32_t i = 0; i < next_degree(graph, from, is_out) && count < NEAR_MAX; i++) {
                uint32_t to = next_neighbour(graph, from, i, is_out);
                if (ends->mark[to] == ends->walk)
                    continue;
                ends->mark[to] = ends->walk;
                ends->distance[count] = (uint8_t)hop;
                ends->near[count++] = to;
            }
        }
        front = end;
    }
    return count;
}

/* --- Pieces of old blocks -------------------------------------------------------------------- */

struct piece {
    float score;
    uint32_t of;   /* old node */
    uint32_t with; /* the new node that is matched with it */
    bool is_end;
};

/* True if branches at the ends of two nodes test the same, or the opposite. */
static bool ends_alike(const struct ends *ends, uint32_t old_node, uint32_t new_node)
{
    return next_degree(ends->a, old_node, true) == next_degree(ends->b, new_node, true) &&
           flooding_compare(ends->conditions[0][old_node], ends->conditions[1][new_node]) !=
               CONDITION_OTHER;
}

/* True if a match has hardly more than the place of the old block, and a block near it has the code
 * and the branch: the new program has tests before them. */
static bool has_end(const struct ends *ends, uint32_t old_node, uint32_t node, float common,
                    float rest)
{
    float own = weigh(ends, old_code(ends, old_node)) - rest;
    return common > COMMON_SURE && common > 2 * own && common > 0.4f * rest &&
           ends_alike(ends, old_node, node);
}

static void look_for_whole(struct ends *ends, uint32_t node, bool is_before, struct piece *best)
{
    struct list code = new_code(ends, node);
    float whole = weigh(ends, code);
    uint32_t count = walk(ends, node, !is_before, HOPS);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t old_node = ends->match->all[ends->near[k]].old_of;
        if (old_node == BAT_NONE)
            continue;
        struct list left = left_of(ends, old_node);
        float common = share(ends, left, code, false);
        if (common < COMMON_MIN)
            continue;
        float rest = weigh(ends, left);
        float score = common / whole;
        if (common > COMMON_SURE && common / rest > 0.6f)
            score = fmaxf(score, common / rest * 0.9f);
        if (is_before && has_end(ends, old_node, node, common, rest))
            score = fmaxf(score, 0.55f + 0.45f * common / whole);
        score *= powf(0.93f, ends->distance[k]);
        if (score > best->score)
            *best = (struct piece){score, old_node, ends->near[k], is_before};
    }
}

static void find_pieces(struct ends *ends)
{
    for (uint32_t j = 0; j < ends->match->count; j++) {
        struct next_matched *matched = &ends->match->all[j];
        struct list code = new_code(ends, j);
        if (matched->old_of != BAT_NONE || matched->piece_of != BAT_NONE ||
            matched->copy_of != BAT_NONE || code.count == 0)
            continue;
        struct piece best = {.score = 0.5f, .of = BAT_NONE};
        look_for_whole(ends, j, true, &best);
        look_for_whole(ends, j, false, &best);
        if (best.of == BAT_NONE)
            continue;
        matched->piece_of = best.of;
        matched->confidence = fminf(best.score, 1);
        share(ends, left_of(ends, best.of), code, true);
        struct next_matched *with = &ends->match->all[best.with];
        if (best.is_end) {
            matched->ends_as = best.of;
            if (next_degree(ends->b, best.with, true) > 1)
                with->ends_as = BAT_NONE;
        } else {
            matched->begins_as = best.of;
            with->begins_as = BAT_NONE;
        }
    }
}

/* --- Branches in several places --------------------------------------------------------------- */

/* How much of an old node's code a new one has beyond that of its own match, as a share. */
static float share_beyond(const struct ends *ends, uint32_t old_node, uint32_t new_node)
{
    struct list all = new_code(ends, new_node);
    struct list own = old_code(ends, ends->match->all[new_node].old_of);
    struct list code = old_code(ends, old_node);
    float sum = 0;
    for (uint32_t i = 0, k = 0, x = 0; i < all.count && k < code.count;) {
        uint32_t id = all.all[i].id;
        if (id < code.all[k].id) {
            i++;
        } else if (id > code.all[k].id) {
            k++;
        } else {
            while (x < own.count && own.all[x].id < id)
                x++;
            uint32_t used = x < own.count && own.all[x].id == id ? own.all[x].count : 0;
            uint32_t rest = all.all[i].count > used ? all.all[i].count - used : 0;
            uint32_t common = rest < code.all[k].count ? rest : code.all[k].count;
            sum += ends->tokens.rarity[id] * (float)common;
            i++;
            k++;
        }
    }
    return sum > COMMON_MIN ? sum / weigh(ends, code) : 0;
}

/*
 * A branch that the old program has once, behind a jump, and the new one in each place that jumped
 * to it: the beginning of a loop that was turned, or the end of a short way. The block that is
 * matched with the jump ends as the branch does.
 */
static void find_copied_ends(struct ends *ends)
{
    for (uint32_t j = 0; j < ends->match->count; j++) {
        uint32_t own = ends->match->all[j].old_of;
        if (own == BAT_NONE || ends->match->all[j].ends_as != own ||
            next_degree(ends->b, j, true) != 2 || next_degree(ends->a, own, true) != 1)
            continue;
        uint32_t at = own;
        for (unsigned hop = 0; hop < CHAIN_MAX && next_degree(ends->a, at, true) == 1; hop++)
            at = next_neighbour(ends->a, at, 0, true);
        if (at == own || !ends_alike(ends, at, j) || share_beyond(ends, at, j) <= 0.5f)
            continue;
        ends->match->all[j].ends_as = at;
        uint32_t other = ends->new_of[at];
        if (other == BAT_NONE || other == j)
            continue;
        ends->match->all[other].is_copied = true;
        ends->match->all[other].extra -= ends->a->nodes[own].count;
    }
}

/* True if a node is another, or all that it leads to is. */
static bool is_or_leads_to(const struct next_graph *graph, uint32_t node, uint32_t other)
{
    return node == other ||
           (next_degree(graph, node, true) == 1 && next_neighbour(graph, node, 0, true) == other);
}

/* True if the branches at the ends of two new nodes lead to the same on one way, or on both. */
static bool share_way(const struct ends *ends, uint32_t one, uint32_t other)
{
    const struct next_graph *b = ends->b;
    enum flooding_condition condition =
        flooding_compare(ends->conditions[1][one], ends->conditions[1][other]);
    bool is_crossed = condition == CONDITION_INVERSE;
    return condition != CONDITION_OTHER && next_degree(b, other, true) == 2 &&
           (is_or_leads_to(b, (is_crossed ? b->on : b->taken)[other], b->taken[one]) ||
            is_or_leads_to(b, (is_crossed ? b->taken : b->on)[other], b->on[one]));
}

struct same_end {
    uint32_t node;
    float common; /* weight of the code that both have */
};

/* Take a node with a known end, if it has the test of an unmatched one, too, and leads to the same.
 */
static void take_same_end(const struct ends *ends, uint32_t node, uint32_t other,
                          struct same_end *best)
{
    if (other == node || ends->match->all[other].ends_as == BAT_NONE ||
        !ends_alike(ends, ends->match->all[other].ends_as, other) || !share_way(ends, node, other))
        return;
    const float common = share(ends, new_code(ends, node), new_code(ends, other), false);
    if (common > best->common)
        *best = (struct same_end){other, common};
}

/* The node with a known end that has most of the test of an unmatched one, too, and leads to the
 * same, or to what only leads there; BAT_NONE. */
static uint32_t find_same_end(const struct ends *ends, uint32_t node)
{
    const struct next_graph *b = ends->b;
    struct same_end best = {BAT_NONE, SAME_END_MIN * weigh(ends, new_code(ends, node))};
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t to = next_neighbour(b, node, i, true);
        for (uint32_t k = 0; k < next_compared_degree(b, to, false); k++) {
            const uint32_t other = next_neighbour(b, to, k, false);
            take_same_end(ends, node, other, &best);
            for (uint32_t m = 0;
                 next_degree(b, other, true) == 1 && m < next_compared_degree(b, other, false); m++)
                take_same_end(ends, node, next_neighbour(b, other, m, false), &best);
        }
    }
    return best.node;
}

/* A test that the new program has several times before the same block, of which one is matched or a
 * piece: they share its counts. */
static void find_copied_tests(struct ends *ends)
{
    for (uint32_t j = 0; j < ends->match->count; j++) {
        struct next_matched *matched = &ends->match->all[j];
        if (matched->ends_as != BAT_NONE || matched->old_of != BAT_NONE ||
            matched->piece_of != BAT_NONE || next_degree(ends->b, j, true) != 2)
            continue;
        uint32_t other = find_same_end(ends, j);
        if (other == BAT_NONE)
            continue;
        matched->ends_as = ends->match->all[other].ends_as;
        ends->match->all[other].is_copied = true;
    }
}

/* True if a node leads directly to another. */
static bool is_link(const struct next_graph *graph, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < next_degree(graph, from, true); i++)
        if (next_neighbour(graph, from, i, true) == to)
            return true;
    return false;
}

/* The new program has a way past a branch that the old one has between two blocks ("jump
 * threading"): the branch's match may run less often. */
static void find_bypassed(struct ends *ends)
{
    for (uint32_t k = 0; k < ends->b->link_count; k++) {
        const struct next_link *link = &ends->b->links[k];
        uint32_t from = ends->match->all[link->from].ends_as;
        uint32_t to = ends->match->all[link->to].begins_as;
        if (from == BAT_NONE || to == BAT_NONE || is_link(ends->a, from, to))
            continue;
        for (uint32_t i = 0; i < next_degree(ends->a, from, true); i++) {
            uint32_t between = next_neighbour(ends->a, from, i, true);
            uint32_t other = ends->new_of[between];
            if (between != from && other != BAT_NONE && other != link->from && other != link->to &&
                next_degree(ends->a, between, true) > 1 && is_link(ends->a, between, to))
                ends->match->all[other].is_copied = true;
        }
    }
}

/* A new block that has, too, the code of an old one that is matched elsewhere: the old program has
 * the code twice. */
static void add_extra(struct ends *ends, uint32_t old_node, uint32_t start, struct list code)
{
    uint32_t count = walk(ends, start, true, HOPS_FOR_EXTRA);
    for (uint32_t k = 0; k < count; k++) {
        struct next_matched *matched = &ends->match->all[ends->near[k]];
        if (matched->old_of == BAT_NONE || matched->old_of == old_node)
            continue;
        float whole = weigh(ends, new_code(ends, ends->near[k]));
        if (whole > COMMON_SURE &&
            share(ends, new_code(ends, ends->near[k]), code, false) / whole > 0.8f)
            matched->extra += ends->a->nodes[old_node].count;
    }
}

/*
 * Old blocks that ran, have no match, and are much like the match of the new block that they are
 * the most like: the old program has the code twice. False without memory.
 */
static bool find_twins(struct ends *ends)
{
    const struct likeness *likeness = ends->match->likeness;
    uint32_t olds = ends->a->node_count;
    float *best = malloc(((size_t)olds + 1) * sizeof(*best));
    for (uint32_t i = 0; i < olds && best; i++) {
        best[i] = TWIN_VALUE_MIN;
        ends->twin_of[i] = BAT_NONE;
    }
    for (uint32_t j = 0; j < ends->match->count && best; j++) {
        uint32_t own = ends->match->all[j].old_of;
        for (uint32_t k = likeness->first[j]; own != BAT_NONE && k < likeness->first[j + 1]; k++) {
            uint32_t i = likeness->old_of[k];
            if (ends->new_of[i] != BAT_NONE || likeness->value[k] <= best[i] ||
                !(ends->a->nodes[i].count > 0) ||
                likeness_of_content(likeness, i, own) < TWIN_CONTENT_MIN)
                continue;
            best[i] = likeness->value[k];
            ends->twin_of[i] = j;
        }
    }
    free(best);
    return best;
}

static void find_extra(struct ends *ends)
{
    for (uint32_t i = 0; i < ends->a->node_count; i++) {
        bool is_matched = ends->new_of[i] != BAT_NONE;
        struct list code = is_matched ? left_of(ends, i) : old_code(ends, i);
        if (ends->twin_of[i] != BAT_NONE) {
            ends->match->all[ends->twin_of[i]].extra += ends->a->nodes[i].count;
            continue;
        }
        if (!(ends->a->nodes[i].count > 0) || weigh(ends, code) < EXTRA_MIN)
            continue;
        if (is_matched) {
            add_extra(ends, i, ends->new_of[i], code);
            continue;
        }
        for (uint32_t k = 0; k < next_degree(ends->a, i, false) && k < 1; k++) {
            uint32_t from = ends->new_of[next_neighbour(ends->a, i, k, false)];
            if (from != BAT_NONE)
                add_extra(ends, i, from, code);
        }
    }
}

/* --- All of it -------------------------------------------------------------------------------- */

static bool begin(struct ends *ends, const struct flooding_side *a, const struct flooding_side *b)
{
    uint32_t olds = ends->a->node_count;
    uint32_t nodes = olds + ends->b->node_count;
    ends->new_of = malloc(((size_t)olds + 1) * sizeof(*ends->new_of));
    ends->twin_of = malloc(((size_t)olds + 1) * sizeof(*ends->twin_of));
    ends->mark = calloc((size_t)nodes + 1, sizeof(*ends->mark));
    if (!ends->new_of || !ends->twin_of || !ends->mark || !make_tokens(ends, a, b))
        return false;
    ends->left = malloc(((size_t)ends->tokens.first[olds] + 1) * sizeof(*ends->left));
    if (!ends->left)
        return false;
    for (uint32_t i = 0; i < ends->tokens.first[olds]; i++)
        ends->left[i] = ends->tokens.all[i];
    for (uint32_t i = 0; i < olds; i++)
        ends->new_of[i] = BAT_NONE;
    for (uint32_t j = 0; j < ends->match->count; j++) {
        struct next_matched *matched = &ends->match->all[j];
        matched->begins_as = matched->ends_as =
            matched->old_of != BAT_NONE ? matched->old_of : matched->copy_of;
        if (matched->old_of == BAT_NONE)
            continue;
        ends->new_of[matched->old_of] = j;
        share(ends, left_of(ends, matched->old_of), new_code(ends, j), true);
    }
    return find_twins(ends);
}

enum bat_code next_match_ends(const struct flooding_side *old_side,
                              const struct flooding_side *new_side, struct next_match *match,
                              struct bat_error *error)
{
    struct ends ends = {.a = old_side->graph,
                        .b = new_side->graph,
                        .match = match,
                        .conditions = {old_side->conditions, new_side->conditions}};
    bool is_fine = begin(&ends, old_side, new_side);
    if (is_fine) {
        find_pieces(&ends);
        find_pieces(&ends);
        find_copied_tests(&ends);
        find_copied_ends(&ends);
        find_bypassed(&ends);
        find_extra(&ends);
    }
    BAT_FREE_ALL(ends.tokens.all, ends.tokens.first, ends.tokens.rarity, ends.left, ends.new_of,
                 ends.twin_of, ends.mark);
    return is_fine ? BAT_OK : bat_fail_memory(error, "to match ends of blocks");
}
