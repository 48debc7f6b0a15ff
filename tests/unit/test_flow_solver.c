/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Flows that are made consistent at the least price: against all flows of small graphs. */
#include "next/flow_network.h"
#include "next/flow_solver.h"
#include "unit_test.h"

#define NODES_MAX 4u
#define EDGES_MAX 5u
#define COUNT_MAX 3u /* of each edge, entry and exit, when all flows are tried */

static uint32_t random_state = 1;

/* The price of a count. */
static uint64_t price_of(const struct flow_wish *wish, uint64_t count)
{
    return count < wish->wanted ? (wish->wanted - count) * wish->less
                                : (count - wish->wanted) * wish->more;
}

/* A graph, and counts of all its parts: edges, entries, then exits. */
struct trial {
    struct flow_node nodes[NODES_MAX];
    struct flow_edge edges[EDGES_MAX];
    struct flow_graph graph;
    uint64_t parts[EDGES_MAX + 2 * NODES_MAX];
};

/* Room for the counts of a small graph. */
struct room {
    uint64_t nodes[NODES_MAX];
    uint64_t edges[EDGES_MAX];
    uint64_t entries[NODES_MAX];
};

static struct flow_counts counts_in(struct room *room)
{
    return (struct flow_counts){room->nodes, room->edges, room->entries, false};
}

/* False if what comes into a node does not leave it. */
static bool is_consistent(const struct trial *trial, uint64_t *nodes)
{
    const struct flow_graph *graph = &trial->graph;
    uint64_t out[NODES_MAX];
    for (uint32_t i = 0; i < graph->node_count; i++) {
        nodes[i] = trial->parts[graph->edge_count + i];
        out[i] = trial->parts[graph->edge_count + graph->node_count + i];
    }
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        nodes[graph->edges[i].to] += trial->parts[i];
        out[graph->edges[i].from] += trial->parts[i];
    }
    return memcmp(nodes, out, graph->node_count * sizeof(*out)) == 0;
}

static uint64_t price_of_all(const struct trial *trial, const uint64_t *nodes)
{
    const struct flow_graph *graph = &trial->graph;
    uint64_t price = 0;
    for (uint32_t i = 0; i < graph->edge_count; i++)
        price += price_of(&graph->edges[i].count, trial->parts[i]);
    for (uint32_t i = 0; i < graph->node_count; i++)
        price += price_of(&graph->nodes[i].count, nodes[i]) +
                 price_of(&graph->nodes[i].entry, trial->parts[graph->edge_count + i]) +
                 price_of(&graph->nodes[i].exit,
                          trial->parts[graph->edge_count + graph->node_count + i]);
    return price;
}

/* The least price of all consistent counts up to COUNT_MAX. */
static uint64_t least_price(struct trial *trial)
{
    uint32_t parts = trial->graph.edge_count + 2 * trial->graph.node_count;
    uint64_t least = UINT64_MAX;
    uint64_t nodes[NODES_MAX];
    memset(trial->parts, 0, sizeof(trial->parts));
    for (uint32_t i = 0; i < parts;) {
        if (is_consistent(trial, nodes)) {
            uint64_t price = price_of_all(trial, nodes);
            least = price < least ? price : least;
        }
        for (i = 0; i < parts && trial->parts[i] == COUNT_MAX; i++)
            trial->parts[i] = 0;
        if (i < parts)
            trial->parts[i]++;
    }
    return least;
}

static struct flow_wish random_wish(void)
{
    return (struct flow_wish){any_below(&random_state, 3), any_below(&random_state, 6),
                              1 + any_below(&random_state, 6)};
}

