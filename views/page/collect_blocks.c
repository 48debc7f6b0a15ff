/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Blocks: those of the note, and of the hottest functions without a table those of their code. */
#include <stdlib.h>

#include "bat_decoder.h"
#include "binary/functions/functions.h"
#include "profile/translate/tableless.h"
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

/* BOLT has copied such a function as it is, so its input has the same offsets. */
static bool has_code_alone(const struct report *report, const struct report_piece *piece)
{
    const struct report_function *function = &report->functions[piece->function];
    return piece->kind == REPORT_LEFT && report->is_hottest[piece->function] &&
           piece->size <= UINT32_MAX &&
           (function->input_section == BAT_NONE || function->input_size == piece->size);
}

static uint32_t index_of(const struct report *report, const struct report_piece *piece)
{
    return has_code_alone(report, piece)
               ? bat_functions_at(report->functions_of_file, piece->address)
               : BAT_NONE;
}

/* Code that cannot be read has no blocks. */
static enum bat_code read_code(struct report *report, struct bat_tableless *code)
{
    struct bat_error error;
    uint32_t count;
    bat_functions_all(report->functions_of_file, &count);
    uint8_t *wanted = calloc((size_t)count + 1, sizeof(*wanted));
    if (!wanted)
        return report_no_memory(report);
    for (uint32_t i = 0; i < report->piece_count; i++) {
        uint32_t index = index_of(report, &report->pieces[i]);
        if (index != BAT_NONE)
            wanted[index] = 1;
    }
    enum bat_code status = bat_tableless_open(code, report->binary.elf, report->binary.elf,
                                              report->functions_of_file, wanted, &error);
    status = status ? status : bat_tableless_read_all(code, &error);
    free(wanted);
    if (status != BAT_OK)
        bat_tableless_close(code);
    return status == BAT_ERR_MEMORY ? report_no_memory(report) : BAT_OK;
}

/* NULL if a piece has no blocks by its code. */
static const struct bat_code_blocks *
code_of(const struct report *report, struct bat_tableless *code, const struct report_piece *piece)
{
    struct bat_error error;
    const struct bat_code_blocks *blocks = NULL;
    uint32_t index = index_of(report, piece);
    if (bat_tableless_has(code, index))
        bat_tableless_blocks(code, index, &blocks, &error);
    return blocks;
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

static void list_blocks(struct report *report, struct bat_tableless *code)
{
    for (uint32_t i = 0; i < report->piece_count; i++) {
        struct report_piece *piece = &report->pieces[i];
        const struct bat_code_blocks *blocks = code_of(report, code, piece);
        piece->first_block = report->block_count;
        if (piece->table != BAT_NONE)
            list_blocks_of_table(report, piece->table);
        else if (blocks)
            list_blocks_of_code(report, blocks);
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

static enum bat_code make_blocks(struct report *report, struct bat_tableless *code)
{
    BAT_TRY(read_code(report, code));
    size_t count = (size_t)report->binary.map->block_count + 1;
    for (uint32_t i = 0; i < code->count; i++)
        count += code->graphs[i].blocks.count;
    report->blocks = malloc(count * sizeof(*report->blocks));
    report->block_counts = calloc(count, sizeof(*report->block_counts));
    report->block_hints = calloc(count, sizeof(*report->block_hints));
    if (!report->blocks || !report->block_counts || !report->block_hints)
        return report_no_memory(report);
    list_blocks(report, code);
    find_reordered(report);
    return BAT_OK;
}

enum bat_code report_collect_blocks(struct report *report)
{
    struct bat_tableless code = {0};
    enum bat_code status = choose_hottest(report);
    status = status ? status : make_blocks(report, &code);
    bat_tableless_close(&code);
    return status;
}
