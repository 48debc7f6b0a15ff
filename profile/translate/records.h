/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The records of the input binary that a translation makes, and that fdata and YAML are written
 * from. Internal to the library.
 */
#pragma once

#include "bat_probes.h"
#include "bat_profile.h"
#include "binary/code/output_flow.h"
#include "binary/functions/functions.h"
#include "profile/yaml/bat_yaml_profile.h"
#include "support/counts.h"
#include "support/string_table.h"
#include "support/text_parts.h"
#include "tableless.h"

/* The kinds of ends that translation makes: fdata's first digit of an end. */
#define BAT_KIND_UNKNOWN 0u
#define BAT_KIND_SYMBOL 1u

/* The same for memory samples: the load read unknown data, or data with a symbol. */
#define BAT_KIND_MEMORY_UNKNOWN 3u
#define BAT_KIND_MEMORY 4u

/* The name of an end that is in no function: "[unknown]". */
#define BAT_NAME_UNKNOWN BAT_NONE

/* Where YAML has a branch record. */
enum bat_yaml_place {
    BAT_YAML_NOWHERE,   /* left out: a memory access, or of a block that the note lacks */
    BAT_YAML_SUCCESSOR, /* in succ: a branch or fall-through from a block to one of the function */
    BAT_YAML_CALL,      /* in calls: a call or jump to a function */
};

struct judged_function;

/* The probes of the binary, and the file's tables. Threads may share it. */
struct bat_yaml_probes {
    struct bat_probes *all;
    uint8_t *is_read; /* for each node: its top-level body is one of those that are written */
    struct bat_yaml_guid *guids; /* of the nodes that are read */
    uint64_t *hashes;            /* of all functions of the source */
    uint32_t guid_count;
    uint32_t hash_count;
};

/*
 * An end is a word of bat_fdata_word(): a kind and a name. Names below function_count are indices
 * of the binary's functions. The others, less function_count, are indices in extra_names: data, and
 * names of fdata inputs that the binary does not have.
 */
struct bat_records {
    struct bat_binary *binary;
    struct bat_binary *input;  /* binary, if the records own it, without its file; or NULL */
    const struct bat_map *map; /* of tables: binary's, or the BOLTed one's if binary is the input */
    const struct bat_map
        *binary_map;         /* binary's; it may have no entries for tables without samples */
    struct bat_map *own_map; /* that map, if the records own it; or NULL */
    const struct bat_original *original; /* the paired input binary, or NULL */
    const struct bat_elf *symbols_elf;   /* the file with symbols; NULL: the binary's own */
    struct bat_functions *functions;
    const struct bat_function_symbol *symbols; /* function_count */
    struct bat_function_symbol *renamed;       /* owned symbols with the input's names, or NULL */
    uint32_t function_count;
    uint32_t *tables; /* for each function its BAT table, or BAT_NONE */
    struct bat_strings extra_names;

    unsigned threads; /* that may work on the records; 0: one for each processor */
    enum bat_profile_kind kind;
    struct bat_counts branches; /* from, offset, to, offset: count, mispredictions */
    struct bat_counts samples;  /* name, offset: count */
    bool has_extern;            /* YAML has entries from outside */
    bool is_parity;             /* perf2bolt's records, not only those that llvm-bolt accepts */
    /* Function, offset: how much of the record from there to the function's own start is
       fall-throughs, not calls of itself. Only needed with is_parity. */
    struct bat_counts starts_reached;
    uint8_t *yaml_places; /* for each of branches: enum bat_yaml_place */
    /* Function without a table, offset: id of the secondary entry point there. */
    struct bat_counts entry_ids;
    struct bat_strings events;
    struct bat_yaml_probes *probes; /* of the binary, if YAML is to have them; or NULL */
    struct bat_translate_counters counters;

    /* The binary's code that was read. It is kept after the translation for bat_records_judge(). */
    struct bat_tableless tableless; /* functions without a table that traces run through */
    struct bat_output_flows *flows; /* NULL until the first bat_records_flow() */
    /* The same, if threads may use it at the same time and it is of map; else NULL. */
    const struct bat_output_flows *shared_flows;

