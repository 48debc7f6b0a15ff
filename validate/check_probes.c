/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compares the pseudo probes of the binary with those of the binary that BOLT read. */
#include <stdlib.h>

#include "bat_decoder.h"
#include "bat_probes.h"
#include "binary/original/original.h"
#include "checking.h"
#include "spec/array.h"
#include "spec/order.h"

/* A probe, and where it belongs in the input. */
struct placed_probe {
    uint64_t path; /* of its node: equal for the same body, inlined at the same calls */
    uint32_t id;
    uint32_t type;    /* enum bat_probe_type */
    uint64_t place;   /* of its block or call in the input: find_place() */
    uint64_t address; /* in the input */
    uint32_t probe;   /* index in its file */
};

/* The place of a probe where the note has no entry (in code that BOLT made), or in the original at
 * a jump: a block of nothing else becomes empty, and its probes are at the block that it leads to.
 */
#define UNKNOWN_PLACE UINT64_MAX

/* Bits of a place: the place is an address. */
#define PLACE_IS_ADDRESS ((uint64_t)1 << 63)

/* The probes of one file. */
struct side {
    struct bat_probes *probes;
    struct placed_probe *placed; /* by path, id, type and place */
};

/* What the checks have at hand. */
struct comparing {
    struct bat_checking *checking;
    struct bat_original *original;
    struct side input;
    struct side output;
    struct bat_block *blocks; /* of a table, the last one that was asked for */
    uint32_t blocks_of;       /* the table, or BAT_NONE */
    uint32_t block_count;
    uint32_t block_capacity;
};

/* --- Places --------------------------------------------------------------------------------- */

/* Read the blocks of a hot table. False if there is no memory. */
static bool read_blocks(struct comparing *comparing, uint32_t table)
{
    const struct bat_map *map = comparing->checking->map;
    if (comparing->blocks_of == table)
        return true;
    comparing->blocks_of = BAT_NONE;
    comparing->block_count =
        bat_map_noted_blocks(map, table, comparing->blocks, comparing->block_capacity);
    if (comparing->block_count > comparing->block_capacity) {
        free(comparing->blocks);
        comparing->block_capacity = comparing->block_count;
        comparing->blocks = bat_array_new(comparing->block_capacity, sizeof(*comparing->blocks));
        if (!comparing->blocks) {
            comparing->block_capacity = 0;
            return false;
        }
        comparing->block_count =
            bat_map_noted_blocks(map, table, comparing->blocks, comparing->block_capacity);
    }
    comparing->blocks_of = table;
    return true;
}

/*
 * Find the place of an input address: the hot table of its function, which folded functions share,
 * and the number of its block from 1 on, or the offset of a call. Without a table it is the
 * address. False if there is no memory.
 */
static bool find_place(struct comparing *comparing, uint64_t address, bool is_call, uint64_t *place)
{
    struct bat_original_place function;
    *place = address | PLACE_IS_ADDRESS;
    if (!bat_original_input_function_at(comparing->original, address, &function) ||
        function.table == BAT_NONE)
        return true;
    const uint64_t offset = address - function.function_address;
    const uint64_t table = (uint64_t)function.table << 32;
    *place = table | (uint32_t)offset;
    if (is_call)
        return true;
    if (!read_blocks(comparing, function.table))
        return false;
    const uint32_t block = bat_block_at(comparing->blocks, comparing->block_count, offset);
    *place = table | (block == BAT_NONE ? 0 : block + 1);
    return true;
}

/* True if a table has an entry at exactly this output address. */
static bool has_entry(const struct bat_map *map, uint32_t table, uint64_t address)
{
    const struct bat_table *function = &map->tables[table];
    const uint32_t *offsets = map->output_offsets + function->first_entry;
    const uint64_t wanted = address - function->address;
    uint32_t first = 0;
    for (uint32_t end = function->entry_count; first < end;) {
        const uint32_t middle = first + (end - first) / 2;
        if (offsets[middle] < wanted)
            first = middle + 1;
        else
            end = middle;
    }
    return first < function->entry_count && offsets[first] == wanted;
}

