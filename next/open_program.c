/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "program.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "binary/code/reader.h"
#include "known_instructions.h"
#include "references.h"
#include "source_lines.h"
#include "spec/array.h"
#include "unit.h"

/* --- Names ---------------------------------------------------------------------------------- */

static void name_functions(struct next_program *program)
{
    for (uint32_t i = 0; i < program->function_count; i++) {
        const char *name = program->all[i].name;
        program->name_of[i] = name ? next_hash(name, next_plain_name_length(name), 0) : 0;
    }
}

/* --- Units ---------------------------------------------------------------------------------- */

/* The function whose parts this one is with, as far as they are known. */
static uint32_t whole_of(const struct next_program *program, uint32_t function)
{
    const uint32_t *whole = program->reader->whole_of;
    return whole && whole[function] != BAT_NONE ? whole[function] : function;
}

/* Put the functions that are fragments, or those that are none, before the parts of their units. */
static void add_parts(struct next_program *program, bool are_fragments)
{
    for (uint32_t i = program->function_count; i-- > 0;) {
        bool is_fragment = program->all[i].flags & BAT_FUNCTION_FRAGMENT;
        if (program->unit_of[i] == BAT_NONE || is_fragment != are_fragments)
            continue;
        program->next_part[i] = program->first_part[program->unit_of[i]];
        program->first_part[program->unit_of[i]] = i;
    }
}

/* Functions that share a fragment, which a linker made of the same code of theirs, are units of
 * their own; one of them has it. */
static void make_units(struct next_program *program)
{
    for (uint32_t i = 0; i < program->function_count; i++) {
        program->unit_of[i] = program->next_part[i] = program->first_part[i] = BAT_NONE;
        program->same_as[i] = i;
    }
    for (uint32_t i = 0; i < program->function_count; i++) {
        program->code_size += program->all[i].size;
        if (program->all[i].flags & BAT_FUNCTION_PLT)
            continue;
        uint32_t whole = whole_of(program, i);
        bool is_whole = !(program->all[i].flags & BAT_FUNCTION_FRAGMENT);
        uint32_t unit = program->unit_of[whole];
        if (unit == BAT_NONE || (is_whole && program->first_part[unit] != BAT_NONE))
            unit = program->unit_count++;
        if (program->unit_of[whole] == BAT_NONE)
            program->unit_of[whole] = unit;
        if (is_whole)
            program->first_part[unit] = i;
        program->unit_of[i] = unit;
    }
    for (uint32_t i = 0; i < program->unit_count; i++)
        program->first_part[i] = BAT_NONE;
    add_parts(program, true);
    add_parts(program, false);
}

/* --- Symbols of units ----------------------------------------------------------------------- */

static enum bat_code list_names(struct next_program *program, struct bat_error *error)
{
    const struct bat_symbol *symbols;
    size_t count;
    BAT_TRY(bat_elf_symbols((struct bat_elf *)program->symbols, false, &symbols, &count, error));
    program->names = bat_array_new(count, sizeof(*program->names));
    BAT_TRY_MEMORY(program->names, error, "for symbols");
    for (size_t i = 0; i < count; i++) {
        const struct bat_symbol *symbol = &symbols[i];
        if ((symbol->type != STT_FUNC && symbol->type != STT_GNU_IFUNC) ||
            symbol->section == BAT_SECTION_UNDEFINED)
            continue;
        uint32_t function = bat_functions_at(program->functions, symbol->address);
        uint32_t unit = function == BAT_NONE ? BAT_NONE : program->unit_of[function];
        if (unit == BAT_NONE || program->first_part[unit] != function)
            continue;
        struct next_symbol *name = &program->names[program->name_count++];
        *name = (struct next_symbol){.name = next_hash_name(symbol->name, strlen(symbol->name)),
                                     .unit = unit,
                                     .is_local = symbol->file};
        if (symbol->file)
            name->local_name = name->name * 31 + next_hash_name(symbol->file, strlen(symbol->file));
    }
    BAT_SHRINK(program->names, program->name_count);
    return BAT_OK;
}

uint64_t next_unit_size(const struct next_program *program, uint32_t unit)
{
    uint64_t size = 0;
    for (uint32_t i = program->first_part[unit]; i != BAT_NONE; i = program->next_part[i])
        size += program->all[i].size;
    return size;
}

/* --- Opening -------------------------------------------------------------------------------- */

static enum bat_code find_functions(struct next_program *program, unsigned threads,
                                    struct bat_error *error)
{
    BAT_TRY(bat_functions_create_unnamed(program->elf, program->symbols, threads,
                                         &program->functions, error));
    bat_functions_take_first_names(program->functions);
    return bat_functions_name(program->functions, NULL, error);
}

