/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * profile/line_blocks.c and read_profile.c: whole lines from files and pipes, in stretches; which
 * form a file has; large files by several threads, and the line numbers of their errors.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "profile/line_blocks.h"
#include "profile_text.h"
#include "unit_test.h"

#define MIB ((size_t)1 << 20)

/* --- Stretches of files --------------------------------------------------------------------- */

/* A text that grows. */
struct gathered {
    char *text;
    size_t size;
};

static void close_file(void *file)
{
    close((int)(intptr_t)file);
}

/* A file of these bytes, open until the test ends. */
static int open_text(const void *text, size_t size)
{
    int file = open(write_file(text, size), O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    keep(close_file, (void *)(intptr_t)file); /* NOLINT(performance-no-int-to-ptr) */
    return file;
}

/* Append what [offset, stop) of a file gives; every block is of whole lines. */
static void gather(struct gathered *gathered, int file, uint64_t offset, uint64_t stop)
{
    struct bat_input input;
    assert_ok(bat_input_open(&input, file, false, offset, stop, NULL));
    for (;;) {
        const uint8_t *text = NULL;
        size_t size = 99;
        assert_ok(bat_input_next(&input, 1, &text, &size, NULL));
        if (size == 0)
            break;
        assert_int_equal(text[size - 1], '\n');
        gathered->text = realloc(gathered->text, gathered->size + size);
        assert_non_null(gathered->text);
        memcpy(gathered->text + gathered->size, text, size);
        gathered->size += size;
    }
    /* It stays at the end. */
    const uint8_t *text;
    size_t size;
    assert_ok(bat_input_next(&input, 1, &text, &size, NULL));
    assert_int_equal(size, 0);
    bat_input_close(&input);
}

static void assert_gathered(struct gathered *gathered, const char *expected, size_t size)
{
    assert_int_equal(gathered->size, size);
    if (size != 0)
        assert_memory_equal(gathered->text, expected, size);
    free(gathered->text);
    *gathered = (struct gathered){0};
}

/* Split anywhere, twice, the stretches together give each line once. */
TEST(test_every_split)
{
    static const char *const texts[] = {"a\nbb\n\nccc\n", "a\nbb\n\nccc", "\n\n\n",    "x",
                                        "no newline",     "\nx",          "one line\n"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        const size_t size = strlen(texts[i]);
        int file = open_text(texts[i], size);
        char whole[64];
        snprintf(whole, sizeof(whole), "%s%s", texts[i], texts[i][size - 1] == '\n' ? "" : "\n");
        for (uint64_t first = 0; first <= size + 1; first++) {
            for (uint64_t second = first; second <= size + 2; second++) {
                struct gathered gathered = {0};
                gather(&gathered, file, 0, first);
                gather(&gathered, file, first, second);
                gather(&gathered, file, second, UINT64_MAX);
                assert_gathered(&gathered, whole, strlen(whole));
            }
        }
    }
}

/* A line belongs to the stretch in which it starts. */
TEST(test_whose_line)
{
    int file = open_text("aa\nbb\ncc\n", 9);
    static const struct {
        uint64_t offset;
        uint64_t stop;
        const char *text;
    } cases[] = {
        {0, 1, "aa\n"}, {0, 3, "aa\n"},     {0, 4, "aa\nbb\n"},   {1, 3, ""},     {1, 4, "bb\n"},
        {3, 6, "bb\n"}, {3, 7, "bb\ncc\n"}, {4, 6, ""},           {6, 9, "cc\n"}, {7, 9, ""},
        {9, 20, ""},    {0, 0, ""},         {2, 100, "bb\ncc\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct gathered gathered = {0};
        gather(&gathered, file, cases[i].offset, cases[i].stop);
        assert_gathered(&gathered, cases[i].text, strlen(cases[i].text));
    }
}

/* More than a buffer holds, in lines of many lengths, split in the middle of long ones. */
TEST(test_large_stretches)
{
    const size_t size = 5 * MIB + 12345;
    char *text = kept_memory(NULL, size);
    memset(text, 'x', size);
    for (size_t at = 0, length = 1; at < size; at += length, length = length * 3 % 777777 + 1)
        text[at] = '\n';
    text[size - 1] = '\n';
    int file = open_text(text, size);
    static const size_t splits[] = {0, 1, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1, 3333333, 5 * MIB};
    for (size_t i = 0; i < COUNT(splits); i++) {
        struct gathered gathered = {0};
        gather(&gathered, file, 0, splits[i]);
        gather(&gathered, file, splits[i], UINT64_MAX);
        assert_gathered(&gathered, text, size);
    }
}

/* --- Sums over stretches -------------------------------------------------------------------- */

static const char every_record[] = "T 10 20 30 4\n"
                                   "R 11 21 31 5\r\n"
                                   "\n"
                                   "B 12 22 6 2\n"
                                   "F X:23 33 7\n"
                                   "f 24 aa:34 8\n"
                                   "S 16 10\n"
                                   "  r 25 35 9\n"
                                   "E cycles:u\n"
                                   "T 10 20 30 400\n"
                                   "S 16 1\n"
                                   "R X:5 21 31 5\n"
                                   "E instructions:u\n"
                                   "T aa:10 20 -1 1\n"
                                   "S 17 9223372036854775000";

static void read_stretch_of(struct bat_profile *profile, int file, uint64_t offset, uint64_t stop)
{
    struct gathered gathered = {0};
    gather(&gathered, file, offset, stop);
    if (gathered.size != 0)
        assert_ok(read_lines(profile, bat_preagg_read, gathered.text, gathered.size, 1, NULL));
    free(gathered.text);
}

static void assert_same_counts(struct bat_counts *left, struct bat_counts *right)
{
    bat_counts_sort(left);
    bat_counts_sort(right);
    assert_int_equal(left->count, right->count);
    if (left->count != 0)
        assert_memory_equal(left->items, right->items,
                            left->count * (left->words + 2) * sizeof(uint64_t));
}

static void assert_same_strings(const struct bat_strings *left, const struct bat_strings *right)
{
    assert_int_equal(left->count, right->count);
    for (uint32_t i = 0; i < left->count; i++)
        assert_string_equal(bat_strings_get(left, i), bat_strings_get(right, i));
}

static void assert_same_profiles(struct bat_profile *left, struct bat_profile *right)
{
    assert_same_counts(&left->traces, &right->traces);
    assert_same_counts(&left->samples, &right->samples);
    assert_same_counts(&left->returns, &right->returns);
    assert_same_counts(&left->foreign_counts, &right->foreign_counts);
    assert_same_strings(&left->events, &right->events);
    assert_same_strings(&left->foreign_names, &right->foreign_names);
    assert_memory_equal(&left->counters, &right->counters, sizeof(left->counters));
}

TEST(test_sums_over_every_split)
{
    const size_t size = sizeof(every_record) - 1;
    int file = open_text(every_record, size);
    for (uint64_t split = 0; split <= size; split++) {
        struct bat_profile *whole = new_profile();
        read_stretch_of(whole, file, 0, UINT64_MAX);
        assert_int_equal(whole->traces.count, 8);
        struct bat_profile *parts[2] = {new_profile(), new_profile()};
        struct bat_profile *sum = new_profile();
        read_stretch_of(parts[0], file, 0, split);
        read_stretch_of(parts[1], file, split, UINT64_MAX);
        for (unsigned i = 0; i < 2; i++)
            assert_ok(bat_profile_take(sum, parts[i], NULL));
        assert_same_profiles(whole, sum);
    }
}

/* --- Files and pipes ------------------------------------------------------------------------ */

/* Bytes to be written into a pipe by a thread of its own, so many at a time. */
struct feeding {
    const char *text;
    size_t size;
    size_t chunk;
    int file;
};

static void *feed(void *pointer)
{
    const struct feeding *feeding = pointer;
    for (size_t at = 0; at < feeding->size;) {
        size_t now = feeding->size - at < feeding->chunk ? feeding->size - at : feeding->chunk;
        ssize_t written = write(feeding->file, feeding->text + at, now);
        if (written <= 0)
            break; /* the reader had enough */
        at += (size_t)written;
        /* The next comes only when this was taken, so that the reader gets it by itself. */
        int waiting = 1;
        while (ioctl(feeding->file, FIONREAD, &waiting) == 0 && waiting > 0)
            sched_yield();
    }
    close(feeding->file);
    return NULL;
}

/* Read a text by way of a pipe, at the path of its end ("-" for standard input). */
static enum bat_code read_as_pipe(struct bat_profile *profile, const char *text, size_t size,
                                  size_t chunk, struct bat_error *error)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct feeding feeding = {.text = text, .size = size, .chunk = chunk, .file = ends[1]};
    pthread_t thread;
    char path[32];
    snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
    /* The reader opens the pipe anew; the end made here is closed, so that it can break. */
    int opened = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(opened >= 0);
    snprintf(path, sizeof(path), "/dev/fd/%d", opened);
    close(ends[0]);
    assert_int_equal(pthread_create(&thread, NULL, feed, &feeding), 0);
    enum bat_code code = bat_profile_read(profile, path, NULL, error);
    /* What was not read, after an error, has to go somewhere. */
    char rest[65536];
    while (read(opened, rest, sizeof(rest)) > 0)
        continue;
    pthread_join(thread, NULL);
    close(opened);
    return code;
}

/* By file and by pipe, in chunks of any size, the profile is the same, counters and all. */
TEST(test_pipes)
{
    const size_t size = sizeof(every_record) - 1;
    static const size_t chunks[] = {1, 2, 3, 7, 50, 4096};
    for (size_t i = 0; i < COUNT(chunks); i++) {
        struct bat_profile *by_file = new_profile();
        struct bat_profile *by_pipe = new_profile();
        assert_ok(read_as_file(by_file, every_record, NULL));
        assert_ok(read_as_pipe(by_pipe, every_record, size, chunks[i], NULL));
        assert_int_equal(bat_profile_counters(by_file).bytes, size);
        assert_int_equal(bat_profile_counters(by_file).lines, 15);
        assert_same_profiles(by_file, by_pipe);
    }
}

TEST(test_large_pipe)
{
    /* 3 MiB, in lines that do not fit the chunks. */
    enum { LINES = 60000, LINE = 53 };
    const size_t size = (size_t)LINES * LINE;
    char *text = kept_memory(NULL, size + 1);
    for (size_t i = 0; i < LINES; i++)
        snprintf(text + i * LINE, LINE + 1, "S %-40zx %9zu\n", i % 89 + 1, i);
    struct bat_profile *by_file = new_profile();
    struct bat_profile *by_pipe = new_profile();
    assert_ok(read_as_file(by_file, text, NULL));
    assert_ok(read_as_pipe(by_pipe, text, size, 60000, NULL));
    assert_int_equal(by_file->samples.count, 89);
    assert_same_profiles(by_file, by_pipe);

    /* An error far behind has its line and column. */
    text[(size_t)55554 * LINE + 50] = 'x';
    by_pipe = new_profile();
    struct bat_error error = {0};
    assert_int_equal(read_as_pipe(by_pipe, text, size, 60000, &error), BAT_ERR_SYNTAX);
    assert_int_equal(error.line, 55555);
    assert_int_equal(error.column, 48); /* where the count starts: "    55554" with an x for a 5 */
}

/* Standard input, by the name "-": a pipe; and a file, from where it stands. */
TEST(test_standard_input)
{
    static const char text[] = "S 1 1\nS 2 2\nS 1 4\n";
    int before = dup(STDIN_FILENO);
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
    close(ends[1]);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    struct bat_profile *profile = new_profile();
    assert_ok(bat_profile_read(profile, "-", NULL, NULL));
    assert_sample(profile, 1, 5);
    assert_sample(profile, 2, 2);

    assert_int_equal(dup2(open_text(text, strlen(text)), STDIN_FILENO), STDIN_FILENO);
    profile = new_profile();
    assert_ok(bat_profile_read(profile, "-", NULL, NULL));
    assert_sample(profile, 1, 5);

    /* Someone has read the first line already: as with a pipe, it is gone. */
    assert_int_equal(lseek(STDIN_FILENO, 6, SEEK_SET), 6);
    profile = new_profile();
    assert_ok(bat_profile_read(profile, "-", NULL, NULL));
    assert_sample(profile, 1, 4);
    assert_sample(profile, 2, 2);

    if (before >= 0) {
        dup2(before, STDIN_FILENO);
        close(before);
    }
}

static void assert_read_fails(const char *path, enum bat_code code, const char *text)
{
    struct bat_profile *profile = new_profile();
    struct bat_error error = {0};
    assert_int_equal(bat_profile_read(profile, path, NULL, &error), code);
    assert_int_equal(error.code, code);
    if (!strstr(error.message, text))
        fail_msg("\"%s\" is not in \"%s\"", text, error.message);
    assert_int_equal(bat_profile_read(profile, path, NULL, NULL), code);
}

TEST(test_no_profile)
{
    assert_read_fails("/nowhere/at/all", BAT_ERR_IO, strerror(ENOENT));
    assert_read_fails("/tmp", BAT_ERR_UNSUPPORTED, "found a folder");
    char *path = write_file("", 0);
    assert_read_fails(path, BAT_ERR_SYNTAX, "found an empty file");
    assert_read_fails("/dev/null", BAT_ERR_SYNTAX, "found no input");
}

/* --- Which form ----------------------------------------------------------------------------- */

/* Check what a text is taken for: how many pre-aggregated and fdata records are found in it. */
static void assert_form(const char *text, uint64_t preaggregated, uint64_t fdata)
{
    for (size_t chunk = 0; chunk <= 2; chunk++) {
        struct bat_profile *profile = new_profile();
        struct bat_error error = {0};
        enum bat_code code = chunk ? read_as_pipe(profile, text, strlen(text), chunk, &error)
                                   : read_as_file(profile, text, &error);
        if (code != BAT_OK)
            fail_msg("in chunks of %zu: %llu:%llu: %s", chunk, (unsigned long long)error.line,
                     (unsigned long long)error.column, error.message);
        struct bat_profile_counters counters = bat_profile_counters(profile);
        assert_int_equal(counters.trace_records + counters.sample_records, preaggregated);
        assert_int_equal(counters.fdata_records, fdata);
        uint64_t lines = 0;
        for (const char *at = text; *at; at++)
            lines += *at == '\n' || at[1] == '\0';
        assert_int_equal(counters.lines, lines);
        assert_int_equal(counters.bytes, strlen(text));
    }
}

TEST(test_forms)
{
    static const char *const types[] = {"T 1 2 3 4", "R 1 2 3 4", "B 1 2 3 4", "F 1 2 3",
                                        "f 1 2 3",   "r 1 2 3",   "S 1 2",     "E x\nS 1 2"};
    for (size_t i = 0; i < COUNT(types); i++)
        assert_form(types[i], 1, 0);
    assert_form("boltedcollection\n1 a 1 1 b 2 0 1\n", 0, 1);
    assert_form("no_lbr\n1 a 1 1", 0, 1);
    assert_form("1 a 1 1 b 2 0 1\n", 0, 1);
    assert_form("0 a 1 1 b 2 0 1\n", 0, 1);
    /* The first line that is not blank decides, whenever it comes. */
    assert_form("\n\n  \t\r\n S 1 2\n", 1, 0);
    assert_form("\n\n  \t\r\n no_lbr\n1 a 1 1\n", 0, 1);
    /* Nothing but blank lines is a profile of nothing. */
    assert_form("\n", 0, 0);
    assert_form(" \n\t\n ", 0, 0);
}

static void assert_form_fails(const char *text, uint64_t line, uint64_t column, const char *message)
{
    for (size_t chunk = 0; chunk <= 2; chunk++) {
        struct bat_profile *profile = new_profile();
        struct bat_error error = {0};
        enum bat_code code = chunk ? read_as_pipe(profile, text, strlen(text), chunk, &error)
                                   : read_as_file(profile, text, &error);
        assert_int_equal(code, BAT_ERR_SYNTAX);
        if (error.line != line || error.column != column || !strstr(error.message, message))
            fail_msg("in chunks of %zu, got %llu:%llu: %s", chunk, (unsigned long long)error.line,
                     (unsigned long long)error.column, error.message);
    }
}

TEST(test_no_form)
{
    assert_form_fails("hello\n", 1, 1, "the output of perf script, found \"hello\"");
    assert_form_fails("\n\n  Tx 1 2\n", 3, 3, "the output of perf script, found \"Tx\"");
    assert_form_fails("t 1 2 3 4", 1, 1, "the output of perf script, found \"t\"");
    assert_form_fails("-1 2\n", 1, 1, "the output of perf script, found \"-1\"");
    assert_form_fails("T\n", 1, 2, "expected a hexadecimal address");
    assert_form_fails("bolted\n", 1, 1, "expected the kind of a location");
}

/* --- Long lines ----------------------------------------------------------------------------- */

/* Lines in front of a long one, the long one, and what comes behind. */
static char *text_with_long_line(size_t before, size_t length, const char *behind, size_t *size)
{
    char *text = kept_memory(NULL, before * 8 + length + 64);
    size_t at = 0;
    for (size_t i = 0; i < before; i++)
        at += (size_t)sprintf(text + at, "S 1 1  \n");
    memset(text + at, ' ', length);
    memcpy(text + at, "S 2 5", 5);
    at += length;
    at += (size_t)sprintf(text + at, "%s", behind);
    *size = at;
    return text;
}

/*
 * spec/profiles.md 1: "a line has at most 1 MiB". Whether it is read must not depend on where it
 * stands, or on how it comes.
 */
TEST(test_longest_line)
{
    static const size_t before[] = {0, 3, 100000, 131072, 200000};
    static const char *const behind[] = {"", "\n", "\nS 3 1\n", "\r\n"};
    for (size_t i = 0; i < COUNT(before); i++) {
        for (size_t j = 0; j < COUNT(behind); j++) {
            for (size_t length = BAT_LINE_MAX - 1; length <= BAT_LINE_MAX + 1; length++) {
                size_t size;
                char *text = text_with_long_line(before[i], length, behind[j], &size);
                text[size] = '\0';
                bool fits = length + (behind[j][0] == '\r') <= BAT_LINE_MAX;
                for (int as_pipe = 0; as_pipe <= 1; as_pipe++) {
                    struct bat_profile *profile = new_profile();
                    struct bat_error error = {0};
                    enum bat_code code = as_pipe ? read_as_pipe(profile, text, size, 50000, &error)
                                                 : read_as_file(profile, text, &error);
                    assert_int_equal(code, fits ? BAT_OK : BAT_ERR_SYNTAX);
                    if (fits) {
                        assert_sample(profile, 2, 5);
                        assert_int_equal(bat_profile_counters(profile).bytes, size);
                    } else {
                        assert_int_equal(error.line, before[i] + 1);
                        assert_int_equal(error.column, 1);
                        assert_non_null(strstr(error.message, "1048576 bytes, found a longer"));
                    }
                }
            }
        }
    }
}

/* --- Large files, by several threads -------------------------------------------------------- */

/* A file of lines of `line` bytes each; line i says that address i % 97 + 1 was sampled i times. */
struct large_file {
    char *path;
    int file;
    size_t line;
    size_t lines;
};

static struct large_file new_large_file(size_t line, size_t lines, bool ends_with_newline)
{
    char *text = kept_memory(NULL, line * lines + 1);
    for (size_t i = 0; i < lines; i++) {
        char row[128];
        snprintf(row, sizeof(row), "S %-*zx %8zu\n", (int)line - 12, i % 97 + 1, i);
        memcpy(text + i * line, row, line);
    }
    struct large_file large = {.line = line, .lines = lines};
    large.path = write_file(text, line * lines - !ends_with_newline);
    large.file = open(large.path, O_RDWR | O_CLOEXEC);
    assert_true(large.file >= 0);
    return large;
}

static void remove_large_file(struct large_file *large)
{
    close(large->file);
}

static void count_progress(uint64_t bytes, void *sum)
{
    __atomic_add_fetch((uint64_t *)sum, bytes, __ATOMIC_RELAXED);
}

static void assert_large_sums(const struct large_file *large, unsigned threads, size_t size)
{
    uint64_t progress = 0;
    const struct bat_read_options options = {.size = sizeof(options),
                                             .threads = threads,
                                             .progress = count_progress,
                                             .progress_context = &progress};
    struct bat_profile *profile = new_profile();
    struct bat_error error = {0};
    if (bat_profile_read(profile, large->path, &options, &error) != BAT_OK)
        fail_msg("%u threads: %s", threads, error.message);
    uint64_t sums[97] = {0};
    for (size_t i = 0; i < large->lines; i++)
        sums[i % 97] += i;
    assert_int_equal(profile->samples.count, 97);
    for (uint64_t i = 0; i < 97; i++)
        assert_sample(profile, i + 1, sums[i]);
    struct bat_profile_counters counters = bat_profile_counters(profile);
    assert_int_equal(counters.lines, large->lines);
    assert_int_equal(counters.sample_records, large->lines);
    assert_int_equal(counters.bytes, size);
    assert_int_equal(progress, size);
}

/*
 * Line `bad` (from 0) is made a wrong one; the error must be at its place. With several wrong
 * ones it is that of the first.
 */
static void assert_large_error(const struct large_file *large, unsigned threads, size_t bad,
                               size_t also_bad)
{
    const off_t places[2] = {(off_t)(bad * large->line), (off_t)(also_bad * large->line)};
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pwrite(large->file, "S g", 3, places[i]), 3);
    const struct bat_read_options options = {.size = sizeof(options), .threads = threads};
    struct bat_profile *profile = new_profile();
    struct bat_error error = {0};
    assert_int_equal(bat_profile_read(profile, large->path, &options, &error), BAT_ERR_SYNTAX);
    size_t first = bad < also_bad ? bad : also_bad;
    if (error.line != first + 1 || error.column != 3)
        fail_msg("%u threads, line %zu: got %llu:%llu", threads, first + 1,
                 (unsigned long long)error.line, (unsigned long long)error.column);
    /* The addresses that stood there were of one or two digits, and blanks may be zeros. */
    for (unsigned i = 0; i < 2; i++) {
        char text[8];
        size_t line = i == 0 ? bad : also_bad;
        snprintf(text, sizeof(text), "S %-2zx", line % 97 + 1);
        assert_int_equal(pwrite(large->file, text, 4, places[i]), 4);
    }
}

