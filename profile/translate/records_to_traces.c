/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "records_to_traces.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "binary/code/instructions.h"
#include "binary/original/original.h"
#include "profile/profile.h"
#include "records.h"
#include "spec/array.h"
#include "spec/order.h"
#include "tableless.h"

#define INSTRUCTION_AARCH64 4u /* bytes */

/* Jumps by tables into a block, on AArch64: BOLT does not know that code may begin there. */
struct inner {
    uint32_t function;
    uint32_t offset;
    uint64_t count;
};

struct tracing {
    const struct bat_records *records;
    struct bat_profile *profile;
    struct bat_tableless code;
    /* For each function the index of its first block in the arrays below, and behind the last. */
    size_t *first_block;
    uint64_t *in;        /* how often each block was entered */
    uint64_t *out;       /* ... was left by its last instruction, if that is no call or return */
    struct inner *inner; /* ascending by function and offset once all records were read */
    size_t inner_count;
    size_t inner_capacity;
    struct bat_error *error;
};

/* The function of a word if it has code that was read; BAT_NONE. */
static uint32_t code_of(const struct tracing *tracing, uint64_t word)
{
    return bat_records_is_function(tracing->records, word) &&
                   bat_tableless_has(&tracing->code, (uint32_t)word)
               ? (uint32_t)word
               : BAT_NONE;
}

/* The address of a record's end; outside of all functions 0. */
static uint64_t address_of(const struct tracing *tracing, uint64_t word, uint64_t offset)
{
    return bat_records_is_function(tracing->records, word)
               ? tracing->records->symbols[(uint32_t)word].address + offset
               : 0;
}

static enum bat_code add(struct tracing *tracing, uint64_t branch, uint64_t from, uint64_t to,
                         uint64_t count)
{
    const struct bat_trace trace = {.branch = branch, .from = from, .to = to, .count = count};
    return count == 0 ? BAT_OK : bat_profile_add_trace(tracing->profile, &trace, tracing->error);
}

/* --- Code ------------------------------------------------------------------------------------ */

static enum bat_code open_code(struct tracing *tracing)
{
    const struct bat_records *records = tracing->records;
    uint8_t *wanted = calloc((size_t)records->function_count + 1, 1);
    BAT_TRY_MEMORY(wanted, tracing->error, "for traces");
    for (uint32_t i = 0; i < records->branches.count; i++)
        for (size_t end = 0; end < 4; end += 2) {
            uint64_t word = bat_records_branch(tracing->records, i)[end];
            if (bat_records_is_function(records, word) &&
                !(records->symbols[(uint32_t)word].flags & BAT_FUNCTION_PLT))
                wanted[(uint32_t)word] = 1;
        }
    tracing->code.threads = records->threads;
    enum bat_code code =
        bat_tableless_open(&tracing->code, records->binary->elf, records->symbols_elf,
                           records->functions, wanted, tracing->error);
    free(wanted);
    tracing->code.has_graphs = true;
    return code ? code : bat_tableless_read_all(&tracing->code, tracing->error);
}

static enum bat_code count_blocks(struct tracing *tracing)
{
    uint32_t functions = tracing->records->function_count;
    tracing->first_block = calloc((size_t)functions + 1, sizeof(*tracing->first_block));
    BAT_TRY_MEMORY(tracing->first_block, tracing->error, "for traces");
    for (uint32_t i = 0; i < functions; i++) {
        const struct bat_code_graph *graph;
        tracing->first_block[i + 1] = tracing->first_block[i];
        if (!bat_tableless_has(&tracing->code, i))
            continue;
        BAT_TRY(bat_tableless_graph(&tracing->code, i, &graph, tracing->error));
        tracing->first_block[i + 1] += graph->blocks.count;
    }
    size_t blocks = tracing->first_block[functions];
    tracing->in = calloc(blocks + 1, sizeof(*tracing->in));
    tracing->out = calloc(blocks + 1, sizeof(*tracing->out));
    return tracing->in && tracing->out ? BAT_OK : bat_fail_memory(tracing->error, "for traces");
}

/* --- Records --------------------------------------------------------------------------------- */

