/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A forest as the text that LLVM's SampleProfileReader reads. */
#include <stdlib.h>
#include <string.h>

#include "forest.h"
#include "support/text_writer.h"

struct target {
    uint64_t count;
    const char *name;
};

struct forest_writer {
    const struct forest *forest;
    struct forest_body *bodies; /* of each node, ascending by place, one a place */
    uint32_t *first_body;       /* of each node; one more at the end */
    uint32_t *first_target;     /* in the forest's targets */
    uint32_t *first_child;      /* of each parent in the forest's children: 0, then node + 1 */
    struct bat_text_writer text;
    struct target *targets; /* of one place */
    size_t target_capacity;
    uint32_t *stack; /* for each level of a tree, the position in children that is next */
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

/* Children of one node by place, then by name; items are positions in the sorted table. */
static int compare_children(const void *left, const void *right, void *context)
{
    const struct forest *forest = context;
    const uint64_t *a = bat_counts_item(&forest->children, *(const uint32_t *)left);
    const uint64_t *b = bat_counts_item(&forest->children, *(const uint32_t *)right);
    if (a[1] != b[1])
        return a[1] < b[1] ? -1 : 1;
    return strcmp(name_of(forest, a[2]), name_of(forest, b[2]));
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

static int compare_bodies(const void *left, const void *right)
{
    const struct forest_body *a = left;
    const struct forest_body *b = right;
    return a->place < b->place ? -1 : a->place > b->place;
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
        writer->bodies[ends[forest->bodies[i].node]++] = forest->bodies[i];
}

/* Sort the places of each node, and keep the largest count of each. False if out of memory. */
static bool sort_bodies(struct forest_writer *writer)
{
    const struct forest *forest = writer->forest;
    writer->bodies = malloc(forest->body_count * sizeof(*writer->bodies) + 1);
    writer->first_body = malloc(((size_t)forest->node_count + 1) * sizeof(*writer->first_body));
    if (!writer->bodies || !writer->first_body)
        return false;
    group_bodies(writer);
    uint32_t kept = 0;
    uint32_t start = 0;
    for (uint32_t node = 0; node < forest->node_count; node++) {
        const uint32_t end = writer->first_body[node];
        const uint32_t first = kept;
        qsort(writer->bodies + start, end - start, sizeof(*writer->bodies), compare_bodies);
        for (uint32_t i = start; i < end; i++) {
            const struct forest_body *body = &writer->bodies[i];
            if (kept == first || writer->bodies[kept - 1].place != body->place)
                writer->bodies[kept++] = *body;
            else if (writer->bodies[kept - 1].count < body->count)
                writer->bodies[kept - 1].count = body->count;
        }
        writer->first_body[node] = first;
        start = end;
    }
    writer->first_body[forest->node_count] = kept;
    return true;
}

/* --- Text ----------------------------------------------------------------------------------- */

static void write_number(struct forest_writer *writer, const char *before, uint64_t number,
                         const char *after)
{
    bat_text_string(&writer->text, before);
    bat_text_end(&writer->text, bat_put_decimal(bat_text_room(&writer->text, 20), number));
    bat_text_string(&writer->text, after);
}

static void write_indent(struct forest_writer *writer, size_t depth)
{
    for (; depth > 0; depth--)
        bat_text_string(&writer->text, " ");
}

/* "line: ", or "line.discriminator: ". */
static void write_place(struct forest_writer *writer, uint64_t place)
{
    write_number(writer, "", place >> 32, "");
    if ((uint32_t)place != 0)
        write_number(writer, ".", (uint32_t)place, "");
    bat_text_string(&writer->text, ": ");
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
 * Write a line's count and the calls from it, which begin at *next in the targets; *next is set
 * behind them. In the root of a tree the count is at least that of the calls, as in llvm-profgen.
 */
static void write_counts(struct forest_writer *writer, const struct forest_body *body, bool is_root,
                         uint32_t *next)
{
    const struct bat_counts *table = &writer->forest->targets;
    size_t count = 0;
    uint64_t calls = 0;
    for (; *next < table->count; ++*next) {
        const uint64_t *item = bat_counts_item(table, *next);
        if (item[0] != body->node || item[1] != body->place)
            break;
        struct target target = {item[3], name_of(writer->forest, item[2])};
        if (!add_target(writer, count, target)) {
            writer->has_memory = false;
            return;
        }
        calls = forest_add(calls, target.count);
        count++;
    }
    if (count > 1)
        qsort(writer->targets, count, sizeof(*writer->targets), compare_targets);
    write_number(writer, "", is_root && body->count < calls ? calls : body->count, "");
    for (size_t i = 0; i < count; i++) {
        bat_text_string(&writer->text, " ");
        bat_text_escaped(&writer->text, writer->targets[i].name);
        write_number(writer, ":", writer->targets[i].count, "");
    }
    bat_text_string(&writer->text, "\n");
}

/* Each target has a body: forest_call() makes one. */
static void write_bodies(struct forest_writer *writer, uint32_t node, size_t depth)
{
    uint32_t target = writer->first_target[node];
    for (uint32_t i = writer->first_body[node]; i < writer->first_body[node + 1]; i++) {
        write_indent(writer, depth + 1);
        write_place(writer, writer->bodies[i].place);
        write_counts(writer, &writer->bodies[i], depth == 0, &target);
    }
}

/* Write the line of a node, and the lines of its body. */
static void write_node(struct forest_writer *writer, uint32_t node, size_t depth)
{
    const struct forest_node *written = &writer->forest->nodes[node];
    bat_text_escaped(&writer->text, name_of(writer->forest, written->name));
    write_number(writer, ":", written->total, "");
    if (depth == 0)
        write_number(writer, ":", written->head, "");
    bat_text_string(&writer->text, "\n");
    write_bodies(writer, node, depth);
}

/* --- Trees ---------------------------------------------------------------------------------- */

/* Positions in children, grouped by parent, in the order in which they are written. */
static uint32_t *sort_children(const struct forest *forest)
{
    const struct bat_counts *table = &forest->children;
    uint32_t *order = malloc(table->count * sizeof(*order) + 1);
    if (!order)
        return NULL;
    for (uint32_t i = 0; i < table->count; i++)
        order[i] = i;
    for (uint32_t first = 0, end; first < table->count; first = end) {
        uint64_t parent = bat_counts_item(table, first)[0];
        for (end = first + 1; end < table->count; end++)
            if (bat_counts_item(table, end)[0] != parent)
                break;
        if (parent != 0)
            qsort_r(order + first, end - first, sizeof(*order), compare_children, (void *)forest);
    }
    return order;
}

/* Push a level of the tree: the position of the first child to write. */
static bool push_level(struct forest_writer *writer, size_t depth, uint32_t position)
{
    if (depth == writer->stack_capacity) {
        size_t larger = depth ? 2 * depth : 64;
        uint32_t *grown = realloc(writer->stack, larger * sizeof(*grown));
        if (!grown)
            return false;
        writer->stack = grown;
        writer->stack_capacity = larger;
    }
    writer->stack[depth] = position;
    return true;
}

/* Write a tree, each node before its children. */
static void write_tree(struct forest_writer *writer, const uint32_t *order, uint32_t root)
{
    const struct bat_counts *table = &writer->forest->children;
    write_node(writer, root, 0);
    size_t depth = 0; /* levels on the stack */
    writer->has_memory &= push_level(writer, depth, writer->first_child[root + 1]);
    /* The parent, as children has it, of the nodes at the level on top of the stack. */
    uint64_t parent = (uint64_t)root + 1;
    for (depth = 1; depth > 0 && writer->has_memory;) {
        uint32_t position = writer->stack[depth - 1];
        const uint64_t *item =
            position < table->count ? bat_counts_item(table, order[position]) : NULL;
        if (!item || item[0] != parent) {
            depth--;
            /* The level below on the stack has the parent of the item that it wrote last. */
            if (depth > 0)
                parent = bat_counts_item(table, order[writer->stack[depth - 1] - 1])[0];
            continue;
        }
        writer->stack[depth - 1]++;
        if (is_ambiguous(name_of(writer->forest, item[2])))
            continue;
        uint32_t node = (uint32_t)item[3];
        write_indent(writer, depth);
        write_place(writer, item[1]);
        write_node(writer, node, depth);
        parent = (uint64_t)node + 1;
        writer->has_memory &= push_level(writer, depth, writer->first_child[parent]);
        depth++;
    }
}

static void write_trees(struct forest_writer *writer, uint64_t *roots)
{
    const struct forest *forest = writer->forest;
    uint32_t all = writer->first_child[1];
    uint32_t count = 0;
    uint32_t *trees = malloc(all * sizeof(*trees) + 1);
    uint32_t *order = sort_children(forest);
    writer->has_memory = trees && order;
    for (uint32_t i = 0; trees && i < all; i++) {
        const uint64_t *item = bat_counts_item(&forest->children, i);
        if (!is_ambiguous(name_of(forest, item[2])))
            trees[count++] = (uint32_t)item[3];
    }
    if (writer->has_memory)
        qsort_r(trees, count, sizeof(*trees), compare_trees, (void *)forest);
    for (uint32_t i = 0; i < count && writer->has_memory; i++)
        write_tree(writer, order, trees[i]);
    *roots = count;
    free(trees);
    free(order);
}

enum bat_code forest_write(struct forest *forest, struct bat_output *output, uint64_t *roots,
                           struct bat_error *error)
{
    struct forest_writer writer = {.forest = forest};
    bat_counts_sort(&forest->children);
    bat_counts_sort(&forest->targets);
    enum bat_code code = bat_text_begin(&writer.text, output, error);
    if (code != BAT_OK)
        return code;
    const size_t nodes = forest->node_count;
    writer.first_child = find_firsts(&forest->children, nodes + 1);
    writer.first_target = find_firsts(&forest->targets, nodes);
    writer.has_memory = sort_bodies(&writer) && writer.first_child && writer.first_target;
    if (writer.has_memory)
        write_trees(&writer, roots);
    if (!writer.has_memory)
        code = bat_fail(error, BAT_ERR_MEMORY, "not enough memory");
    free(writer.bodies);
    free(writer.first_body);
    free(writer.first_target);
    free(writer.first_child);
    free(writer.targets);
    free(writer.stack);
    return bat_text_finish(&writer.text, code);
}