/* True if there is a jump at an input address. */
static bool is_at_jump(const struct bat_elf *elf, uint64_t address)
{
    struct bat_instruction instruction;
    return bat_original_decode(elf, address, &instruction) &&
           instruction.kind == BAT_INSTRUCTION_JUMP;
}

/* Find the place of a probe of one of the files. False if there is no memory. */
static bool place_probe(struct comparing *comparing, const struct bat_probe *probe, bool is_output,
                        struct placed_probe *placed)
{
    const bool is_call = probe->type != BAT_PROBE_BLOCK;
    struct bat_original_place input = {.address = probe->address, .table = BAT_NONE};
    /* Code that BOLT did not emit, and its probes, stay at the input's addresses. */
    const bool is_translated =
        is_output && bat_original_input_of(comparing->original, probe->address, is_call, &input);
    placed->address = is_translated ? input.address : probe->address;
    placed->place = UNKNOWN_PLACE;
    if (is_translated && input.table != BAT_NONE &&
        !has_entry(comparing->checking->map, input.table, probe->address))
        return true;
    if (!is_output && !is_call &&
        is_at_jump(comparing->checking->options->original, probe->address))
        return true;
    return find_place(comparing, placed->address, is_call, &placed->place);
}

/* --- Probes --------------------------------------------------------------------------------- */

/* Mix a number into a hash (the finalizer of splitmix64). */
static uint64_t mix(uint64_t hash, uint64_t number)
{
    hash ^= number + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
    return hash ^ (hash >> 31);
}

/* For each node a hash of the bodies and calls that lead to it. NULL if there is no memory. */
static uint64_t *hash_paths(const struct bat_probes *probes)
{
    uint64_t *paths = bat_array_new(probes->node_count, sizeof(*paths));
    for (uint32_t i = 0; paths && i < probes->node_count; i++) {
        const struct bat_probe_node *node = &probes->nodes[i];
        const uint64_t above = node->parent == BAT_NONE ? 0 : paths[node->parent];
        paths[i] = mix(mix(above, node->guid), node->call_site);
    }
    return paths;
}

static int compare_ids(const struct placed_probe *left, const struct placed_probe *right)
{
    int order = bat_compare_numbers(left->path, right->path);
    order = order ? order : bat_compare_numbers(left->id, right->id);
    return order ? order : bat_compare_numbers(left->type, right->type);
}

static int compare_placed(const void *left_pointer, const void *right_pointer)
{
    const struct placed_probe *left = left_pointer;
    const struct placed_probe *right = right_pointer;
    int order = compare_ids(left, right);
    order = order ? order : bat_compare_numbers(left->place, right->place);
    return order ? order : bat_compare_numbers(left->probe, right->probe);
}

/* Fill side->placed. False if there is no memory. */
static bool place_probes(struct comparing *comparing, struct side *side, bool is_output)
{
    const struct bat_probes *probes = side->probes;
    uint64_t *paths = hash_paths(probes);
    side->placed = bat_array_new(probes->probe_count, sizeof(*side->placed));
    bool has_memory = paths && side->placed;
    for (uint32_t i = 0; i < probes->probe_count && has_memory; i++) {
        const struct bat_probe *probe = &probes->probes[i];
        side->placed[i] = (struct placed_probe){
            .path = paths[probe->node], .id = probe->id, .type = probe->type, .probe = i};
        has_memory = place_probe(comparing, probe, is_output, &side->placed[i]);
    }
    free(paths);
    if (has_memory && probes->probe_count > 1)
        qsort(side->placed, probes->probe_count, sizeof(*side->placed), compare_placed);
    return has_memory;
}

/* --- Findings ------------------------------------------------------------------------------- */

static const char *type_name(uint32_t type)
{
    return type == BAT_PROBE_BLOCK ? "block" : "call";
}