/* The instruction at an offset, if llvm-bolt keeps that: so of all calls. */
static const struct bat_code_kept *kept_at(const struct bat_code_graph *graph, uint64_t offset)
{
    struct bat_search search = {.high = graph->kept_count};
    while (bat_search_next(&search))
        bat_search_go(&search, graph->kept[search.middle].offset < offset);
    return search.low < graph->kept_count && graph->kept[search.low].offset == offset
               ? &graph->kept[search.low]
               : NULL;
}

/* Control falls from one block of a function to the next. */
static bool falls_through(const struct bat_code_graph *graph, const uint64_t *item)
{
    uint32_t block = bat_code_block_at(&graph->blocks, item[1]);
    return item[0] == item[2] && block != BAT_NONE && item[3] != 0 &&
           block + 1 < graph->blocks.count && graph->blocks.all[block + 1].start == item[3];
}

/* The count of the record with these ends; 0 if there is none. Records are sorted by them. */
static uint64_t count_of(const struct tracing *tracing, const uint64_t key[4])
{
    struct bat_search search = {.high = tracing->records->branches.count};
    while (bat_search_next(&search)) {
        const uint64_t *item = bat_records_branch(tracing->records, (uint32_t)search.middle);
        size_t i = 0;
        while (i < 3 && item[i] == key[i])
            i++;
        bat_search_go(&search, item[i] < key[i]);
    }
    if (search.low == tracing->records->branches.count)
        return 0;
    const uint64_t *found = bat_records_branch(tracing->records, (uint32_t)search.low);
    return memcmp(found, key, 4 * sizeof(*key)) == 0 ? found[4] : 0;
}

/* How often a record from outside of all functions leads to an offset of a function. */
static uint64_t count_outside(const struct tracing *tracing, uint64_t function, uint64_t offset)
{
    const uint64_t key[4] = {bat_fdata_word(BAT_KIND_UNKNOWN, BAT_NAME_UNKNOWN), 0, function,
                             offset};
    return count_of(tracing, key);
}

/*
 * How often a record enters the block where it leads to. One from outside may be a return: then the
 * step from the call to the block behind it is another record, and counts.
 */
static uint64_t entries(const struct tracing *tracing, const struct bat_code_graph *graph,
                        const uint64_t *item)
{
    uint32_t block = bat_code_block_at(&graph->blocks, item[3]);
    if (bat_records_is_function(tracing->records, item[0]) || block == 0)
        return item[4];
    const uint64_t key[4] = {item[2], graph->blocks.all[block - 1].last, item[2], item[3]};
    const struct bat_code_kept *kept = kept_at(graph, key[1]);
    uint64_t steps = kept && bat_kind_is_call(kept->kind) ? count_of(tracing, key) : 0;
    return item[4] > steps ? item[4] - steps : 0;
}

/* Keep a jump into a block, of which the code at source is a part. */
static enum bat_code add_inner(struct tracing *tracing, const struct bat_code_graph *graph,
                               const uint64_t *item)
{
    const struct bat_code_kept *kept = kept_at(graph, item[1]);
    if (item[0] != item[2] || !kept || kept->kind != BAT_INSTRUCTION_INDIRECT_JUMP ||
        bat_elf_machine(tracing->records->binary->elf) != EM_AARCH64 ||
        item[3] % INSTRUCTION_AARCH64 != 0)
        return BAT_OK;
    if (!BAT_APPEND(tracing->inner, tracing->inner_count, tracing->inner_capacity,
                    (struct inner){.function = (uint32_t)item[2],
                                   .offset = (uint32_t)item[3],
                                   .count = item[4]}))
        return bat_fail_memory(tracing->error, "for traces");
    return BAT_OK;
}

