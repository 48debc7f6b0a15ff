/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as sections with pseudo probes: reading them ends, and what was read is sound: sorted,
 * trees are trees, names lie in their section, look-ups find what is there.
 * Input: two bytes with the size of .pseudo_probe_desc, its bytes, those of .pseudo_probe.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bat_probes.h"
#include "field_mutator.h"
#include "fuzz.h"
#include "made_elf.h"
#include "mutator.h"

#define TEXT 0x401000u

static void expect_trees(const struct bat_probes *probes)
{
    uint32_t tops = 0;
    for (uint32_t i = 0; i < probes->node_count; i++) {
        const struct bat_probe_node *node = &probes->nodes[i];
        fuzz_expect(node->end > i && node->end <= probes->node_count, "a node ends behind itself");
        tops += node->parent == BAT_NONE;
        if (node->parent != BAT_NONE)
            fuzz_expect(node->parent < i && node->end <= probes->nodes[node->parent].end,
                        "a node is in its parent");
        fuzz_expect(probes->nodes[bat_probes_top(probes, i)].parent == BAT_NONE,
                    "the top has no parent");
        if (node->function != BAT_NONE)
            fuzz_expect(bat_probes_function(probes, node->guid) ==
                            &probes->functions[node->function],
                        "a node has its function");
        uint32_t first;
        if (node->parent == BAT_NONE)
            fuzz_expect(bat_probes_bodies(probes, node->guid, &first) > 0, "a body is found");
    }
    fuzz_expect(tops == probes->body_count, "all bodies are counted");
}

static void expect_order(const struct bat_probes *probes)
{
    for (uint32_t i = 1; i < probes->probe_count; i++)
        fuzz_expect(probes->probes[i - 1].address <= probes->probes[i].address,
                    "probes ascend by address");
    for (uint32_t i = 1; i < probes->function_count; i++)
        fuzz_expect(probes->functions[i - 1].guid <= probes->functions[i].guid,
                    "functions ascend by GUID");
    for (uint32_t i = 0; i < probes->probe_count; i++) {
        const struct bat_probe *probe = &probes->probes[i];
        fuzz_expect(probe->node < probes->node_count, "a probe has a node");
        fuzz_expect(!(probe->attributes & BAT_PROBE_SENTINEL), "sentinels are not kept");
        uint32_t first;
        uint32_t count = bat_probes_between(probes, probe->address, probe->address + 1, &first);
        if (probe->address != UINT64_MAX)
            fuzz_expect(first <= i && i < first + count, "a probe is found");
    }
}

/* Names are read to their ends, so that a sanitizer sees if they leave their section. */
static void expect_names(const struct bat_probes *probes)
{
    for (uint32_t i = 0; i < probes->function_count; i++) {
        const struct bat_probe_function *function = &probes->functions[i];
        const size_t length = bat_probe_name_length(function->name, function->name_length);
        fuzz_expect(length <= function->name_length, "a name without a suffix is not longer");
        fuzz_expect(bat_probe_guid(function->name, function->name_length) ==
                        bat_probe_guid(function->name, function->name_length),
                    "a name has one GUID");
    }
}

/* Probes of some addresses are those that all probes have there. */
static void expect_spans(struct bat_elf *elf, const struct bat_probes *all)
{
    const struct bat_probe_span spans[] = {{TEXT + 2, TEXT + 7}, {TEXT + 9, TEXT + 10}};
    struct bat_probes *probes;
    struct bat_error error;
    fuzz_expect(bat_probes_read_spans(elf, NULL, &(struct bat_probe_spans){spans, 2}, &probes,
                                      &error) == BAT_OK,
                "what can be read can be read in part");
    expect_trees(probes);
    expect_order(probes);
    uint32_t at = 0;
    for (size_t span = 0; span < 2; span++) {
        uint32_t first;
        const uint32_t count = bat_probes_between(all, spans[span].start, spans[span].end, &first);
        for (uint32_t i = first; i < first + count; i++, at++)
            fuzz_expect(at < probes->probe_count && probes->probes[at].id == all->probes[i].id &&
                            probes->nodes[probes->probes[at].node].guid ==
                                all->nodes[all->probes[i].node].guid,
                        "a part has the probes of its addresses");
    }
    fuzz_expect(at == probes->probe_count, "a part has no other probes");
    bat_probes_free(probes);
}

/* A program with the sections, and symbols of the functions f and g. */
static char *make_program(const uint8_t *data, size_t size)
{
    struct image image = image_new();
    static const uint8_t text[16] = {0xc3};
    const size_t wanted = size < 2 ? 0 : (size_t)(data[0] | data[1] << 8);
    const size_t start = size < 2 ? size : 2;
    const size_t first = wanted < size - start ? wanted : size - start;
    made_loaded(&image, ".text", SHF_EXECINSTR, TEXT, text, sizeof(text));
    made_section(&image, ".pseudo_probe_desc", SHT_PROGBITS, data + start, first);
    made_section(&image, ".pseudo_probe", SHT_PROGBITS, data + start + first, size - start - first);
    static const char strings[] = "\0f\0g.cold";
    const Elf64_Sym symbols[] = {
        {.st_name = 0},
        {.st_name = 1, .st_info = STT_FUNC, .st_shndx = 1, .st_value = TEXT, .st_size = 8},
        {.st_name = 3, .st_info = STT_FUNC, .st_shndx = 1, .st_value = TEXT + 8, .st_size = 8},
    };
    made_symbols(&image, symbols, 3, strings, sizeof(strings));
    return made_file(&image, "program", EM_X86_64);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    struct mutated mutated = {data, size, seed};
    if (size < 8 || mutated_draw(&mutated, 2) == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    mutate_number(&mutated, (struct mutated_part){0, size});
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_poison_gaps(true);
    char *path = make_program(data, size);
    struct bat_elf *elf;
    fuzz_expect(bat_elf_open(path, &elf, NULL) == BAT_OK, "the program can be opened");
    struct bat_probes *probes;
    struct bat_error error;
    enum bat_code code = bat_probes_read(elf, NULL, &probes, &error);
    if (code == BAT_OK) {
        expect_trees(probes);
        expect_order(probes);
        expect_names(probes);
        expect_spans(elf, probes);
        bat_probes_free(probes);
    } else {
        fuzz_expect_error(code, &error, UINT64_MAX);
    }
    bat_elf_close(elf);
    unlink(path);
    free(path);
    return 0;
}
