/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads a function's exception table (language-specific data area, LSDA, in .gcc_except_table):
 * which code may throw, and where the exception lands. Of the types that are caught it is read only
 * whether they are all.
 *
 * The table's address comes from the function's FDE (eh_frame.h). Its format is that of GCC and
 * Clang; see "Exception Handling Tables" in the Itanium C++ ABI. Safe on any bytes.
 */
#pragma once

#include "bat.h"

/* Code with one landing pad for its exceptions; all are offsets from the function's start. */
struct bat_call_site {
    uint64_t start;
    uint64_t end;
    uint64_t landing_pad; /* BAT_NO_OFFSET if there is none. In a split function it may be in the
                             other fragment: then the difference of the addresses, modulo 2^64 */
    bool catches_all; /* every exception lands: there is a clean-up, or a handler of all types */
};

/* A walk over the call sites of one table. Members are private. */
struct bat_call_site_walk {
    const uint8_t *start;
    const uint8_t *next;
    const uint8_t *end;
    const uint8_t *limit; /* of the table's bytes; actions and types are between end and limit */
    const uint8_t *types; /* behind the first one; NULL if there are none */
    uint64_t address;     /* of start */
    uint64_t pads_start;  /* offset that landing pads count from */
    uint8_t encoding;     /* DWARF_PE_* of the numbers */
    uint8_t type_size;    /* bytes of a type; 0 if that is not known */
};

/*
 * Start a walk over the table in size bytes, which are loaded at address; function is the address
 * of its function. False if the header is damaged or of an unknown form; the walk is then empty.
 */
bool bat_call_site_begin(struct bat_call_site_walk *walk, const uint8_t *bytes, size_t size,
                         uint64_t address, uint64_t function);

/*
 * The same for a function that the reader was opened for (code_blocks.h). False also if it has no
 * exception table.
 */
struct bat_code_reader;
bool bat_code_exceptions(const struct bat_code_reader *reader, uint32_t function,
                         struct bat_call_site_walk *walk);

/* The next call site in the table's order. False at the end, and where the table is damaged. */
bool bat_call_site_next(struct bat_call_site_walk *walk, struct bat_call_site *site);