    /* Of bat_records_judge(), if is_judged. */
    bool is_judged;
    struct bat_judgement as_fdata;
    struct bat_judgement as_yaml;
    struct judged_function *stale; /* functions that are stale in one of both, by their indices */
    uint32_t stale_count;
    uint32_t *stale_as[2]; /* indices in stale of those that are so as fdata, and as YAML */
    uint32_t stale_as_count[2];
};

/* True for the word of one of the binary's functions. */
static inline bool bat_records_is_function(const struct bat_records *records, uint64_t word)
{
    return word >> 32 == BAT_KIND_SYMBOL && (uint32_t)word < records->function_count;
}

/* A record of branches, with its counts. */
static inline const uint64_t *bat_records_branch(const struct bat_records *records, uint32_t i)
{
    return bat_counts_item(&records->branches, i);
}

/* Fetch the code of a function that will be asked for, if it was read. */
static inline void bat_records_fetch_flow(const struct bat_records *records, uint32_t function)
{
    const uint32_t table = records->tables[function];
    if (table != BAT_NONE && records->shared_flows)
        bat_output_flow_fetch(
            bat_output_flows_known(records->shared_flows, records->map->tables[table].parent), 16);
}

/* The name of an end, as a C string: without escapes for functions, escaped for extra names. */
const char *bat_records_name(const struct bat_records *records, uint32_t name, bool *is_escaped);

/* The output's code of a hot table's function, read once; owned by records. */
enum bat_code bat_records_flow(struct bat_records *records, uint32_t hot,
                               const struct bat_output_flow **flow, struct bat_error *error);

/*
 * Read the code of the hot tables for which wanted is not 0, by several threads, before the calls
 * of bat_records_flow(): they give the same without it.
 */
enum bat_code bat_records_read_flows(struct bat_records *records, const uint8_t *wanted,
                                     struct bat_error *error);

/*
 * The same for a use that ends soon: code that was not read before is not kept. Then *own is not
 * NULL, and the caller frees it with bat_output_flow_free(). *reader, NULL at first, is the
 * thread's; the caller frees it in the end. Threads may call this at the same time after
 * bat_records_can_lend_flows() has returned true.
 */
enum bat_code bat_records_borrow_flow(struct bat_records *records, uint32_t hot,
                                      struct bat_flow_reader **reader,
                                      const struct bat_output_flow **flow,
                                      struct bat_output_flow **own, struct bat_error *error);
bool bat_records_can_lend_flows(struct bat_records *records);

/* Free the code that was read. */
void bat_records_forget_code(struct bat_records *records);

/*
 * Fill yaml_places. branches must be sorted. Decides by the input's code where that is at hand (for
 * the functions in tableless), otherwise by the note and the output's code. Time is n log n in the
 * records of functions.
 */
enum bat_code bat_records_find_places(struct bat_records *records, struct bat_error *error);

/* Add a profile's fdata records. Names that the binary has become its functions. */
enum bat_code bat_records_add_fdata(struct bat_records *records, const struct bat_profile *profile,
                                    struct bat_error *error);

/*
 * Fill entry_ids for branches from functions that have a table. symbols may be NULL: the binary's
 * own.
 */
enum bat_code bat_records_find_entries(struct bat_records *records, const struct bat_elf *symbols,
                                       struct bat_error *error);

/* About so many records are a part: their text is in general shorter than BAT_TEXT_BUFFER. */
#define BAT_RECORDS_PER_PART 1024u

extern const struct bat_text_source bat_fdata_source;
extern const struct bat_text_source bat_yaml_source;

/*
 * Write what is before the records of fdata: no_lbr with the events, unless they are NULL, then
 * boltedcollection. llvm-bolt reads the two lines in this order only; perf2bolt writes the other.
 */
void bat_fdata_write_header(struct bat_text_writer *writer, const struct bat_strings *events,
                            bool is_bolted);

/* Write the counts behind a key of 2 or 4 words, and the end of the line. */
void bat_fdata_write_counts(struct bat_text_writer *writer, const uint64_t *item, uint32_t words);
