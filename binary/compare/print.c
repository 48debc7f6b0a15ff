/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Comparisons as text and as JSON. */
#include <stdlib.h>

#include "binary/note_facts.h"
#include "comparison.h"

static uint32_t limited(uint32_t count, uint32_t limit)
{
    return limit != 0 && limit < count ? limit : count;
}

static uint64_t distance(uint64_t left, uint64_t right)
{
    return left > right ? left - right : right - left;
}

/* --- Text ----------------------------------------------------------------------------------- */

static void print_both(struct bat_text_writer *output, const char *label, uint64_t old,
                       uint64_t new)
{
    char texts[3][NUMBER_SIZE];
    bat_text_format(output, "  %-36s %14s %14s", label, with_commas(old, texts[0]),
                    with_commas(new, texts[1]));
    if (old != new)
        bat_text_format(output, " %c%s", new > old ? '+' : '-',
                        with_commas(distance(old, new), texts[2]));
    bat_text_string(output, "\n");
}

static void print_count(struct bat_text_writer *output, const char *label, uint32_t count)
{
    char text[NUMBER_SIZE];
    bat_text_format(output, "  %-36s %14s\n", label, with_commas(count, text));
}

static void print_info(struct bat_text_writer *output, const char *label,
                       const struct compared_side *side)
{
    const char *info = bat_elf_bolt_info(side->binary->elf);
    bat_text_format(output, "  %-4s ", label);
    bat_text_name(output, "", info ? info : "none", "\n");
}

static void print_summary(struct bat_text_writer *output, const struct comparison *comparison)
{
    const struct compared_side *old = &comparison->sides[0];
    const struct compared_side *new = &comparison->sides[1];
    bat_text_name(output, "old: ", old->path, "\nnew: ");
    bat_text_escaped(output, new->path);
    bat_text_format(output, "\nThe same input, by the build-id: %s\n",
                    comparison->same_input ? "yes" : "no");
    if (!comparison->same_info) {
        bat_text_string(output, "BOLT:\n");
        print_info(output, "old", old);
        print_info(output, "new", new);
    }
    bat_text_format(output, "\n  %-36s %14s %14s\n", "", "old", "new");
    print_both(output, "functions with a table", old->binary->map->hot_count,
               new->binary->map->hot_count);
    print_both(output, "fragments", old->binary->map->cold_count, new->binary->map->cold_count);
    print_both(output, "bytes of their hot code", old->hot_size, new->hot_size);
    print_both(output, "bytes of their cold code", old->cold_size, new->cold_size);
    print_both(output, "bytes of the note", old->binary->note_size, new->binary->note_size);
    bat_text_string(output, "\nFunctions\n");
    print_count(output, "appeared", comparison->appeared);
    print_count(output, "went", comparison->went);
    for (unsigned bit = 0; bit < CHANGES; bit++)
        print_count(output, change_labels[bit], comparison->changed[bit]);
    print_count(output, "are as they were", comparison->equal);
    if (old->unnamed + new->unnamed != 0)
        print_both(output, "without a name, not compared", old->unnamed, new->unnamed);
}

static void print_rest(struct bat_text_writer *output, uint32_t count, uint32_t limit)
{
    if (limited(count, limit) < count)
        bat_text_format(output, "  and %u more (--limit=0 lists all)\n", count - limit);
}

static void print_sizes(struct bat_text_writer *output, const struct comparison *comparison,
                        uint32_t limit)
{
    bat_text_string(output, "\nSections, bytes\n");
    for (uint32_t i = 0; i < limited(comparison->section_count, limit); i++) {
        const struct compared_section *section = &comparison->sections[i];
        char texts[2][NUMBER_SIZE];
        bat_text_format(output, "  %14s %14s  ", with_commas(section->sizes[0], texts[0]),
                        with_commas(section->sizes[1], texts[1]));
        bat_text_name(output, "", section->name, "\n");
    }
    print_rest(output, comparison->section_count, limit);
    if (comparison->section_count == 0)
        bat_text_string(output, "  the same\n");
    bat_text_string(output, comparison->same_note ? "\nThe note: the same bytes\n"
                                                  : "\nThe note, bytes of its fields\n");
    for (unsigned i = 0; !comparison->same_note && i < BAT_SHARES; i++)
        print_both(output, note_share_label((enum bat_share)i),
                   comparison->sides[0].shares.bytes[i], comparison->sides[1].shares.bytes[i]);
}

/* A function that both have: its old and new values. */
static void print_pair(struct bat_text_writer *output, const struct compared_function *function,
                       unsigned change)
{
    const struct compared_function *old = function->pair;
    bat_text_name(output, "  ", function->name, "");
    if (change == CHANGE_SPLIT)
        bat_text_format(output, ": cold %lu -> %lu, fragments %u -> %u", old->cold_size,
                        function->cold_size, old->fragments, function->fragments);
    else if (change == CHANGE_PLACE)
        bat_text_format(output, ": 0x%lx -> 0x%lx", old->address, function->address);
    else if (change == CHANGE_INPUT)
        bat_text_format(output, ": hash 0x%lx -> 0x%lx", old->hash, function->hash);
    else
        bat_text_format(output, ": %lu -> %lu bytes", compared_size(old), compared_size(function));
    bat_text_string(output, "\n");
}