/*
 * 24 MiB by 1 to 3 threads. With lines of 64 bytes each stretch begins with a line; with lines of
 * 61 all but the first begin inside of one.
 */
static void check_large_file(size_t line, bool ends_with_newline)
{
    const size_t lines = (24 * MIB + line - 1) / line;
    const size_t size = lines * line - !ends_with_newline;
    struct large_file large = new_large_file(line, lines, ends_with_newline);
    for (unsigned threads = 0; threads <= 3; threads++)
        assert_large_sums(&large, threads, size);
    for (unsigned threads = 2; threads <= 3; threads++) {
        for (unsigned stretch = 1; stretch < threads; stretch++) {
            /* The first line that starts in the stretch, and the last one before it. */
            size_t start = (size / threads * stretch + line - 1) / line;
            for (size_t bad = start - 1; bad <= start; bad++)
                assert_large_error(&large, threads, bad, lines - 1);
        }
        assert_large_error(&large, threads, lines - 1, lines - 1);
        assert_large_error(&large, threads, lines - 1, 0);
    }
    /* What was made wrong was made right again. */
    assert_large_sums(&large, 3, size);
    remove_large_file(&large);
}

TEST(test_large_file)
{
    check_large_file(64, true);
}

TEST(test_large_file_with_odd_lines)
{
    check_large_file(61, false);
}

