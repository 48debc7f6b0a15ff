/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sections, pieces and functions. */
#include <elf.h>
#include <stdlib.h>

#include "bat_decoder.h"
#include "binary/functions/functions.h"
#include "report.h"
#include "spec/order.h"

/* --- Sections -------------------------------------------------------------------------------- */

/* Sort, cut what reaches beyond the address space, and leave out sections that overlap others. */
static void arrange(struct report_sections *sections)
{
    BAT_SORT_BY(sections->all, sections->count, address);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sections->count; i++) {
        struct report_section section = sections->all[i];
        if (section.size > UINT64_MAX - section.address)
            section.size = UINT64_MAX - section.address;
        const struct report_section *before = kept ? &sections->all[kept - 1] : NULL;
        if (section.size != 0 && (!before || before->address + before->size <= section.address))
            sections->all[kept++] = section;
    }
    sections->count = kept;
}

static bool list_sections(const struct bat_elf *elf, struct report_sections *sections)
{
    size_t count;
    const struct bat_section *all = bat_elf_sections(elf, &count);
    sections->all = malloc((count + 1) * sizeof(*sections->all));
    if (!sections->all)
        return false;
    for (size_t i = 0; i < count; i++)
        if (all[i].flags & SHF_EXECINSTR && all[i].flags & SHF_ALLOC && all[i].type != SHT_NOBITS)
            sections->all[sections->count++] = (struct report_section){
                .name = all[i].name, .address = all[i].address, .size = all[i].size};
    arrange(sections);
    return true;
}

/* --- Pieces ---------------------------------------------------------------------------------- */

/* Two sorted lists, functions of the file and tables of the note, read as one. */
struct merge {
    const struct bat_function_symbol *symbols;
    uint32_t symbol_count;
    uint32_t symbol;
    uint32_t table; /* position in by_address */
};

/*
 * True for the old code of a function that BOLT wrote anew, in a section that BOLT has renamed: it
 * has no symbol of its own, or that of a jump that BOLT patched over its entry.
 */
static bool is_old(const struct report *report, const struct report_piece *piece, uint32_t flags)
{
    uint32_t section = report_section_at(&report->output, piece->address);
    return flags & (BAT_FUNCTION_FDE | BAT_FUNCTION_SECTION | BAT_FUNCTION_PATCHED) &&
           section != BAT_NONE && report_is_old_section(&report->output.all[section]);
}

static void add_piece(struct report *report, struct report_piece piece)
{
    piece.section = report_section_at(&report->output, piece.address);
    if (piece.section == BAT_NONE) {
        report->without_code += piece.table != BAT_NONE;
        return;
    }
    const struct report_section *section = &report->output.all[piece.section];
    uint64_t room = section->address + section->size - piece.address;
    if (piece.size > room)
        piece.size = room;
    struct report_piece *before =
        report->piece_count ? &report->pieces[report->piece_count - 1] : NULL;
    if (before && before->size > piece.address - before->address)
        before->size = piece.address - before->address;
    report->pieces[report->piece_count++] = piece;
}

/* The next function or table, whichever is first; both if they have one address. */
static void merge_next(struct report *report, struct merge *merge)
{
    const struct bat_map *map = report->binary.map;
    uint32_t tables = bat_map_tables(map);
    const struct bat_function_symbol *symbol =
        merge->symbol < merge->symbol_count ? &merge->symbols[merge->symbol] : NULL;
    uint32_t table = merge->table < tables ? map->by_address[merge->table] : BAT_NONE;
    uint64_t table_address = table != BAT_NONE ? map->tables[table].address : UINT64_MAX;
    struct report_piece piece = {.table = BAT_NONE, .function = BAT_NONE, .size = UINT64_MAX};
    uint32_t flags = 0;
    if (symbol && symbol->address <= table_address) {
        piece.address = symbol->address;
        piece.size = symbol->size;
        piece.kind = symbol->flags & BAT_FUNCTION_PLT ? REPORT_PLT : REPORT_LEFT;
        flags = symbol->flags;
        /* The number of the symbol, until functions are made. */
        piece.function = merge->symbol++;
    }
    if (table != BAT_NONE && (!symbol || table_address <= symbol->address)) {
        merge->table++;
        if (bat_map_is_unemitted(map, table)) {
            report->without_code++;
            if (piece.function == BAT_NONE)
                return;
        } else {
            piece.address = table_address;
            piece.table = table;
            piece.kind = table < map->hot_count ? REPORT_HOT : REPORT_COLD;
        }
    }
    if (piece.table != BAT_NONE || !is_old(report, &piece, flags))
        add_piece(report, piece);
}

