/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "heatmap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "spec/order.h"
#include "support/text_writer.h"

/* Counts are shown by this many colors; the first two are the same, but for the letter's case. */
#define COLORS 6u

/* More empty lines than that are one line without an address. */
#define EMPTY_LINES_MAX 32u

/* A map that is being written. */
struct map {
    struct bat_text_writer text;
    struct heatmap_view *view;
    uint64_t line_bytes;
    uint64_t limits[COLORS]; /* the largest count of each color */
    const char *color;
};

static const char plain[] = "\033[0;37m";
static const char *const colors[COLORS] = {plain,        plain,        "\033[0;36m",
                                           "\033[0;32m", "\033[0;33m", "\033[0;31m"};

enum bat_code heatmap_find_hot_text(struct bat_elf *elf, struct heatmap_view *view,
                                    struct bat_error *error)
{
    const struct bat_symbol *symbols;
    size_t count;
    uint64_t start = 0;
    uint64_t end = 0;
    enum bat_code code = bat_elf_symbols(elf, false, &symbols, &count, error);
    for (size_t i = 0; i < count; i++) {
        if (symbols[i].name && strcmp(symbols[i].name, "__hot_start") == 0)
            start = symbols[i].address;
        if (symbols[i].name && strcmp(symbols[i].name, "__hot_end") == 0)
            end = symbols[i].address;
    }
    if (start < end) {
        view->hot_start = start;
        view->hot_end = end;
    }
    return code;
}

/* --- The map -------------------------------------------------------------------------------- */

static void set_color(struct map *map, const char *color)
{
    if (map->color == color)
        return;
    bat_text_string(&map->text, color);
    map->color = color;
}

static void put_dots(struct map *map, uint64_t from, uint64_t to)
{
    for (; from < to; from += map->view->bucket_size)
        bat_text_bytes(&map->text, ".", 1);
}

static void put_address(struct map *map, uint64_t address)
{
    bat_text_format(&map->text, map->view->is_wide ? "0x%016lx" : "0x%08lx", address);
}

/* Write the line's address, and dots up to address. */
static void begin_line(struct map *map, uint64_t address)
{
    uint64_t start = address / map->line_bytes * map->line_bytes;
    set_color(map, plain);
    put_address(map, start);
    bat_text_string(&map->text, ": ");
    put_dots(map, start, address);
}

/* Write dots behind address up to the line's end. */
static void end_line(struct map *map, uint64_t address)
{
    put_dots(map, address + map->view->bucket_size,
             (address / map->line_bytes + 1) * map->line_bytes);
    bat_text_string(&map->text, "\n");
}

/* Write what is between two buckets. */
static void put_gap(struct map *map, uint64_t from, uint64_t to)
{
    uint64_t line = map->line_bytes;
    if (from / line == to / line) {
        if (from + map->view->bucket_size < to)
            set_color(map, plain);
        put_dots(map, from + map->view->bucket_size, to);
        return;
    }
    set_color(map, plain);
    end_line(map, from);
    /* A line whose only bucket is its first is written again, as BOLT does. */
    uint64_t next = (from + line - 1) / line * line;
    uint64_t empty = (to - next) / line;
    if (empty > EMPTY_LINES_MAX)
        bat_text_string(&map->text, "\n");
    for (; empty <= EMPTY_LINES_MAX && next + line <= to; next += line) {
        begin_line(map, next);
        put_dots(map, next, next + line);
        bat_text_string(&map->text, "\n");
    }
    begin_line(map, to);
}

static void put_count(struct map *map, uint64_t count, char letter)
{
    unsigned i = 0;
    while (i + 1 < COLORS && count > map->limits[i])
        i++;
    set_color(map, colors[i]);
    if (i != 0)
        letter = (char)(letter - 'a' + 'A');
    bat_text_bytes(&map->text, &letter, 1);
}

static void set_limits(struct map *map)
{
    const struct heatmap_buckets *buckets = map->view->buckets;
    uint64_t most = 0;
    for (size_t i = 0; i < buckets->count; i++)
        most = buckets->all[i].count > most ? buckets->all[i].count : most;
    for (unsigned i = 0; i < COLORS; i++) {
        uint64_t limit = (uint64_t)pow((double)most, (i + 1) / (double)COLORS);
        map->limits[i] = limit > i + 1 ? limit : i + 1;
    }
    map->limits[COLORS - 1] = most > COLORS ? most : COLORS;
}

