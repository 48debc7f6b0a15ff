/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The steps of reading probes. Internal to probes/. */
#pragma once

#include "bat.h"
#include "bat_elf.h"
#include "bat_probes.h"
#include "spec/little_endian.h"
#include "support/key_sort.h"

/* Filled at the first question: BOLT's encoding asks none. */
struct probe_bases {
    struct bat_elf *symbols; /* the file whose symbols are used */
    bool is_read;
    struct bat_sort_key *keys; /* GUID and address, ascending by GUID; the last of a GUID holds */
    size_t count;
};

/* The address of the function with this GUID; *is_known is false if no symbol has its name. */
enum bat_code probe_bases_find(struct probe_bases *bases, uint64_t guid, uint64_t *address,
                               bool *is_known, struct bat_error *error);

/*
 * A section, read from its start to its end. Each function reads the next field, called `what` in
 * its error, which names section, offset, what was expected and what was found.
 */
struct probe_bytes {
    const char *section;
    const uint8_t *start;
    const uint8_t *at;
    const uint8_t *end;
    struct bat_error *error;
};

static inline size_t probe_bytes_left(const struct probe_bytes *bytes)
{
    return (size_t)(bytes->end - bytes->at);
}

/* Fails, with the offset of `at`; what was expected and found follow in one format. */
enum bat_code probe_bytes_fail(const struct probe_bytes *bytes, const uint8_t *at,
                               enum bat_code code, const char *format, ...) BAT_PRINTF(4, 5);

/* Fails: the section ends before `what`, which is of that size. */
enum bat_code probe_bytes_ends(const struct probe_bytes *bytes, const char *what, const char *size);

static inline enum bat_code probe_bytes_byte(struct probe_bytes *bytes, const char *what,
                                             uint8_t *value)
{
    if (bytes->at == bytes->end)
        return probe_bytes_ends(bytes, what, "a byte");
    *value = *bytes->at++;
    return BAT_OK;
}

static inline enum bat_code probe_bytes_word(struct probe_bytes *bytes, const char *what,
                                             uint64_t *value)
{
    if (probe_bytes_left(bytes) < sizeof(*value))
        return probe_bytes_ends(bytes, what, "8 bytes");
    *value = bat_load64(bytes->at);
    bytes->at += sizeof(*value);
    return BAT_OK;
}

/* LEB128 numbers of any length, for the two functions below. */
enum bat_code probe_bytes_long_number(struct probe_bytes *bytes, const char *what, uint32_t *value);
enum bat_code probe_bytes_long_signed(struct probe_bytes *bytes, const char *what, int64_t *value);

/*
 * A number of up to 32 bits as ULEB128, or one of 64 bits as SLEB128. Either may be padded, as
 * assemblers do it when a distance turns out shorter than they thought. Nearly all numbers are
 * single bytes, and distances have two at most.
 */
static inline enum bat_code probe_bytes_number(struct probe_bytes *bytes, const char *what,
                                               uint32_t *value)
{
    if (bytes->at == bytes->end || *bytes->at >= 0x80)
        return probe_bytes_long_number(bytes, what, value);
    *value = *bytes->at++;
    return BAT_OK;
}

static inline enum bat_code probe_bytes_signed(struct probe_bytes *bytes, const char *what,
                                               int64_t *value)
{
    const uint8_t *at = bytes->at;
    if (at < bytes->end && at[0] < 0x80) {
        *value = (at[0] ^ 0x40) - 0x40;
        bytes->at += 1;
        return BAT_OK;
    }
    if (probe_bytes_left(bytes) < 2 || at[1] >= 0x80)
        return probe_bytes_long_signed(bytes, what, value);
    *value = (((at[0] & 0x7f) | at[1] << 7) ^ 0x2000) - 0x2000;
    bytes->at += 2;
    return BAT_OK;
}

/* Fails: so many things of at least `least` bytes each do not follow. */
enum bat_code probe_bytes_many(const struct probe_bytes *bytes, const uint8_t *at, const char *what,
                               size_t least, uint32_t value);

/* A number of things of at least `least` bytes each that follow in this section. */
static inline enum bat_code probe_bytes_count(struct probe_bytes *bytes, const char *what,
                                              size_t least, uint32_t *value)
{
    const uint8_t *at = bytes->at;
    enum bat_code code = probe_bytes_number(bytes, what, value);
    if (code == BAT_OK && *value > probe_bytes_left(bytes) / least)
        return probe_bytes_many(bytes, at, what, least, *value);
    return code;
}

/* Probes that own their arrays. */
struct owned_probes {
    struct bat_probes public;
    const struct bat_probe_spans *wanted; /* NULL: all */
    struct bat_probe_function *functions;
    struct bat_probe_node *nodes;
    struct bat_probe *probes;
    uint32_t *bodies;
};

/* Fill nodes, probes and bodies from .pseudo_probe, but for the nodes' functions. */
enum bat_code probes_read_bodies(struct probe_bytes bytes, struct probe_bases *bases,
                                 struct owned_probes *probes);

/* Fill functions from .pseudo_probe_desc; the nodes are there, and get theirs. Of wanted spans only
 * the functions that have nodes are kept. */
enum bat_code probes_read_functions(struct probe_bytes bytes, struct owned_probes *probes);

/*
 * Sort keys, of which each has the index of an element as its value, and return the elements, of
 * size bytes, in that order. Frees elements and keys. NULL if there is no memory.
 */
void *probes_sorted(void *elements, struct bat_sort_key *keys, size_t count, size_t size);
