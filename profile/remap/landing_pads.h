/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How many exceptions came to each landing pad of the input, by conservation of flow: as many as
 * calls with that landing pad did not return. Internal to profile/remap/.
 */
#pragma once

#include "binary/code/graph.h"
#include "binary/original/original.h"
#include "support/counts.h"

/* What the traces of a profile say of calls. Starts as {0}. */
struct input_arrivals {
    struct bat_counts branches; /* address of a branch or call: how often it was taken */
    struct bat_counts returns;  /* address: how often a return, or something outside, led there */
    struct bat_counts divided;  /* where exceptions were recorded: how many are divided */
    bool is_read;
};

void input_arrivals_free(struct input_arrivals *arrivals);

/* Sum up the traces, once. Fails as bat_counts_add(). */
enum bat_code input_arrivals_read(struct input_arrivals *arrivals, const struct bat_elf *elf,
                                  const struct bat_counts *traces);

/* A function of the input that the reader was opened for. */
struct input_landing {
    const struct bat_original *original;
    const struct bat_code_reader *reader;
    const struct bat_code_graph *graph;
    uint32_t function;
};

/* A landing pad that leads on to where an exception was recorded, or that place itself. */
struct input_pad {
    uint64_t address;
    uint64_t count;    /* of exceptions that landed there */
    uint64_t possible; /* of those that did, or went on to a caller, as their types are */
};

/*
 * Divide some of the exceptions that were recorded at an input address to the landing pads that
 * lead there: fills the counts of the pads, whose sum is count. Calls whose landing pad takes every
 * exception come first; the rest is divided in proportion to those where the type decides. If the
 * calls do not tell, as where a profile is a small sample, all are the first pad's. Exceptions may
 * be divided in parts, each of them once. Linear in the function's calls and exception table. Fails
 * as bat_counts_add().
 */
enum bat_code input_divide_exceptions(struct input_arrivals *arrivals,
                                      const struct input_landing *landing, uint64_t recorded,
                                      uint64_t count, struct input_pad *pads, uint32_t pad_count);