/* Sums over stretches have a limit, too. */
TEST(test_large_file_with_large_counts)
{
    struct large_file large = new_large_file(64, 17 * MIB / 64, true);
    const off_t places[2] = {64, (off_t)(16 * MIB)};
    for (unsigned i = 0; i < 2; i++) {
        char text[65];
        snprintf(text, sizeof(text), "S %-40x %20s\n", 0xabc, "4999999999999999999");
        assert_int_equal(pwrite(large.file, text, 64, places[i]), 64);
    }
    const struct bat_read_options options = {.size = sizeof(options), .threads = 2};
    struct bat_profile *profile = new_profile();
    struct bat_error error = {0};
    assert_int_equal(bat_profile_read(profile, large.path, &options, &error), BAT_ERR_RANGE);
    assert_int_equal(error.code, BAT_ERR_RANGE);
    assert_non_null(strstr(error.message, "2^63"));
    remove_large_file(&large);
}

/* A line too long in the second stretch: it is told where it stands. */
TEST(test_large_file_with_long_line)
{
    struct large_file large = new_large_file(64, 18 * MIB / 64, true);
    const size_t first = 10 * MIB / 64;
    char *blanks = kept_memory(NULL, 2 * MIB);
    memset(blanks, ' ', 2 * MIB);
    memcpy(blanks, "S 1 1", 5);
    assert_int_equal(pwrite(large.file, blanks, 2 * MIB, (off_t)(first * 64)), 2 * MIB);
    for (unsigned threads = 1; threads <= 2; threads++) {
        const struct bat_read_options options = {.size = sizeof(options), .threads = threads};
        struct bat_profile *profile = new_profile();
        struct bat_error error = {0};
        assert_int_equal(bat_profile_read(profile, large.path, &options, &error), BAT_ERR_SYNTAX);
        assert_int_equal(error.line, first + 1);
        assert_int_equal(error.column, 1);
        assert_non_null(strstr(error.message, "found a longer one"));
    }
    remove_large_file(&large);
}