/* A record as a branch, and as a part of the counts of the blocks at its ends. */
static enum bat_code add_record(struct tracing *tracing, const uint64_t *item)
{
    const struct bat_code_graph *graph;
    bool is_fall = false;
    enum bat_code code = BAT_OK;
    uint32_t from = code_of(tracing, item[0]);
    uint32_t to = code_of(tracing, item[2]);
    if (from != BAT_NONE) {
        BAT_TRY(bat_tableless_graph(&tracing->code, from, &graph, tracing->error));
        uint32_t block = bat_code_block_at(&graph->blocks, item[1]);
        const struct bat_code_kept *kept = kept_at(graph, item[1]);
        is_fall = falls_through(graph, item);
        if (block != BAT_NONE && graph->blocks.all[block].last == item[1] &&
            !(kept && bat_kind_is_call(kept->kind)))
            tracing->out[tracing->first_block[from] + block] += item[4];
    }
    if (to != BAT_NONE) {
        BAT_TRY(bat_tableless_graph(&tracing->code, to, &graph, tracing->error));
        uint32_t block = bat_code_block_at(&graph->blocks, item[3]);
        if (block != BAT_NONE && graph->blocks.all[block].start == item[3])
            tracing->in[tracing->first_block[to] + block] += entries(tracing, graph, item);
        else if (block != BAT_NONE)
            code = add_inner(tracing, graph, item);
    }
    uint64_t target = address_of(tracing, item[2], item[3]);
    if (is_fall || target == 0 || code != BAT_OK)
        return code;
    uint64_t source = address_of(tracing, item[0], item[1]);
    return add(tracing, source ? source : BAT_TRACE_EXTERNAL_ORIGIN, target, BAT_TRACE_BRANCH_ONLY,
               item[4]);
}

/* --- Blocks ---------------------------------------------------------------------------------- */

/* A block whose runs are being added, and what is left of its function. */
struct walk {
    const struct bat_code_graph *graph;
    uint64_t function; /* its word */
    uint64_t address;
    uint32_t record; /* the first of the function that may be of this block */
    uint32_t end;    /* of its records */
    uint32_t kept;   /* likewise, in graph->kept */
    size_t inner;    /* likewise, in tracing->inner */
    uint64_t start;  /* offset of the run */
    uint64_t count;  /* of the run */
    bool is_first;   /* the run begins at the block's start: its count is known */
};

/* The calls recorded at an offset. Records before it are passed. *is_inside: some return from code
 * of the binary. */
static uint64_t count_calls(const struct tracing *tracing, struct walk *walk, uint32_t offset,
                            bool *is_inside)
{
    uint64_t count = 0;
    *is_inside = false;
    while (walk->record < walk->end &&
           bat_records_branch(tracing->records, walk->record)[1] < offset)
        walk->record++;
    for (uint32_t i = walk->record;
         i < walk->end && bat_records_branch(tracing->records, i)[1] == offset; i++) {
        const uint64_t *item = bat_records_branch(tracing->records, i);
        if (falls_through(walk->graph, item))
            continue;
        count += item[4];
        *is_inside = *is_inside || code_of(tracing, item[2]) != BAT_NONE;
    }
    return count;
}

/* Add the run that ends with the instruction at an offset. The next one begins behind it. */
static enum bat_code end_run(struct tracing *tracing, struct walk *walk, uint32_t offset)
{
    struct bat_instruction instruction;
    enum bat_code code = add(tracing, BAT_TRACE_FALLTHROUGH_ONLY, walk->address + walk->start,
                             walk->address + offset, walk->count);
    /* The code was read before. */
    if (bat_original_decode(tracing->records->binary->elf, walk->address + offset, &instruction))
        walk->start = (uint64_t)offset + instruction.length;
    walk->is_first = false;
    return code;
}

/* Pass the jumps that lead to where the run goes through, up to an offset: it is more often
 * executed from there on. */
static enum bat_code pass_inner(struct tracing *tracing, struct walk *walk, uint32_t offset)
{
    enum bat_code code = BAT_OK;
    for (; walk->inner < tracing->inner_count && code == BAT_OK; walk->inner++) {
        const struct inner *inner = &tracing->inner[walk->inner];
        if (bat_fdata_word(BAT_KIND_SYMBOL, inner->function) != walk->function ||
            inner->offset > offset)
            break;
        if (inner->offset > walk->start) {
            code = add(tracing, BAT_TRACE_FALLTHROUGH_ONLY, walk->address + walk->start,
                       walk->address + inner->offset - INSTRUCTION_AARCH64, walk->count);
            walk->start = inner->offset;
        }
        walk->count += inner->count;
    }
    return code;
}

