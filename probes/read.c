/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <elf.h>
#include <stdlib.h>

#include "reading.h"
#include "spec/array.h"

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
