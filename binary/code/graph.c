/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Makes the control-flow graph of a function (graph.h) from its decoded instructions. */
#include "graph.h"

#include <elf.h>
#include <stdlib.h>

#include "instructions_x86.h"
#include "spec/array.h"
#include "spec/order.h"
#include "sweep.h"

struct graph_builder {
    const struct code_sweep *sweep;
    struct bat_code_graph *graph;
    uint32_t edge_count;
    uint32_t edge_capacity;
    uint32_t *first_of_table; /* for each table: its edges */
    uint32_t *end_of_table;
    struct bat_error *error;
};

static enum bat_code fail_memory(const struct graph_builder *builder)
{
    return bat_fail_memory(builder->error, "for the graph of %u blocks",
                           builder->graph->blocks.count);
}

/* --- Edges -------------------------------------------------------------------------------- */

static enum bat_code reserve_edges(struct graph_builder *builder, uint32_t count)
{
    if (count > UINT32_MAX / 2 - builder->edge_count)
        return fail_memory(builder);
    uint32_t needed = builder->edge_count + count;
    if (needed <= builder->edge_capacity)
        return BAT_OK;
    uint32_t capacity = needed < 2 * builder->edge_capacity ? 2 * builder->edge_capacity : needed;
    uint32_t *grown = realloc(builder->graph->edges, capacity * sizeof(*grown));
    if (!grown)
        return fail_memory(builder);
    builder->graph->edges = grown;
    builder->edge_capacity = capacity;
    return BAT_OK;
}

/* Add edges to the targets of a table, ascending, each once. Tables at one address share them. */
static enum bat_code add_table(struct graph_builder *builder, uint32_t table)
{
    const struct code_table *tables = builder->sweep->tables;
    if (table > 0 && tables[table - 1].address == tables[table].address) {
        builder->first_of_table[table] = builder->first_of_table[table - 1];
        builder->end_of_table[table] = builder->end_of_table[table - 1];
        return BAT_OK;
    }
    uint32_t count;
    code_table_targets(builder->sweep, &tables[table], NULL, 0, &count);
    BAT_TRY(reserve_edges(builder, count));
    uint32_t *edges = builder->graph->edges + builder->edge_count;
    code_table_targets(builder->sweep, &tables[table], edges, count, &count);
    for (uint32_t i = 0; i < count; i++)
        edges[i] = bat_code_block_at(&builder->graph->blocks, edges[i]);
    if (count > 1)
        qsort(edges, count, sizeof(*edges), bat_compare_u32);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || edges[i] != edges[i - 1])
            edges[kept++] = edges[i];
    builder->first_of_table[table] = builder->edge_count;
    builder->edge_count += kept;
    builder->end_of_table[table] = builder->edge_count;
    return BAT_OK;
}

static bool is_inner_branch(const struct code_instruction *instruction)
{
    return bat_kind_is_branch(instruction->kind) && instruction->target != CODE_OUTSIDE;
}

/* Add the edges of block i, which has the instructions first to last. */
static void add_edges(struct graph_builder *builder, uint32_t i, uint32_t first, uint32_t last)
{
    struct bat_code_graph *graph = builder->graph;
    const struct code_instruction *end = &builder->sweep->all[last];
    graph->first_edge[i] = graph->end_edge[i] = builder->edge_count;
    if (end->kind == BAT_INSTRUCTION_INDIRECT_JUMP && end->table != 0) {
        graph->first_edge[i] = builder->first_of_table[end->table - 1];
        graph->end_edge[i] = builder->end_of_table[end->table - 1];
        return;
    }
    /* The last two instructions may both be branches: a conditional one and a jump. */
    for (uint32_t at = last > first ? last - 1 : last; at <= last; at++)
        if (is_inner_branch(&builder->sweep->all[at]))
            graph->edges[builder->edge_count++] =
                bat_code_block_at(&graph->blocks, builder->sweep->all[at].target);
    uint32_t count = builder->edge_count - graph->first_edge[i];
    bool falls = count == 0   ? !code_ends_flow(end)
                 : count == 1 ? end->kind == BAT_INSTRUCTION_CONDITIONAL
                              : false;
    if (falls && i + 1 < graph->blocks.count)
        graph->edges[builder->edge_count++] = i + 1;
    graph->end_edge[i] = builder->edge_count;
}

/* --- Instructions ------------------------------------------------------------------------- */

/* True for instructions whose offset llvm-bolt keeps in every block. */
static bool is_kept(const struct code_sweep *sweep, const struct code_instruction *instruction)
{
    switch (instruction->kind) {
    case BAT_INSTRUCTION_OTHER:
        return sweep->reader->machine == EM_X86_64 &&
               sweep->bytes[instruction->offset] == X86_LOCK_PREFIX;
    case BAT_INSTRUCTION_TRAP:
        return false;
    default:
        return true;
    }
}

