/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "note_text.h"

#include "binary/note_facts.h"

/* Width of the first column, and of the numbers behind it. */
#define LABEL_WIDTH 26
#define NUMBER_WIDTH 14

static void print_label(struct bat_text_writer *output, const char *label)
{
    bat_text_format(output, "  %-*s", LABEL_WIDTH, label);
}

static void print_text(struct bat_text_writer *output, const char *label, const char *text)
{
    print_label(output, label);
    bat_text_name(output, "", text, "\n");
}

static void print_number(struct bat_text_writer *output, const char *label, uint64_t value)
{
    char text[NUMBER_SIZE];
    print_label(output, label);
    bat_text_format(output, "%*s\n", NUMBER_WIDTH, with_commas(value, text));
}

/* --- Who wrote it, and how ------------------------------------------------------------------ */

/* "BOLT revision: R, command line: C" in two lines; any other text in one. */
static void print_bolt_info(struct bat_text_writer *output, const char *info)
{
    char revision[NOTE_REVISION_SIZE];
    const char *command;
    if (!note_bolt_info(info, revision, &command)) {
        print_text(output, "BOLT says", info);
        return;
    }
    print_text(output, "BOLT revision", revision);
    print_text(output, "Command line", command);
}

static void print_build_id(struct bat_text_writer *output, const struct bat_elf *elf)
{
    size_t size = 0;
    const uint8_t *build_id = bat_elf_build_id(elf, &size);
    print_label(output, "Build-id");
    if (build_id)
        bat_text_hex_bytes(output, build_id, size);
    else
        bat_text_string(output, "none");
    bat_text_string(output, "\n");
}

static void print_hot_index(struct bat_text_writer *output, const struct bat_map *map)
{
    if (map->hot_index == BAT_HOT_INDEX_MERGED) {
        print_text(output, "Hot indices", "count in all tables, a defect of BOLT 19:");
        print_text(output, "", "perf2bolt misreads them or crashes;");
        print_text(output, "", "batinject --repair FILE puts them right");
    }
    if (map->hot_index == BAT_HOT_INDEX_FRAGMENT && map->hot_index_ambiguous)
        print_text(output, "Parents of fragments",
                   "not in the note, a defect of BOLT 18, and no symbols tell");
    else if (map->hot_index_ambiguous)
        print_text(output, map->hot_index == BAT_HOT_INDEX_MERGED ? "" : "Hot indices",
                   "a guess: they can be read in two ways, and there are no symbols to decide");
}

static void print_origin(struct bat_text_writer *output, const struct bat_binary *binary)
{
    print_text(output, "Format", note_version_text(binary->map));
    if (!bat_map_has_hashes(binary->map)) {
        print_text(output, "", "no hashes: profiles as fdata, not as YAML;");
        print_text(output, "", "batinject --upgrade makes it version 3");
    }
    if (binary->elf) {
        const char *info = bat_elf_bolt_info(binary->elf);
        if (info)
            print_bolt_info(output, info);
        else
            print_text(output, "BOLT revision", "not recorded (no .note.bolt_info)");
        print_text(output, "Machine", note_machine_name(binary->elf));
        print_build_id(output, binary->elf);
    } else {
        print_text(output, "File", "a raw note: no command line, build-id or symbols");
    }
    print_hot_index(output, binary->map);
}

/* --- Contents ------------------------------------------------------------------------------- */

static void print_contents(struct bat_text_writer *output, const struct bat_map *map)
{
    uint32_t split = 0;
    uint32_t split_further = 0;
    for (uint32_t i = 0; i < map->hot_count; i++) {
        uint32_t fragments = map->fragment_start[i + 1] - map->fragment_start[i];
        split += fragments > 0;
        split_further += fragments > 1;
    }
    bat_text_string(output, "\nContents\n");
    print_number(output, "functions", map->hot_count);
    print_number(output, "  with cold fragments", split);
    print_number(output, "  with several of them", split_further);
    print_number(output, "cold fragments", map->cold_count);
    print_number(output, "entries", map->entry_count);
    print_number(output, "  blocks", map->block_count);
    print_number(output, "  branches and calls", map->entry_count - map->block_count);
    print_number(output, "secondary entry points", map->secondary_count);
}

/* --- Use of the bytes ----------------------------------------------------------------------- */

static void print_share(struct bat_text_writer *output, const char *label, uint64_t bytes,
                        uint64_t total)
{
    char text[NUMBER_SIZE];
    print_label(output, label);
    bat_text_format(output, "%*s %6.1f %%\n", NUMBER_WIDTH, with_commas(bytes, text),
                    total ? 100.0 * (double)bytes / (double)total : 0.0);
}

/* The kinds of fields that have bytes, the largest first. */
static void print_shares(struct bat_text_writer *output, const struct bat_shares *shares,
                         uint64_t total)
{
    bool printed[BAT_SHARES] = {false};
    for (;;) {
        unsigned largest = BAT_SHARES;
        for (unsigned i = 0; i < BAT_SHARES; i++)
            if (!printed[i] && shares->bytes[i] != 0 &&
                (largest == BAT_SHARES || shares->bytes[i] > shares->bytes[largest]))
                largest = i;
        if (largest == BAT_SHARES)
            break;
        printed[largest] = true;
        print_share(output, note_share_label(largest), shares->bytes[largest], total);
    }
    print_share(output, "the note", total, total);
}

enum bat_code note_summary(struct bat_text_writer *output, const char *path,
                           const struct bat_binary *binary, struct bat_error *error)
{
    struct bat_shares shares;
    bat_map_shares(binary->map, &shares);
    uint64_t sum = bat_shares_sum(&shares);
    if (sum != binary->note_size)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected the note's fields to add up to its %zu bytes, found %lu",
                        binary->note_size, sum);
    bat_text_name(output, "", path, "\n");
    print_origin(output, binary);
    print_contents(output, binary->map);
    bat_text_string(output, "\nBytes\n");
    print_shares(output, &shares, sum);
    return BAT_OK;
}
