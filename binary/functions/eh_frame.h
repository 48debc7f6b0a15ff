/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads the frame descriptions (FDEs) of an .eh_frame section: which code they cover and where its
 * exception table (LSDA) is. Unwind instructions are not read.
 *
 * The section's format is the Linux Standard Base's, chapter "Exception Frames": DWARF's
 * .debug_frame with pointers encoded as the common entry (CIE) says. Any bytes are safe.
 */
#pragma once

#include "bat_elf.h"

struct bat_fde {
    uint64_t address; /* of the first byte of the code */
    uint64_t size;    /* bytes of code; may be 0 */
    uint64_t lsda;    /* address of the exception table; 0 if the code has none */
};

/* A walk over the FDEs of one section. Members are private. */
struct bat_fde_walk {
    const uint8_t *start;
    const uint8_t *end;
    const uint8_t *next;   /* the next entry */
    uint64_t address;      /* of start */
    const uint8_t *cie;    /* the common entry that the members below are from; or NULL */
    uint8_t code_encoding; /* DWARF_PE_* of code addresses */
    uint8_t lsda_encoding; /* of the LSDA pointer, DWARF_PE_OMIT if there is none */
    bool has_augmentation; /* FDEs have augmentation data, which starts with its size */
};

/*
 * Start a walk over the section .eh_frame of elf, which must stay open; without such a section
 * the walk is empty. Then call bat_fde_next() until it sets *found to false.
 */
void bat_fde_begin(struct bat_fde_walk *walk, const struct bat_elf *elf);

/* Start a walk over bytes of an .eh_frame section that is loaded at address. */
void bat_fde_begin_bytes(struct bat_fde_walk *walk, const uint8_t *bytes, size_t size,
                         uint64_t address);

/*
 * The next FDE in the section's order. At the section's end or its terminating entry, *found is
 * false and *fde is unchanged. Fails with BAT_ERR_ELF, the section offset in the message, for an
 * entry that reaches out of the section, refers to no common entry, or has an unknown encoding; the
 * walk cannot go on then. Time is constant for each entry passed.
 */
enum bat_code bat_fde_next(struct bat_fde_walk *walk, struct bat_fde *fde, bool *found,
                           struct bat_error *error);
