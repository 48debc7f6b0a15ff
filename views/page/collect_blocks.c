/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Blocks: those of the note, and of the hottest functions without a table those of their code. */
#include <stdlib.h>

#include "bat_decoder.h"
#include "binary/code/code_blocks.h"
#include "report.h"

/* --- The hottest functions -------------------------------------------------------------------- */

/* Of the functions with the most samples, those are shown whose code fits in so many bytes, before
 * and after BOLT together: about 1 MB of a page. */
#define HOTTEST_MOST 1000u
#define HOTTEST_CODE ((uint64_t)560 << 10)

static uint64_t code_size(const struct report *report, const struct report_function *function)
{
    uint64_t size = function->input_size;
    for (uint32_t i = 0; i < function->piece_count; i++)
        size += report->pieces[report->pieces_of[function->first_piece + i]].size;
    return size;
}

static enum bat_code choose_hottest(struct report *report)
{
    uint32_t *hottest = malloc(HOTTEST_MOST * sizeof(*hottest));
    report->is_hottest = calloc((size_t)report->function_count + 1, 1);
    if (!hottest || !report->is_hottest) {
        free(hottest);
        return report_no_memory(report);
    }
    uint32_t count = report_find_hottest(report, hottest, HOTTEST_MOST);
    uint64_t room = HOTTEST_CODE;
    for (uint32_t i = 0; i < count; i++) {
        const struct report_function *function = &report->functions[hottest[i]];
        uint64_t size = code_size(report, function);
        if (size > room || report->pieces[function->main_piece].kind == REPORT_PLT)
            continue;
        room -= size;
        report->is_hottest[hottest[i]] = true;
    }
    free(hottest);
    return BAT_OK;
}

/* --- Blocks of code --------------------------------------------------------------------------- */

/* The blocks of the pieces that have them from their code, by the pieces. */
struct code_pieces {
    uint32_t *pieces;
    uint32_t *indices; /* among the functions of the file */
    struct bat_code_blocks *blocks;
    uint32_t count;
};

/* BOLT has copied such a function as it is, so its input has the same offsets. */
static bool has_code_alone(const struct report *report, const struct report_piece *piece)
{
    const struct report_function *function = &report->functions[piece->function];
    return piece->kind == REPORT_LEFT && report->is_hottest[piece->function] &&
           piece->size <= UINT32_MAX &&
           (function->input_section == BAT_NONE || function->input_size == piece->size);
}

static bool list_code_pieces(const struct report *report, struct code_pieces *list)
{
    for (uint32_t i = 0; i < report->piece_count; i++)
        list->count += has_code_alone(report, &report->pieces[i]);
    list->pieces = malloc(((size_t)list->count + 1) * sizeof(*list->pieces));
    list->indices = malloc(((size_t)list->count + 1) * sizeof(*list->indices));
    list->blocks = calloc((size_t)list->count + 1, sizeof(*list->blocks));
    if (!list->pieces || !list->indices || !list->blocks)
        return false;
    list->count = 0;
    for (uint32_t i = 0; i < report->piece_count; i++) {
        if (!has_code_alone(report, &report->pieces[i]))
            continue;
        uint32_t index = bat_functions_at(report->functions_of_file, report->pieces[i].address);
        if (index == BAT_NONE)
            continue;
        list->pieces[list->count] = i;
        list->indices[list->count++] = index;
    }
    return true;
}

/* Functions of which the blocks are not found have none. False without memory. */
static bool read_code_blocks(struct report *report, struct code_pieces *list)
{
    if (!list_code_pieces(report, list))
        return false;
    if (list->count == 0)
        return true;
    struct bat_error error;
    struct bat_code_reader *reader;
    enum bat_code code =
        bat_code_open(report->binary.elf, report->binary.elf, report->functions_of_file,
                      list->indices, list->count, 0, &reader, &error);
    if (code != BAT_OK)
        return code != BAT_ERR_MEMORY;
    for (uint32_t i = 0; code == BAT_OK && i < list->count; i++)
        code = bat_code_blocks(reader, list->indices[i], &list->blocks[i], &error);
    bat_code_close(reader);
    return code != BAT_ERR_MEMORY;
}

static void free_code_pieces(struct code_pieces *list)
{
    for (uint32_t i = 0; list->blocks && i < list->count; i++)
        bat_code_blocks_free(&list->blocks[i]);
    free(list->blocks);
    free(list->indices);
    free(list->pieces);
}

/* --- All -------------------------------------------------------------------------------------- */

static void list_blocks_of_table(struct report *report, uint32_t number)
{
    const struct bat_map *map = report->binary.map;
    const struct bat_table *table = &map->tables[number];
    for (uint32_t i = 0; i < table->entry_count; i++) {
        uint32_t input = map->input_offsets[table->first_entry + i];
        if (input & BAT_BRANCH_ENTRY)
            continue;
        report->blocks[report->block_count++] = (struct report_block){
            .output = map->output_offsets[table->first_entry + i], .input = input >> 1};
    }
}

static void list_blocks_of_code(struct report *report, const struct bat_code_blocks *blocks)
{
    for (uint32_t i = 0; i < blocks->count; i++)
        report->blocks[report->block_count++] =
            (struct report_block){.output = blocks->all[i].start, .input = blocks->all[i].start};
}

static void list_blocks(struct report *report, const struct code_pieces *list)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < report->piece_count; i++) {
        struct report_piece *piece = &report->pieces[i];
        piece->first_block = report->block_count;
        if (piece->table != BAT_NONE)
            list_blocks_of_table(report, piece->table);
        else if (next < list->count && list->pieces[next] == i)
            list_blocks_of_code(report, &list->blocks[next++]);
        piece->block_count = report->block_count - piece->first_block;
    }
}

/* By blocks that have output code, in the order of the output, fragments behind the hot part. */
static void find_reordered(struct report *report)
{
    for (uint32_t i = 0; i < report->function_count; i++) {
        struct report_function *function = &report->functions[i];
        uint32_t before = 0;
        for (uint32_t j = 0; j < function->piece_count; j++) {
            const struct report_piece *piece =
                &report->pieces[report->pieces_of[function->first_piece + j]];
            for (uint32_t k = 0; k < piece->block_count; k++) {
                const struct report_block *block = &report->blocks[piece->first_block + k];
                if (block->output >= report_block_end(report, piece, k))
                    continue;
                function->is_reordered |= block->input < before;
                before = block->input;
            }
        }
    }
}

enum bat_code report_collect_blocks(struct report *report)
{
    struct code_pieces list = {0};
    enum bat_code code = choose_hottest(report);
    bool fits = code == BAT_OK && read_code_blocks(report, &list);
    size_t count = (size_t)report->binary.map->block_count + 1;
    for (uint32_t i = 0; fits && i < list.count; i++)
        count += list.blocks[i].count;
    if (fits) {
        report->blocks = malloc(count * sizeof(*report->blocks));
        report->block_counts = calloc(count, sizeof(*report->block_counts));
        report->block_hints = calloc(count, sizeof(*report->block_hints));
        fits = report->blocks && report->block_counts && report->block_hints;
    }
    if (fits) {
        list_blocks(report, &list);
        find_reordered(report);
    }
    free_code_pieces(&list);
    return fits || code != BAT_OK ? code : report_no_memory(report);
}
