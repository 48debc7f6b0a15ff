/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The benchmark of the codec: bytes a second of decoding and encoding in memory, beside their
 * contenders. All is measured in turns, several times; the median counts.
 */
#include <argp.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bat_decoder.h"
#include "bat_encoder.h"
#include "repeated_note.h"
#include "stopwatch.h"
#include "unchecked.h"

/* With tools_bench.py's program this is a note as large as clang's: 47 MB, 6.4 million entries. */
#define COPIES 73u

/* The data of the contenders. */
struct codec_bench {
    const uint8_t *note;
    size_t note_size;
    const struct bat_map *map; /* the note, decoded */
    uint8_t *copy;             /* memory for memcpy, used before; NULL for fresh memory each time */
    struct bat_map *unchecked; /* arrays for the unchecked loop; NULL for fresh memory each time */
};

static _Noreturn void give_up(const struct bat_error *error)
{
    char text[BAT_MESSAGE_SIZE + 64];
    bat_error_text(error, text, sizeof(text));
    fprintf(stderr, "bat_bench: %s\n", text);
    exit(1);
}

static struct bat_map *decode(const struct codec_bench *bench)
{
    struct bat_map *map;
    struct bat_error error;
    if (bat_decode(bench->note, bench->note_size, NULL, &map, &error) != BAT_OK)
        give_up(&error);
    return map;
}

static double run_memcpy(void *context)
{
    const struct codec_bench *bench = context;
    double start = stopwatch_now();
    uint8_t *copy = bench->copy ? bench->copy : malloc(bench->note_size);
    if (!copy)
        exit(1);
    memcpy(copy, bench->note, bench->note_size);
    double seconds = stopwatch_now() - start;
    /* The copy must not be optimized away. */
    if (memcmp(copy, bench->note, 64) != 0)
        exit(1);
    if (!bench->copy)
        free(copy);
    return seconds;
}

static double run_unchecked(void *context)
{
    const struct codec_bench *bench = context;
    double start = stopwatch_now();
    struct bat_map *map = bench->unchecked ? bench->unchecked : unchecked_allocate(bench->map);
    unchecked_decode(bench->note, map);
    double seconds = stopwatch_now() - start;
    if (!bench->unchecked)
        bat_map_free(map);
    return seconds;
}

static double run_decode(void *context)
{
    double start = stopwatch_now();
    struct bat_map *map = decode(context);
    double seconds = stopwatch_now() - start;
    bat_map_free(map);
    return seconds;
}

static double run_encode(void *context)
{
    const struct codec_bench *bench = context;
    uint8_t *note;
    size_t size;
    struct bat_error error;
    double start = stopwatch_now();
    if (bat_encode(bench->map, &note, &size, &error) != BAT_OK)
        give_up(&error);
    double seconds = stopwatch_now() - start;
    free(note);
    return seconds;
}

static void expect(bool is_true, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "bat_bench: expected %s, found a difference\n", what);
    exit(1);
}

/* The measured functions must be right: all three agree on every byte. */
static void check_results(const struct codec_bench *bench)
{
    const struct bat_map *map = bench->map;
    uint8_t *note;
    size_t size;
    struct bat_error error;
    if (bat_encode(map, &note, &size, &error) != BAT_OK)
        give_up(&error);
    expect(size == bench->note_size && memcmp(note, bench->note, size) == 0,
           "the encoder to give back the note's bytes");
    free(note);

    struct bat_map *other = unchecked_allocate(map);
    unchecked_decode(bench->note, other);
    const char *what = "decoder and unchecked loop to read the same";
    expect(other->hot_count == map->hot_count && other->cold_count == map->cold_count, what);
    expect(other->entry_count == map->entry_count && other->block_count == map->block_count, what);
    expect(memcmp(other->output_offsets, map->output_offsets, map->entry_count * 4ul) == 0, what);
    expect(memcmp(other->input_offsets, map->input_offsets, map->entry_count * 4ul) == 0, what);
    expect(memcmp(other->block_hashes, map->block_hashes, map->block_count * 8ul) == 0, what);
    expect(memcmp(other->block_indices, map->block_indices, map->block_count * 4ul) == 0, what);
    expect(other->secondary_count == map->secondary_count, what);
    expect(memcmp(other->secondary_entries, map->secondary_entries, map->secondary_count * 4ul) ==
               0,
           what);
    expect(memcmp(other->tables, map->tables, bat_map_tables(map) * sizeof(*map->tables)) == 0,
           what);
    bat_map_free(other);
}

static uint64_t map_bytes(const struct bat_map *map)
{
    uint64_t tables = bat_map_tables(map);
    return sizeof(*map) + tables * (sizeof(*map->tables) + sizeof(*map->by_address)) +
           ((uint64_t)map->hot_count + 1 + map->cold_count) * sizeof(*map->fragments) +
           (uint64_t)map->entry_count *
               (sizeof(*map->output_offsets) + sizeof(*map->input_offsets)) +
           (uint64_t)map->block_count * (sizeof(*map->block_hashes) + sizeof(*map->block_indices)) +
           (uint64_t)map->secondary_count * sizeof(*map->secondary_entries);
}