/* The name of the function of the source that a probe is in, for "%.*s". */
static const char *name_of(const struct bat_probes *probes, const struct placed_probe *placed,
                           int *length)
{
    const struct bat_probe_node *node = &probes->nodes[probes->probes[placed->probe].node];
    if (node->function == BAT_NONE) {
        *length = 18;
        return "an unknown function";
    }
    const struct bat_probe_function *function = &probes->functions[node->function];
    *length = function->name_length < 150 ? (int)function->name_length : 150;
    return function->name;
}

static void report_dropped(const struct comparing *comparing, const struct placed_probe *placed)
{
    const struct bat_probes *probes = comparing->input.probes;
    int length;
    const char *name = name_of(probes, placed, &length);
    bat_checking_find(comparing->checking, CHECK_PROBE_DROPPED, BAT_NONE, BAT_NONE,
                      "expected the %s probe %u of \"%.*s\", at 0x%lx in the original, found none",
                      type_name(placed->type), placed->id, length, name,
                      probes->probes[placed->probe].address);
}

static void report_moved(const struct comparing *comparing, const struct placed_probe *expected,
                         const struct placed_probe *found)
{
    const struct bat_probes *probes = comparing->output.probes;
    int length;
    const char *name = name_of(probes, found, &length);
    bat_checking_find(comparing->checking, CHECK_PROBE_MOVED, BAT_NONE, BAT_NONE,
                      "expected the %s probe %u of \"%.*s\" at what became of the original's "
                      "0x%lx, found it at 0x%lx, which is the original's 0x%lx",
                      type_name(found->type), found->id, length, name, expected->address,
                      probes->probes[found->probe].address, found->address);
}

/* The number of probes from first on that are the same but for their places. */
static uint32_t count_same(const struct side *side, uint32_t first)
{
    uint32_t end = first + 1;
    while (end < side->probes->probe_count &&
           compare_ids(&side->placed[end], &side->placed[first]) == 0)
        end++;
    return end - first;
}

/* Take the probes away that are at the same places in both lists. */
static void cancel_places(struct placed_probe *left, uint32_t *left_count,
                          struct placed_probe *right, uint32_t *right_count)
{
    uint32_t kept[2] = {0, 0};
    uint32_t i = 0;
    uint32_t j = 0;
    while (i < *left_count || j < *right_count) {
        const int order = i == *left_count    ? 1
                          : j == *right_count ? -1
                                              : bat_compare_numbers(left[i].place, right[j].place);
        if (order < 0) {
            left[kept[0]++] = left[i++];
        } else if (order > 0) {
            right[kept[1]++] = right[j++];
        } else {
            /* Copies of one block become one, and one block becomes copies. */
            const uint64_t place = left[i].place;
            while (i < *left_count && left[i].place == place)
                i++;
            while (j < *right_count && right[j].place == place)
                j++;
        }
    }
    *left_count = kept[0];
    *right_count = kept[1];
}

/* Take the probes of unknown places away, which are the last ones. Returns their number. */
static uint32_t cut_unknown(const struct placed_probe *list, uint32_t *count)
{
    const uint32_t before = *count;
    while (*count != 0 && list[*count - 1].place == UNKNOWN_PLACE)
        --*count;
    return before - *count;
}

/* Take probes of unknown places away, each with one of the other file. */
static void cancel_unknown(const struct placed_probe *input, uint32_t *input_count,
                           const struct placed_probe *output, uint32_t *output_count)
{
    const uint32_t inputs = *input_count;
    const uint32_t unknown_inputs = cut_unknown(input, input_count);
    const uint32_t unknown_outputs = cut_unknown(output, output_count);
    const uint32_t found = unknown_outputs + *output_count;
    *output_count -= *output_count < unknown_inputs ? *output_count : unknown_inputs;
    if (*output_count == 0)
        *input_count = inputs < found ? 0 : inputs - found;
    else
        *input_count -= *input_count < unknown_outputs ? *input_count : unknown_outputs;
}

