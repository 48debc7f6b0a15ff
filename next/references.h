/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What an address in an instruction stands for, as a hash that is the same in another build of the
 * program: the name of a function or a datum, the text of a string, the bytes of a constant.
 * Internal to next/.
 */
#pragma once

#include "program.h"

/* Fill program->references; its functions and names are there already. n log n in the symbols. */
enum bat_code next_references_open(struct next_program *program, struct bat_error *error);
void next_references_free(struct next_references *references);

/* True if a 32-bit constant, which an instruction has at an address, may be an address itself: that
 * of a loaded section, in a program at fixed addresses. If the linker's own relocations are there
 * (--emit-relocs), one is of the constant. Logarithmic. */
bool next_is_address(const struct next_program *program, uint64_t at, uint64_t value);

/* The 8 bytes at an address, which the file has at bytes. Where the loader will put an address of
 * the program, lld leaves 0 in the file: it is the relocation's addend. Logarithmic. */
uint64_t next_read_word(const struct next_program *program, uint64_t address, const uint8_t *bytes);

/* The content of the slot of the GOT at an address, if the linker filled it: linkers replace loads
 * of it. False if there is no such slot. */
bool next_read_slot(const struct next_program *program, uint64_t *address);

/* True if the loader fills a slot at an address with that of a symbol. */
bool next_is_slot(const struct next_program *program, uint64_t address);

/*
 * AArch64: the address that the linker's own relocations (--emit-relocs) give an instruction which
 * has a part of it. False if it has none. Logarithmic. x86-64: true if the bytes there, of an
 * instruction, are the distance of a thread's variable.
 */
bool next_linked(const struct next_program *program, uint64_t instruction, uint64_t *address);

/* True if the program has relocations that one of these two looks up. */
bool next_has_linked(const struct next_program *program);
/* True if one of those is in the bytes of an instruction. Logarithmic. */
bool next_is_linked(const struct next_program *program, uint64_t instruction, uint32_t length);

/* The hash; 0 if nothing is known. *is_plain is set if it tells little: bytes of data, a section.
 */
uint32_t next_reference(const struct next_program *program, uint64_t address, bool *is_plain);