static enum bat_code open_code(struct next_program *program, unsigned threads,
                               struct bat_error *error)
{
    uint32_t *indices = malloc(((size_t)program->function_count + 1) * sizeof(*indices));
    if (!indices)
        return bat_fail_memory(error, "for %u functions", program->function_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < program->function_count; i++)
        if (!(program->all[i].flags & BAT_FUNCTION_PLT))
            indices[count++] = i;
    enum bat_code code = bat_code_open(program->elf, program->symbols, program->functions, indices,
                                       count, threads, &program->reader, error);
    free(indices);
    return code;
}

static enum bat_code allocate(struct next_program *program, struct bat_error *error)
{
    size_t count = (size_t)program->function_count + 1;
    program->unit_of = malloc(count * sizeof(*program->unit_of));
    program->first_part = malloc(count * sizeof(*program->first_part));
    program->next_part = malloc(count * sizeof(*program->next_part));
    program->same_as = malloc(count * sizeof(*program->same_as));
    program->name_of = malloc(count * sizeof(*program->name_of));
    program->units = calloc(count, sizeof(struct next_unit *));
    if (!program->unit_of || !program->first_part || !program->next_part || !program->same_as ||
        !program->name_of || !program->units)
        return bat_fail_memory(error, "for %zu functions", count);
    return BAT_OK;
}

enum bat_code next_program_open(const struct bat_elf *elf, const struct bat_elf *symbols,
                                unsigned threads, struct next_program *program,
                                struct bat_error *error)
{
    *program =
        (struct next_program){.elf = elf, .symbols = symbols ? symbols : elf, .threads = threads};
    if (bat_elf_machine(elf) != EM_X86_64 && bat_elf_machine(elf) != EM_AARCH64)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected a program for x86-64 or AArch64, found one for machine %u",
                        bat_elf_machine(elf));
    enum bat_code code = find_functions(program, threads, error);
    if (code == BAT_OK) {
        program->all = bat_functions_all(program->functions, &program->function_count);
        code = allocate(program, error);
    }
    code = code ? code : open_code(program, threads, error);
    if (code == BAT_OK) {
        name_functions(program);
        make_units(program);
        program->known =
            bat_elf_machine(elf) == EM_X86_64 ? next_known_new(program->code_size) : NULL;
        code = list_names(program, error);
        code = code ? code : next_references_open(program, error);
    }
    return code;
}

/* A function's name without what clang appends to those of static ones, and its control flow. */
static uint64_t flow_of(const struct bat_probe_function *function)
{
    static const char unique[] = ".__uniq.";
    const char *end = memmem(function->name, function->name_length, unique, sizeof(unique) - 1);
    const size_t length = end ? (size_t)(end - function->name) : function->name_length;
    return (uint64_t)next_hash(function->name, length, 0) << 32 |
           next_hash(&function->hash, sizeof(function->hash), 0);
}

enum bat_code next_probes_read(struct next_program *program, struct bat_elf *file,
                               struct bat_elf *symbols, struct bat_error *error)
{
    const enum bat_code code = bat_probes_read(file, symbols, &program->probes, error);
    if (code != BAT_OK)
        return code == BAT_ERR_MEMORY ? code : BAT_OK;
    const uint32_t count = program->probes->function_count;
    program->flows = bat_array_new(count, sizeof(*program->flows));
    program->flow_set = bat_counts_new(1);
    enum bat_code added = program->flows ? BAT_OK : BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < count && added == BAT_OK; i++) {
        program->flows[i] = flow_of(&program->probes->functions[i]);
        added = bat_counts_add(&program->flow_set, &program->flows[i], 0, 0);
    }
    return added == BAT_OK ? BAT_OK : bat_fail_memory(error, "for %u functions", count);
}

bool next_has_flow(const struct next_program *program, uint64_t flow)
{
    return bat_counts_find(&program->flow_set, &flow) != NULL;
}

void next_program_free(struct next_program *program)
{
    for (uint32_t i = 0; i < program->unit_count; i++)
        next_unit_free(program->units[i]);
    next_references_free(program->references);
    next_known_free(program->known);
    next_lines_close(program);
    bat_probes_free(program->probes);
    free(program->flows);
    bat_counts_free(&program->flow_set);
    bat_code_close(program->reader);
    bat_functions_free(program->functions);
    BAT_FREE_ALL(program->unit_of, program->first_part, program->next_part, program->same_as,
                 program->name_of, program->names, program->units);
    *program = (struct next_program){0};
}
