/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which segments are one node: all that follow each other on all ways, and no others. */
#include "next/join_segments.h"
#include "next/make_graph.h"
#include "unit_test.h"

#define SEGMENTS_MAX 9u
#define LINKS_MAX 20u
#define CODE_EACH 3u

KEPT_COPY(kept_graph, struct next_graph, next_graph_free)

/* A function whose segments are its blocks, as drawn, and the links of its graph. */
struct drawn {
    struct next_program program;
    struct next_unit unit;
    struct next_unit *units[1];
    struct next_block blocks[SEGMENTS_MAX];
    struct next_edge edges[LINKS_MAX];
    struct next_instruction code[SEGMENTS_MAX * CODE_EACH];
    struct next_link links[LINKS_MAX];
    uint32_t link_count;
    uint32_t segment_count;
    uint32_t entry;
};

static uint32_t random_state = 5;

/* Random links, and now and then what no other segment may be joined with. */
static void draw(struct drawn *drawn)
{
    *drawn = (struct drawn){.segment_count = 1 + any_below(&random_state, SEGMENTS_MAX)};
    drawn->entry = any_below(&random_state, drawn->segment_count);
    for (uint32_t i = 0; i < drawn->segment_count; i++) {
        const bool is_entered = any_below(&random_state, 8) == 0;
        const bool is_tail_if = any_below(&random_state, 8) == 0;
        const uint32_t ways = any_below(&random_state, 3);
        drawn->blocks[i] = (struct next_block){.first_instruction = i * CODE_EACH,
                                               .instruction_count = CODE_EACH,
                                               .last = 10 * i + 9,
                                               .is_entered = is_entered,
                                               .end = is_tail_if  ? NEXT_END_TAIL_IF
                                                      : ways == 0 ? NEXT_END_RETURN
                                                      : ways == 1 ? NEXT_END_ON
                                                                  : NEXT_END_BRANCH};
        for (uint32_t k = 0; k < ways; k++) {
            const uint32_t to = any_below(&random_state, drawn->segment_count);
            drawn->links[drawn->link_count] = (struct next_link){
                .from = i, .to = to, .edge = drawn->link_count, .kind = NEXT_EDGE_ON};
            drawn->edges[drawn->link_count++] =
                (struct next_edge){.from = i, .to = to, .offset = 10 * i + 9, .kind = NEXT_EDGE_ON};
        }
    }
    for (uint32_t i = 0; i < SEGMENTS_MAX * CODE_EACH; i++)
        drawn->code[i].kind = i;
    drawn->unit = (struct next_unit){
        .blocks = drawn->blocks, .edges = drawn->edges, .instructions = drawn->code};
    drawn->units[0] = &drawn->unit;
    drawn->program.units = drawn->units;
}

/* The graph that was drawn, before its segments are joined. */
static struct next_graph *begin(const struct drawn *drawn, struct next_made_segment *made)
{
    struct next_graph graph = {.link_count = drawn->link_count, .entry = drawn->entry};
    graph.links = calloc(LINKS_MAX, sizeof(*graph.links));
    graph.contexts = calloc(1, sizeof(*graph.contexts));
    graph.context_count = 1;
    assert_true(graph.links && graph.contexts);
    for (uint32_t i = 0; i < drawn->segment_count; i++)
        made[i] = (struct next_made_segment){.segment = {.block = i,
                                                         .first = i * CODE_EACH,
                                                         .end = (i + 1) * CODE_EACH,
                                                         .edge = BAT_NONE,
                                                         .begins = true,
                                                         .ends = true},
                                             .is_reached = true,
                                             .count = i};
    for (uint32_t k = 0; k < drawn->link_count; k++)
        graph.links[k] = drawn->links[k];
    return kept_graph(graph);
}

/* True if a link is the only one from where it begins, and the only way to where it leads. */
static bool is_only(const struct drawn *drawn, uint32_t number)
{
    const struct next_link *link = &drawn->links[number];
    uint32_t ways = 0;
    uint32_t arrivals = 0;
    for (uint32_t k = 0; k < drawn->link_count; k++) {
        ways += drawn->links[k].from == link->from;
        arrivals += drawn->links[k].to == link->to;
    }
    return ways == 1 && arrivals == 1 && link->to != drawn->entry && link->from != link->to &&
           !drawn->blocks[link->to].is_entered && drawn->blocks[link->from].end != NEXT_END_TAIL_IF;
}

/* The only link from a segment to another one of the same node; BAT_NONE. */
static uint32_t next_link(const struct drawn *drawn, uint32_t segment)
{
    for (uint32_t k = 0; k < drawn->link_count; k++)
        if (drawn->links[k].from == segment && is_only(drawn, k))
            return k;
    return BAT_NONE;
}

/* Check a node: its segments follow each other, and its code is theirs. The number of its links. */
static uint32_t check_node(const struct drawn *drawn, const struct next_graph *graph, uint32_t node)
{
    const struct next_node *at = &graph->nodes[node];
    uint32_t count = 0;
    assert_true(at->first < at->end && at->end <= graph->segment_count);
    for (uint32_t i = at->first; i < at->end; i++) {
        const struct next_segment *segment = &graph->segments[i];
        const uint32_t link = next_link(drawn, segment->block);
        const bool is_last = i + 1 == at->end;
        /* Links join, but for one of each circle. */
        if (is_last && link != BAT_NONE)
            assert_int_equal(drawn->links[link].to, graph->segments[at->first].block);
        assert_int_equal(segment->edge, is_last ? BAT_NONE : link);
        uint32_t own = CODE_EACH;
        if (!is_last) {
            assert_int_equal(drawn->links[link].to, segment[1].block);
            own -= segment[1].block != segment->block + 1; /* a jump */
        }
        for (uint32_t k = 0; k < own; k++)
            assert_int_equal(at->code[count++].kind, segment->first + k);
    }
    assert_int_equal(at->code_count, count);
    assert_true(at->count == graph->segments[at->first].block);
    return at->end - at->first - 1;
}

TEST(test_joined)
{
    uint32_t joined = 0;
    for (uint32_t round = 0; round < 3000; round++) {
        struct drawn drawn;
        draw(&drawn);
        struct next_made_segment made[SEGMENTS_MAX];
        struct next_graph *graph = begin(&drawn, made);
        assert_ok(next_join_segments(&drawn.program, made, drawn.segment_count, graph, NULL));
        uint32_t node_of[SEGMENTS_MAX];
        uint32_t segments = 0;
        uint32_t inner = 0;
        for (uint32_t i = 0; i < SEGMENTS_MAX; i++)
            node_of[i] = BAT_NONE;
        for (uint32_t i = 0; i < graph->node_count; i++) {
            inner += check_node(&drawn, graph, i);
            assert_int_equal(graph->nodes[i].first, segments);
            for (; segments < graph->nodes[i].end; segments++) {
                assert_int_equal(node_of[graph->segments[segments].block], BAT_NONE);
                node_of[graph->segments[segments].block] = i;
            }
        }
        assert_int_equal(segments, drawn.segment_count);
        assert_int_equal(graph->segment_count, drawn.segment_count);
        assert_int_equal(graph->entry, node_of[drawn.entry]);
        assert_int_equal(graph->link_count + inner, drawn.link_count);
        for (uint32_t k = 0; k < graph->link_count; k++) {
            const struct next_link *link = &drawn.links[graph->links[k].edge];
            assert_int_equal(graph->links[k].from, node_of[link->from]);
            assert_int_equal(graph->links[k].to, node_of[link->to]);
        }
        joined += inner;
    }
    assert_true(joined > 300);
}
