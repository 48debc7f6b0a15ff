/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A forest as the text that LLVM's SampleProfileReader reads. */
#include <stdlib.h>
#include <string.h>

#include "forest.h"
#include "spec/large_memory.h"
#include "support/key_sort.h"
#include "support/text_writer.h"

struct target {
    uint64_t count;
    const char *name;
};

/* The children of a node that are not written yet, as positions in children. */
struct level {
    uint32_t next;
    uint32_t end;
};

struct forest_writer {
    const struct forest *forest;
    struct bat_sort_key *bodies;   /* of each node: counts, ascending by place, one a place */
    uint32_t *first_body;          /* of each node; one more at the end */
    uint32_t *first_target;        /* in the forest's targets */
    struct bat_sort_key *children; /* of each parent: places and nodes, in the order of the text */
    uint32_t *first_child;         /* of each parent in children: 0, then node + 1; one more */
    struct bat_text_writer text;
    struct target *targets; /* of one place */
    size_t target_capacity;
    struct level *stack;
    size_t stack_capacity;
    bool has_memory;
};

static const char *name_of(const struct forest *forest, uint64_t name)
{
    return bat_strings_get(&forest->names, (uint32_t)name);
}

/*
 * Functions that the compiler generates for each file: without suffixes they all have one name, so
 * their counts belong to none of them. llvm-profgen leaves them out too.
 */
