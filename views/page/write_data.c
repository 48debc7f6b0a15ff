/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The data of the page's code. spec/report.md describes it, in the order of this file. */
#include <stdio.h>
#include <stdlib.h>

#include "page.h"
#include "support/kept_names.h"

/* A chunk of blocks ends with the piece that makes it this large. */
#define CHUNK_BLOCKS 65536u

/* --- The description, in JSON ---------------------------------------------------------------- */

static void write_sections(struct bat_text_writer *page, const char *key,
                           const struct report_sections *sections)
{
    bat_text_format(page, ",\n\"%s\":[", key);
    for (uint32_t i = 0; i < sections->count; i++) {
        const struct report_section *section = &sections->all[i];
        bat_text_string(page, i ? ",{\"name\":" : "{\"name\":");
        html_json(page, section->name);
        bat_text_format(page, ",\"address\":\"0x%lx\",\"size\":%lu,\"isOld\":%s}", section->address,
                        section->size, report_is_old_section(section) ? "true" : "false");
    }
    bat_text_string(page, "]");
}

/* The first piece of the chunk behind the one that begins with this piece. */
static uint32_t chunk_end(const struct report *report, uint32_t piece)
{
    uint32_t blocks = 0;
    while (piece < report->piece_count && blocks < CHUNK_BLOCKS)
        blocks += report->pieces[piece++].block_count;
    return piece;
}

void report_write_members(const struct report *report, struct bat_text_writer *page)
{
    bat_text_string(page, "\"name\":");
    html_json(page, report->request->binary);
    bat_text_format(page, ",\n\"functions\":%u,\"pieces\":%u,\"blocks\":%u", report->function_count,
                    report->piece_count, report->block_count);
    bat_text_format(page, ",\"edges\":%zu,\"files\":%u,\"nodes\":%u,\"refused\":%zu",
                    report->edge_count, report->files.count, report->node_count,
                    report->refusal_count);
    bat_text_format(page, ",\n\"samples\":%lu,\"hasProfile\":%s,\"hasInput\":%s", report->samples,
                    report->has_profile ? "true" : "false", report->original ? "true" : "false");
    bat_text_format(page, ",\"hasLines\":%s,\"instructions\":[%u,%u,%u]",
                    report->lines ? "true" : "false", report->listings[REPORT_BEFORE].count,
                    report->listings[REPORT_AFTER].count, report->instruction_texts.count);
    write_sections(page, "output", &report->output);
    write_sections(page, "input", &report->input);
    bat_text_string(page, ",\n\"chunks\":[");
    for (uint32_t piece = 0; piece < report->piece_count; piece = chunk_end(report, piece))
        bat_text_format(page, "%s%u", piece ? "," : "", piece);
    bat_text_string(page, "]");
}

static void write_description(const struct report *report, struct bat_text_writer *page)
{
    bat_text_string(page, "<script type=\"application/json\" id=\"data\">{\"format\":\"batreport\","
                          "\"version\":1,\n");
    report_write_members(report, page);
    report_write_next_members(report, page);
    bat_text_string(page, "}</script>\n");
}

/* --- Packed parts ---------------------------------------------------------------------------- */

static void add_names(const struct report *report, const char *prefix, const bool *is_nameless,
                      struct page_parts *parts)
{
    struct pack names = {0};
    struct pack plain = {0};
    struct kept_names kept = {0};
    for (uint32_t i = 0; i < report->function_count; i++) {
        const char *name = is_nameless && is_nameless[i] ? "" : report->functions[i].name;
        pack_text(&names, name);
        /* "f/a.c/1" is the name of a local function in profiles. */
        size_t length = strcspn(name, "/");
        char *symbol = strndup(name, length);
        char *in_source = symbol ? report_plain_name(report->request, symbol) : NULL;
        plain.lacks_memory |= !symbol;
        const bool is_kept = in_source && kept_names_has_room(&kept, symbol, strlen(in_source));
        pack_text(&plain, is_kept ? in_source : "");
        free(in_source);
        free(symbol);
    }
    char warning[KEPT_NAMES_WARNING_SIZE];
    if (kept_names_warning(&kept, warning))
        report_warn(report, bat_elf_path(report->binary.elf), "%s", warning);
    parts_add(parts, prefix, "names", &names);
    parts_add(parts, prefix, "plain", &plain);
}

static void add_pieces(const struct report *report, const char *prefix, struct page_parts *parts)
{
    struct report_columns columns = {0};
    struct pack *all = columns.all;
    uint32_t section = 0;
    uint32_t function = 0;
    uint64_t end = 0;
    for (uint32_t i = 0; i < report->piece_count; i++) {
        const struct report_piece *piece = &report->pieces[i];
        if (piece->section != section || i == 0)
            end = report->output.all[piece->section].address;
        pack_number(&all[0], piece->section - section);
        pack_number(&all[1], piece->address - end);
        pack_number(&all[2], piece->size);
        pack_number(&all[3], piece->kind);
        pack_change(&all[4], function, piece->function);
        pack_number(&all[5], piece->samples);
        pack_number(&all[6], piece->executed);
        pack_number(&all[7], piece->block_count);
        section = piece->section;
        function = piece->function;
        end = piece->address + piece->size;
    }
    parts_add_columns(parts, prefix, "pieces", &columns);
}

