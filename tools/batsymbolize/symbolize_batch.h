/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Addresses that are answered together. They are looked up in ascending order: then neighbours find
 * their functions, lines and names in the processor's caches, and equal
 * answers and outer frames are printed once. The texts are printed in the order of the questions.
 */
#ifndef BAT_TOOLS_BATSYMBOLIZE_SYMBOLIZE_BATCH_H
#define BAT_TOOLS_BATSYMBOLIZE_SYMBOLIZE_BATCH_H

#include "support/key_sort.h"
#include "tools/common/output.h"

struct symbolize_text;
struct batch_answer;

/* Starts as zero. */
struct symbolize_batch {
    struct batch_answer *answers; /* in the order of the questions */
    size_t count;
    size_t capacity;
    struct bat_sort_key *keys; /* twice the capacity, to sort addresses */
    struct output *texts;      /* in memory; NULL until they are needed */
    uint64_t made_count;       /* questions whose texts were made, in all batches */
    uint64_t made_size;        /* memory that these took */
};

/* Add a question. False, with nothing changed, if the batch is full or there is no memory. */
bool batch_add(struct symbolize_batch *batch, uint64_t address);

/* Print the answers of all questions of text's batch, and empty it. */
void batch_answer_all(struct symbolize_text *text);

void batch_free(struct symbolize_batch *batch);

#endif
