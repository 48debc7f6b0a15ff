/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What batreport collects, and then writes as a page. spec/report.md describes the page's data. */
#pragma once

#include "bat_page.h"
#include "bat_profile.h"
#include "next/carry.h"
#include "support/counts.h"
#include "support/string_table.h"

/* --- Code ------------------------------------------------------------------------------------ */

/* A section with code. */
struct report_section {
    const char *name; /* owned by the ELF file */
    uint64_t address;
    uint64_t size; /* bytes */
};

/* The sections with code of one binary, by address, without those that overlap one before. */
struct report_sections {
    struct report_section *all;
    uint32_t count;
};

enum report_kind {
    REPORT_HOT,  /* a function that BOLT wrote, or its hot part */
    REPORT_COLD, /* a cold fragment */
    REPORT_LEFT, /* a function without a table: BOLT left it as it was */
    REPORT_PLT,  /* an entry of a PLT */
    REPORT_KINDS
};

/* One run of code in the output: a whole function, or a part of one. */
struct report_piece {
    uint64_t address;
    uint64_t size;
    uint64_t samples;  /* that begin in it */
    uint64_t executed; /* bytes of code that ran; at most UINT64_MAX */
    uint32_t section;  /* of the output */
    uint32_t table;    /* of the note; or BAT_NONE */
    uint32_t function; /* that it belongs to */
    uint32_t first_block;
    uint32_t block_count; /* entries that are blocks, in the note's order; 0 if none are known */
    enum report_kind kind;
};

/* A function of the output, with all its pieces. */
struct report_function {
    const char *name; /* as in profiles; "" if it has none */
    uint64_t input_address;
    uint64_t input_size;    /* 0 if the input function is not known */
    uint32_t input_section; /* or BAT_NONE */
    uint32_t main_piece;
    uint32_t first_piece; /* in pieces_of */
    uint32_t piece_count;
    uint64_t samples;  /* of all its pieces */
    bool is_reordered; /* its blocks stand in another order than in the input */
};

/* A line of the source. */
struct report_line {
    uint32_t file; /* number in files + 1; 0: not known */
    uint32_t line;
};

/* A block of the note, or of the code of a hot function without a table; in the order of pieces. */
struct report_block {
    uint32_t output; /* offset from the piece's start */
    uint32_t input;  /* offset from the input function's start */
};

/*
 * A taken branch, or several with the same ends: blocks, counted from the first block of their
 * piece; 0 in pieces without blocks.
 */
struct report_edge {
    uint32_t from_piece; /* BAT_NONE: outside of all functions */
    uint32_t from_block;
    uint32_t to_piece; /* BAT_NONE: outside of all functions */
    uint32_t to_block;
    bool is_entry; /* it goes to the first byte of a function */
    uint64_t count;
    uint64_t mispredictions;
};

/* --- The code of the hottest functions -------------------------------------------------------- */

/* An instruction. */
struct report_instruction {
    uint64_t address;
    uint64_t target; /* of a branch, jump or call; 0 if the text has all there is */
    uint64_t count;  /* how often it ran */
    uint64_t passed; /* ... and then the next one behind it, of code that has counts */
    struct report_line line;
    uint32_t text; /* number in instruction_texts; without the target if there is one */
    uint8_t length;
    bool may_pass; /* a conditional branch */
};

/* Code without a gap: a piece of the output, or an input function. */
struct report_run {
    uint64_t address;
    uint64_t size;
    uint32_t function;
    uint32_t piece; /* of the output, else BAT_NONE */
    uint32_t count; /* of instructions */
};

/* The instructions of the hottest functions in one layout; all by address. */
struct report_listing {
    struct report_run *runs;
    struct report_instruction *all;
    struct report_edge
        *branches; /* taken inside of a function; blocks are instructions, pieces 0 */
    uint32_t run_count;
    uint32_t count;
    size_t capacity;
    size_t branch_count;
};

/* --- What llvm-bolt will refuse --------------------------------------------------------------- */

/* A function whose profile llvm-bolt will refuse, in one form of profile. */
struct report_refusal {
    const char *name;  /* in the profile; belongs to the records */
    uint64_t counts;   /* of its records, as llvm-bolt counts them */
    uint32_t function; /* BAT_NONE: it is not in the output */
    bool is_yaml;      /* in YAML; else in fdata */
    char reason[BAT_VERDICT_REASON_SIZE];
};

/* --- Pages, stacks --------------------------------------------------------------------------- */

#define REPORT_CACHE_LINE ((uint64_t)64)
#define REPORT_PAGE ((uint64_t)4096)
#define REPORT_HUGE_PAGE ((uint64_t)2 << 20)

/* The samples of the pages that have some, the hottest first. */
struct report_pages {
    uint64_t *counts;
    size_t count;
    uint64_t sum;
};

