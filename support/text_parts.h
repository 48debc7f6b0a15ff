/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Texts that are made in parts by several threads, and written in the order of the parts. Internal
 * to the library.
 */
#pragma once

#include "text_writer.h"

/* How a text is made. Each function may be called in any of the threads. */
struct bat_text_source {
    /* Called once, before all others: tells the number of parts. *state is for the other calls. */
    enum bat_code (*begin)(const void *subject, void **state, size_t *parts,
                           struct bat_error *error);
    /* Append a part. No two calls with the same thread, below BAT_PARALLEL_MAX, run at once. */
    enum bat_code (*write)(void *state, size_t part, unsigned thread, struct bat_text_writer *text,
                           struct bat_error *error);
    /* Free the state, which may be NULL. Called once. */
    void (*end)(void *state);
};

/* A text that is made in parts. */
struct bat_parted_text {
    const struct bat_text_source *source;
    const void *subject;       /* what it is made of */
    struct bat_output *output; /* stays the caller's */
    enum bat_code code;        /* filled: how it ended */
    struct bat_error error;    /* filled if code is not BAT_OK */
};

/*
 * Write texts at the same time by at most so many threads, the caller's among them; 0: one for each
 * processor. For each thread there are at most BAT_TEXT_BUFFER bytes of a part in memory, whose
 * turn has not come. An output is written by one thread at a time, not always by the same one.
 */
void bat_texts_write(struct bat_parted_text *texts, size_t count, unsigned threads);