static void make_trial(struct trial *trial)
{
    *trial = (struct trial){0};
    trial->graph = (struct flow_graph){.nodes = trial->nodes,
                                       .edges = trial->edges,
                                       .node_count = 1 + any_below(&random_state, 3),
                                       .edge_count = any_below(&random_state, 4)};
    for (uint32_t i = 0; i < trial->graph.node_count; i++)
        trial->nodes[i] = (struct flow_node){random_wish(), random_wish(), random_wish()};
    for (uint32_t i = 0; i < trial->graph.edge_count; i++)
        trial->edges[i] =
            (struct flow_edge){.from = any_below(&random_state, trial->graph.node_count),
                               .to = any_below(&random_state, trial->graph.node_count),
                               .count = random_wish()};
}

/* Put the counts of a solution into the trial's parts; exits follow from the rest. */
static void take_parts(struct trial *trial, const struct flow_counts *counts)
{
    const struct flow_graph *graph = &trial->graph;
    memcpy(trial->parts, counts->edges, graph->edge_count * sizeof(uint64_t));
    memcpy(trial->parts + graph->edge_count, counts->entries, graph->node_count * sizeof(uint64_t));
    uint64_t *exits = trial->parts + graph->edge_count + graph->node_count;
    for (uint32_t i = 0; i < graph->node_count; i++)
        exits[i] = counts->nodes[i];
    for (uint32_t i = 0; i < graph->edge_count; i++)
        exits[graph->edges[i].from] -= counts->edges[i];
}

TEST(test_prices_are_least)
{
    for (unsigned i = 0; i < 60; i++) {
        struct trial trial;
        make_trial(&trial);
        uint64_t expected = least_price(&trial);
        struct room room;
        struct flow_counts counts = counts_in(&room);
        struct bat_error error;
        assert_ok(flow_solve(&trial.graph, &counts, &error));
        assert_false(counts.was_limited);
        take_parts(&trial, &counts);
        uint64_t sums[NODES_MAX];
        assert_true(is_consistent(&trial, sums));
        assert_memory_equal(sums, room.nodes, trial.graph.node_count * sizeof(*sums));
        assert_int_equal(price_of_all(&trial, sums), expected);
    }
}

/* Ask for other shares of a large network, one after the other: each time the price is the least.
 */
static void check_rounds(struct trial *trial)
{
    struct room room;
    uint64_t wanted[EDGES_MAX];
    struct flow_counts counts = counts_in(&room);
    struct flow_network network = {0};
    assert_true(flow_network_begin(&network, &trial->graph));
    network.is_large = true;
    for (unsigned round = 0; round < 4; round++) {
        for (uint32_t i = 0; i < trial->graph.edge_count; i++) {
            wanted[i] = any_below(&random_state, 3);
            uint32_t price = trial->edges[i].share_price;
            if (price != 0)
                trial->edges[i].count = (struct flow_wish){wanted[i], price, price};
        }
        assert_true(flow_network_solve(&network, wanted, &counts));
        uint64_t expected = least_price(trial);
        uint64_t sums[NODES_MAX];
        take_parts(trial, &counts);
        assert_true(is_consistent(trial, sums));
        assert_memory_equal(sums, room.nodes, trial->graph.node_count * sizeof(*sums));
        assert_true(price_of_all(trial, sums) <= expected); /* counts may be above COUNT_MAX */
    }
    flow_network_free(&network);
}

TEST(test_prices_of_large_networks_are_least)
{
    const struct flow_wish bound = {0, 0, FLOW_BOUND};
    for (unsigned i = 0; i < 120; i++) {
        struct trial trial;
        make_trial(&trial);
        for (uint32_t k = 0; k < trial.graph.edge_count; k++)
            trial.edges[k].share_price = any_below(&random_state, 6);
        for (uint32_t k = 0; k < trial.graph.node_count; k++) {
            if (any_below(&random_state, 2))
                trial.nodes[k].entry = bound;
            if (any_below(&random_state, 3) == 0)
                trial.nodes[k].exit = bound;
            if (any_below(&random_state, 3) == 0)
                trial.nodes[k].count =
                    (struct flow_wish){any_below(&random_state, 3), FLOW_BOUND, FLOW_BOUND};
        }
        check_rounds(&trial);
    }
}