/*
 * Keep the instructions of block i, and set its body. llvm-bolt also keeps the last instruction
 * that is no no-operation, except in the function's last block.
 */
static void keep_instructions(struct graph_builder *builder, uint32_t i, uint32_t first,
                              uint32_t last)
{
    struct bat_code_graph *graph = builder->graph;
    const struct code_sweep *sweep = builder->sweep;
    bool is_final = i + 1 == graph->blocks.count;
    uint32_t end = last;
    while (end > first && sweep->all[end].kind == BAT_INSTRUCTION_NOP)
        end--;
    uint32_t body = first;
    while (sweep->reader->machine == EM_X86_64 && body <= last &&
           sweep->all[body].kind == BAT_INSTRUCTION_NOP)
        body++;
    uint32_t next = is_final ? graph->blocks.size : graph->blocks.all[i + 1].start;
    graph->body[i] = body <= last ? sweep->all[body].offset : next;
    for (uint32_t at = first; at <= last; at++) {
        const struct code_instruction *instruction = &sweep->all[at];
        if (!is_kept(sweep, instruction) && (at != end || is_final))
            continue;
        graph->kept[graph->kept_count++] = (struct bat_code_kept){
            .offset = instruction->offset,
            .kind = instruction->kind,
            .leaves = code_is_tail_call(instruction, BAT_INSTRUCTION_JUMP) ||
                      code_is_tail_call(instruction, BAT_INSTRUCTION_CONDITIONAL),
        };
    }
}

/* --- The graph ---------------------------------------------------------------------------- */

static enum bat_code fill_blocks(struct graph_builder *builder)
{
    struct bat_code_graph *graph = builder->graph;
    const struct code_sweep *sweep = builder->sweep;
    enum bat_code code = BAT_OK;
    for (uint32_t table = 0; table < sweep->table_count && !code; table++)
        code = add_table(builder, table);
    /* A block without a table has at most two edges. */
    BAT_TRY(code ? code : reserve_edges(builder, 2 * graph->blocks.count));
    graph->is_simple = true;
    uint32_t first = 0;
    for (uint32_t i = 0; i < graph->blocks.count; i++) {
        uint32_t last = first;
        while (sweep->all[last].offset < graph->blocks.all[i].last)
            last++;
        add_edges(builder, i, first, last);
        keep_instructions(builder, i, first, last);
        if (graph->blocks.count > 1 && !code_knows_jump(sweep, first, last))
            graph->is_simple = false;
        first = last + 1;
    }
    graph->is_simple = graph->is_simple && code_can_be_simple(sweep, &graph->blocks);
    return BAT_OK;
}

static enum bat_code build(const struct code_sweep *sweep, struct bat_code_graph *graph,
                           struct bat_error *error)
{
    enum bat_code code = code_build_blocks(sweep, &graph->blocks, error);
    if (code || graph->blocks.count == 0)
        return code;
    struct graph_builder builder = {.sweep = sweep, .graph = graph, .error = error};
    size_t count = graph->blocks.count;
    size_t tables = (size_t)sweep->table_count + 1;
    graph->first_edge = malloc(count * sizeof(*graph->first_edge));
    graph->end_edge = malloc(count * sizeof(*graph->end_edge));
    graph->body = malloc(count * sizeof(*graph->body));
    graph->kept = malloc(sweep->count * sizeof(*graph->kept));
    builder.first_of_table = malloc(tables * sizeof(*builder.first_of_table));
    builder.end_of_table = malloc(tables * sizeof(*builder.end_of_table));
    if (graph->first_edge && graph->end_edge && graph->body && graph->kept &&
        builder.first_of_table && builder.end_of_table)
        code = fill_blocks(&builder);
    else
        code = fail_memory(&builder);
    BAT_FREE_ALL(builder.first_of_table, builder.end_of_table);
    return code;
}

enum bat_code bat_code_graph(const struct bat_code_reader *reader, uint32_t function,
                             struct bat_code_graph *graph, struct bat_error *error)
{
    *graph = (struct bat_code_graph){0};
    const struct code_wanted *wanted = code_find_wanted(reader, function);
    graph->is_left_alone = wanted && wanted->is_left_alone;
    struct code_sweep sweep;
    enum bat_code code = code_sweep_function(reader, function, &sweep, error);
    code = code ? code : build(&sweep, graph, error);
    code_sweep_free(&sweep);
    if (code)
        bat_code_graph_free(graph);
    return code;
}

void bat_code_graph_free(struct bat_code_graph *graph)
{
    bat_code_blocks_free(&graph->blocks);
    BAT_FREE_ALL(graph->edges, graph->first_edge, graph->end_edge, graph->body, graph->kept);
    *graph = (struct bat_code_graph){0};
}
