/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Figures of a report: a line each, or members of a JSON object. Internal to the library and the
 * tools. */
#pragma once

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

/* Those of one report. */
#define FIGURES_MAX 64u

struct figures {
    struct figure all[FIGURES_MAX];
    size_t count;
};

void figures_add(struct figures *figures, const struct figure *more, size_t count);

/* 0 of nothing. */
double figures_percent(uint64_t part, uint64_t whole);

/*
 * Print figures: a line each, with labels of so many columns, or as JSON the beginning of an
 * object, whose end is the caller's.
 */
void figures_print(FILE *file, bool as_json, int columns, const struct figures *figures);
