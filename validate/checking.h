/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The state of one run of the checks, and how they report findings. Internal to validate/. */
#pragma once

#include "bat.h"
#include "bat_elf.h"
#include "bat_validate.h"

/* All checks. The first ones, up to CHECK_VERSION, are the decoder's: their ids are the names that
 * bat_code_name() returns. */
enum bat_check_id {
    CHECK_CONTAINER,
    CHECK_TRUNCATED,
    CHECK_TRAILING,
    CHECK_LEB128,
    CHECK_COUNT,
    CHECK_RANGE,
    CHECK_ORDER,
    CHECK_PREFIX,
    CHECK_HOT_INDEX,
    CHECK_VERSION,
    CHECK_HOT_INDEX_MERGED,
    CHECK_PARENTS,
    CHECK_ROUND_TRIP,
    CHECK_PREFIX_SHORT,
    CHECK_SKEW,
    CHECK_OVERLAP,
    CHECK_NOT_EMITTED,
    CHECK_HASH_OFFSET,
    CHECK_BLOCK_HASH,
    CHECK_BLOCK_INDEX,
    CHECK_BLOCK_ORDER,
    CHECK_BLOCK_COUNT,
    CHECK_SECONDARY,
    CHECK_NO_SYMBOLS,
    CHECK_EXECUTABLE,
    CHECK_START,
    CHECK_SIZE,
    CHECK_FRAGMENT_NAME,
    CHECK_ORIGINAL_NAMES,
    CHECK_ORIGINAL_BUILD,
    CHECK_ORIGINAL_FUNCTION,
    CHECK_ORIGINAL_OFFSET,
    CHECK_ORIGINAL_SECONDARY,
    CHECK_PROBE_SECTION,
    CHECK_PROBE_MOVED,
    CHECK_PROBE_DROPPED,
    CHECK_IDS
};

/* The id and severity of a check. */
const struct bat_check *bat_check_of(enum bat_check_id check);

struct bat_checking {
    struct bat_binary *binary;
    const struct bat_map *map;
    const struct bat_validate_options *options;
    bat_finding_fn *receive;
    void *context;
    struct bat_verdict *verdict;
    struct bat_error *error;
    struct bat_names names;  /* of the binary's functions; empty for a raw note */
    uint64_t *table_offsets; /* each table's offset in the section; NULL until needed */
    bool is_located;         /* it was tried to fill table_offsets */
};

/* Report a finding. table and entry may be BAT_NONE. */
void bat_checking_find(struct bat_checking *checking, enum bat_check_id check, uint32_t table,
                       uint32_t entry, const char *format, ...) BAT_PRINTF(5, 6);

/* Report that the note cannot be decoded. */
void bat_checking_find_undecodable(struct bat_checking *checking, const struct bat_error *error);

/* The faults that one check finds in one function: only the first is reported, all are counted. */
struct bat_fault {
    enum bat_check_id check;
    uint32_t table;
    uint32_t entry;
    uint64_t count;
    char message[BAT_MESSAGE_SIZE - 64]; /* of the first */
};

static inline struct bat_fault bat_fault_none(enum bat_check_id check)
{
    struct bat_fault fault;
    fault.check = check;
    fault.count = 0;
    return fault;
}

void bat_fault_add(struct bat_fault *fault, uint32_t table, uint32_t entry, const char *format, ...)
    BAT_PRINTF(4, 5);

/* Report the faults, if there are any; thing is a noun for them in the plural. */
void bat_fault_report(struct bat_checking *checking, const struct bat_fault *fault,
                      const char *thing);

/* --- The checks, each group in a file of its name ------------------------------------------- */

/* Bytes: check_bytes.c. */
enum bat_code bat_check_round_trip(struct bat_checking *checking);

/* Each table alone, and against the next one: check_tables.c. */
enum bat_code bat_check_tables(struct bat_checking *checking);

/* What a function's tables say about its blocks: check_blocks.c. */
enum bat_code bat_check_blocks(struct bat_checking *checking);

/* The tables against sections and symbols: check_binary.c. */
enum bat_code bat_check_binary(struct bat_checking *checking);

/* The tables against the binary that BOLT read: check_original.c. */
enum bat_code bat_check_original(struct bat_checking *checking);

/* The pseudo probes against those of the binary that BOLT read: check_probes.c. */
enum bat_code bat_check_probes(struct bat_checking *checking);

/* The code that a frame description covers. */
struct bat_frame {
    uint64_t address;
    uint64_t size;
};

struct bat_frames {
    struct bat_frame *frames; /* by address */
    size_t count;
};

/*
 * Read them; the caller frees *frames with bat_frames_free(). If an entry cannot be read, it and
 * all after it are left out: a damaged .eh_frame is not a fault of the note. Fails with
 * BAT_ERR_MEMORY only.
 */
enum bat_code bat_frames_collect(const struct bat_elf *elf, struct bat_frames *frames,
                                 struct bat_error *error);
void bat_frames_free(struct bat_frames *frames);

/* True if one starts at the address; *size gets the number of bytes that it covers. Logarithmic. */
bool bat_frames_at(const struct bat_frames *frames, uint64_t address, uint64_t *size);

/*
 * The first entry of table (counted from 0; entry_count if there is none) whose output offset is
 * greater than size. An entry at size itself is allowed: BOLT puts deleted blocks at their
 * function's end. Logarithmic.
 */
uint32_t bat_first_beyond(const struct bat_map *map, const struct bat_table *table, uint64_t size);

/* True if the entry's address is 0 modulo 2^32; BOLT writes that for a block that it did not emit.
 */
bool bat_is_at_address_0(const struct bat_map *map, uint32_t table, uint32_t entry);

/*
 * True if an entry that lies outside its table is a stray entry (BAT.md 6.1) as BOLT writes it: a
 * branch that later passes moved to another part of the function, or an entry without output
 * address, for which BOLT takes 0 (in functions of nops only that were not moved). Its offset is
 * relative to the table's start, modulo 2^32. Logarithmic.
 */
bool bat_is_stray(const struct bat_map *map, uint32_t table, uint32_t entry);
