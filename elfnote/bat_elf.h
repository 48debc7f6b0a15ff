/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ELF files around a BAT note: finding it, taking it out, putting one in, and what else of the
 * file is needed to make sense of it (symbols, sections, segments, build-id, how BOLT was called).
 * What is inside the note is not known here.
 *
 * ELF64 little-endian only, x86-64, AArch64 and RISC-V. Any bytes are safe to open.
 * No global state but libelf's version check; one struct bat_elf belongs to one thread at a time
 * while it is opened, its getters may be shared once it is open.
 */
#ifndef BAT_ELF_H
#define BAT_ELF_H

#include "bat.h"
#include "bat_output.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An opened ELF file, mapped for reading. */
struct bat_elf;

/* True if these first bytes of a file are an ELF file's. size may be less than 4. */
BAT_API bool bat_elf_is(const void *bytes, size_t size);

/*
 * Open path for reading. On success *elf is to be closed with bat_elf_close(). Fails with
 * BAT_ERR_IO, BAT_ERR_NOT_ELF, BAT_ERR_UNSUPPORTED (32-bit, big-endian, another machine, more than
 * 1,170 loaded segments) or BAT_ERR_ELF (truncated, tables outside the file). Nothing but headers
 * is read.
 */
BAT_API enum bat_code bat_elf_open(const char *path, struct bat_elf **elf, struct bat_error *error);
BAT_API void bat_elf_close(struct bat_elf *elf);

/*
 * The same for a file that is open for reading already; path is what it was opened under. file is
 * closed with elf, or here on failure.
 */
BAT_API enum bat_code bat_elf_open_file(int file, const char *path, struct bat_elf **elf,
                                        struct bat_error *error);

/*
 * Fails with BAT_ERR_IO if the file was written to, changed in its attributes, or replaced under
 * its path since it was opened: what was read of it may be half the old and half the new one.
 */
BAT_API enum bat_code bat_elf_check_unchanged(const struct bat_elf *elf, struct bat_error *error);

/* --- The file ----------------------------------------------------------------------------- */

BAT_API uint16_t bat_elf_machine(const struct bat_elf *elf); /* EM_X86_64, EM_AARCH64, EM_RISCV */
BAT_API uint16_t bat_elf_type(const struct bat_elf *elf);    /* ET_EXEC, ET_DYN, ... */
BAT_API const char *bat_elf_path(const struct bat_elf *elf);

/* The file's bytes, mapped; valid until bat_elf_close(). */
BAT_API const uint8_t *bat_elf_bytes(const struct bat_elf *elf, uint64_t *size);

/*
 * Say that these bytes of the file's mapping will not be needed for now: the memory that they take
 * is given back, and reading them again brings them back from the file. Any range will do.
 */
BAT_API void bat_elf_release(const struct bat_elf *elf, const uint8_t *bytes, uint64_t size);

/* The address of the first PT_LOAD segment; 0 if there is none. */
BAT_API uint64_t bat_elf_base_address(const struct bat_elf *elf);

/*
 * The file's bytes at a virtual address of a loaded segment; *available gets the number of bytes
 * of that segment's file content from there on. NULL, *available 0, if no segment has it.
 */
BAT_API const uint8_t *bat_elf_at_address(const struct bat_elf *elf, uint64_t address,
                                          uint64_t *available);

/* A PT_LOAD segment. */
struct bat_segment {
    uint64_t offset; /* in the file */
    uint64_t file_size;
    uint64_t address;
    uint64_t memory_size;
    uint32_t flags; /* PF_* */
};

/*
 * The PT_LOAD segment number i, counted from 0 in the order of the program headers. False, *segment
 * as it was, if there are no more.
 */
BAT_API bool bat_elf_segment(const struct bat_elf *elf, size_t i, struct bat_segment *segment);

/* True if a PT_LOAD segment with PF_X holds the address. */
BAT_API bool bat_elf_is_executable(const struct bat_elf *elf, uint64_t address);

struct bat_section {
    const char *name; /* owned by the file; "" where there is none */
    uint32_t index;
    uint32_t type;  /* SHT_* */
    uint64_t flags; /* SHF_* */
    uint64_t address;
    uint64_t offset; /* in the file */
    uint64_t size;   /* bytes in memory; for SHT_NOBITS none of them are in the file */
    uint32_t link;
    uint32_t info;
    uint64_t alignment;
    uint64_t entry_size;
};

/* All sections by index, section 0 included; owned by elf. */
BAT_API const struct bat_section *bat_elf_sections(const struct bat_elf *elf, size_t *count);

/* The first section of that name, or NULL. */
BAT_API const struct bat_section *bat_elf_section(const struct bat_elf *elf, const char *name);

/*
 * A section's bytes, mapped; NULL, *size 0, for SHT_NOBITS. The section's extent was checked
 * against the file at bat_elf_open().
 */
BAT_API const uint8_t *bat_elf_section_bytes(const struct bat_elf *elf,
                                             const struct bat_section *section, uint64_t *size);

/* The GNU build-id; NULL, *size 0, if there is none. */
BAT_API const uint8_t *bat_elf_build_id(const struct bat_elf *elf, size_t *size);

