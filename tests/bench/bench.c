/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The benchmark: bytes a second of the codec and of the tools, beside their contenders. Everything
 * is measured in turns, several times; the median counts.
 */
#include "bench.h"

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stopwatch.h"

/* 360 MB with symbols and note. */
#define TEXT_SIZE UINT64_C(305000000)

/* With run.sh's program this is a note as large as clang's: 47 MB, 6.4 million entries. */
#define COPIES 73u

static const struct argp_option argp_options[] = {
    {"runs", 'r', "N", 0, "Measure everything N times (default 11)", 0},
    {"small", 's', NULL, 0, "A small note: to see that all works, not how fast", 0},
    {"codec", 'c', NULL, 0, "The codec only, not the tools", 0},
    {0},
};

struct arguments {
    struct bench_options options;
    bool codec_only;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct bench_options *options = &arguments->options;
    const char **const places[] = {&options->bin_dir, &options->work_dir, &options->file};
    char *end;
    switch (key) {
    case 'r':
        options->runs = (unsigned)strtoul(argument, &end, 10);
        if (*end || options->runs < 1 || options->runs > STOPWATCH_RUNS_MAX)
            argp_error(state, "expected 1 to %d runs", STOPWATCH_RUNS_MAX);
        return 0;
    case 's':
        options->copies = 12;
        return 0;
    case 'c':
        arguments->codec_only = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num >= sizeof(places) / sizeof(places[0]))
            argp_usage(state);
        *places[state->arg_num] = argument;
        return 0;
    case ARGP_KEY_END:
        if (state->arg_num < 3)
            argp_usage(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void bench_goal(const char *what, double found, double goal, enum bench_direction direction)
{
    bool is_reached = direction == BENCH_AT_LEAST ? found >= goal : found <= goal;
    printf("  %-42s %9.2f   (%s %.2f: %s)\n", what, found,
           direction == BENCH_AT_LEAST ? "at least" : "at most", goal,
           is_reached ? "reached" : "MISSED");
}

/* In a separate process, so that its memory does not count later. */
static void apart(void (*part)(const struct bench_options *), const struct bench_options *options)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        part(options);
        fflush(stdout);
        _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "bat_bench: a part of the benchmark failed\n");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    struct arguments arguments = {
        .options = {.copies = COPIES, .text_size = TEXT_SIZE, .runs = 11}};
    const struct argp argp = {.options = argp_options,
                              .parser = parse_option,
                              .args_doc = "BIN_DIR WORK_DIR FILE",
                              .doc = "Measure libbatkit and the tools in BIN_DIR with many copies "
                                     "of FILE's note; files go to WORK_DIR."};
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
        return 2;
    apart(codec_bench, &arguments.options);
    if (arguments.codec_only)
        return 0;
    apart(tools_bench_prepare, &arguments.options);
    tools_bench(&arguments.options);
    return 0;
}
