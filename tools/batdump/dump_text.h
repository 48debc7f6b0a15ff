/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tables and translations in the text of llvm-bat-dump. */
#ifndef BAT_TOOLS_BATDUMP_DUMP_TEXT_H
#define BAT_TOOLS_BATDUMP_DUMP_TEXT_H

#include "bat_binary.h"
#include "selection.h"
#include "tools/common/output.h"

/* Print the line that llvm-bat-dump starts with. */
void dump_text_parsed(struct output *output, const struct bat_map *map);

/*
 * Print the selected tables by address, hot and cold together, and the parents of the cold ones.
 * If names is not NULL, also print the names of each table.
 */
void dump_text_tables(struct output *output, const struct bat_map *map,
                      const struct selection *selection, const struct bat_names *names);

/* An address to translate. */
struct dump_address {
    uint64_t address;
    bool is_branch_source;
};

/*
 * Print a line for each address: the function (a fragment's parent), by name or else by address,
 * and the input offset.
 */
void dump_text_translations(struct output *output, const struct bat_binary *binary,
                            const struct bat_names *names, const struct dump_address *addresses,
                            size_t count);

#endif
