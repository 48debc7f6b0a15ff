/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Strongly connected sets by Tarjan's algorithm; loops with several entries as Steensgaard's. */
#include "loops.h"

#include <stdlib.h>
#include <string.h>

#include "spec/array.h"

struct finding {
    const struct next_graph *graph;
    struct next_loops *loops;
    uint8_t *is_cut;   /* loops->is_back */
    uint8_t *is_entry; /* for each node: its loop is entered here */
    uint32_t *number;  /* in the order of the walk, from 1; 0: not seen */
    uint32_t *lowest;
    uint32_t *set;     /* for each node: a node that stands for its set; BAT_NONE: not known */
    uint32_t *open;    /* nodes whose set is not complete */
    uint32_t *stack;   /* the way from where the walk began */
    uint32_t *next;    /* for each node: its next link */
    uint32_t *entered; /* for each set: an entry of it, or BAT_NONE */
    uint32_t open_count;
    uint32_t count;
};

/* A set is complete: it is what is open from its first node on. */
static void close_set(struct finding *finding, uint32_t node)
{
    uint32_t member;
    do {
        member = finding->open[--finding->open_count];
        finding->set[member] = node;
    } while (member != node);
}

static void enter(struct finding *finding, uint32_t node, uint32_t *depth)
{
    finding->stack[(*depth)++] = node;
    finding->open[finding->open_count++] = node;
    finding->next[node] = finding->graph->out[node];
    finding->lowest[node] = finding->number[node] = ++finding->count;
}

static void walk(struct finding *finding, uint32_t start)
{
    const struct next_graph *graph = finding->graph;
    uint32_t depth = 0;
    enter(finding, start, &depth);
    while (depth > 0) {
        uint32_t node = finding->stack[depth - 1];
        if (finding->next[node] < graph->out[node + 1]) {
            uint32_t link = finding->next[node]++;
            uint32_t to = graph->links[link].to;
            if (finding->is_cut[link])
                continue;
            if (finding->number[to] == 0)
                enter(finding, to, &depth);
            else if (finding->set[to] == BAT_NONE && finding->number[to] < finding->lowest[node])
                finding->lowest[node] = finding->number[to];
            continue;
        }
        depth--;
        if (finding->lowest[node] == finding->number[node])
            close_set(finding, node);
        uint32_t before = depth > 0 ? finding->stack[depth - 1] : node;
        if (finding->lowest[node] < finding->lowest[before])
            finding->lowest[before] = finding->lowest[node];
    }
}

static void find_sets(struct finding *finding)
{
    uint32_t count = finding->graph->node_count;
    memset(finding->number, 0, count * sizeof(*finding->number));
    memset(finding->set, 0xff, count * sizeof(*finding->set));
    finding->count = 0;
    for (uint32_t root = 0; root <= count; root++) {
        uint32_t start = root == 0 ? finding->graph->entry : root - 1;
        if (finding->number[start] == 0)
            walk(finding, start);
    }
}

/* Find where sets are entered: at the entry, by links from others, or where the walk came first. */
static void find_entries(struct finding *finding)
{
    const struct next_graph *graph = finding->graph;
    memset(finding->is_entry, 0, graph->node_count);
    memset(finding->entered, 0xff, graph->node_count * sizeof(*finding->entered));
    finding->is_entry[graph->entry] = 1;
    finding->entered[finding->set[graph->entry]] = graph->entry;
    for (uint32_t i = 0; i < graph->link_count; i++) {
        const struct next_link *link = &graph->links[i];
        if (finding->set[link->from] == finding->set[link->to])
            continue;
        finding->is_entry[link->to] = 1;
        finding->entered[finding->set[link->to]] = link->to;
    }
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (finding->entered[finding->set[i]] == BAT_NONE)
            finding->is_entry[finding->set[i]] = 1;
}

/* Number the loops, and cut links back to their entries. False if there is none. */
static bool add_loops(struct finding *finding)
{
    const struct next_graph *graph = finding->graph;
    struct next_loops *loops = finding->loops;
    uint32_t *loop_of = finding->next; /* for each set: its loop from 2; 1: not numbered, 0: none */
    bool is_any = false;
    memset(loop_of, 0, graph->node_count * sizeof(*loop_of));
    for (uint32_t i = 0; i < graph->link_count; i++) {
        const struct next_link *link = &graph->links[i];
        if (finding->is_cut[i] || finding->set[link->from] != finding->set[link->to])
            continue;
        is_any = true;
        if (!finding->is_entry[link->to])
            continue;
        finding->is_cut[i] = 1;
        /* It goes round, or nothing of it ran. */
        if (link->count > 0 || !(graph->nodes[link->to].count > 0))
            loop_of[finding->set[link->to]] = 1;
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        uint32_t *loop = &loop_of[finding->set[i]];
        if (*loop == 0)
            continue;
        if (*loop == 1) {
            loops->around[loops->count] = loops->inner[i];
            *loop = 2 + loops->count++;
        }
        loops->inner[i] = *loop - 2;
        loops->depths[i]++;
    }
    return is_any;
}

void next_loops_free(struct next_loops *loops)
{
    BAT_FREE_ALL(loops->depths, loops->inner, loops->around, loops->is_back);
    *loops = (struct next_loops){0};
}

bool next_loops_find(const struct next_graph *graph, struct next_loops *loops)
{
    size_t count = (size_t)graph->node_count + 1;
    /* Each loop has an entry, which is in no loop of it: there are no more of them than nodes. */
    *loops = (struct next_loops){.depths = calloc(count, 1),
                                 .inner = malloc(count * sizeof(uint32_t)),
                                 .around = malloc(count * sizeof(uint32_t)),
                                 .is_back = calloc((size_t)graph->link_count + 1, 1)};
    struct finding finding = {.graph = graph,
                              .loops = loops,
                              .is_cut = loops->is_back,
                              .is_entry = malloc(count),
                              .number = malloc(count * sizeof(uint32_t)),
                              .lowest = malloc(count * sizeof(uint32_t)),
                              .set = malloc(count * sizeof(uint32_t)),
                              .open = malloc(count * sizeof(uint32_t)),
                              .stack = malloc(count * sizeof(uint32_t)),
                              .next = malloc(count * sizeof(uint32_t)),
                              .entered = malloc(count * sizeof(uint32_t))};
    bool is_fine = loops->depths && loops->inner && loops->around && finding.is_cut &&
                   finding.is_entry && finding.number && finding.lowest && finding.set &&
                   finding.open && finding.stack && finding.next && finding.entered;
    if (is_fine)
        memset(loops->inner, 0xff, count * sizeof(*loops->inner));
    for (uint32_t i = 0; is_fine && graph->node_count > 0 && i < LOOPS_DEPTH_MAX; i++) {
        find_sets(&finding);
        find_entries(&finding);
        if (!add_loops(&finding))
            break;
    }
    BAT_FREE_ALL(finding.is_entry, finding.number, finding.lowest, finding.set, finding.open,
                 finding.stack, finding.next, finding.entered);
    return is_fine;
}