static bool is_ambiguous(const char *name)
{
    static const char *const prefixes[] = {"__cxx_global_var_init", "__tls_init"};
    for (size_t i = 0; i < 2; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* --- Sorting -------------------------------------------------------------------------------- */

static int compare_trees(const void *left, const void *right, void *context)
{
    const struct forest *forest = context;
    const struct forest_node *a = &forest->nodes[*(const uint32_t *)left];
    const struct forest_node *b = &forest->nodes[*(const uint32_t *)right];
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return strcmp(name_of(forest, a->name), name_of(forest, b->name));
}

/* Children of one node at one place by name. */
static int compare_children(const void *left, const void *right, void *context)
{
    const struct forest *forest = context;
    const struct forest_node *a = &forest->nodes[((const struct bat_sort_key *)left)->value];
    const struct forest_node *b = &forest->nodes[((const struct bat_sort_key *)right)->value];
    return strcmp(name_of(forest, a->name), name_of(forest, b->name));
}

static int compare_targets(const void *left, const void *right)
{
    const struct target *a = left;
    const struct target *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return strcmp(a->name, b->name);
}

/*
 * For each first word of a sorted table's keys, from 0 to count - 1, the position of the first item
 * that has it or a greater one; at the end the number of items. NULL if there is no memory.
 */
static uint32_t *find_firsts(const struct bat_counts *table, size_t count)
{
    uint32_t *firsts = malloc((count + 1) * sizeof(*firsts));
    uint32_t item = 0;
    for (size_t word = 0; firsts && word <= count; word++) {
        while (item < table->count && bat_counts_item(table, item)[0] < word)
            item++;
        firsts[word] = item;
    }
    return firsts;
}

/* Group the bodies by their nodes. first_body becomes the end of each group. */
static void group_bodies(struct forest_writer *writer)
{
    const struct forest *forest = writer->forest;
    uint32_t *ends = writer->first_body;
    memset(ends, 0, ((size_t)forest->node_count + 1) * sizeof(*ends));
    for (size_t i = 0; i < forest->body_count; i++)
        ends[forest->bodies[i].node + 1]++;
    for (uint32_t node = 0; node < forest->node_count; node++)
        ends[node + 1] += ends[node];
    for (size_t i = 0; i < forest->body_count; i++)
        writer->bodies[ends[forest->bodies[i].node]++] =
            (struct bat_sort_key){forest->bodies[i].place, forest->bodies[i].count};
}

/* Keep the largest count of each place of a node. Returns the end of those that are kept. */
static uint32_t keep_largest(const struct bat_sort_key *bodies, uint32_t count,
                             struct bat_sort_key *kept, uint32_t first)
{
    uint32_t end = first;
    for (uint32_t i = 0; i < count; i++) {
        if (end == first || kept[end - 1].key != bodies[i].key)
            kept[end++] = bodies[i];
        else if (kept[end - 1].value < bodies[i].value)
            kept[end - 1].value = bodies[i].value;
    }
    return end;
}

/* Sort the places of each node, and keep the largest count of each. False if out of memory. */
static bool sort_bodies(struct forest_writer *writer)
{
    const struct forest *forest = writer->forest;
    writer->bodies = bat_large_array(2 * forest->body_count + 1, sizeof(*writer->bodies));
    writer->first_body = malloc(((size_t)forest->node_count + 1) * sizeof(*writer->first_body));
    if (!writer->bodies || !writer->first_body)
        return false;
    group_bodies(writer);
    struct bat_sort_key *spare = writer->bodies + forest->body_count;
    uint32_t kept = 0;
    uint32_t start = 0;
    for (uint32_t node = 0; node < forest->node_count; node++) {
        const uint32_t count = writer->first_body[node] - start;
        const struct bat_sort_key *sorted = bat_sort_keys(writer->bodies + start, spare, count);
        start = writer->first_body[node];
        writer->first_body[node] = kept;
        kept = keep_largest(sorted, count, writer->bodies, kept);
    }
    writer->first_body[forest->node_count] = kept;
    return true;
}

/* Group the children by their parents. first_child becomes the end of each group. */
static void group_children(struct forest_writer *writer)
{
    const struct bat_counts *table = &writer->forest->children;
    uint32_t *ends = writer->first_child;
    memset(ends, 0, ((size_t)writer->forest->node_count + 2) * sizeof(*ends));
    for (uint32_t i = 0; i < table->count; i++)
        ends[bat_counts_item(table, i)[0] + 1]++;
    for (uint32_t parent = 0; parent <= writer->forest->node_count; parent++)
        ends[parent + 1] += ends[parent];
    for (uint32_t i = 0; i < table->count; i++) {
        const uint64_t *item = bat_counts_item(table, i);
        writer->children[ends[item[0]]++] = (struct bat_sort_key){item[1], i};
    }
}

/* Sort the children of a node by place, then by name. */
static void sort_siblings(const struct forest *forest, struct bat_sort_key *siblings,
                          struct bat_sort_key *spare, uint32_t count)
{
    const struct bat_sort_key *sorted = bat_sort_keys(siblings, spare, count);
    if (sorted != siblings)
        memcpy(siblings, sorted, count * sizeof(*siblings));
    for (uint32_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && siblings[end].key == siblings[first].key; end++)
            continue;
        if (end - first > 1)
            qsort_r(siblings + first, end - first, sizeof(*siblings), compare_children,
                    (void *)forest);
    }
}

/* Sort the children of each node. The roots keep the order of their addition. */
static bool sort_children(struct forest_writer *writer)
{
    const struct forest *forest = writer->forest;
    const size_t count = forest->node_count;
    writer->children = bat_large_array(2 * count + 1, sizeof(*writer->children));
    writer->first_child = malloc((count + 2) * sizeof(*writer->first_child));
    if (!writer->children || !writer->first_child)
        return false;
    group_children(writer);
    uint32_t start = 0;
    for (size_t parent = 0; parent <= count; parent++) {
        const uint32_t end = writer->first_child[parent];
        if (parent != 0)
            sort_siblings(forest, writer->children + start, writer->children + count, end - start);
        writer->first_child[parent] = start;
        start = end;
    }
    writer->first_child[count + 1] = start;
    return true;
}

/* --- Text ----------------------------------------------------------------------------------- */

/* Bytes that a line takes besides names and indentation: less than for four numbers. */
#define LINE_SIZE 100u

/* Put a depth's indentation, as deep as inlined calls are nested, and a place if there is one. */
static char *put_place(char *at, size_t depth, uint64_t place)
{
    memset(at, ' ', depth);
    at = bat_put_decimal(at + depth, place >> 32);
    if ((uint32_t)place != 0) {
        *at++ = '.';
        at = bat_put_decimal(at, (uint32_t)place);
    }
    return bat_put_text(at, ": ");
}

/* ":", and a number. */
static void write_count(struct forest_writer *writer, uint64_t count)
{
    char *at = bat_text_room(&writer->text, LINE_SIZE);
    *at++ = ':';
    bat_text_end(&writer->text, bat_put_decimal(at, count));
}

static bool add_target(struct forest_writer *writer, size_t count, struct target target)
{
    if (count == writer->target_capacity) {
        size_t larger = count ? 2 * count : 16;
        struct target *grown = realloc(writer->targets, larger * sizeof(*grown));
        if (!grown)
            return false;
        writer->targets = grown;
        writer->target_capacity = larger;
    }
    writer->targets[count] = target;
    return true;
}

/*
 * Collect the calls from a place, which begin at *next in the targets; *next is set behind them.
 * *calls is set to the sum of their counts. Returns their number.
 */
static size_t collect_targets(struct forest_writer *writer, uint32_t node, uint64_t place,
                              uint32_t *next, uint64_t *calls)
{
    const struct bat_counts *table = &writer->forest->targets;
    size_t count = 0;
    *calls = 0;
    for (; *next < table->count; ++*next) {
        const uint64_t *item = bat_counts_item(table, *next);
        if (item[0] != node || item[1] != place)
            break;
        struct target target = {item[3], name_of(writer->forest, item[2])};
        if (!add_target(writer, count, target)) {
            writer->has_memory = false;
            return count;
        }
        *calls = forest_add(*calls, target.count);
        count++;
    }
    if (count > 1)
        qsort(writer->targets, count, sizeof(*writer->targets), compare_targets);
    return count;
}

/*
 * Write the line of a place. In the root of a tree the count is at least that of the calls, as in
 * llvm-profgen.
 */
static void write_body(struct forest_writer *writer, uint32_t node, size_t depth,
                       const struct bat_sort_key *body, uint32_t *next)
{
    uint64_t calls;
    const size_t targets = collect_targets(writer, node, body->key, next, &calls);
    char *at = bat_text_room(&writer->text, depth + 1 + LINE_SIZE);
    at = put_place(at, depth + 1, body->key);
    at = bat_put_decimal(at, depth == 0 && body->value < calls ? calls : body->value);
    if (targets == 0)
        *at++ = '\n';
    bat_text_end(&writer->text, at);
    for (size_t i = 0; i < targets; i++) {
        bat_text_string(&writer->text, " ");
        bat_text_escaped(&writer->text, writer->targets[i].name);
        write_count(writer, writer->targets[i].count);
    }
    if (targets != 0)
        bat_text_string(&writer->text, "\n");
}

/* Write the line of a node, and the lines of its body. Each target has a body: forest_call() makes
 * one. */
static void write_node(struct forest_writer *writer, uint32_t node, size_t depth)
{
    const struct forest_node *written = &writer->forest->nodes[node];
    bat_text_escaped(&writer->text, name_of(writer->forest, written->name));
    write_count(writer, written->total);
    if (depth == 0)
        write_count(writer, written->head);
    bat_text_string(&writer->text, "\n");
    uint32_t target = writer->first_target[node];
    for (uint32_t i = writer->first_body[node]; i < writer->first_body[node + 1]; i++)
        write_body(writer, node, depth, &writer->bodies[i], &target);
}

/* --- Trees ---------------------------------------------------------------------------------- */

/* Push a level of the tree: the children of a node. */
static void push_level(struct forest_writer *writer, size_t depth, uint32_t node)
{
    if (depth == writer->stack_capacity) {
        size_t larger = depth ? 2 * depth : 64;
        struct level *grown = realloc(writer->stack, larger * sizeof(*grown));
        if (!grown) {
            writer->has_memory = false;
            return;
        }
        writer->stack = grown;
        writer->stack_capacity = larger;
    }
    const uint32_t *first = &writer->first_child[node + 1];
    writer->stack[depth] = (struct level){first[0], first[1]};
}

/* Write a tree, each node before its children. */
static void write_tree(struct forest_writer *writer, uint32_t root)
{
    const struct forest *forest = writer->forest;
    write_node(writer, root, 0);
    push_level(writer, 0, root);
    for (size_t depth = 1; depth > 0 && writer->has_memory;) {
        struct level *level = &writer->stack[depth - 1];
        if (level->next == level->end) {
            depth--;
            continue;
        }
        const struct bat_sort_key *child = &writer->children[level->next++];
        const uint32_t node = (uint32_t)child->value;
        if (is_ambiguous(name_of(forest, forest->nodes[node].name)))
            continue;
        bat_text_end(&writer->text,
                     put_place(bat_text_room(&writer->text, depth + LINE_SIZE), depth, child->key));
        write_node(writer, node, depth);
        push_level(writer, depth, node);
        depth++;
    }
}

static void write_trees(struct forest_writer *writer, uint64_t *roots)
{
    const struct forest *forest = writer->forest;
    const uint32_t all = writer->first_child[1];
    uint32_t count = 0;
    uint32_t *trees = malloc(all * sizeof(*trees) + 1);
    writer->has_memory = trees != NULL;
    for (uint32_t i = 0; trees && i < all; i++) {
        const uint32_t node = (uint32_t)writer->children[i].value;
        if (!is_ambiguous(name_of(forest, forest->nodes[node].name)))
            trees[count++] = node;
    }
    if (writer->has_memory)
        qsort_r(trees, count, sizeof(*trees), compare_trees, (void *)forest);
    for (uint32_t i = 0; i < count && writer->has_memory; i++)
        write_tree(writer, trees[i]);
    *roots = count;
    free(trees);
}

enum bat_code forest_write(struct forest *forest, struct bat_output *output, uint64_t *roots,
                           struct bat_error *error)
{
    struct forest_writer writer = {.forest = forest};
    bat_counts_sort(&forest->targets);
    enum bat_code code = bat_text_begin(&writer.text, output, error);
    if (code != BAT_OK)
        return code;
    const size_t nodes = forest->node_count;
    writer.first_target = find_firsts(&forest->targets, nodes);
    writer.has_memory = sort_bodies(&writer) && sort_children(&writer) && writer.first_target;
    if (writer.has_memory)
        write_trees(&writer, roots);
    if (!writer.has_memory)
        code = bat_fail(error, BAT_ERR_MEMORY, "not enough memory");
    free(writer.bodies);
    free(writer.first_body);
    free(writer.first_target);
    free(writer.children);
    free(writer.first_child);
    free(writer.targets);
    free(writer.stack);
    return bat_text_finish(&writer.text, code);
}
