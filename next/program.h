/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One of the two programs between which a profile is carried: its functions, each with the parts
 * that the compiler split off (f.cold), called units here; and what their code refers to.
 * Internal to next/.
 */
#pragma once

#include "bat_probes.h"
#include "binary/code/graph.h"
#include "binary/functions/functions.h"
#include "support/counts.h"

/* A symbol of a unit, by hashes. */
struct next_symbol {
    uint64_t name;
    uint64_t local_name; /* of local ones: with their source file */
    uint32_t unit;
    bool is_local;
};

struct next_known;
struct next_lines;
struct next_references;
struct next_unit;

struct next_program {
    const struct bat_elf *elf;
    const struct bat_elf
        *symbols; /* the file with its symbols: elf itself, or an unstripped copy */
    struct bat_functions *functions;
    const struct bat_function_symbol *all;
    struct bat_code_reader *reader;
    struct next_references *references;
    struct next_known *known;  /* x86-64: instructions; NULL: none */
    struct bat_probes *probes; /* NULL: it, or the other program, has none */
    uint64_t *flows;           /* of each of their functions: its name and its control flow */
    struct bat_counts flow_set;
    struct next_lines *lines; /* NULL: it, or the other program, has no debug information */
    uint32_t function_count;
    uint32_t unit_count;
    uint32_t *unit_of; /* for each function; BAT_NONE for PLT entries */
    /* For each unit: its first function, which has the name; other functions come later. */
    uint32_t *first_part;
    uint32_t *next_part; /* for each function: the next part of its unit, or BAT_NONE */
    uint32_t *same_as;   /* for each unit: itself, or if it is folded the one that stands for it */
    uint32_t *name_of;   /* for each function: a hash of its name without numbers and suffixes, the
                            same for functions that are known to be the same */
    /* Of the units: all, aliases too, without the numbers of local ones. */
    struct next_symbol *names;
    size_t name_count;
    struct next_unit **units; /* for each unit: its code once it was read, or NULL */
    uint64_t code_size;       /* bytes of all functions */
    unsigned threads;         /* that may read it; 0: one for each processor */
};

/*
 * Open a program. symbols, an unstripped copy of it, may be NULL. Both must outlive *program, which
 * the caller frees with next_program_free(), also after a failure. Linear in the code, n log n in
 * the symbols. Fails as bat_functions_create() and bat_code_open() do, and with BAT_ERR_UNSUPPORTED
 * for another machine than x86-64 and AArch64.
 */
enum bat_code next_program_open(const struct bat_elf *elf, const struct bat_elf *symbols,
                                unsigned threads, struct next_program *program,
                                struct bat_error *error);
void next_program_free(struct next_program *program);

/* Read the probes of a program, which file has. Damaged ones are left out. */
enum bat_code next_probes_read(struct next_program *program, struct bat_elf *file,
                               struct bat_elf *symbols, struct bat_error *error);

/* True if the program has a function with probes of this name, without what tells files apart, and
 * with this control flow in the source. */
bool next_has_flow(const struct next_program *program, uint64_t flow);

/* A unit's name as in profiles. */
static inline const char *next_unit_name(const struct next_program *program, uint32_t unit)
{
    const char *name = program->all[program->first_part[unit]].name;
    return name ? name : "";
}

/* Bytes of all parts of a unit. */
uint64_t next_unit_size(const struct next_program *program, uint32_t unit);

/* The length of a function's name without "/1", and without what compilers append to it. */
size_t next_plain_name_length(const char *name);

/* A hash of what the source calls a function of C++ or Rust, whatever its parameters and arguments
 * of templates are; several functions may have it. 0 if the name is not mangled. */
uint32_t next_source_name(const char *name);

/* The name of what a call of a function calls, as name_of: through a veneer of the linker (AArch64:
 * calls that are too far for an instruction) it is that of the function behind. */
uint32_t next_called_name(const struct next_program *program, uint32_t function);

/* A hash of a name, of twice as many bits as next_hash(). */
uint64_t next_hash_name(const char *name, size_t length);

/* A hash of bytes that is the same in every process. */
uint32_t next_hash(const void *bytes, size_t size, uint32_t seed);

/* The same of the bytes of two numbers, in less time. */
uint32_t next_hash_pair(uint32_t first, uint32_t second, uint32_t seed);
