/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared by the files of the encoder. Internal to the encoder. */
#pragma once

#include "bat.h"

/* A note being encoded. */
struct bat_encoding {
    const struct bat_map *map;
    struct bat_error *error;
    const uint8_t *start; /* of the section */
    uint8_t *at;          /* where the next byte goes */
    uint64_t address;     /* the running output address (BAT.md 4) */
    uint64_t *places;     /* for each table, its offset in the section is reported here; or NULL */
};

/* Report that the next byte is the first of a table's record. */
static inline void bat_encoding_report(const struct bat_encoding *encoding,
                                       const struct bat_table *table)
{
    if (encoding->places)
        encoding->places[table - encoding->map->tables] =
            (uint64_t)(encoding->at - encoding->start);
}

/* bat_encode() that also reports where each table is; places (or NULL) has room for all. */
enum bat_code bat_encode_places(const struct bat_map *map, uint64_t *places, uint8_t **section,
                                size_t *size, struct bat_error *error);

/* Encode the entries of one table, whose header has been written (BAT.md 6). */
enum bat_code bat_encode_entries(struct bat_encoding *encoding, const struct bat_table *table);

/* The skew that BOLT gives a table: its first entry's input offset if it is cold (BAT.md 7.1). */
uint32_t bat_skew(const struct bat_map *map, const struct bat_table *table, bool is_cold);

/* Check everything but the entries, which bat_encode_entries() checks; see bat_encode(). */
enum bat_code bat_map_check(const struct bat_map *map, struct bat_error *error);