/* Measured counts that fit each other stay as they are. */
TEST(test_consistent_counts_stay)
{
    const struct flow_wish sure[] = {{10, 9, 9}, {7, 9, 9}, {3, 9, 9}};
    const struct flow_wish none = {0, 0, 1000};
    const struct flow_node nodes[] = {{sure[0], sure[0], none},
                                      {sure[1], none, none},
                                      {sure[2], none, none},
                                      {sure[0], none, {0}}};
    const struct flow_edge edges[] = {{0, 1, {0, 0, 1}, 0, 0},
                                      {0, 2, {0, 0, 1}, 0, 0},
                                      {1, 3, {0, 0, 1}, 0, 0},
                                      {2, 3, {0, 0, 1}, 0, 0}};
    const struct flow_graph graph = {nodes, edges, 4, 4, 0, false};
    struct room room;
    struct flow_counts counts = counts_in(&room);
    struct bat_error error;
    assert_ok(flow_solve(&graph, &counts, &error));
    const uint64_t expected[] = {7, 3, 7, 3};
    assert_memory_equal(room.edges, expected, sizeof(expected));
    const uint64_t expected_entries[] = {10, 0, 0, 0};
    assert_memory_equal(room.entries, expected_entries, sizeof(expected_entries));
}

/* Let control go along a path once. */
static void add_path(const struct flow_graph *graph, struct flow_counts *counts)
{
    uint32_t node = any_below(&random_state, graph->node_count);
    counts->entries[node]++;
    counts->nodes[node]++;
    for (uint32_t tries = graph->edge_count * any_below(&random_state, 5); tries > 0; tries--) {
        uint32_t edge = any_below(&random_state, graph->edge_count);
        if (graph->edges[edge].from != node)
            continue;
        node = graph->edges[edge].to;
        counts->edges[edge]++;
        counts->nodes[node]++;
    }
}

/* Twice the mean differs by at most 1 from the sum of both. */
static void check_half(uint64_t mean, uint64_t one, uint64_t other)
{
    assert_in_range(2 * mean + 1, one + other, one + other + 2);
}

/* The mean of any two flows is one, and each of its counts the mean of two, rounded up or down. */
TEST(test_mean_of_flows)
{
    for (unsigned i = 0; i < 2000; i++) {
        struct trial trials[3]; /* of the mean, and of the flows */
        struct room rooms[3] = {0};
        make_trial(&trials[0]);
        const struct flow_graph *graph = &trials[0].graph;
        struct flow_counts counts[] = {counts_in(&rooms[0]), counts_in(&rooms[1]),
                                       counts_in(&rooms[2])};
        for (uint32_t paths = any_below(&random_state, 20); paths > 0; paths--)
            add_path(graph, &counts[1 + any_below(&random_state, 2)]);
        rooms[0] = rooms[1];
        struct bat_error error;
        assert_ok(flow_mean(graph, &counts[0], &counts[2], &error));
        for (uint32_t k = 0; k < 3; k++) {
            trials[k].graph = *graph;
            take_parts(&trials[k], &counts[k]);
        }
        uint64_t nodes[NODES_MAX];
        assert_true(is_consistent(&trials[0], nodes));
        assert_memory_equal(nodes, rooms[0].nodes, graph->node_count * sizeof(*nodes));
        for (uint32_t k = 0; k < graph->node_count; k++)
            check_half(nodes[k], rooms[1].nodes[k], rooms[2].nodes[k]);
        for (uint32_t k = 0; k < graph->edge_count + 2 * graph->node_count; k++)
            check_half(trials[0].parts[k], trials[1].parts[k], trials[2].parts[k]);
    }
}