/* Compare the probes that are the same but for their places: both lists are used up. */
static void compare_group(const struct comparing *comparing, struct placed_probe *input,
                          uint32_t input_count, struct placed_probe *output, uint32_t output_count)
{
    const struct placed_probe any = input[0];
    cancel_places(input, &input_count, output, &output_count);
    cancel_unknown(input, &input_count, output, &output_count);
    for (uint32_t i = 0; i < output_count; i++)
        report_moved(comparing, i < input_count ? &input[i] : &any, &output[i]);
    for (uint32_t i = output_count; i < input_count; i++)
        report_dropped(comparing, &input[i]);
}

static void compare_sides(const struct comparing *comparing)
{
    const struct side *input = &comparing->input;
    const struct side *output = &comparing->output;
    uint32_t i = 0;
    uint32_t j = 0;
    while (i < input->probes->probe_count) {
        const uint32_t input_count = count_same(input, i);
        while (j < output->probes->probe_count &&
               compare_ids(&output->placed[j], &input->placed[i]) < 0)
            j++; /* a probe that the original lacks: none of BOLT's passes makes one */
        const bool has_output = j < output->probes->probe_count &&
                                compare_ids(&output->placed[j], &input->placed[i]) == 0;
        const uint32_t output_count = has_output ? count_same(output, j) : 0;
        compare_group(comparing, &input->placed[i], input_count, output->placed + j, output_count);
        i += input_count;
        j += output_count;
    }
}

/* --- All ------------------------------------------------------------------------------------ */

/* Read the probes of a file; if they are damaged, report that and leave *probes NULL. */
static enum bat_code read_probes(struct bat_checking *checking, struct bat_elf *elf,
                                 const char *what, struct bat_probes **probes)
{
    struct bat_error error;
    *probes = NULL;
    const enum bat_code code = bat_probes_read(elf, NULL, probes, &error);
    if (code == BAT_ERR_MEMORY) {
        if (checking->error)
            *checking->error = error;
        return code;
    }
    if (code != BAT_OK)
        bat_checking_find(checking, CHECK_PROBE_SECTION, BAT_NONE, BAT_NONE,
                          "the pseudo probes of the %s cannot be read: %.200s", what,
                          error.message);
    return BAT_OK;
}

/* Compare the probes of two files that have some. */
static enum bat_code compare(struct comparing *comparing)
{
    struct bat_checking *checking = comparing->checking;
    struct bat_misfits misfits;
    struct bat_error error;
    const struct bat_original_options options = {.size = sizeof(options), .no_names = true};
    enum bat_code code = bat_original_pair(checking->options->original, checking->binary, &options,
                                           false, NULL, &comparing->original, &misfits, &error);
    if (code == BAT_ERR_MISMATCH)
        return BAT_OK; /* as the other checks have said */
    if (code != BAT_OK) {
        if (checking->error)
            *checking->error = error;
        return code;
    }
    if (!place_probes(comparing, &comparing->input, false) ||
        !place_probes(comparing, &comparing->output, true))
        return bat_fail_memory(checking->error, "for the pseudo probes");
    compare_sides(comparing);
    return BAT_OK;
}

enum bat_code bat_check_probes(struct bat_checking *checking)
{
    struct bat_elf *elf = checking->binary->elf;
    struct bat_elf *original = checking->options->original;
    if (!elf || !original || !bat_probes_are_in(original))
        return BAT_OK;
    if (!bat_probes_are_in(elf)) {
        bat_checking_find(checking, CHECK_PROBE_SECTION, BAT_NONE, BAT_NONE,
                          "expected pseudo probes, as the original has them, found none");
        return BAT_OK;
    }
    struct comparing comparing = {.checking = checking, .blocks_of = BAT_NONE};
    enum bat_code code = read_probes(checking, original, "original", &comparing.input.probes);
    code = code ? code : read_probes(checking, elf, "BOLTed file", &comparing.output.probes);
    if (code == BAT_OK && comparing.input.probes && comparing.output.probes)
        code = compare(&comparing);
    bat_original_close(comparing.original);
    BAT_FREE_ALL(comparing.blocks, comparing.input.placed, comparing.output.placed);
    bat_probes_free(comparing.input.probes);
    bat_probes_free(comparing.output.probes);
    return code;
}