static enum bat_code make_pieces(struct report *report)
{
    if (bat_functions_create(report->binary.elf, NULL, &report->functions_of_file,
                             &report->error) != BAT_OK)
        return report_fail(report, report->request->binary);
    struct merge merge = {0};
    merge.symbols = bat_functions_all(report->functions_of_file, &merge.symbol_count);
    uint32_t tables = bat_map_tables(report->binary.map);
    report->pieces = calloc((size_t)merge.symbol_count + tables + 1, sizeof(*report->pieces));
    if (!report->pieces)
        return report_no_memory(report);
    while (merge.symbol < merge.symbol_count || merge.table < tables)
        merge_next(report, &merge);
    return BAT_OK;
}

/* --- Functions ------------------------------------------------------------------------------- */

static void begin_function(struct report *report, uint32_t piece, const char *name)
{
    report->functions[report->function_count] = (struct report_function){
        .name = name ? name : "", .input_section = BAT_NONE, .main_piece = piece};
    report->pieces[piece].function = report->function_count++;
}

/* Make a function of each piece that is no fragment, then give it its fragments. */
static enum bat_code make_functions(struct report *report)
{
    const struct bat_map *map = report->binary.map;
    uint32_t symbol_count;
    const struct bat_function_symbol *symbols =
        bat_functions_all(report->functions_of_file, &symbol_count);
    uint32_t *function_of_table = malloc(((size_t)map->hot_count + 1) * sizeof(uint32_t));
    report->functions = calloc((size_t)report->piece_count + 1, sizeof(*report->functions));
    report->pieces_of = malloc(((size_t)report->piece_count + 1) * sizeof(uint32_t));
    if (!function_of_table || !report->functions || !report->pieces_of) {
        free(function_of_table);
        return report_no_memory(report);
    }
    for (uint32_t i = 0; i < map->hot_count; i++)
        function_of_table[i] = BAT_NONE;
    for (uint32_t i = 0; i < report->piece_count; i++) {
        struct report_piece *piece = &report->pieces[i];
        if (piece->kind == REPORT_COLD)
            continue;
        uint32_t symbol = piece->function;
        begin_function(report, i, symbol != BAT_NONE ? symbols[symbol].name : NULL);
        if (piece->table != BAT_NONE)
            function_of_table[piece->table] = piece->function;
    }
    for (uint32_t i = 0; i < report->piece_count; i++) {
        struct report_piece *piece = &report->pieces[i];
        if (piece->kind != REPORT_COLD)
            continue;
        uint32_t parent = map->tables[piece->table].parent;
        uint32_t function = parent < map->hot_count ? function_of_table[parent] : BAT_NONE;
        uint32_t symbol = piece->function;
        if (function != BAT_NONE)
            piece->function = function;
        else
            begin_function(report, i, symbol != BAT_NONE ? symbols[symbol].name : NULL);
    }
    free(function_of_table);
    return BAT_OK;
}

static void list_pieces(struct report *report)
{
    for (uint32_t i = 0; i < report->piece_count; i++)
        report->functions[report->pieces[i].function].piece_count++;
    uint32_t first = 0;
    for (uint32_t i = 0; i < report->function_count; i++) {
        struct report_function *function = &report->functions[i];
        function->first_piece = first;
        first += function->piece_count;
        report->pieces_of[function->first_piece] = function->main_piece;
        function->piece_count = 1;
    }
    for (uint32_t i = 0; i < report->piece_count; i++) {
        struct report_function *function = &report->functions[report->pieces[i].function];
        if (i != function->main_piece)
            report->pieces_of[function->first_piece + function->piece_count++] = i;
    }
}

static void find_inputs(struct report *report)
{
    for (uint32_t i = 0; report->original && i < report->function_count; i++) {
        struct report_function *function = &report->functions[i];
        struct bat_original_place place;
        if (!bat_original_input_of(report->original, report->pieces[function->main_piece].address,
                                   false, &place))
            continue;
        uint32_t section = report_section_at(&report->input, place.function_address);
        if (section == BAT_NONE)
            continue;
        const struct report_section *holder = &report->input.all[section];
        uint64_t room = holder->address + holder->size - place.function_address;
        function->input_section = section;
        function->input_address = place.function_address;
        function->input_size = place.function_size < room ? place.function_size : room;
    }
}

enum bat_code report_collect_code(struct report *report)
{
    bool fits = list_sections(report->binary.elf, &report->output);
    if (fits && report->original)
        fits = list_sections(bat_original_elf(report->original), &report->input);
    if (!fits)
        return report_no_memory(report);
    BAT_TRY(make_pieces(report));
    BAT_TRY(make_functions(report));
    list_pieces(report);
    find_inputs(report);
    return BAT_OK;
}
