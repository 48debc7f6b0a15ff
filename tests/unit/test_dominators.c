/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Dominators: a node without which another cannot be reached. */
#include "next/dominators.h"
#include "unit_test.h"

#define NODES_MAX 9u
#define LINKS_MAX 20u

static uint32_t random_state = 3;

struct drawn {
    struct next_graph graph;
    struct next_link links[LINKS_MAX];
    uint32_t out[NODES_MAX + 2];
    uint32_t into[NODES_MAX + 2];
    uint32_t by_target[LINKS_MAX];
};

/* A random graph: its links by their beginning, and by their end. */
static void draw(struct drawn *drawn)
{
    *drawn = (struct drawn){.graph = {.links = drawn->links,
                                      .out = drawn->out,
                                      .into = drawn->into,
                                      .by_target = drawn->by_target}};
    struct next_graph *graph = &drawn->graph;
    graph->node_count = 1 + any_below(&random_state, NODES_MAX);
    graph->entry = any_below(&random_state, graph->node_count);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        drawn->out[i] = graph->link_count;
        for (uint32_t k = any_below(&random_state, 3); k > 0; k--)
            drawn->links[graph->link_count++] =
                (struct next_link){.from = i, .to = any_below(&random_state, graph->node_count)};
    }
    drawn->out[graph->node_count] = graph->link_count;
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        drawn->into[i] = count;
        for (uint32_t k = 0; k < graph->link_count; k++)
            if (drawn->links[k].to == i)
                drawn->by_target[count++] = k;
    }
    drawn->into[graph->node_count] = count;
}

/* Mark what is reached from a node without passing another; is_back: against the links. */
static void reach(const struct next_graph *graph, uint32_t from, uint32_t without, bool is_back,
                  bool *reached)
{
    if (from == without || reached[from])
        return;
    reached[from] = true;
    for (uint32_t i = 0; i < graph->link_count; i++) {
        const struct next_link *link = &graph->links[i];
        if ((is_back ? link->to : link->from) == from)
            reach(graph, is_back ? link->from : link->to, without, is_back, reached);
    }
}

/* The same from the entry, or against the links from all ends. */
static void reach_all(const struct next_graph *graph, uint32_t without, bool is_post, bool *reached)
{
    memset(reached, 0, NODES_MAX);
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (is_post ? graph->out[i] == graph->out[i + 1] : i == graph->entry)
            reach(graph, i, without, is_post, reached);
}

/* Which nodes dominate one, as bits, itself too; 0 if it is not reached. */
static uint32_t dominators_of(const struct next_graph *graph, uint32_t node, bool is_post)
{
    bool reached[NODES_MAX];
    uint32_t found = 0;
    reach_all(graph, BAT_NONE, is_post, reached);
    if (!reached[node])
        return 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        reach_all(graph, i, is_post, reached);
        found |= (uint32_t)!reached[node] << i;
    }
    return found;
}

/* The chain of immediate dominators has all of them. */
static void check(const struct next_graph *graph, bool is_post)
{
    uint32_t *found = next_dominators(graph, is_post);
    assert_non_null(found);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        uint32_t expected = dominators_of(graph, i, is_post);
        uint32_t chain = expected ? 1u << i : 0;
        uint32_t at = found[i];
        for (uint32_t steps = 0; at != BAT_NONE && steps < NODES_MAX; steps++, at = found[at])
            chain |= 1u << at;
        assert_int_equal(chain, expected);
    }
    free(found);
}

TEST(test_random_graphs)
{
    for (unsigned i = 0; i < 2000; i++) {
        struct drawn drawn;
        draw(&drawn);
        check(&drawn.graph, false);
        check(&drawn.graph, true);
    }
}