/* The bytes of this process that are resident now. */
static uint64_t resident_bytes(void)
{
    char line[128] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || !fgets(line, sizeof(line), file))
        return 0;
    fclose(file);
    /* The second number of the line, in pages. */
    char *at = strchr(line, ' ');
    uint64_t pages = at ? strtoull(at, NULL, 10) : 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void print_note(const struct codec_bench *bench)
{
    const struct bat_map *map = bench->map;
    uint64_t falling = 0;
    for (uint32_t t = 0; t < bat_map_tables(map); t++) {
        const struct bat_table *table = &map->tables[t];
        for (uint32_t i = 1; i < table->block_count; i++) {
            const uint32_t *index = &map->block_indices[table->first_block + i];
            falling += index[0] < index[-1];
        }
    }
    printf("note: %.1f MB, %u hot functions, %u fragments, %u entries, %u blocks "
           "(%.1f %% with a falling index)\n",
           (double)bench->note_size / 1e6, map->hot_count, map->cold_count, map->entry_count,
           map->block_count, 100.0 * (double)falling / (double)map->block_count);
}

enum { MEMCPY, UNCHECKED, DECODE, ENCODE, CONTENDERS };

static void race(struct codec_bench *bench, const char *title, unsigned runs,
                 struct contender contenders[CONTENDERS])
{
    contenders[MEMCPY] = (struct contender){.name = "memcpy", .run = run_memcpy};
    contenders[UNCHECKED] = (struct contender){.name = "unchecked loop", .run = run_unchecked};
    contenders[DECODE] = (struct contender){.name = "bat_decode", .run = run_decode};
    contenders[ENCODE] = (struct contender){.name = "bat_encode", .run = run_encode};
    for (int i = 0; i < CONTENDERS; i++) {
        contenders[i].context = bench;
        contenders[i].bytes = bench->note_size;
    }
    stopwatch_race(contenders, CONTENDERS, runs);
    stopwatch_print(title, contenders, CONTENDERS, UNCHECKED);
}

static double speedup(const struct contender *of, const struct contender *over)
{
    return over->median / of->median;
}

/* Print a line with the goal, the result, and whether the goal is reached. */
static void print_goal(const char *what, double found, double goal, bool at_least)
{
    const bool is_reached = at_least ? found >= goal : found <= goal;
    printf("  %-42s %9.2f   (%s %.2f: %s)\n", what, found, at_least ? "at least" : "at most", goal,
           is_reached ? "reached" : "MISSED");
}

static void measure(struct codec_bench *bench, unsigned runs)
{
    uint64_t before = resident_bytes();
    struct bat_map *map = decode(bench);
    uint64_t grown = resident_bytes() - before;
    bench->map = map;
    check_results(bench);
    print_note(bench);

    struct contender fresh[CONTENDERS];
    race(bench, "fresh memory", runs, fresh);

    /* From here on free() keeps memory, so that the library gets memory that it has used before;
     * the others get used memory, too. */
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
    bench->copy = malloc(bench->note_size);
    if (!bench->copy)
        exit(1);
    bench->unchecked = unchecked_allocate(map);
    struct contender warm[CONTENDERS];
    race(bench, "memory used before", runs, warm);

    printf("\n");
    print_goal("decode / unchecked loop, fresh", speedup(&fresh[DECODE], &fresh[UNCHECKED]), 1.0,
               true);
    print_goal("decode / unchecked loop, used", speedup(&warm[DECODE], &warm[UNCHECKED]), 1.0,
               true);
    print_goal("encode / decode, fresh", speedup(&fresh[ENCODE], &fresh[DECODE]), 1.0, true);
    print_goal("encode / decode, used", speedup(&warm[ENCODE], &warm[DECODE]), 1.0, true);
    print_goal("map, MB", (double)map_bytes(map) / 1e6, 120, false);
    print_goal("resident memory gained by decoding, MB", (double)grown / 1e6, 120, false);
    free(bench->copy);
    bat_map_free(bench->unchecked);
    bat_map_free(map);
}

static void write_note(const struct codec_bench *bench, const char *path)
{
    FILE *file = fopen(path, "wb");
    if (file && fwrite(bench->note, 1, bench->note_size, file) == bench->note_size &&
        fclose(file) == 0)
        return;
    perror(path);
    exit(1);
}

static const struct argp_option argp_options[] = {
    {"runs", 'r', "N", 0, "Measure everything N times (default 11)", 0},
    {"small", 's', NULL, 0, "A small note: to see that all works, not how fast", 0},
    {"note", 'n', "OUT", 0, "Also write the note", 0},
    {0},
};

struct arguments {
    const char *file;
    const char *note;
    uint32_t copies;
    unsigned runs;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    char *end;
    switch (key) {
    case 'r':
        arguments->runs = (unsigned)strtoul(argument, &end, 10);
        if (*end || arguments->runs < 1 || arguments->runs > STOPWATCH_RUNS_MAX)
            argp_error(state, "expected 1 to %d runs", STOPWATCH_RUNS_MAX);
        return 0;
    case 's':
        arguments->copies = 12;
        return 0;
    case 'n':
        arguments->note = argument;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->file)
            argp_usage(state);
        arguments->file = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_usage(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.copies = COPIES, .runs = 11};
    const struct argp argp = {.options = argp_options,
                              .parser = parse_option,
                              .args_doc = "FILE",
                              .doc = "Measure libbatkit with many copies of FILE's note."};
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
        return 2;
    struct codec_bench bench = {0};
    bench.note = repeated_note(arguments.file, arguments.copies, &bench.note_size);
    if (arguments.note)
        write_note(&bench, arguments.note);
    measure(&bench, arguments.runs);
    free((void *)bench.note);
    return 0;
}
