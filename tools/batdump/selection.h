/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The tables that --function=NAME|0xADDR selects. */
#ifndef BAT_TOOLS_BATDUMP_SELECTION_H
#define BAT_TOOLS_BATDUMP_SELECTION_H

#include "bat_binary.h"

struct selection {
    bool *chosen;       /* for each table; NULL if all are chosen */
    uint32_t tables;    /* number of chosen tables */
    uint32_t fragments; /* cold fragments among them */
};

/* All tables. */
struct selection selection_all(const struct bat_map *map);

/*
 * Select the tables of count functions by their names or addresses in wanted, with the fragments of
 * hot functions. If one is not found, prints an error with path in front and returns false. Free
 * *selection with selection_free().
 */
bool selection_find(struct selection *selection, const char *path, const struct bat_binary *binary,
                    const struct bat_names *names, const char *const *wanted, size_t count);
void selection_free(struct selection *selection);

static inline bool selection_has(const struct selection *selection, uint32_t table)
{
    return !selection->chosen || selection->chosen[table];
}

#endif
