/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A note that is looked at function by function, without its entries ever being in memory all at
 * once. Internal to the library.
 */
#ifndef BAT_DECODER_SKIM_H
#define BAT_DECODER_SKIM_H

#include "decoding.h"

struct bat_skim {
    /*
     * All tables, as bat_decode() would give them, secondary entry points included; but only the
     * tables of the function that was loaded last have entries and blocks: first_entry and
     * first_block of others mean nothing.
     */
    struct bat_map *map;
    uint64_t *starts; /* where each table starts in the section */

    /* Private. */
    struct bat_decoding decoding;
    uint64_t capacity; /* of entries */
};

/*
 * Decode all of a note, with the same errors as bat_decode(). passed() (may be NULL) is told of
 * bytes that the next loading of tables will need, if at all. After success the section must
 * stay, and bat_skim_close() has to follow.
 */
enum bat_code bat_skim_open(struct bat_skim *skim, const void *section, size_t size,
                            enum bat_hot_index hot_index, bat_passed_fn *passed,
                            void *passed_context, struct bat_error *error);
void bat_skim_close(struct bat_skim *skim);

/*
 * A second reader of the same note, for another thread: it shares all of skim's tables, but has
 * entries of its own. The two must load different functions. Ends with bat_skim_leave() before
 * skim is closed. BAT_ERR_MEMORY.
 */
enum bat_code bat_skim_share(const struct bat_skim *skim, struct bat_skim *second,
                             struct bat_error *error);
void bat_skim_leave(struct bat_skim *second);

/*
 * Have the entries of a hot function and its fragments in the map's arrays. passed() is told of
 * hot tables before this one now and then. Fails with BAT_ERR_MEMORY, or as decoding does if
 * someone changed the bytes.
 */
enum bat_code bat_skim_load(struct bat_skim *skim, uint32_t hot, struct bat_error *error);

#endif