static void put_legend(struct map *map)
{
    uint64_t before = 0;
    bat_text_string(&map->text, "Legend:\n\nRanges:\n");
    for (unsigned i = 0; i < COLORS; i++) {
        bat_text_string(&map->text, "  ");
        put_count(map, map->limits[i], 'o');
        set_color(map, plain);
        bat_text_format(&map->text, " : (%lu, %lu]\n", before, map->limits[i]);
        before = map->limits[i];
    }
}

static void put_mappings(struct map *map)
{
    const struct heatmap_view *view = map->view;
    bat_text_string(&map->text, "\nSections:\n");
    for (uint32_t i = 0; i < view->section_count; i++) {
        const struct heatmap_section *section = &view->sections[i];
        bat_text_format(&map->text, "  %c/%c : ", 'a' + i % 26, 'A' + i % 26);
        bat_text_escaped(&map->text, section->name);
        bat_text_format(&map->text, "%*s ",
                        strlen(section->name) < 10 ? 10 - (int)strlen(section->name) : 0, "");
        put_address(map, section->start);
        bat_text_string(&map->text, "-");
        put_address(map, section->end);
        bat_text_string(&map->text, "\n");
    }
    bat_text_string(&map->text, "\n");
}

/* Write the digit at a position, from the right, of each column's offset in its line. */
static void put_columns(struct map *map, unsigned position)
{
    bat_text_string(&map->text, map->view->is_wide ? "                    " : "            ");
    uint64_t before = UINT64_MAX;
    for (uint64_t i = 0; i < map->line_bytes; i += map->view->bucket_size) {
        uint64_t digit = i >> (position - 1) * 4 & 15;
        bat_text_bytes(&map->text, digit == before ? " " : &"0123456789abcdef"[digit], 1);
        before = digit;
    }
    bat_text_string(&map->text, "\n");
}

static void put_buckets(struct map *map)
{
    const struct heatmap_view *view = map->view;
    uint32_t section = 0;
    uint64_t before = 0;
    for (size_t i = 0; i < view->buckets->count; i++) {
        uint64_t address = view->buckets->all[i].number * view->bucket_size;
        uint32_t at = section;
        while (at < view->section_count &&
               (address < view->sections[at].start || address >= view->sections[at].end))
            at++;
        char letter = 'o';
        if (at < view->section_count) {
            section = at;
            letter = (char)('a' + at % 26);
        }
        if (before)
            put_gap(map, before, address);
        else
            begin_line(map, address);
        put_count(map, view->buckets->all[i].count, letter);
        before = address;
    }
    if (before) {
        set_color(map, plain);
        end_line(map, before);
    }
}

enum bat_code heatmap_write_map(struct heatmap_view *view, struct bat_output *output,
                                struct bat_error *error)
{
    struct map map = {.view = view,
                      .line_bytes = view->line_size * view->bucket_size,
                      .color = view->is_continued ? plain : NULL};
    BAT_TRY(bat_text_begin(&map.text, output, error));
    view->is_continued = true;
    set_limits(&map);
    bat_text_string(&map.text, "\033[0;40m"); /* a black background */
    set_color(&map, plain);
    put_legend(&map);
    if (view->prints_mappings)
        put_mappings(&map);
    for (unsigned position = 5; position > 0; position--)
        put_columns(&map, position);
    put_buckets(&map);
    return bat_text_finish(&map.text, BAT_OK);
}

/* --- Shares --------------------------------------------------------------------------------- */

static uint64_t total_of(const struct heatmap_view *view)
{
    uint64_t total = 0;
    for (size_t i = 0; i < view->buckets->count; i++)
        total += view->buckets->all[i].count;
    return total;
}

