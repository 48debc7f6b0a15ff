/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Opens the code reader (reader.h). */
#include "code_blocks.h"

#include <elf.h>
#include <stdlib.h>

#include "binary/functions/eh_frame.h"
#include "reader.h"
#include "spec/array.h"

/* --- Sections ----------------------------------------------------------------------------- */

static enum bat_code read_sections(struct bat_code_reader *reader, struct bat_error *error)
{
    size_t count;
    const struct bat_section *sections = bat_elf_sections(reader->elf, &count);
    reader->has_relocations = bat_elf_section(reader->elf, ".rela.text") != NULL;
    reader->is_static = true;
    for (size_t i = 0; i < count; i++)
        if (sections[i].type == SHT_DYNAMIC)
            reader->is_static = false;
    return loaded_sections_read(&reader->sections, reader->elf, false, error);
}

/* --- Wanted functions --------------------------------------------------------------------- */

static enum bat_code set_wanted(struct bat_code_reader *reader, const uint32_t *indices,
                                uint32_t count, struct bat_error *error)
{
    reader->wanted = malloc(((size_t)count + 1) * sizeof(*reader->wanted));
    BAT_TRY_MEMORY(reader->wanted, error, "for %u functions", count);
    for (uint32_t i = 0; i < count; i++) {
        if (indices[i] >= reader->function_count || (i > 0 && indices[i] <= indices[i - 1]))
            return bat_fail(error, BAT_ERR_ARGUMENT,
                            "expected ascending indices of functions, found %u", indices[i]);
        reader->wanted[i] = (struct code_wanted){.function = indices[i]};
    }
    reader->wanted_count = count;
    return BAT_OK;
}

#define GRANULES_MAX (UINT64_C(1) << 22)

static const struct bat_function_symbol *wanted_function(const struct bat_code_reader *reader,
                                                         uint32_t position)
{
    return &reader->all[reader->wanted[position].function];
}

static void mark_granules(struct code_granules *granules,
                          const struct bat_function_symbol *function)
{
    uint64_t start = function->address - granules->start;
    uint64_t left = granules->size - start;
    uint64_t size = function->size < left ? function->size : left;
    if (size == 0)
        return;
    /* The end may be that of all addresses. */
    uint64_t last = (start + size - 1) >> granules->shift;
    for (uint64_t granule = start >> granules->shift; granule <= last; granule++)
        granules->bits[granule / 8] |= (uint8_t)(1u << granule % 8);
}

static enum bat_code set_granules(struct bat_code_reader *reader, struct bat_error *error)
{
    struct code_granules *granules = &reader->granules;
    const struct bat_function_symbol *last = wanted_function(reader, reader->wanted_count - 1);
    granules->start = wanted_function(reader, 0)->address;
    granules->size = last->address - granules->start;
    granules->size += last->size < UINT64_MAX - granules->size ? last->size : 0;
    while (CODE_GRANULE_MIN >> granules->shift > 1)
        granules->shift++;
    while (granules->size >> granules->shift >= GRANULES_MAX)
        granules->shift++;
    granules->bits = calloc((size_t)((granules->size >> granules->shift) / 8 + 1), 1);
    BAT_TRY_MEMORY(granules->bits, error, "for a map of the code");
    for (uint32_t i = 0; i < reader->wanted_count; i++)
        mark_granules(granules, wanted_function(reader, i));
    return BAT_OK;
}

/* Of several FDEs of one function, BOLT takes the first that covers any code. */
static enum bat_code find_exception_tables(struct bat_code_reader *reader, struct bat_error *error)
{
    struct bat_fde_walk walk;
    bat_fde_begin(&walk, reader->elf);
    for (;;) {
        struct bat_fde fde;
        bool found;
        enum bat_code code = bat_fde_next(&walk, &fde, &found, error);
        if (code || !found)
            return code;
        if (fde.lsda == 0 || fde.size == 0)
            continue;
        struct code_wanted *wanted = code_find_wanted_at(reader, fde.address);
        if (wanted && wanted->lsda == 0)
            wanted->lsda = fde.lsda;
    }
}

/* --- The reader --------------------------------------------------------------------------- */

static enum bat_code fill(struct bat_code_reader *reader, const struct bat_elf *symbols,
                          const uint32_t *indices, uint32_t count, struct bat_error *error)
{
    enum bat_code code = set_wanted(reader, indices, count, error);
    if (code || count == 0)
        return code;
    code = set_granules(reader, error);
    code = code ? code : read_sections(reader, error);
    code = code ? code : find_exception_tables(reader, error);
    code = code ? code : code_read_symbols(reader, symbols, error);
    if (!code && reader->whole_of)
        code = code_find_part_tables(reader, error);
    code = code ? code : code_find_entries(reader, error);
    return code;
}

enum bat_code bat_code_open(const struct bat_elf *elf, const struct bat_elf *symbols,
                            const struct bat_functions *functions, const uint32_t *indices,
                            uint32_t count, unsigned threads, struct bat_code_reader **reader,
                            struct bat_error *error)
{
    uint16_t machine = bat_elf_machine(elf);
    *reader = NULL;
    if (count != 0 && machine != EM_X86_64 && machine != EM_AARCH64 && machine != EM_RISCV)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected code of x86-64, AArch64 or RISC-V, found machine %u", machine);
    struct bat_code_reader *result = calloc(1, sizeof(*result));
    BAT_TRY_MEMORY(result, error, "for a code reader");
    result->elf = elf;
    result->functions = functions;
    result->machine = machine;
    result->threads = threads;
    result->all = bat_functions_all(functions, &result->function_count);
    enum bat_code code = fill(result, symbols ? symbols : elf, indices, count, error);
    if (code)
        bat_code_close(result);
    else
        *reader = result;
    return code;
}

void bat_code_close(struct bat_code_reader *reader)
{
    if (!reader)
        return;
    BAT_FREE_ALL(reader->wanted, reader->granules.bits);
    loaded_sections_free(&reader->sections);
    BAT_FREE_ALL(reader->markers, reader->entries.all, reader->references.all, reader->whole_of,
                 reader->part_tables.all, reader);
}
