/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The code of a whole unit as a bag of hashes, to compare functions. Internal to next/. */
#pragma once

#include "unit.h"

struct next_token {
    uint32_t hash;
    float weight;
};

struct next_signature {
    struct next_token *tokens; /* ascending by hash, each once */
    uint32_t count;
    float weight; /* of all */
};

/* The signature of a unit. The caller frees it. Linear in its size. */
enum bat_code next_signature_make(struct next_program *program, uint32_t unit,
                                  struct next_signature *signature, struct bat_error *error);
/* The same of code that was read: that of next_unit_read_code() is enough. */
enum bat_code next_signature_of_code(const struct next_program *program, uint32_t unit,
                                     const struct next_unit *code_of,
                                     struct next_signature *signature, struct bat_error *error);
void next_signature_free(struct next_signature *signature);

/* How much both have, as a share of what at least one has: 0 to 1. Linear at most. */
float next_signature_compare(const struct next_signature *a, const struct next_signature *b);

/* The weight of what both have: the smaller one times the logarithm of the larger. */
float next_signature_common(const struct next_signature *a, const struct next_signature *b);

/* Take out of *from what other has: what is left has a weight. Linear. */
void next_signature_take_out(struct next_signature *from, const struct next_signature *other);

/* Two units that may be the same, by their indices in the programs or in lists. */
struct next_candidate {
    float likeness;
    uint32_t old_index;
    uint32_t new_index;
};

/* For qsort() of candidates: the most alike first. */
int next_by_likeness(const void *left, const void *right);
