/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A forest as the text that LLVM's SampleProfileReader reads. */
#include <stdlib.h>
#include <string.h>

#include "forest.h"
#include "spec/array.h"
#include "spec/escape_controls.h"
#include "spec/large_memory.h"
#include "spec/order.h"
#include "support/key_sort.h"
#include "support/parallel.h"
#include "support/text_parts.h"

/* So many trees are a part of the text, which a thread makes. */
#define TREES_PER_PART 8u

struct target {
    uint64_t count;
    const char *name;
};

/* The children of a node that are not written yet, as positions in children. */
struct level {
    uint32_t next;
    uint32_t end;
    uint32_t node;
};

/* What a thread writes with. */
struct tree_writer {
    struct bat_text_writer *text;
    struct target *targets; /* of one place */
    size_t target_capacity;
    struct level *stack;
    size_t stack_capacity;
    bool has_memory;
};

/* A forest, sorted. */
struct forest_writer {
    struct forest *forest;
    struct bat_sort_key *bodies;   /* of each node: counts, ascending by place, one a place */
    uint32_t *first_body;          /* of each node; one more at the end */
    uint32_t *first_target;        /* in the forest's targets */
    struct bat_sort_key *children; /* of each parent: places and nodes, in the order of the text */
    uint32_t *first_child;         /* of each parent in children: 0, then node + 1; one more */
    uint32_t *trees;               /* roots, or all contexts, in the order of the text */
    uint32_t tree_count;
    bool is_plain; /* no name has anything to be escaped */
    struct tree_writer writers[BAT_PARALLEL_MAX];
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
    /* Most names begin in another way. */
    for (size_t i = 0; i < 2 && name[0] == '_' && name[1] == '_'; i++)
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

/* How many counts the forest's array of this number has. */
static size_t bodies_in(const struct forest *forest, unsigned array)
{
    const bool is_last = array + 1 == forest->body_arrays;
    return forest_bodies_in(array) - (is_last ? forest->body_room : 0);
}

/* Group the bodies by their nodes. first_body becomes the end of each group. */
static void group_bodies(struct forest_writer *writer)
{
    const struct forest *forest = writer->forest;
    uint32_t *ends = writer->first_body;
    memset(ends, 0, ((size_t)forest->node_count + 1) * sizeof(*ends));
    for (unsigned array = 0; array < forest->body_arrays; array++)
        for (size_t i = 0; i < bodies_in(forest, array); i++)
            ends[forest->bodies[array][i].node + 1]++;
    for (uint32_t node = 0; node < forest->node_count; node++)
        ends[node + 1] += ends[node];
    for (unsigned array = 0; array < forest->body_arrays; array++)
        for (size_t i = 0; i < bodies_in(forest, array); i++) {
            const struct forest_body *body = &forest->bodies[array][i];
            writer->bodies[ends[body->node]++] = (struct bat_sort_key){body->place, body->count};
        }
}

/* Keep one count of each place of a node: the largest, or the sum. Returns the end of those kept.
 */
static uint32_t keep_counts(const struct bat_sort_key *bodies, uint32_t count, bool adds_up,
                            struct bat_sort_key *kept, uint32_t first)
{
    uint32_t end = first;
    for (uint32_t i = 0; i < count; i++) {
        if (end == first || kept[end - 1].key != bodies[i].key)
            kept[end++] = bodies[i];
        else if (adds_up)
            kept[end - 1].value = forest_add(kept[end - 1].value, bodies[i].value);
        else if (kept[end - 1].value < bodies[i].value)
            kept[end - 1].value = bodies[i].value;
    }
    return end;
}

/* Sort the places of each node, and keep one count of each. False if out of memory. */
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
        kept = keep_counts(sorted, count, forest->adds_up, writer->bodies, kept);
    }
    writer->first_body[forest->node_count] = kept;
    return true;
}

/* The place of a parent in first_child. */
static size_t parent_of(const struct forest_node *node)
{
    return node->parent == BAT_NONE ? 0 : (size_t)node->parent + 1;
}

