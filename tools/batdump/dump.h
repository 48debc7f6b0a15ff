/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What batdump selects and prints. */
#ifndef BAT_TOOLS_BATDUMP_DUMP_H
#define BAT_TOOLS_BATDUMP_DUMP_H

#include "bat_binary.h"
#include "binary/compare/comparison.h"
#include "tools/common/output.h"

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

#define SIMILAR_SIZE 256u

/*
 * Write "; did you mean a, b?" with up to three names that differ little from the one given, or
 * an empty string, into text.
 */
void similar_names(const struct bat_names *names, const char *name, char text[SIMILAR_SIZE]);

/*
 * Print who wrote the note of the file at path, what it contains, and what its bytes are used for.
 * False, with a message, if the bytes do not add up to the note's size.
 */
bool summarize(struct bat_text_writer *output, const char *path, const struct bat_binary *binary);

/* Print the line that llvm-bat-dump starts with. */
void dump_text_parsed(struct bat_text_writer *output, const struct bat_map *map);

/*
 * Print the selected tables by address, hot and cold together, and the parents of the cold ones.
 * If names is not NULL, also print the names of each table.
 */
void dump_text_tables(struct bat_text_writer *output, const struct bat_map *map,
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
void dump_text_translations(struct bat_text_writer *output, const struct bat_binary *binary,
                            const struct bat_names *names, const struct dump_address *addresses,
                            size_t count);

/* Questions about the input binary. */
struct original_queries {
    const char *path;              /* of the input binary */
    struct dump_address *to_input; /* output addresses */
    size_t to_input_count;
    const char **to_output; /* instructions of the input: "0xADDR" or "FUNCTION+0xOFFSET" */
    size_t to_output_count;
};

/*
 * Print a line for each output address: the address that it had in the input binary; then a line
 * for each output address of each instruction. False, with a message, at an address or an
 * instruction that the input does not have. path is the BOLTed file's.
 */
bool dump_original(struct bat_text_writer *output, const char *path, struct bat_binary *binary,
                   const struct original_queries *queries);

/*
 * Print the pseudo probes of a binary, which may have no note, as llvm-profgen --show-pseudo-probe
 * does, in groups of one address; with a note also where that was in the input's function, with
 * original_path (or NULL) at which address of the input. False, with a message, if there are none.
 */
bool dump_probes(struct bat_text_writer *output, const char *path, struct bat_binary *binary,
                 const char *original_path);

/*
 * Call found for each table of a function with a name as in profiles: "f/file.c/1". False, with a
 * message, if it cannot be looked for.
 */
bool find_profile_name(const char *path, const struct bat_binary *binary, const char *name,
                       void (*found)(void *context, uint32_t table), void *context);

/* Print it as text or JSON, with at most limit functions or sections in each list; 0: all. */
bool compare_print_text(struct bat_text_writer *output, const struct comparison *comparison,
                        uint32_t limit);
bool compare_print_json(struct bat_text_writer *output, const struct comparison *comparison,
                        uint32_t limit);

#endif
