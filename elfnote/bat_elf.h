/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ELF files with a BAT note: finds, removes and writes the note, and reads what else of the file is
 * needed with it (symbols, sections, segments, build-id, BOLT's command line). The note's content
 * is not interpreted here.
 *
 * ELF64 little-endian only, x86-64, AArch64 and RISC-V. Any bytes are safe to open.
 * No global state but libelf's version check. Several threads may call the getters of an open
 * struct bat_elf at the same time.
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

/* True if the first bytes of a file are those of an ELF file. size may be less than 4. */
BAT_API bool bat_elf_is(const void *bytes, size_t size);

/*
 * Open path for reading. The caller closes *elf with bat_elf_close(). Fails with BAT_ERR_IO,
 * BAT_ERR_NOT_ELF, BAT_ERR_UNSUPPORTED (32-bit, big-endian, another machine, more than 1,170 loaded
 * segments), BAT_ERR_ELF (truncated, tables outside the file) or BAT_ERR_MEMORY. Reads headers,
 * section names and .note.bolt_info only. A kernel module may be packed by gzip, xz or zstd (not in
 * a minimal build), to at most 64 times its bytes and 16 MiB: it is then unpacked in memory. Fails
 * then with BAT_ERR_TRUNCATED, BAT_ERR_SYNTAX or BAT_ERR_RANGE, too.
 */
BAT_API enum bat_code bat_elf_open(const char *path, struct bat_elf **elf, struct bat_error *error);
BAT_API void bat_elf_close(struct bat_elf *elf);

/*
 * The same for a file that is already open for reading; path is the path that it was opened with.
 * file is closed with elf, or by this function on failure.
 */
BAT_API enum bat_code bat_elf_open_file(int file, const char *path, struct bat_elf **elf,
                                        struct bat_error *error);

/*
 * Fails with BAT_ERR_IO if the file's content or attributes have changed, or another file has got
 * its path, since it was opened: bytes that were read may be partly of the old and partly of the
 * new content.
 */
BAT_API enum bat_code bat_elf_check_unchanged(const struct bat_elf *elf, struct bat_error *error);

/* --- The file ----------------------------------------------------------------------------- */

/* e_machine of the ELF header: EM_X86_64, EM_AARCH64 or EM_RISCV. */
BAT_API uint16_t bat_elf_machine(const struct bat_elf *elf);

/* e_type of the ELF header: ET_EXEC, ET_DYN, ... */
BAT_API uint16_t bat_elf_type(const struct bat_elf *elf);

/* The path that the file was opened with. Belongs to elf. */
BAT_API const char *bat_elf_path(const struct bat_elf *elf);

/* The file's bytes, mapped; valid until bat_elf_close(). */
BAT_API const uint8_t *bat_elf_bytes(const struct bat_elf *elf, uint64_t *size);

/*
 * Give back the memory that these bytes of the file's mapping take; a later access reads them from
 * the file again. Any range is allowed.
 */
BAT_API void bat_elf_release(const struct bat_elf *elf, const uint8_t *bytes, uint64_t size);

/* The address of the first PT_LOAD segment; 0 if there is none. */
BAT_API uint64_t bat_elf_base_address(const struct bat_elf *elf);

/*
 * The file's bytes at a virtual address of a loaded segment; *available gets the number of bytes
 * from there to the end of that segment's file content. NULL, *available 0, if no segment has
 * bytes at the address.
 */
BAT_API const uint8_t *bat_elf_at_address(const struct bat_elf *elf, uint64_t address,
                                          uint64_t *available);

/*
 * A PT_LOAD segment. A relocatable file (ET_REL: a kernel module) has none: its allocated sections
 * get addresses, the code that stays loaded from 0 on as Linux puts it, and count as segments.
 */
struct bat_segment {
    uint64_t offset; /* in the file */
    uint64_t file_size;
    uint64_t address;
    uint64_t memory_size;
    uint32_t flags; /* PF_* */
};

/*
 * The PT_LOAD segment number i, counted from 0 in the order of the program headers. Returns false,
 * *segment unchanged, if there are no more.
 */
BAT_API bool bat_elf_segment(const struct bat_elf *elf, size_t i, struct bat_segment *segment);

/* True if a PT_LOAD segment with PF_X holds the address. */
BAT_API bool bat_elf_is_executable(const struct bat_elf *elf, uint64_t address);

struct bat_section {
    const char *name; /* owned by elf; "" if the section has none */
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

/* The first section with that name, or NULL. */
BAT_API const struct bat_section *bat_elf_section(const struct bat_elf *elf, const char *name);

/* True if the file has symbols other than dynamic ones. */
BAT_API bool bat_elf_has_symbols(const struct bat_elf *elf);

/*
 * A section's bytes, mapped; NULL, *size 0, for SHT_NOBITS. The section's extent was checked
 * against the file at bat_elf_open().
 */
BAT_API const uint8_t *bat_elf_section_bytes(const struct bat_elf *elf,
                                             const struct bat_section *section, uint64_t *size);

/* The GNU build-id; NULL, *size 0, if the file has none. */
BAT_API const uint8_t *bat_elf_build_id(const struct bat_elf *elf, size_t *size);

/* The text of .note.bolt_info ("BOLT revision: ..., command line: ..."), or NULL. Owned by elf. */
BAT_API const char *bat_elf_bolt_info(const struct bat_elf *elf);

/* --- Symbols ------------------------------------------------------------------------------ */

/*
 * Values of bat_symbol.section for symbols that are in no section. Values from BAT_SECTION_RESERVED
 * on are not section indices: their lower 16 bits are the symbol's special index, SHN_LORESERVE to
 * SHN_HIRESERVE. In a file with many sections these are also indices of sections, so the upper 16
 * bits tell them apart.
 */
#define BAT_SECTION_UNDEFINED 0u
#define BAT_SECTION_RESERVED 0xffff0000u
#define BAT_SECTION_ABSOLUTE 0xfffffff1u
#define BAT_SECTION_COMMON 0xfffffff2u

struct bat_symbol {
    uint64_t address;
    uint64_t size;
    const char *name; /* owned by elf */
    const char *file; /* of a local symbol: name of the FILE symbol before it, or NULL */
    uint32_t section; /* index of its section, also above 16 bits, or BAT_SECTION_* */
    uint32_t order;   /* position in the symbol table */
    uint8_t type;     /* STT_* */
    uint8_t binding;  /* STB_* */
    uint32_t name_length;
};

/*
 * The named symbols of .symtab (.dynsym with dynamic true) in the table's order, without SECTION
 * and FILE symbols. Without .symtab: those of .dynsym and then of mini debug information
 * (.gnu_debugdata), if there is some. The first call reads them, elf owns them. Several threads may
 * call this at the same time. *count is 0 if the file has no such table. Fails with BAT_ERR_ELF for
 * a damaged table, BAT_ERR_UNSUPPORTED for a compressed one or one of more than 2^31 - 1 symbols,
 * BAT_ERR_MEMORY, and for mini debug information as bat_elf_open(). A minimal build does not read
 * that.
 */
BAT_API enum bat_code bat_elf_symbols(struct bat_elf *elf, bool dynamic,
                                      const struct bat_symbol **symbols, size_t *count,
                                      struct bat_error *error);

/* --- The note ----------------------------------------------------------------------------- */

/*
 * The content of the BAT note's section (BAT.md 2): the section called .note.bolt_bat, else the
 * first SHT_NOTE section that holds a note of owner BOLT and type BAT_NOTE_TYPE. A section with
 * that name is returned whole; if another one holds further notes, *bytes is the BAT note only.
 * section may be NULL. *bytes is mapped and belongs to elf. Fails with BAT_ERR_NO_NOTE (the message
 * says whether BOLT has processed the file and how to get a note), BAT_ERR_UNSUPPORTED (compressed
 * section), BAT_ERR_ELF (a section whose bytes are not in this file).
 */
BAT_API enum bat_code bat_elf_note(const struct bat_elf *elf, const uint8_t **bytes, size_t *size,
                                   const struct bat_section **section, struct bat_error *error);

/*
 * Begin a changed copy of elf: an output (see bat_output.h) that is a regular file and gets elf's
 * mode, access control list, other extended attributes and, if the caller may set them, owner and
 * group. path may be elf's own. elf must stay open until the output is committed or abandoned.
 * bat_outputs_commit() fails if elf was changed meanwhile, or, with elf's own path, if another
 * program has locked it (flock(2)).
 */
BAT_API enum bat_code bat_elf_begin_output(const struct bat_elf *elf, const char *path,
                                           struct bat_output **output, struct bat_error *error);

/*
 * Write a copy of elf with its BAT note added or replaced to an output begun for it. section is
 * the new content of .note.bolt_bat, ELF note header included. written() (may be NULL) is called
 * with bytes of section that have been written.
 *
 * Bytes that a program header maps do not change, nor do the offsets of any other section but the
 * section name table. Only the note, the section name table, the section header table and the
 * ELF header's fields for that table may differ. In a file that BOLT wrote, removing the note with
 * bat_elf_leave_note() and putting it back gives the same bytes again. A symbolic link as output is
 * followed; of several hard links only the given path gets the new content.
 *
 * A note that other bytes follow is overwritten if the new one fits; else the new one goes to the
 * file's end, and the file has zeros where the old note, section names or section headers were,
 * unless a segment maps those bytes. Section names that cannot grow in place get a longer copy in
 * a new section.
 *
 * Fails with BAT_ERR_UNSUPPORTED if the file has no section headers or names, if the note's
 * section holds other notes too, or if two sections have its name; with BAT_ERR_ELF for a damaged
 * file; with BAT_ERR_IO also if the file was changed meanwhile. The caller must then abandon the
 * output. Memory: the section headers; the kernel copies the bytes.
 */
typedef void bat_elf_passed_fn(const uint8_t *bytes, size_t size, void *context);
BAT_API enum bat_code bat_elf_put_note(const struct bat_elf *elf, const void *section, size_t size,
                                       bat_elf_passed_fn *written, void *context,
                                       struct bat_output *output, struct bat_error *error);

/*
 * Write a copy without the note. Its section header is removed if it is the last one and nothing
 * refers to it; else its type becomes SHT_NULL, so that no other section's index changes. The name
 * stays among the section names. Fails like bat_elf_put_note(), and with BAT_ERR_NO_NOTE if the
 * file has no note.
 */
BAT_API enum bat_code bat_elf_leave_note(const struct bat_elf *elf, struct bat_output *output,
                                         struct bat_error *error);

/* All steps in one call: open path, begin output (may be path itself), write it, commit it. */
BAT_API enum bat_code bat_elf_write_note(const char *path, const char *output, const void *section,
                                         size_t size, struct bat_error *error);
BAT_API enum bat_code bat_elf_remove_note(const char *path, const char *output,
                                          struct bat_error *error);

#ifdef __cplusplus
}
#endif

#endif
