/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The tables that --function=NAME|0xADDR asks for. */
#ifndef BAT_SELECTION_H
#define BAT_SELECTION_H

#include "bat_binary.h"

struct selection {
    bool *chosen;       /* for each table; NULL if all are */
    uint32_t tables;    /* how many are */
    uint32_t fragments; /* how many of these are cold fragments */
};

/* All tables. */
struct selection selection_all(const struct bat_map *map);

/*
 * The tables of the count functions that wanted names, a hot function's fragments included. What
 * cannot be found is told on standard error, with path in front, and false is returned. To be
 * freed with selection_free().
 */
bool selection_find(struct selection *selection, const char *path, const struct bat_binary *binary,
                    const struct bat_names *names, const char *const *wanted, size_t count);
void selection_free(struct selection *selection);

static inline bool selection_has(const struct selection *selection, uint32_t table)
{
    return !selection->chosen || selection->chosen[table];
}

#endif