/* Group the children by their parents. first_child becomes the end of each group. */
static void group_children(struct forest_writer *writer)
{
    const struct forest *forest = writer->forest;
    uint32_t *ends = writer->first_child;
    memset(ends, 0, ((size_t)forest->node_count + 2) * sizeof(*ends));
    for (uint32_t i = 0; i < forest->node_count; i++)
        ends[parent_of(&forest->nodes[i]) + 1]++;
    for (uint32_t parent = 0; parent <= forest->node_count; parent++)
        ends[parent + 1] += ends[parent];
    for (uint32_t i = 0; i < forest->node_count; i++) {
        const struct forest_node *node = &forest->nodes[i];
        const uint64_t place = node->parent == BAT_NONE ? 0 : node->place;
        writer->children[ends[parent_of(node)]++] = (struct bat_sort_key){place, i};
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

/* Put blanks, mostly few: a call would take longer. */
static char *put_indentation(char *at, size_t depth)
{
    for (size_t i = 0; i < depth; i += 8)
        memset(at + i, ' ', 8); /* up to BAT_PUT_SLACK bytes more */
    return at + depth;
}

/* Put a depth's indentation, as deep as inlined calls are nested, and a place if there is one. */
static char *put_place(char *at, size_t depth, uint64_t place)
{
    at = bat_put_decimal(put_indentation(at, depth), place >> 32);
    if ((uint32_t)place != 0) {
        *at++ = '.';
        at = bat_put_decimal(at, (uint32_t)place);
    }
    return bat_put_text(at, ": ");
}

/* ":", and a number. */
static void write_count(struct bat_text_writer *text, uint64_t count)
{
    char *at = bat_text_room(text, LINE_SIZE);
    *at++ = ':';
    bat_text_end(text, bat_put_decimal(at, count));
}

static void write_name(const struct forest_writer *sorted, struct bat_text_writer *text,
                       const char *name, size_t length)
{
    if (sorted->is_plain)
        bat_text_bytes(text, name, length);
    else
        bat_text_escaped(text, name);
}

static void write_name_of(const struct forest_writer *sorted, struct bat_text_writer *text,
                          const struct forest_node *node)
{
    const struct bat_strings *names = &sorted->forest->names;
    write_name(sorted, text, bat_strings_get(names, node->name),
               bat_strings_length(names, node->name));
}

static bool add_target(struct tree_writer *writer, size_t count, struct target target)
{
    if (!BAT_GROW(writer->targets, count, writer->target_capacity))
        return false;
    writer->targets[count] = target;
    return true;
}

/*
 * Collect the calls from a place, which begin at *next in the targets; *next is set behind them.
 * *calls is set to the sum of their counts. Returns their number.
 */
static size_t collect_targets(const struct forest *forest, struct tree_writer *writer,
                              uint32_t node, uint64_t place, uint32_t *next, uint64_t *calls)
{
    const struct bat_counts *table = &forest->targets;
    size_t count = 0;
    *calls = 0;
    for (; *next < table->count; ++*next) {
        const uint64_t *item = bat_counts_item(table, *next);
        if (item[0] != node || item[1] != place)
            break;
        struct target target = {item[3], name_of(forest, item[2])};
        if (!add_target(writer, count, target)) {
            writer->has_memory = false;
            return count;
        }
        *calls = forest_add(*calls, target.count);
        count++;
    }
    BAT_SORT(writer->targets, count, BAT_DESCENDING(struct target, count),
             BAT_ASCENDING(struct target, name));
    return count;
}

/*
 * Write the line of a place. In the root of a tree the count is at least that of the calls, as in
 * llvm-profgen.
 */
static void write_body(const struct forest_writer *sorted, struct tree_writer *writer,
                       uint32_t node, size_t depth, const struct bat_sort_key *body, uint32_t *next)
{
    const struct forest *forest = sorted->forest;
    struct bat_text_writer *text = writer->text;
    uint64_t calls;
    const size_t targets = collect_targets(forest, writer, node, body->key, next, &calls);
    char *at = bat_text_room(text, depth + 1 + LINE_SIZE);
    at = put_place(at, depth + 1, body->key);
    const bool is_root = depth == 0 && !forest->contexts;
    at = bat_put_decimal(at, is_root && body->value < calls ? calls : body->value);
    if (targets == 0)
        *at++ = '\n';
    bat_text_end(text, at);
    for (size_t i = 0; i < targets; i++) {
        bat_text_string(text, " ");
        write_name(sorted, text, writer->targets[i].name, strlen(writer->targets[i].name));
        write_count(text, writer->targets[i].count);
    }
    if (targets != 0)
        bat_text_string(text, "\n");
}

/* Write the lines of a node's body. Each target has a body: forest_call() makes
 * one. */
static void write_bodies(const struct forest_writer *sorted, struct tree_writer *writer,
                         uint32_t node, size_t depth)
{
    uint32_t target = sorted->first_target[node];
    for (uint32_t i = sorted->first_body[node]; i < sorted->first_body[node + 1]; i++)
        write_body(sorted, writer, node, depth, &sorted->bodies[i], &target);
}

/* Write the line of a node, and those of its body. */
static void write_node(const struct forest_writer *sorted, struct tree_writer *writer,
                       uint32_t node, size_t depth)
{
    const struct forest *forest = sorted->forest;
    const struct forest_node *written = &forest->nodes[node];
    write_name_of(sorted, writer->text, written);
    write_count(writer->text, written->total);
    if (depth == 0)
        write_count(writer->text, written->head);
    bat_text_string(writer->text, "\n");
    write_bodies(sorted, writer, node, depth);
}

/* --- Trees ---------------------------------------------------------------------------------- */

/* Push a level of the tree: the children of a node. */
static void push_level(const struct forest_writer *sorted, struct tree_writer *writer, size_t depth,
                       uint32_t node)
{
    if (!BAT_GROW(writer->stack, depth, writer->stack_capacity)) {
        writer->has_memory = false;
        return;
    }
    const uint32_t *first = &sorted->first_child[node + 1];
    writer->stack[depth] = (struct level){first[0], first[1], node};
}

/* End a node, whose depth is that of its own line, behind the nodes in it. */
static void end_node(const struct forest *forest, struct tree_writer *writer, size_t depth,
                     uint32_t node)
{
    if (!forest->checksums)
        return;
    char *at = bat_text_room(writer->text, depth + 1 + LINE_SIZE);
    at = bat_put_text(put_indentation(at, depth + 1), "!CFGChecksum: ");
    at = bat_put_decimal(at, forest->checksums[forest->nodes[node].name]);
    *at++ = '\n';
    bat_text_end(writer->text, at);
}

/* Write a tree, each node before its children. */
static void write_tree(const struct forest_writer *sorted, struct tree_writer *writer,
                       uint32_t root)
{
    const struct forest *forest = sorted->forest;
    write_node(sorted, writer, root, 0);
    push_level(sorted, writer, 0, root);
    for (size_t depth = 1; depth > 0 && writer->has_memory;) {
        struct level *level = &writer->stack[depth - 1];
        if (level->next == level->end) {
            depth--;
            end_node(forest, writer, depth, level->node);
            continue;
        }
        const struct bat_sort_key *child = &sorted->children[level->next++];
        const uint32_t node = (uint32_t)child->value;
        if (is_ambiguous(name_of(forest, forest->nodes[node].name)))
            continue;
        bat_text_end(writer->text,
                     put_place(bat_text_room(writer->text, depth + LINE_SIZE), depth, child->key));
        write_node(sorted, writer, node, depth);
        push_level(sorted, writer, depth, node);
        depth++;
    }
}

/* Write a node by itself: "[main:3 @ f:2 @ g]:total:head", and its body. */
static void write_context(const struct forest_writer *sorted, struct tree_writer *writer,
                          uint32_t node)
{
    const struct forest *forest = sorted->forest;
    size_t depth = 0;
    for (uint32_t i = node; i != BAT_NONE && writer->has_memory; i = forest->nodes[i].parent) {
        push_level(sorted, writer, depth, i);
        depth++;
    }
    bat_text_string(writer->text, "[");
    for (size_t i = depth; i-- > 0 && writer->has_memory;) {
        const struct forest_node *frame = &forest->nodes[writer->stack[i].node];
        write_name_of(sorted, writer->text, frame);
        if (i == 0)
            break;
        write_count(writer->text, forest->nodes[writer->stack[i - 1].node].place >> 32);
        bat_text_string(writer->text, " @ ");
    }
    bat_text_string(writer->text, "]");
    write_count(writer->text, forest->nodes[node].total);
    write_count(writer->text, forest->contexts[node].head);
    bat_text_string(writer->text, "\n");
    write_bodies(sorted, writer, node, 0);
    end_node(forest, writer, 0, node);
    if (forest->contexts[node].was_inlined)
        bat_text_string(writer->text, " !Attributes: 1\n");
}

/* Tell how many parts the text has. */
static enum bat_code begin_trees(const void *subject, void **state, size_t *parts,
                                 struct bat_error *error)
{
    const struct forest_writer *sorted = subject;
    (void)error;
    *state = (void *)sorted;
    *parts = (sorted->tree_count + TREES_PER_PART - 1) / TREES_PER_PART;
    return BAT_OK;
}

static enum bat_code write_trees(void *state, size_t part, unsigned thread,
                                 struct bat_text_writer *text, struct bat_error *error)
{
    struct forest_writer *sorted = state;
    struct tree_writer *writer = &sorted->writers[thread];
    const size_t first = part * TREES_PER_PART;
    writer->text = text;
    writer->has_memory = true;
    for (size_t i = first; i < first + TREES_PER_PART && i < sorted->tree_count; i++)
        if (writer->has_memory && sorted->forest->contexts)
            write_context(sorted, writer, sorted->trees[i]);
        else if (writer->has_memory)
            write_tree(sorted, writer, sorted->trees[i]);
    return writer->has_memory ? BAT_OK : bat_fail_memory(error, "to write the profile");
}

/* The caller of bat_texts_write() has the state. */
static void end_trees(void *state)
{
    (void)state;
}

/* --- The whole ------------------------------------------------------------------------------ */

/* Sort the trees. False if there is no memory. */
static bool sort_trees(struct forest_writer *writer)
{
    const struct forest *forest = writer->forest;
    const uint32_t all = writer->first_child[1];
    writer->trees = malloc(all * sizeof(*writer->trees) + 1);
    if (!writer->trees)
        return false;
    for (uint32_t i = 0; i < all; i++) {
        const uint32_t node = (uint32_t)writer->children[i].value;
        if (!is_ambiguous(name_of(forest, forest->nodes[node].name)))
            writer->trees[writer->tree_count++] = node;
    }
    qsort_r(writer->trees, writer->tree_count, sizeof(*writer->trees), compare_trees,
            (void *)forest);
    return true;
}

/* List the nodes that have counts, in the order of their paths: each node before its children. */
static bool list_contexts(struct forest_writer *writer, struct bat_sort_key *keys)
{
    const struct forest *forest = writer->forest;
    uint32_t *waiting = bat_array_new(forest->node_count, sizeof(*waiting));
    uint32_t left = 0;
    for (uint32_t i = writer->first_child[1]; waiting && i-- > 0;)
        waiting[left++] = (uint32_t)writer->children[i].value;
    while (waiting && left > 0) {
        const uint32_t node = waiting[--left];
        const uint32_t *first = &writer->first_child[node + 1];
        if (writer->first_body[node] != writer->first_body[node + 1] &&
            !is_ambiguous(name_of(forest, forest->nodes[node].name)))
            keys[writer->tree_count++] =
                (struct bat_sort_key){UINT64_MAX - forest->nodes[node].total, node};
        for (uint32_t i = first[1]; i-- > first[0];)
            waiting[left++] = (uint32_t)writer->children[i].value;
    }
    const bool has_memory = waiting != NULL;
    free(waiting);
    return has_memory;
}

/* Sort the nodes that have counts by their totals, then by their paths. sort_bodies() must have
 * run. */
static bool sort_contexts(struct forest_writer *writer)
{
    const struct forest *forest = writer->forest;
    qsort_r(writer->children, writer->first_child[1], sizeof(*writer->children), compare_children,
            (void *)forest);
    struct bat_sort_key *keys = bat_array_new(2 * (size_t)forest->node_count, sizeof(*keys));
    writer->trees = bat_array_new(forest->node_count, sizeof(*writer->trees));
    const bool has_memory = keys && writer->trees && list_contexts(writer, keys);
    if (has_memory) {
        const struct bat_sort_key *sorted =
            bat_sort_keys(keys, keys + forest->node_count, writer->tree_count);
        for (uint32_t i = 0; i < writer->tree_count; i++)
            writer->trees[i] = (uint32_t)sorted[i].value;
    }
    free(keys);
    return has_memory;
}

static bool sort_nodes(struct forest_writer *writer)
{
    return sort_children(writer) && (writer->forest->contexts || sort_trees(writer));
}

static bool sort_counts(struct forest_writer *writer)
{
    struct bat_counts *targets = &writer->forest->targets;
    bat_counts_sort(targets);
    writer->first_target = find_firsts(targets, writer->forest->node_count);
    return writer->first_target && sort_bodies(writer);
}

static bool has_plain_names(const struct forest *forest)
{
    for (uint32_t i = 0; i < forest->names.count; i++) {
        const char *name = name_of(forest, i);
        if (bat_has_controls(name, strlen(name)))
            return false;
    }
    return true;
}

/* One of the two halves of sorting, which have nothing in common. */
struct sorting {
    bool (*sort)(struct forest_writer *writer);
    struct forest_writer *writer;
    bool has_memory;
};

static void *run_sorting(void *context)
{
    struct sorting *sorting = context;
    sorting->has_memory = sorting->sort(sorting->writer);
    return NULL;
}

/* Sort all. False if there is no memory. */
static bool sort_all(struct forest_writer *writer, unsigned threads)
{
    struct sorting halves[] = {{sort_counts, writer, false}, {sort_nodes, writer, false}};
    const unsigned together = bat_parallel_threads(threads, 2);
    for (unsigned i = 0; i < 2; i += together)
        bat_parts_run(run_sorting, &halves[i], sizeof(halves[0]), together);
    return halves[0].has_memory && halves[1].has_memory &&
           (!writer->forest->contexts || sort_contexts(writer));
}

enum bat_code forest_write(struct forest *forest, unsigned threads, struct bat_output *output,
                           uint64_t *roots, struct bat_error *error)
{
    static const struct bat_text_source source = {begin_trees, write_trees, end_trees};
    struct forest_writer writer = {.forest = forest, .is_plain = has_plain_names(forest)};
    struct bat_parted_text text = {.source = &source, .subject = &writer, .output = output};
    if (sort_all(&writer, threads))
        bat_texts_write(&text, 1,
                        bat_parallel_threads(threads, writer.tree_count / TREES_PER_PART));
    else
        text.code = bat_fail_memory(&text.error, "to write the profile");
    *roots = writer.tree_count;
    BAT_FREE_ALL(writer.bodies, writer.first_body, writer.first_target, writer.children,
                 writer.first_child, writer.trees);
    for (unsigned i = 0; i < BAT_PARALLEL_MAX; i++) {
        BAT_FREE_ALL(writer.writers[i].targets, writer.writers[i].stack);
    }
    if (text.code != BAT_OK && error)
        *error = text.error;
    return text.code;
}