/* A loop that goes on with 9 of 10: ten rounds for each entry. */
TEST(test_shares_of_a_loop)
{
    const struct flow_node nodes[] = {{{0}, {1000, 100, 100}, {0, 0, FLOW_BOUND}},
                                      {{0}, {0, 0, FLOW_BOUND}, {0, 0, FLOW_BOUND}},
                                      {{0}, {0, 0, FLOW_BOUND}, {0}}};
    const struct flow_edge edges[] = {{0, 1, {0}, FLOW_WHOLE, 1},
                                      {1, 1, {0}, FLOW_WHOLE / 10 * 9, 80},
                                      {1, 2, {0}, FLOW_WHOLE / 10, 80}};
    const struct flow_graph graph = {nodes, edges, 3, 3, 0, false};
    struct room room;
    struct flow_counts counts = counts_in(&room);
    struct bat_error error;
    assert_ok(flow_solve(&graph, &counts, &error));
    assert_int_equal(room.nodes[0], 1000);
    assert_int_equal(room.edges[2], 1000);
    assert_in_range(room.nodes[1], 7500, 10500);
}

#define LONG 10000u

/* A chain of diamonds whose counts contradict each other. */
static void make_long(struct flow_node *nodes, struct flow_edge *edges)
{
    const struct flow_wish bound = {0, 0, FLOW_BOUND};
    for (uint32_t i = 0; i < LONG; i++) {
        nodes[i] =
            (struct flow_node){{any_below(&random_state, 1000), 1 + any_below(&random_state, 90),
                                1 + any_below(&random_state, 90)},
                               bound,
                               {0, 0, 500}};
        for (uint32_t k = 0; k < 2; k++)
            edges[2 * i + k] =
                (struct flow_edge){.from = i,
                                   .to = (i + 1 + k * any_below(&random_state, 30)) % LONG,
                                   .count = {0, 0, 1}};
    }
    nodes[0].entry = (struct flow_wish){700, 500, 500};
    nodes[LONG - 1].exit = (struct flow_wish){0};
}

static void check_long(const struct flow_edge *edges, const struct flow_counts *counts)
{
    static uint64_t in[LONG];
    static uint64_t out[LONG];
    for (uint32_t i = 0; i < LONG; i++) {
        in[i] = counts->entries[i];
        out[i] = 0;
    }
    for (uint32_t i = 0; i < 2 * LONG; i++) {
        in[edges[i].to] += counts->edges[i];
        out[edges[i].from] += counts->edges[i];
    }
    for (uint32_t i = 0; i < LONG; i++) {
        assert_int_equal(in[i], counts->nodes[i]);
        assert_true(out[i] <= in[i]);
    }
}

/* A long graph, and room for its counts. */
static struct flow_graph long_graph(struct flow_counts *counts)
{
    static struct flow_node nodes[LONG];
    static struct flow_edge edges[2 * LONG];
    static uint64_t counts_of_nodes[LONG];
    static uint64_t counts_of_edges[2 * LONG];
    static uint64_t entries[LONG];
    make_long(nodes, edges);
    *counts = (struct flow_counts){counts_of_nodes, counts_of_edges, entries, false};
    return (struct flow_graph){nodes, edges, LONG, 2 * LONG, 0, false};
}

TEST(test_large_graphs)
{
    struct flow_counts counts;
    const struct flow_graph graph = long_graph(&counts);
    struct bat_error error;
    assert_ok(flow_solve(&graph, &counts, &error));
    check_long(graph.edges, &counts);
}

/* Without time for prices the counts are consistent, too. */
TEST(test_without_work)
{
    static uint64_t wanted[2 * LONG];
    struct flow_counts counts;
    const struct flow_graph graph = long_graph(&counts);
    struct flow_network network = {0};
    assert_true(flow_network_begin(&network, &graph));
    network.work_limit = 0;
    assert_true(flow_network_solve(&network, wanted, &counts));
    assert_true(counts.was_limited);
    check_long(graph.edges, &counts);
    flow_network_free(&network);
}