/* What one layout of the code costs: from its profile. */
struct report_path {
    uint64_t taken; /* branches, with calls and returns */
    uint64_t lines; /* of 64 bytes: the fewest that have 99% of the samples; and so on */
    uint64_t pages; /* of 4 KiB */
    uint64_t huge;  /* pages of 2 MiB */
};

/* A node of the tree of call chains, in preorder. */
struct report_node {
    uint32_t name; /* number among stack_names */
    uint32_t depth;
    uint64_t count; /* of all stacks that go through it */
};

/* --- The next build --------------------------------------------------------------------------- */

/* A block of the next build, of a function that changed, and the old block that it was. */
struct report_carried {
    uint32_t unit;         /* number among names: of the function */
    uint32_t function;     /* ... of this part of it */
    uint32_t old_function; /* ... of the old block's; BAT_NONE: its count was inferred */
    uint32_t offset;
    uint32_t old_offset;
    float confidence; /* 0 to 1 */
    float content;    /* how alike the instructions are, 0 to 1 */
    bool is_piece;    /* of the old block */
    uint64_t old_count;
    uint64_t count;
};

/* The profile carried to the next build. */
struct report_next {
    struct bat_binary binary;
    struct bat_profile *profile;
    struct bat_records *records;
    struct bat_judgement judgement;
    bool has_judgement;
    struct next_report figures;
    struct bat_strings names;
    struct report_carried *blocks; /* those of a function are together, in the order of its code */
    size_t block_count;
    size_t block_capacity;
    bool lacks_memory; /* for a block */
};

/* --- All ------------------------------------------------------------------------------------- */

struct bat_functions;

/* The two layouts of the code. */
enum { REPORT_BEFORE, REPORT_AFTER };

struct report {
    const struct bat_page_request *request;
    struct bat_stored stored; /* the whole binary, if a store has it */
    struct bat_binary binary;
    struct bat_original *original; /* or NULL */
    struct bat_functions *functions_of_file;
    struct bat_error error;
    const char *failed; /* the file that error is about, or NULL */

    struct report_sections output;
    struct report_sections input;      /* none without original */
    struct report_piece *pieces;       /* by address; they do not overlap */
    struct report_function *functions; /* by the address of their main pieces */
    uint32_t *pieces_of;               /* of each function: the main one first, then by address */
    struct report_block *blocks;
    uint64_t *block_counts;    /* how often each block ran; of removed ones 0 */
    uint64_t *block_hints;     /* how often at least, by what does not begin where it does; until
                                  the counts are known */
    bool has_runs_alone;       /* the profile has runs apart from the branches to them */
    struct report_line *lines; /* one for each block, or NULL */
    struct bat_strings files;  /* that lines are in */
    uint32_t piece_count;
    uint32_t function_count;
    uint32_t block_count;
    uint32_t without_code; /* tables that BOLT did not emit, or that lie outside of the code */

    /* What the profile says. All 0 if there is none. */
    bool has_profile;
    bool is_moved;      /* records come from the profile moved to the input */
    bool has_judgement; /* of fdata; of YAML, too, unless the note has no hashes */
    bool has_yaml_judgement;
    uint32_t node_count;
    uint64_t profiles_with_records;
    struct bat_profile *profile;
    struct bat_profile *input_profile; /* moved to the input, or NULL */
    struct bat_records *records;
    struct bat_to_input_counters moved;
    struct bat_judgement judgement;
    struct bat_judgement yaml_judgement;
    struct bat_profile_verdict check;
    struct report_refusal *refusals; /* fdata's before YAML's, each by the function's address */
    size_t refusal_count;
    uint64_t samples; /* all */
    uint64_t samples_of_kind[REPORT_KINDS];
    uint64_t samples_outside;  /* of the binary */
    uint64_t samples_old;      /* in code from before BOLT moved it, and in jumps to the new code */
    uint64_t samples_nowhere;  /* in the binary, in no function */
    struct report_edge *edges; /* by source piece and block, then target */
    size_t edge_count;
    bool *is_hottest;                  /* of each function; or NULL */
    struct report_listing listings[2]; /* before, after; empty without a disassembler */
    struct bat_strings instruction_texts;
    struct report_pages pages[2][2]; /* [before, after][pages, huge pages] */
    struct report_path paths[2];     /* before, after */

    struct bat_strings stack_names;
    struct report_node *nodes; /* node_count */
    struct report_next next;
};

/*
 * The steps. Each fills its part of report; on failure error and failed say why. report_free()
 * frees what they allocated.
 */
enum bat_code report_open_binaries(struct report *report);
enum bat_code report_collect_code(struct report *report);
enum bat_code report_collect_profile(struct report *report);
enum bat_code report_collect_check(struct report *report);
enum bat_code report_collect_next(struct report *report);

/* Only the verdict of the checks that cost nothing, of the profile if there is one. */
enum bat_code report_collect_verdict(struct report *report);

