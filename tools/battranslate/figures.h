/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The figures of reports. */
#ifndef BAT_TOOLS_BATTRANSLATE_FIGURES_H
#define BAT_TOOLS_BATTRANSLATE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct figure {
    const char *key;   /* in JSON */
    const char *label; /* for people */
    uint64_t value;
    uint64_t whole; /* of which value is a part; 0 for none */
};

/* 0 of nothing. */
double figures_percent(uint64_t part, uint64_t whole);

/*
 * Print figures: a line each, with labels of so many columns, or as JSON the beginning of an
 * object, whose end is the caller's.
 */
void figures_print(FILE *file, bool as_json, int columns, const struct figure *figures,
                   size_t count);

#endif
