/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <elf.h>
#include <stdlib.h>

#include "reading.h"
#include "spec/array.h"
#include "support/counts.h"

/* --- Functions: .pseudo_probe_desc, spec/pseudo-probes.md 2 ----------------------------------- */

/* --- Records ---------------------------------------------------------------------------------- */

static enum bat_code read_record(struct probe_bytes *bytes, struct bat_probe_function *function)
{
    enum bat_code code = probe_bytes_word(bytes, "a function's GUID", &function->guid);
    code = code ? code : probe_bytes_word(bytes, "a function's hash", &function->hash);
    BAT_TRY(code);
    BAT_TRY(probe_bytes_count(bytes, "a name's length", 1, &function->name_length));
    function->name = (const char *)bytes->at;
    bytes->at += function->name_length;
    return BAT_OK;
}

static enum bat_code fail_memory(const struct probe_bytes *bytes, uint32_t count)
{
    return bat_fail_memory(bytes->error, "for %u functions with probes", count);
}

/* Read the records up to the end of the section: all, or (wanted is not NULL) those of GUIDs. */
static enum bat_code read_records(struct probe_bytes bytes, const struct bat_counts *wanted,
                                  struct owned_probes *probes)
{
    uint32_t *count = &probes->public.function_count;
    size_t room = 0;
    while (bytes.at < bytes.end) {
        struct bat_probe_function function;
        BAT_TRY(read_record(&bytes, &function));
        if (wanted && !bat_counts_find(wanted, &function.guid))
            continue;
        if (*count == room) {
            room = 2 * room + 64;
            void *grown = bat_array_grow(probes->functions, room, sizeof(function));
            if (!grown)
                return fail_memory(&bytes, *count);
            probes->functions = grown;
        }
        probes->functions[(*count)++] = function;
    }
    return BAT_OK;
}

/* Sort them by GUID. */
static bool sort_functions(struct owned_probes *probes)
{
    const uint32_t count = probes->public.function_count;
    struct bat_sort_key *keys = bat_array_new(count, sizeof(*keys));
    for (uint32_t i = 0; keys && i < count; i++)
        keys[i] = (struct bat_sort_key){probes->functions[i].guid, i};
    if (count == 0)
        probes->functions = bat_array_new(0, 1);
    probes->functions = probes_sorted(probes->functions, keys, count, sizeof(*probes->functions));
    probes->public.functions = probes->functions;
    return probes->functions != NULL;
}

/* --- The functions of nodes ------------------------------------------------------------------- */

/* Tell the nodes their functions: of several with one GUID the first. */
static void find_functions(struct owned_probes *into)
{
    for (uint32_t i = 0; i < into->public.node_count; i++) {
        struct bat_probe_node *node = &into->nodes[i];
        const struct bat_probe_function *found = bat_probes_function(&into->public, node->guid);
        node->function = found ? (uint32_t)(found - into->functions) : BAT_NONE;
    }
}

/* Fill functions from .pseudo_probe_desc; the nodes are there, and get theirs. Of wanted spans only
 * the functions that have nodes are kept. */
static enum bat_code probes_read_functions(struct probe_bytes bytes, struct owned_probes *probes)
{
    struct bat_counts guids = bat_counts_new(1); /* of the nodes */
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; probes->wanted && i < probes->public.node_count && !code; i++)
        code = bat_counts_add(&guids, &probes->public.nodes[i].guid, 0, 0);
    code = code ? fail_memory(&bytes, probes->public.node_count)
                : read_records(bytes, probes->wanted ? &guids : NULL, probes);
    bat_counts_free(&guids);
    if (code == BAT_OK && !sort_functions(probes))
        code = fail_memory(&bytes, probes->public.function_count);
    if (code == BAT_OK)
        find_functions(probes);
    return code;
}

#define DESCRIPTIONS ".pseudo_probe_desc"
#define PROBES ".pseudo_probe"

bool bat_probes_are_in(const struct bat_elf *elf)
{
    return bat_elf_section(elf, DESCRIPTIONS) && bat_elf_section(elf, PROBES);
}

static enum bat_code check_section(const struct bat_section *section, struct bat_error *error)
{
    if (section->flags & SHF_COMPRESSED)
        return bat_fail(error, BAT_ERR_UNSUPPORTED, "expected %s as it is, found it compressed",
                        section->name);
    if (section->type == SHT_NOBITS || section->type == SHT_NULL)
        return bat_fail(error, BAT_ERR_ELF,
                        "expected the bytes of %s in this file, found a header without bytes",
                        section->name);
    if (section->size > UINT32_MAX)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected %s of less than 4 GiB, found 0x%lx bytes", section->name,
                        section->size);
    return BAT_OK;
}

/* Begin to read a section. */
static enum bat_code open_section(const struct bat_elf *elf, const char *name,
                                  struct probe_bytes *bytes, struct bat_error *error)
{
    const struct bat_section *section = bat_elf_section(elf, name);
    BAT_TRY(check_section(section, error));
    uint64_t size;
    const uint8_t *start = bat_elf_section_bytes(elf, section, &size);
    *bytes = (struct probe_bytes){name, start, start, start + size, error};
    return BAT_OK;
}

static enum bat_code no_probes(const struct bat_elf *elf, struct bat_error *error)
{
    const bool has_one = bat_elf_section(elf, DESCRIPTIONS) || bat_elf_section(elf, PROBES);
    return bat_fail(error, BAT_ERR_NO_DEBUG,
                    "expected the sections " DESCRIPTIONS " and " PROBES
                    ", found %s: compile with clang -fpseudo-probe-for-profiling",
                    has_one ? "one of them alone" : "neither");
}

static enum bat_code read_sections(const struct bat_elf *elf, struct bat_elf *symbols,
                                   struct owned_probes *probes, struct bat_error *error)
{
    struct probe_bytes descriptions;
    BAT_TRY(open_section(elf, DESCRIPTIONS, &descriptions, error));
    struct probe_bytes bytes;
    BAT_TRY(open_section(elf, PROBES, &bytes, error));
    struct probe_bases bases = {.symbols = symbols};
    enum bat_code code = probes_read_bodies(bytes, &bases, probes);
    free(bases.keys);
    return code ? code : probes_read_functions(descriptions, probes);
}

enum bat_code bat_probes_read(struct bat_elf *elf, struct bat_elf *symbols,
                              struct bat_probes **probes, struct bat_error *error)
{
    return bat_probes_read_spans(elf, symbols, NULL, probes, error);
}

enum bat_code bat_probes_read_spans(struct bat_elf *elf, struct bat_elf *symbols,
                                    const struct bat_probe_spans *wanted,
                                    struct bat_probes **probes, struct bat_error *error)
{
    if (!bat_probes_are_in(elf))
        return no_probes(elf, error);
    struct owned_probes *owned = calloc(1, sizeof(*owned));
    BAT_TRY_MEMORY(owned, error, "to read probes");
    owned->wanted = wanted;
    enum bat_code code = read_sections(elf, symbols ? symbols : elf, owned, error);
    if (code != BAT_OK) {
        bat_probes_free(&owned->public);
        return code;
    }
    *probes = &owned->public;
    return BAT_OK;
}

void bat_probes_free(struct bat_probes *probes)
{
    struct owned_probes *owned = (struct owned_probes *)probes;
    if (!owned)
        return;
    BAT_FREE_ALL(owned->functions, owned->nodes, owned->probes, owned->bodies, owned);
}