static void add_functions(const struct report *report, const char *prefix, struct page_parts *parts)
{
    struct report_columns columns = {0};
    struct pack *all = columns.all;
    uint32_t main_piece = 0;
    uint64_t end = 0;
    for (uint32_t i = 0; i < report->function_count; i++) {
        const struct report_function *function = &report->functions[i];
        bool is_known = function->input_section != BAT_NONE;
        pack_change(&all[0], main_piece, function->main_piece);
        pack_number(&all[1], is_known ? function->input_section + 1 : 0);
        uint64_t offset =
            is_known ? function->input_address - report->input.all[function->input_section].address
                     : end;
        pack_change(&all[2], end, offset);
        pack_number(&all[3], is_known ? function->input_size : 0);
        pack_number(&all[4], function->is_reordered);
        main_piece = function->main_piece;
        end = offset + (is_known ? function->input_size : 0);
    }
    parts_add_columns(parts, prefix, "functions", &columns);
}

static bool has_lines(const struct report *report, const struct report_piece *piece)
{
    return report->lines && report->functions[piece->function].samples != 0;
}

static void pack_blocks(const struct report *report, const struct report_piece *piece,
                        struct pack *all, struct report_line *line)
{
    struct report_block before = {0};
    for (uint32_t i = piece->first_block; i < piece->first_block + piece->block_count; i++) {
        pack_number(&all[0], report->blocks[i].output - before.output);
        pack_change(&all[1], before.input, report->blocks[i].input);
        pack_number(&all[2], report->block_counts[i]);
        before = report->blocks[i];
    }
    pack_number(&all[3], has_lines(report, piece));
    for (uint32_t i = 0; has_lines(report, piece) && i < piece->block_count; i++) {
        const struct report_line *next = &report->lines[piece->first_block + i];
        pack_change(&all[4], line->file, next->file);
        pack_change(&all[5], line->line, next->line);
        *line = *next;
    }
}

static void add_blocks(const struct report *report, const char *prefix, struct page_parts *parts)
{
    uint32_t chunk = 0;
    for (uint32_t piece = 0; piece < report->piece_count; chunk++) {
        struct report_columns columns = {0};
        struct report_line line = {0};
        for (uint32_t end = chunk_end(report, piece); piece < end; piece++)
            pack_blocks(report, &report->pieces[piece], columns.all, &line);
        char name[32];
        snprintf(name, sizeof(name), "blocks-%u", chunk);
        parts_add_columns(parts, prefix, name, &columns);
    }
}

static void add_edges(const struct report *report, struct page_parts *parts)
{
    struct report_columns columns = {0};
    struct pack *all = columns.all;
    uint32_t from = 0;
    for (size_t i = 0; i < report->edge_count; i++) {
        const struct report_edge *edge = &report->edges[i];
        /* BAT_NONE becomes 0. */
        pack_change(&all[0], from, edge->from_piece + 1);
        pack_number(&all[1], edge->from_block);
        pack_change(&all[2], edge->from_piece + 1, edge->to_piece + 1);
        pack_number(&all[3], edge->to_block);
        pack_number(&all[4], edge->is_entry);
        pack_number(&all[5], edge->count);
        pack_number(&all[6], edge->mispredictions);
        from = edge->from_piece + 1;
    }
    parts_add_columns(parts, "", "edges", &columns);
}

static void add_refused(const struct report *report, struct page_parts *parts)
{
    if (report->refusal_count == 0)
        return;
    struct report_columns columns = {0};
    struct pack reasons = {0};
    struct pack names = {0};
    uint32_t before = 0;
    for (size_t i = 0; i < report->refusal_count; i++) {
        const struct report_refusal *refusal = &report->refusals[i];
        const char *name =
            refusal->function == BAT_NONE ? "" : report->functions[refusal->function].name;
        /* BAT_NONE becomes 0. */
        pack_change(&columns.all[0], before, refusal->function + 1);
        pack_number(&columns.all[1], refusal->is_yaml);
        pack_number(&columns.all[2], refusal->counts);
        pack_text(&reasons, refusal->reason);
        pack_text(&names, strcmp(name, refusal->name) == 0 ? "" : refusal->name);
        before = refusal->function + 1;
    }
    parts_add_columns(parts, "", "refused", &columns);
    parts_add(parts, "", "reasons", &reasons);
    parts_add(parts, "", "refused-names", &names);
}

static void add_stacks(const struct report *report, struct page_parts *parts)
{
    if (report->node_count == 0)
        return;
    struct report_columns columns = {0};
    for (uint32_t i = 0; i < report->node_count; i++) {
        pack_number(&columns.all[0], report->nodes[i].depth);
        pack_number(&columns.all[1], report->nodes[i].name);
        pack_number(&columns.all[2], report->nodes[i].count);
    }
    parts_add_columns(parts, "", "stacks", &columns);
    parts_add_strings(parts, "frames", &report->stack_names);
}

void report_add_code(const struct report *report, const char *prefix, const bool *is_nameless,
                     struct page_parts *parts)
{
    add_names(report, prefix, is_nameless, parts);
    add_pieces(report, prefix, parts);
    add_functions(report, prefix, parts);
    add_blocks(report, prefix, parts);
}

enum bat_code report_write_data(struct report *report, struct bat_text_writer *page)
{
    struct page_parts parts = {0};
    write_description(report, page);
    report_add_code(report, "", NULL, &parts);
    add_edges(report, &parts);
    add_refused(report, &parts);
    report_add_listings(report, &parts);
    report_add_carried(report, &parts);
    parts_add_strings(&parts, "files", &report->files);
    add_stacks(report, &parts);
    return parts_write(&parts, page);
}