enum bat_code heatmap_write_shares(const struct heatmap_view *view, struct bat_output *output,
                                   struct bat_error *error)
{
    size_t count = view->buckets->count;
    uint64_t *counts = malloc(count * sizeof(*counts));
    BAT_TRY_MEMORY(counts, error, "to write the heat map");
    for (size_t i = 0; i < count; i++)
        counts[i] = view->buckets->all[i].count;
    qsort(counts, count, sizeof(*counts), bat_compare_u64_down);
    struct bat_text_writer text;
    enum bat_code code = bat_text_begin(&text, output, error);
    if (code == BAT_OK) {
        const double kilobytes = (double)view->bucket_size / 1024;
        const double percent = 100.0 / (double)total_of(view);
        uint64_t running = 0;
        bat_text_string(&text, "Bucket counts, Size (KB), CDF (%)\n");
        for (size_t i = 0; i < count; i++) {
            running += counts[i];
            bat_text_format(&text, "%zu, %.4f, %.4f\n", i + 1, kilobytes * (double)(i + 1),
                            percent * (double)running);
        }
        code = bat_text_finish(&text, BAT_OK);
    }
    free(counts);
    return code;
}

/* --- Sections ------------------------------------------------------------------------------- */

/* What a section has of the samples. */
struct hotness {
    uint64_t samples;
    uint64_t buckets;
};

/* All single precision, as BOLT has it. */
static void put_section(struct bat_text_writer *text, const struct heatmap_view *view,
                        const struct heatmap_section *section, struct hotness hotness,
                        uint64_t total, uint64_t mapped)
{
    uint64_t size = view->bucket_size;
    uint64_t buckets = section->end / size + (section->end % size != 0) - section->start / size;
    const float share = (float)((double)hotness.samples / (double)total);
    const float mapped_share = mapped ? (float)((double)hotness.samples / (double)mapped) : 0;
    const float used = (float)((double)hotness.buckets / (double)buckets);
    const float score = mapped_share * used;
    bat_text_escaped(text, section->name);
    bat_text_format(text, ", 0x%lx, 0x%lx, %.4f, %.4f, %.4f\n", section->start, section->end,
                    100. * (double)share, 100. * (double)used, (double)score);
}

/* Fill in hotness[], of each section, and hot, of the hot text. Returns the samples elsewhere. */
static uint64_t count_sections(const struct heatmap_view *view, struct hotness *hotness,
                               struct hotness *hot)
{
    uint64_t unmapped = 0;
    uint32_t section = 0;
    for (size_t i = 0; i < view->buckets->count; i++) {
        uint64_t address = view->buckets->all[i].number * view->bucket_size;
        uint64_t samples = view->buckets->all[i].count;
        while (section < view->section_count && address >= view->sections[section].end)
            section++;
        if (section == view->section_count ||
            address + view->bucket_size < view->sections[section].start) {
            unmapped += samples;
            continue;
        }
        hotness[section].samples += samples;
        hotness[section].buckets++;
        if (address >= view->hot_start && address < view->hot_end) {
            hot->samples += samples;
            hot->buckets++;
        }
    }
    return unmapped;
}

enum bat_code heatmap_write_sections(const struct heatmap_view *view, struct bat_output *output,
                                     struct bat_error *error)
{
    struct hotness *hotness = calloc(view->section_count + (size_t)1, sizeof(*hotness));
    BAT_TRY_MEMORY(hotness, error, "to write the heat map");
    struct hotness hot = {0};
    uint64_t unmapped = count_sections(view, hotness, &hot);
    uint64_t total = total_of(view);
    struct bat_text_writer text;
    enum bat_code code = bat_text_begin(&text, output, error);
    if (code == BAT_OK) {
        bat_text_string(&text, "Section Name, Begin Address, End Address, Percentage Hotness, "
                               "Utilization Pct, Partition Score\n");
        for (uint32_t i = 0; i < view->section_count; i++)
            put_section(&text, view, &view->sections[i], hotness[i], total, total - unmapped);
        const struct heatmap_section hot_text = {"[hot text]", view->hot_start, view->hot_end};
        if (view->hot_start < view->hot_end)
            put_section(&text, view, &hot_text, hot, total, total - unmapped);
        if (unmapped != 0)
            bat_text_format(&text, "[unmapped], 0x0, 0x0, %.4f, 0, 0\n",
                            100.0 * (double)unmapped / (double)total);
        code = bat_text_finish(&text, BAT_OK);
    }
    free(hotness);
    return code;
}