/* fdata says at its start what it holds: a large one is read as if by one thread. */
TEST(test_large_fdata)
{
    enum { LINE = 64 };
    const size_t lines = 17 * MIB / LINE;
    char *text = kept_memory(NULL, LINE * lines + 1);
    snprintf(text, LINE + 1, "no_lbr %-55s \n", "cycles");
    for (size_t i = 1; i < lines; i++)
        snprintf(text + i * LINE, LINE + 1, "1 name%zu %-40zx %14zu\n", i % 10, i % 16, i);
    char *path = write_file(text, LINE * lines);
    const struct bat_read_options options = {.size = sizeof(options), .threads = 2};
    struct bat_profile *profile = new_profile();
    assert_ok(bat_profile_read(profile, path, &options, NULL));
    assert_int_equal(bat_profile_counters(profile).fdata_records, lines - 1);
    assert_int_equal(profile->fdata.samples.count, 80); /* 10 and 16 have 80 as common multiple */
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 80; i++)
        sum += bat_counts_item(&profile->fdata.samples, i)[2];
    assert_int_equal(sum, lines * (lines - 1) / 2);

    text[(lines - 2) * LINE] = '9';
    char *wrong = write_file(text, LINE * lines);
    profile = new_profile();
    struct bat_error error = {0};
    assert_int_equal(bat_profile_read(profile, wrong, &options, &error), BAT_ERR_SYNTAX);
    assert_int_equal(error.line, lines - 1);
}