/* Add the run that ends with a call, or with a branch that is not the block's last instruction. */
static enum bat_code pass(struct tracing *tracing, struct walk *walk,
                          const struct bat_code_kept *kept, uint64_t out)
{
    if (kept->kind == BAT_INSTRUCTION_CONDITIONAL) {
        enum bat_code code = end_run(tracing, walk, kept->offset);
        walk->count = out; /* of the jump behind it */
        walk->is_first = true;
        return code;
    }
    bool is_inside;
    uint64_t calls = count_calls(tracing, walk, kept->offset, &is_inside);
    if (!walk->is_first && calls != 0)
        walk->count = calls;
    enum bat_code code = end_run(tracing, walk, kept->offset);
    if (calls != 0)
        walk->count = calls;
    uint64_t returns = count_outside(tracing, walk->function, walk->start);
    if (!is_inside && returns != 0)
        walk->count = returns;
    return code;
}

/*
 * Add the runs of a block: one up to each call, and one to its end. Each has the count of the call
 * that ends it, as far as that is known.
 */
static enum bat_code add_block(struct tracing *tracing, struct walk *walk, uint32_t index,
                               uint64_t in, uint64_t out)
{
    const struct bat_code_graph *graph = walk->graph;
    const struct bat_code_block *block = &graph->blocks.all[index];
    enum bat_code code = BAT_OK;
    walk->start = block->start;
    walk->count = in;
    walk->is_first = true;
    while (walk->kept < graph->kept_count && graph->kept[walk->kept].offset < block->start)
        walk->kept++;
    for (; walk->kept < graph->kept_count && graph->kept[walk->kept].offset <= block->last &&
           code == BAT_OK;
         walk->kept++) {
        const struct bat_code_kept *kept = &graph->kept[walk->kept];
        if (bat_kind_is_call(kept->kind) ||
            (kept->kind == BAT_INSTRUCTION_CONDITIONAL && kept->offset < block->last)) {
            code = pass_inner(tracing, walk, kept->offset);
            code = code ? code : pass(tracing, walk, kept, out);
        }
    }
    if (code != BAT_OK || walk->start > block->last)
        return code;
    BAT_TRY(pass_inner(tracing, walk, block->last));
    if (!walk->is_first && out != 0)
        walk->count = out;
    return end_run(tracing, walk, block->last);
}

static enum bat_code add_function(struct tracing *tracing, uint32_t function, uint32_t first,
                                  uint32_t end)
{
    struct walk walk = {
        .function = bat_fdata_word(BAT_KIND_SYMBOL, function),
        .address = tracing->records->symbols[function].address,
        .record = first,
        .inner = BAT_COUNT_BELOW(tracing->inner, tracing->inner_count, function, function),
        .end = end};
    enum bat_code code = bat_tableless_graph(&tracing->code, function, &walk.graph, tracing->error);
    for (uint32_t i = 0; code == BAT_OK && i < walk.graph->blocks.count; i++) {
        size_t block = tracing->first_block[function] + i;
        code = add_block(tracing, &walk, i, tracing->in[block], tracing->out[block]);
    }
    return code;
}

/* --- All of it ------------------------------------------------------------------------------- */

static enum bat_code make(struct tracing *tracing)
{
    const struct bat_records *records = tracing->records;
    enum bat_code code = open_code(tracing);
    code = code ? code : count_blocks(tracing);
    for (uint32_t i = 0; i < records->branches.count && code == BAT_OK; i++)
        code = add_record(tracing, bat_records_branch(tracing->records, i));
    BAT_SORT_BY_TWO(tracing->inner, tracing->inner_count, function, offset);
    uint32_t next = 0;
    for (uint32_t i = 0; i < records->function_count && code == BAT_OK; i++) {
        uint64_t word = bat_fdata_word(BAT_KIND_SYMBOL, i);
        while (next < records->branches.count &&
               bat_records_branch(tracing->records, next)[0] < word)
            next++;
        uint32_t first = next;
        while (next < records->branches.count &&
               bat_records_branch(tracing->records, next)[0] == word)
            next++;
        if (bat_tableless_has(&tracing->code, i))
            code = add_function(tracing, i, first, next);
    }
    return code;
}

enum bat_code bat_records_to_traces(const struct bat_records *records, struct bat_profile *profile,
                                    struct bat_error *error)
{
    if (records->kind != BAT_PROFILE_BRANCHES || bat_records_have_note(records))
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected records of branches in a binary that BOLT has not written");
    struct tracing tracing = {.records = records, .profile = profile, .error = error};
    enum bat_code code = make(&tracing);
    bat_tableless_close(&tracing.code);
    BAT_FREE_ALL(tracing.first_block, tracing.in, tracing.out, tracing.inner);
    return code;
}