/* The text of .note.bolt_info ("BOLT revision: ..., command line: ..."), or NULL. Owned by elf. */
BAT_API const char *bat_elf_bolt_info(const struct bat_elf *elf);

/* --- Symbols ------------------------------------------------------------------------------ */

/*
 * Where a symbol is that is in no section. From BAT_SECTION_RESERVED on no number is a section's
 * index: the lower half is SHN_LORESERVE to SHN_HIRESERVE, as the symbol has it, which are indices
 * of sections too in a file that has so many.
 */
#define BAT_SECTION_UNDEFINED 0u
#define BAT_SECTION_RESERVED 0xffff0000u
#define BAT_SECTION_ABSOLUTE 0xfffffff1u
#define BAT_SECTION_COMMON 0xfffffff2u

struct bat_symbol {
    uint64_t address;
    uint64_t size;
    const char *name; /* owned by elf */
    const char *file; /* name of the FILE symbol that a local symbol stands under, or NULL */
    uint32_t section; /* index of its section, wherever the file keeps it, or BAT_SECTION_* */
    uint32_t order;   /* position in the symbol table */
    uint8_t type;     /* STT_* */
    uint8_t binding;  /* STB_* */
};

/*
 * The named symbols of .symtab (.dynsym with dynamic true), without SECTION and FILE ones, in the
 * table's order; read and kept at the first call, which other threads may make at the same time.
 * *count 0 and BAT_OK if there is no such table. Fails with BAT_ERR_ELF for a damaged table.
 */
BAT_API enum bat_code bat_elf_symbols(struct bat_elf *elf, bool dynamic,
                                      const struct bat_symbol **symbols, size_t *count,
                                      struct bat_error *error);

/* --- The note ----------------------------------------------------------------------------- */

/*
 * The content of the BAT note's section: the section called .note.bolt_bat, else the first
 * SHT_NOTE section that holds a note of owner BOLT and type BAT_NOTE_TYPE. A section of that name
 * is taken whole; of another one that holds further notes, *bytes is the BAT note alone. section
 * may be NULL. *bytes is mapped and belongs to elf. Fails with BAT_ERR_NO_NOTE (the message says
 * whether BOLT has processed the file and how a note is made), BAT_ERR_UNSUPPORTED (compressed
 * section), BAT_ERR_ELF (a section whose bytes are not in this file).
 */
BAT_API enum bat_code bat_elf_note(const struct bat_elf *elf, const uint8_t **bytes, size_t *size,
                                   const struct bat_section **section, struct bat_error *error);

/*
 * Begin a changed copy of elf: an output (see bat_output.h) that is a regular file and gets elf's
 * mode, access control list, other extended attributes and, where the caller may set them, owner
 * and group. path may be elf's own. elf must stay open until the output is committed or abandoned;
 * bat_outputs_commit() fails if elf was changed meanwhile, or, with elf's own path, if it is locked
 * (flock(2)) by another program.
 */
BAT_API enum bat_code bat_elf_begin_output(const struct bat_elf *elf, const char *path,
                                           struct bat_output **output, struct bat_error *error);

/*
 * Write a copy of elf with its BAT note added or replaced to an output begun for it: section is
 * the new content of .note.bolt_bat, ELF note header included. passed() (may be NULL) gets bytes of
 * section that have been written.
 *
 * Nothing that a program header maps changes, nor do the offsets of any other section but the
 * section name table; only the note, the section name table, the section header table and the
 * ELF header's fields for it may differ. A file whose note was removed with bat_elf_leave_note()
 * and put back is the same bytes again if BOLT wrote it. A symbolic link as output is followed; a
 * hard link is not, its other names keep the old content.
 *
 * A note in front of other bytes is overwritten if the new one fits, else the new one goes to the
 * file's end; where the old one, section names or section headers were, the file then reads as
 * zeros. What a segment maps keeps its bytes all the same. Section names that cannot grow in
 * place get a longer copy in a new section.
 *
 * Fails with BAT_ERR_UNSUPPORTED if the file has no section headers or names, if the note's
 * section holds other notes too, or if two sections have its name; with BAT_ERR_IO also if the
 * file was changed meanwhile. The output is to be abandoned then. Memory: the section headers;
 * bytes are copied by the kernel.
 */
typedef void bat_elf_passed_fn(const uint8_t *bytes, size_t size, void *context);
BAT_API enum bat_code bat_elf_put_note(const struct bat_elf *elf, const void *section, size_t size,
                                       bat_elf_passed_fn *passed, void *context,
                                       struct bat_output *output, struct bat_error *error);

/*
 * The same without the note. Its section header is dropped if it is the last one and nothing
 * refers to it; else it becomes one of type SHT_NULL, so that no other section's index changes.
 * The name stays among the section names. Fails with BAT_ERR_NO_NOTE if there is none.
 */
BAT_API enum bat_code bat_elf_leave_note(const struct bat_elf *elf, struct bat_output *output,
                                         struct bat_error *error);

/* All steps at once: open path, begin output, which may be path itself, write and commit it. */
BAT_API enum bat_code bat_elf_write_note(const char *path, const char *output, const void *section,
                                         size_t size, struct bat_error *error);
BAT_API enum bat_code bat_elf_remove_note(const char *path, const char *output,
                                          struct bat_error *error);

#ifdef __cplusplus
}
#endif

#endif