static bool print_list(struct bat_text_writer *output, const struct compared_side *side,
                       const char *title, unsigned change, uint32_t limit)
{
    struct function_list list;
    if (!list_functions(side, change, &list))
        return false;
    if (list.count != 0)
        bat_text_format(output, "\nFunctions: %s\n", title);
    for (uint32_t i = 0; i < limited(list.count, limit); i++) {
        const struct compared_function *function = list.items[i].function;
        if (change != 0) {
            print_pair(output, function, change);
            continue;
        }
        bat_text_name(output, "  ", function->name, "");
        bat_text_format(output, ": %lu bytes at 0x%lx\n", compared_size(function),
                        function->address);
    }
    print_rest(output, list.count, limit);
    free(list.items);
    return true;
}

bool comparison_print_text(struct bat_text_writer *output, const struct comparison *comparison,
                           uint32_t limit)
{
    print_summary(output, comparison);
    print_sizes(output, comparison, limit);
    bool fits = print_list(output, &comparison->sides[1], "appeared", 0, limit) &&
                print_list(output, &comparison->sides[0], "went", 0, limit);
    for (unsigned bit = 0; bit < CHANGES && fits; bit++)
        fits = print_list(output, &comparison->sides[1], change_labels[bit], 1u << bit, limit);
    return fits;
}

/* --- JSON ----------------------------------------------------------------------------------- */

static void print_side(struct bat_text_writer *output, const char *key,
                       const struct compared_side *side)
{
    const struct bat_map *map = side->binary->map;
    const char *info = bat_elf_bolt_info(side->binary->elf);
    size_t size = 0;
    const uint8_t *id = bat_elf_build_id(side->binary->elf, &size);
    bat_text_format(output, "\"%s\":{\"file\":", key);
    bat_text_json(output, side->path);
    if (id) {
        bat_text_string(output, ",\"build_id\":\"");
        bat_text_hex_bytes(output, id, size);
        bat_text_string(output, "\"");
    }
    if (info)
        bat_text_member(output, ",\"bolt_info\":", info);
    bat_text_format(output,
                    ",\"note_size\":%zu,\"functions\":%u,\"fragments\":%u,\"hot_size\":%lu,\"cold_"
                    "size\":%lu,\"unnamed\":%u}",
                    side->binary->note_size, map->hot_count, map->cold_count, side->hot_size,
                    side->cold_size, side->unnamed);
}

static void print_function(struct bat_text_writer *output, const struct compared_function *function)
{
    bat_text_format(output,
                    "{\"address\":\"0x%lx\",\"hash\":\"0x%lx\",\"hot_size\":%lu,\"cold_size\":%lu,"
                    "\"fragments\":%u}",
                    function->address, function->hash, function->hot_size, function->cold_size,
                    function->fragments);
}

static bool print_json_list(struct bat_text_writer *output, const struct compared_side *side,
                            const char *key, unsigned change, uint32_t limit)
{
    struct function_list list;
    if (!list_functions(side, change, &list))
        return false;
    bat_text_format(output, ",\n\"%s\":{\"count\":%u,\"functions\":[", key, list.count);
    for (uint32_t i = 0; i < limited(list.count, limit); i++) {
        const struct compared_function *function = list.items[i].function;
        const struct compared_function *old = change ? function->pair : NULL;
        bat_text_member(output, i ? ",\n{\"name\":" : "\n{\"name\":", function->name);
        if (old) {
            bat_text_string(output, ",\"old\":");
            print_function(output, old);
        }
        bat_text_string(output, old ? ",\"new\":" : ",\"is\":");
        print_function(output, function);
        bat_text_string(output, "}");
    }
    bat_text_string(output, "]}");
    free(list.items);
    return true;
}

bool comparison_print_json(struct bat_text_writer *output, const struct comparison *comparison,
                           uint32_t limit)
{
    bat_text_format(output, "{\"format\":\"batkit-compare\",\"schema\":1,\"same\":%s,",
                    comparison_is_same(comparison) ? "true" : "false");
    bat_text_format(output, "\"same_input\":%s,\"same_note\":%s,\n",
                    comparison->same_input ? "true" : "false",
                    comparison->same_note ? "true" : "false");
    print_side(output, "old", &comparison->sides[0]);
    bat_text_string(output, ",\n");
    print_side(output, "new", &comparison->sides[1]);
    bat_text_format(output, ",\n\"equal\":%u,\"sections\":{\"count\":%u,\"sections\":[",
                    comparison->equal, comparison->section_count);
    for (uint32_t i = 0; i < limited(comparison->section_count, limit); i++) {
        bat_text_member(output, i ? ",\n{\"name\":" : "\n{\"name\":", comparison->sections[i].name);
        bat_text_format(output, ",\"old\":%lu,\"new\":%lu}", comparison->sections[i].sizes[0],
                        comparison->sections[i].sizes[1]);
    }
    bat_text_string(output, "]}");
    bool fits = print_json_list(output, &comparison->sides[1], "appeared", 0, limit) &&
                print_json_list(output, &comparison->sides[0], "went", 0, limit);
    for (unsigned bit = 0; bit < CHANGES && fits; bit++)
        fits = print_json_list(output, &comparison->sides[1], change_keys[bit], 1u << bit, limit);
    bat_text_string(output, "}\n");
    return fits;
}
