/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The parts of the benchmark. */
#pragma once

#include <stdint.h>

struct bench_options {
    const char *file;   /* its note is repeated ... */
    uint32_t copies;    /* ... so many times */
    uint64_t text_size; /* of the ELF file, without symbols and note */
    unsigned runs;
    const char *bin_dir;  /* the folder of the tools */
    const char *work_dir; /* for files; must exist */
};

/* Decoder and encoder in memory. */
void codec_bench(const struct bench_options *options);

/* Make the files that tools_bench() needs. */
void tools_bench_prepare(const struct bench_options *options);

/*
 * batdump and batinject, as programs. A child's peak memory counts from that of the process that
 * starts it, so this must run in a process that has never been large.
 */
void tools_bench(const struct bench_options *options);

enum bench_direction { BENCH_AT_LEAST, BENCH_AT_MOST };

/* Print a line with the goal, the result, and whether the goal is reached. */
void bench_goal(const char *what, double found, double goal, enum bench_direction direction);