/* In this order: samples, the blocks, how often they and their branches ran, the instructions. */
enum bat_code report_collect_samples(struct report *report);
enum bat_code report_collect_blocks(struct report *report);
enum bat_code report_collect_heat(struct report *report);
enum bat_code report_collect_instructions(struct report *report);
enum bat_code report_collect_pages(struct report *report);
enum bat_code report_collect_lines(struct report *report);
enum bat_code report_collect_stacks(struct report *report);

/* Do these steps, up to NULL or the first that fails. */
typedef enum bat_code report_step_fn(struct report *report);
enum bat_code report_collect(struct report *report, report_step_fn *const steps[]);

/* Make the whole page, and write it. */
enum bat_code report_run(struct report *report, struct bat_output *output);
void report_free(struct report *report);
void report_free_next(struct report_next *next);

/* --- Look-ups and messages ------------------------------------------------------------------- */

/* The piece that holds an address of the output, or BAT_NONE. Logarithmic. */
uint32_t report_piece_at(const struct report *report, uint64_t address);

/* The last block at or below an offset of a piece, counted from its first; 0 if there is none. */
uint32_t report_block_at(const struct report *report, const struct report_piece *piece,
                         uint64_t offset);

/* The output bytes of block number i of a piece. */
static inline uint64_t report_block_end(const struct report *report,
                                        const struct report_piece *piece, uint32_t i)
{
    uint64_t end = i + 1 < piece->block_count ? report->blocks[piece->first_block + i + 1].output
                                              : piece->size;
    return end < piece->size ? end : piece->size;
}

/* The numbers of the functions with the most samples, at most `most`, 1 or more; returns how many.
 */
uint32_t report_find_hottest(const struct report *report, uint32_t *hottest, uint32_t most);

/* The next trace or sample of a profile; false behind the last. All zero is the beginning. */
struct report_walk {
    uint64_t trace;
    uint64_t sample;
};

bool report_walk_next(const struct bat_profile *profile, struct report_walk *walk,
                      struct bat_trace *trace);

/* The instruction of a listing that an address is in, or BAT_NONE. Logarithmic. */
uint32_t report_listing_at(const struct report_listing *listing, uint64_t address);

/* The function of the output whose code an address of one layout is in, or BAT_NONE. */
uint32_t report_function_at(const struct report *report, unsigned side, uint64_t address);

/* The run of a listing that an address is in, or NULL. Logarithmic. */
const struct report_run *report_run_at(const struct report_listing *listing, uint64_t address);

/* Sort edges by their ends, and join those with the same; returns how many there are then. */
size_t report_join_edges(struct report_edge *edges, size_t count);

/*
 * The function that starts at an address of the binary that the records are of: the input binary if
 * the profile was moved. BAT_NONE if the output has no such function.
 */
uint32_t report_function_of_records(const struct report *report, uint64_t address);

/* True for a trace that begins with a branch which was taken, of which the source is known. */
bool report_is_branch(const struct bat_trace *trace);

/* The section that holds an address, or BAT_NONE. */
uint32_t report_section_at(const struct report_sections *sections, uint64_t address);

/* True for a section of the input that BOLT kept under another name: its code is not used. */
bool report_is_old_section(const struct report_section *section);

/*
 * Say which file report->error is about; or that memory ran out, or what is wrong with a file.
 * Return the error's code.
 */
enum bat_code report_fail(struct report *report, const char *file);
enum bat_code report_no_memory(struct report *report);
enum bat_code report_refuse(struct report *report, const char *file, const char *format, ...)
    BAT_PRINTF(3, 4);

/* Tell the caller of the library a sentence about a file; file may be NULL. */
void report_warn(const struct report *report, const char *file, const char *format, ...)
    BAT_PRINTF(3, 4);

/* A symbol's name as in the source, to be freed; NULL if it is not mangled. */
char *report_plain_name(const struct bat_page_request *request, const char *name);

/* A frame below its callers' frames. */
struct call_node {
    uint32_t parent; /* a lower number */
    uint32_t name;
    uint32_t depth; /* of the root, which is no frame, 0 */
    uint64_t count; /* of the stacks that end here */
};

struct call_tree {
    struct call_node *nodes; /* the first is the root */
    uint32_t count;
    size_t capacity;
    uint32_t depth_max;
    struct bat_counts children; /* a node and a name: the child's number */
};

/* False without memory. The caller calls call_tree_free() in any case. */
bool call_tree_begin(struct call_tree *tree);
void call_tree_free(struct call_tree *tree);

/* The root's number. */
#define CALL_TREE_ROOT 0u

/* The child of a node with that name, a number of report->stack_names; BAT_NONE without memory. */
uint32_t call_tree_child(struct call_tree *tree, uint32_t node, uint32_t name);

/*
 * Fill report->nodes: in preorder, those with the same callers by name, each with the counts of all
 * stacks through it. False without memory. n log n in the nodes.
 */
bool call_tree_list(const struct call_tree *tree, struct report *report);
