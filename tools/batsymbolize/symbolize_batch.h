/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Addresses that are answered together, by several threads if they are many. They are looked up in
 * ascending order: then neighbours find their functions, lines and names in the processor's caches,
 * and equal answers and outer frames are printed once. Each thread has its own stretches of
 * addresses, so that hardly any debug information is read by two. The texts are printed in the
 * order of the questions, those of one batch while the next one is looked up.
 */
#ifndef BAT_TOOLS_BATSYMBOLIZE_SYMBOLIZE_BATCH_H
#define BAT_TOOLS_BATSYMBOLIZE_SYMBOLIZE_BATCH_H

#include "support/key_sort.h"
#include "symbolize_text.h"

struct batch_answer {
    uint64_t address;
    union {
        size_t start;     /* of the text, among the worker's */
        const char *kept; /* the text */
    };
    uint32_t size;  /* 0: there is no text */
    uint8_t found;  /* an enum bat_symbolizer_found */
    uint8_t worker; /* whose text it is */
    bool is_kept;   /* the text stays where it is, for other answers */
};

/* The text for the first addresses of an output function, which all have it. */
struct known_text {
    const char *text; /* NULL: it is not known, or each address has its own */
    uint32_t size;
    uint32_t addresses; /* how many */
};

/* What a thread answers with. */
struct batch_worker {
    unsigned number;
    struct bat_symbolizer *symbolizer; /* NULL: it does not work */
    struct symbolize_printer printer;  /* its output is that of the batch in texts */
    struct output *texts[2];           /* in memory: of two batches in turns; worker 0 prints
                                          those of one before it makes the other's, and has only
                                          one */
    size_t limit;                      /* behind texts of this size, it makes or keeps no more */
    struct known_text *known;          /* by output function; NULL: without memory */
    struct output *one;                /* in memory: for one text */
    size_t kept_size;                  /* of all known texts, at most the limit */
    bool is_begun;
};

/*
 * Make the texts of count answers in the order of sorted, whose values are positions in answers.
 * Answers beyond the worker's limit, or without memory, get none.
 */
void batch_make_texts(const struct symbolize_text *text, struct batch_worker *worker,
                      struct batch_answer *answers, const struct bat_sort_key *sorted,
                      size_t count);

#endif
