/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The note as batdump prints it: a summary, or tables that are selected. */
#pragma once

#include "bat_binary.h"
#include "support/text_writer.h"

/* --- Selected tables -------------------------------------------------------------------------- */

struct note_selection {
    bool *chosen;       /* for each table; NULL if all are chosen; to be freed */
    uint32_t tables;    /* number of chosen tables */
    uint32_t fragments; /* cold fragments among them */
};

/* All tables; or none. none fails with BAT_ERR_MEMORY. */
struct note_selection note_selection_all(const struct bat_map *map);
enum bat_code note_selection_none(const struct bat_map *map, struct note_selection *selection,
                                  struct bat_error *error);

/*
 * Select the tables of a function by its name or its address, "0x...", with the fragments of hot
 * functions. Fails with BAT_ERR_MISMATCH if there is none.
 */
enum bat_code note_selection_add(struct note_selection *selection, const struct bat_binary *binary,
                                 const struct bat_names *names, const char *wanted,
                                 struct bat_error *error);

static inline bool note_selection_has(const struct note_selection *selection, uint32_t table)
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
 * Call found for each table of a function with a name as in profiles: "f/file.c/1". Fails as
 * bat_functions_create().
 */
enum bat_code find_profile_name(const struct bat_binary *binary, const char *name,
                                void (*found)(void *context, uint32_t table), void *context,
                                struct bat_error *error);

/* --- Text ------------------------------------------------------------------------------------- */

/*
 * Print who wrote the note of the file at path, what it contains, and what its bytes are used for.
 * Fails with BAT_ERR_MISMATCH if the bytes do not add up to the note's size.
 */
enum bat_code note_summary(struct bat_text_writer *output, const char *path,
                           const struct bat_binary *binary, struct bat_error *error);

/* Print the line that llvm-bat-dump starts with. */
void note_text_parsed(struct bat_text_writer *output, const struct bat_map *map);

/*
 * Print the selected tables by address, hot and cold together, and the parents of the cold ones.
 * If names is not NULL, also print the names of each table.
 */
void note_text_tables(struct bat_text_writer *output, const struct bat_map *map,
                      const struct note_selection *selection, const struct bat_names *names);

/* An address to translate. */
struct note_address {
    uint64_t address;
    bool is_branch_source;
};

/*
 * Print a line for each address: the function (a fragment's parent), by name or else by address,
 * and the input offset.
 */
void note_text_translations(struct bat_text_writer *output, const struct bat_binary *binary,
                            const struct bat_names *names, const struct note_address *addresses,
                            size_t count);

/* --- With the input binary (binary/original/) ------------------------------------------------- */

/* Questions about the input binary. */
struct original_queries {
    const char *path;              /* of the input binary */
    struct note_address *to_input; /* output addresses */
    size_t to_input_count;
    const char **to_output; /* instructions of the input: "0xADDR" or "FUNCTION+0xOFFSET" */
    size_t to_output_count;
};

/*
 * Print a line for each output address: the address that it had in the input binary; then a line
 * for each output address of each instruction. Fails with BAT_ERR_MISMATCH at an address or an
 * instruction that the input does not have, and as bat_original_open() and bat_names_collect().
 * path is the BOLTed file's; *failed is that of the file with the error, or NULL.
 */
enum bat_code original_places_text(struct bat_text_writer *output, const char *path,
                                   struct bat_binary *binary,
                                   const struct original_queries *queries, const char **failed,
                                   struct bat_error *error);

/*
 * Print the pseudo probes of a binary, which may have no note, as llvm-profgen --show-pseudo-probe
 * does, in groups of one address; with a note also where that was in the input's function, with
 * original_path (or NULL) at which address of the input. Fails as bat_probes_read(),
 * bat_names_collect() and bat_original_open(); *failed as above.
 */
enum bat_code original_probes_text(struct bat_text_writer *output, const char *path,
                                   struct bat_binary *binary, const char *original_path,
                                   const char **failed, struct bat_error *error);

/*
 * The length of the function's name in a fragment's name: 1 for "f.cold.0", and for "f/2.cold" too,
 * because the number that BOLT appends to names of local symbols does not count. 0 if it is not a
 * fragment's name.
 */
size_t bat_name_stem(const char *name);

/* True if one of the count symbols from first on is named as a fragment of a symbol at parent. */
bool bat_names_after_parent(const struct bat_names *names, size_t first, size_t count,
                            uint64_t parent);

/* The largest size of the symbols at the address; 0 if none has a size. Logarithmic. */
uint64_t bat_names_size(const struct bat_names *names, uint64_t address);
