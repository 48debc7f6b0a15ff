/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The speed of batdump's printing and batinject's writing, beside cp. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bat_decoder.h"
#include "bench.h"
#include "child.h"
#include "repeated_note.h"
#include "stopwatch.h"
#include "synthetic_elf.h"

/* A command that is measured. */
struct command {
    char *argv[6];
    bool sync; /* write its output to the disk, too */
    const char *written;
    uint64_t peak_memory;
};

static _Noreturn void give_up(const char *what)
{
    perror(what);
    exit(1);
}

/* A text in memory that is never freed, because there are few. */
static BAT_PRINTF(1, 2) char *text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *made;
    if (vasprintf(&made, format, arguments) < 0)
        give_up("text");
    va_end(arguments);
    return made;
}

static void sync_file(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fsync(file) != 0)
        give_up(path);
    close(file);
}

static struct child_cost run(struct command *command, const char *output)
{
    struct child_cost cost = child_run(command->argv, output);
    if (cost.peak_memory > command->peak_memory)
        command->peak_memory = cost.peak_memory;
    return cost;
}

static double run_command(void *context)
{
    struct command *command = context;
    if (command->written) {
        /* The output must be new each time, and the disk quiet. */
        unlink(command->written);
        sync();
    }
    struct child_cost cost = run(command, "/dev/null");
    double start = stopwatch_now();
    if (command->sync)
        sync_file(command->written);
    return cost.seconds + (command->sync ? stopwatch_now() - start : 0);
}

static uint64_t file_size(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        give_up(path);
    return (uint64_t)status.st_size;
}

static char *tool(const struct bench_options *options, const char *name)
{
    char *path = text("%s/%s", options->bin_dir, name);
    if (access(path, X_OK) != 0)
        give_up(path);
    return path;
}

static void dump_bench(const struct bench_options *options)
{
    struct command dump = {
        .argv = {tool(options, "batdump"), text("--dump-all"),
                 text("%s/bench.note", options->work_dir)},
    };
    uint64_t text_size = run(&dump, NULL).output_size;
    struct contender contender = {
        .name = "batdump --dump-all > /dev/null", .run = run_command, .context = &dump};
    contender.bytes = text_size;
    stopwatch_race(&contender, 1, options->runs);
    stopwatch_print("text", &contender, 1, 0);
    printf("  %.1f MB of text, at most %.1f MB of memory\n\n", (double)text_size / 1e6,
           (double)dump.peak_memory / 1e6);
    bench_goal("--dump-all, MB/s", (double)text_size / contender.median / 1e6, 500, BENCH_AT_LEAST);
}

enum { CP, CP_SYNC, INJECT, INJECT_NO_CHECK, CONTENDERS };

static void inject_bench(const struct bench_options *options)
{
    char *elf = text("%s/bench.elf", options->work_dir);
    char *output = text("%s/bench.out", options->work_dir);
    char *inject = tool(options, "batinject");
    char *note_option = text("--note=%s/bench.note", options->work_dir);
    char *output_option = text("--output=%s", output);
    struct command commands[CONTENDERS] = {
        [CP] = {.argv = {text("cp"), elf, output}},
        [CP_SYNC] = {.argv = {text("cp"), elf, output}, .sync = true},
        [INJECT] = {.argv = {inject, note_option, output_option, elf}},
        [INJECT_NO_CHECK] = {.argv = {inject, note_option, output_option, elf, text("--no-check")}},
    };
    struct contender contenders[CONTENDERS] = {
        [CP] = {.name = "cp"},
        [CP_SYNC] = {.name = "cp, then fsync"},
        [INJECT] = {.name = "batinject --note"},
        [INJECT_NO_CHECK] = {.name = "batinject --note --no-check"},
    };
    for (int i = 0; i < CONTENDERS; i++) {
        commands[i].written = output;
        contenders[i].run = run_command;
        contenders[i].context = &commands[i];
        contenders[i].bytes = file_size(elf);
    }
    stopwatch_race(contenders, CONTENDERS, options->runs);
    printf("\nELF file: %.1f MB", (double)contenders[CP].bytes / 1e6);
    stopwatch_print("inject", contenders, CONTENDERS, CP);
    printf("\n");
    bench_goal("inject, times cp", contenders[INJECT].median / contenders[CP].median, 2,
               BENCH_AT_MOST);
    bench_goal("inject, times cp and fsync", contenders[INJECT].median / contenders[CP_SYNC].median,
               1.5, BENCH_AT_MOST);
    bench_goal("inject --no-check, times cp",
               contenders[INJECT_NO_CHECK].median / contenders[CP].median, 1.5, BENCH_AT_MOST);
    bench_goal("inject, MB of memory", (double)commands[INJECT].peak_memory / 1e6, 130,
               BENCH_AT_MOST);
    bench_goal("inject --no-check, MB of memory",
               (double)commands[INJECT_NO_CHECK].peak_memory / 1e6, 64, BENCH_AT_MOST);
    unlink(output);
}

void tools_bench_prepare(const struct bench_options *options)
{
    size_t size;
    uint8_t *note = repeated_note(options->file, options->copies, &size);
    struct bat_map *map;
    struct bat_error error;
    if (bat_decode(note, size, NULL, &map, &error) != BAT_OK) {
        fprintf(stderr, "bat_bench: %s\n", error.message);
        exit(1);
    }
    char *path = text("%s/bench.note", options->work_dir);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(note, 1, size, file) != size || fclose(file) != 0)
        give_up(path);
    path = text("%s/bench.elf", options->work_dir);
    if (!synthetic_elf_write(path, map, note, size, options->text_size))
        give_up(path);
    bat_map_free(map);
    free(note);
}

void tools_bench(const struct bench_options *options)
{
    dump_bench(options);
    inject_bench(options);
}
