/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* profile/perf/script*.c: text of perf script, by the rules of spec/perf-script.md. */
#include "profile/perf/script.h"
#include "profile_text.h"
#include "unit_test.h"

#define MINUS_1 0xffffffffffffffffULL

/* The binary's code: 0x1000 bytes from 0x401000 on, 0x3000 from 0x405000 on. */
#define MAP(process)                                                                               \
    "x " process " 2.5: PERF_RECORD_MMAP2 " process "/" process                                    \
    ": [0x401000(0x1000) @ 0x1000 08:01 4711 1]: r-xp /a b/small.bolt\n"                           \
    "x " process " 2.5: PERF_RECORD_MMAP2 " process "/" process                                    \
    ": [0x405000(0x3000) @ 0x5000 08:01 4711 1]: r-xp /a b/small.bolt\n"

static struct bat_elf *binary;

static int open_binary(void **state)
{
    (void)state;
    return bat_elf_open(TEST_DATA "/demo/small.bolt", &binary, NULL) == BAT_OK ? 0 : 1;
}

static int close_binary(void **state)
{
    (void)state;
    bat_elf_close(binary);
    return 0;
}

static struct bat_profile *profile_of_binary(bool is_bolted)
{
    struct bat_profile_target target = {
        .size = sizeof(target), .elf = binary, .is_bolted = is_bolted};
    target.build_id = bat_elf_build_id(binary, &target.build_id_size);
    struct bat_profile *profile;
    assert_ok(bat_profile_new(&target, &profile, NULL));
    return kept_profile(profile);
}

static struct bat_profile *read_script(const char *text)
{
    struct bat_profile *profile = profile_of_binary(true);
    struct bat_error error = {0};
    if (read_as_file(profile, text, &error) != BAT_OK)
        fail_msg("%llu:%llu: %s", (unsigned long long)error.line, (unsigned long long)error.column,
                 error.message);
    return profile;
}

static void assert_refused(const char *text, uint64_t line, uint64_t column, const char *message)
{
    struct bat_profile *profile = profile_of_binary(true);
    struct bat_error error = {0};
    assert_int_not_equal(read_as_file(profile, text, &error), BAT_OK);
    if (error.line != line || error.column != column || !strstr(error.message, message))
        fail_msg("expected %llu:%llu: %s\n     got %llu:%llu: %s", (unsigned long long)line,
                 (unsigned long long)column, message, (unsigned long long)error.line,
                 (unsigned long long)error.column, error.message);
    profile = profile_of_binary(true);
    assert_int_not_equal(read_as_file(profile, text, NULL), BAT_OK);
}

/* --- Which text it is ------------------------------------------------------------------------ */

static bool is_script(const char *line)
{
    char *copy = strdup(line);
    assert_non_null(copy);
    size_t size = strlen(copy);
    copy[size] = '\n';
    bool is = perf_script_is_line((const uint8_t *)copy, (const uint8_t *)copy + size);
    free(copy);
    return is;
}

TEST(test_recognition)
{
    static const char *const scripts[] = {
        "PERFTEXT;MMAP=5;",        "T 1 2.5: PERF_RECORD_MMAP2 1/1", "  4711",
        "4711 0x10/0x20/",         "  -1  0x10/0x20/P/-/-/0",        "4711 cycles:u: 401000",
        "1 cycles:u: 0 401000 \r",
    };
    static const char *const others[] = {
        "T 1 2 3 4",         "E 1:",
        "boltedcollection",  "no_lbr cycles:u:",
        "1 main 0 1",        "1 f: 0 1 f: 0 1",
        "1 main: 0 1 x 4 1", "1 0x10 0 1 main 0 0 1",
        "1 0x10/a.c/1 0",    "4711 main",
        "4711 401000",       "x",
        "4711 : 401000",     "1 cycles:u:",
        "99999999999",       "",
    };
    for (size_t i = 0; i < COUNT(scripts); i++)
        if (!is_script(scripts[i]))
            fail_msg("this is text of perf script: %s", scripts[i]);
    for (size_t i = 0; i < COUNT(others); i++)
        if (is_script(others[i]))
            fail_msg("this is none: %s", others[i]);
}

/* --- Samples --------------------------------------------------------------------------------- */

TEST(test_stack)
{
    struct bat_profile *profile =
        read_script(MAP("7") "  7  0x401030/0x401040/P/-/-/0  0x401010/0x401020/M/-/-/12/COND/- \n"
                             "7 0x401010/0x401020/P/-/-/0 0x401000/0x7f0000001000/-N/-/-/0 \r\n");
    assert_int_equal(profile->traces.count, 4);
    assert_trace(profile, 0x401030, 0x401040, MINUS_1, 1, 0);
    assert_trace(profile, 0x401010, 0x401020, 0x401030, 1, 1);
    assert_trace(profile, 0x401010, 0x401020, MINUS_1, 1, 0);
    assert_trace(profile, MINUS_1, 0x401000, 0x401010, 1, 0); /* was not taken */
    assert_int_equal(profile->counters.perf_samples, 2);
    assert_int_equal(profile->counters.perf_branches, 4);
    assert_int_equal(profile->counters.trace_records, 4);
    assert_int_equal(profile->counters.lines, 4);
}

/* As perf prints recordings that came through a pipe: with an address and a symbol. */
TEST(test_stack_behind_symbol)
{
    static const char *const before[] = {"7 401030 [unknown] ", "7 2.5: 401030 a(b c)+0x1 (/x y) "};
    for (size_t i = 0; i < COUNT(before); i++) {
        char text[2048];
        snprintf(text, sizeof(text),
                 "%s%s0x401030/0x401040/P/-/-/0 0x401010/0x401020/M/-/-/0\n%s\n", MAP("7"),
                 before[i], "7 401030 [unknown]");
        struct bat_profile *profile = read_script(text);
        assert_int_equal(profile->traces.count, 2);
        assert_trace(profile, 0x401030, 0x401040, MINUS_1, 1, 0);
        assert_trace(profile, 0x401010, 0x401020, 0x401030, 1, 1);
        assert_int_equal(profile->counters.perf_samples, 2);
        assert_int_equal(profile->counters.perf_plain_samples, 1);
    }
    assert_refused(MAP("7") "7 401030 0x1/0x2/X/-/-/0\n", 3, 18, "P, M or -");
}

TEST(test_kernel)
{
    struct bat_profile *profile =
        read_script(MAP("7") "7 0x401030/0x401040/P/-/-/0 0xffff800000000000/0x401038/P/-/-/0 "
                             "0x401034/0xffffffff81000000/P/-/-/0 0x401010/0x401020/P/-/-/0\n7\n");
    assert_int_equal(profile->traces.count, 2);
    assert_trace(profile, 0x401030, 0x401040, MINUS_1, 1, 0);
    assert_trace(profile, 0x401010, 0x401020, 0x401030, 1, 0);
    assert_int_equal(profile->counters.perf_kernel_branches, 2);
    assert_int_equal(profile->counters.perf_branches, 4);
    assert_int_equal(profile->counters.perf_plain_samples, 1);
}

TEST(test_basic_samples_and_loads)
{
    struct bat_profile *profile =
        read_script(" 7 cycles:u: 401010\n 7 cycles:u:  401010\n 8 cycles:u: 401010\n" MAP(
            "7") "7 cpu/mem-loads,ldlat=30/P: 404010 401020\n"
                 "7 cpu/mem-loads,ldlat=30/P: 7ffc00001000 401020\n7 cycles:u: 1 401020\n");
    assert_int_equal(profile->samples.count, 1);
    assert_sample(profile, 0x401010, 2);
    assert_int_equal(profile->events.count, 1);
    assert_string_equal(bat_strings_get(&profile->events, 0), "cycles:u");
    assert_int_equal(profile->counters.perf_samples, 3);
    assert_int_equal(profile->counters.perf_foreign_samples, 1);
    assert_int_equal(bat_profile_memory_samples(profile), 2);
    const uint64_t known[2] = {0x401020, 0x404010};
    const uint64_t stack[2] = {0x401020, 0x7ffc00001000};
    assert_non_null(bat_counts_find(&profile->mem_samples, known));
    assert_non_null(bat_counts_find(&profile->mem_samples, stack));
    bat_profile_drop_memory(profile);
    assert_int_equal(bat_profile_memory_samples(profile), 0);
}

TEST(test_what_is_passed_over)
{
    struct bat_profile *profile = read_script(
        "# captured on : today\n\nsmall 7 2.6: 1 cycles:u: 401010 main+0x5 (/a b/small.bolt)\n"
        "\t          401010 main+0x5 (/a b/small.bolt)\n123  7 2.6: 1 cycles:u: 401010 f (/x)\n"
        "swapper 0 2.5: PERF_RECORD_KSYMBOL addr ffffffff\n"
        "  8 0xnonsense of another process\n -1 0x1/0x2/P/-/-/0\n" MAP(
            "7") "7 0x401010/0x401020/P/-/-/0\n");
    assert_int_equal(profile->traces.count, 1);
    assert_trace(profile, 0x401010, 0x401020, MINUS_1, 1, 0);
}

/* Text with stacks of so many entries, one a line, from address i on. */
static void add_stack(char *text, unsigned entries)
{
    char *at = text + strlen(text);
    at += sprintf(at, "7");
    for (unsigned i = 0; i < entries; i++)
        at += sprintf(at, " 0x%x/0x%x/P/-/-/0", 0x401000 + i, 0x401100 + i);
    sprintf(at, "\n");
}

/* Where a stack of 32 was met, the newest two entries of it and of those behind it are left out. */
TEST(test_doubled_entries)
{
    char *text = kept_memory(NULL, 1 << 16);
    strcpy(text, MAP("7"));
    add_stack(text, 31);
    add_stack(text, 32);
    add_stack(text, 2);
    add_stack(text, 3);
    struct bat_profile *profile = read_script(text);
    assert_trace(profile, 0x401000, 0x401100, MINUS_1, 1, 0);
    assert_trace(profile, 0x401001, 0x401101, 0x401000, 1, 0);
    assert_trace(profile, 0x401002, 0x401102, 0x401001, 1, 0);
    assert_trace(profile, 0x401002, 0x401102, MINUS_1, 2, 0);
    assert_trace(profile, 0x401003, 0x401103, 0x401002, 2, 0);
    assert_trace(profile, 0x40101f, 0x40111f, 0x40101e, 1, 0);
    assert_int_equal(profile->counters.perf_dropped, 6);
    assert_int_equal(profile->counters.trace_records, 31 + 30 + 1);

    /* Only BOLTed programs of x86 are treated so. */
    profile = profile_of_binary(false);
    struct bat_error error = {0};
    assert_ok(read_as_file(profile, text, &error));
    assert_trace(profile, 0x401000, 0x401100, MINUS_1, 4, 0);
    assert_int_equal(profile->counters.perf_dropped, 0);
}

/* With times, the first stack of 32 is the one of the earliest time, as in perf.data. */
TEST(test_doubled_entries_by_time)
{
    char *text = kept_memory(NULL, 1 << 16);
    strcpy(text, MAP("7") "7 3.3: 0x401002/0x401102/P/-/-/0 0x401001/0x401101/P/-/-/0 "
                          "0x401000/0x401100/P/-/-/0\n"
                          "7 3.1: 0x401002/0x401102/P/-/-/0 0x401001/0x401101/P/-/-/0 "
                          "0x401000/0x401100/P/-/-/0\n7 3.2:");
    for (unsigned i = 0; i < 32; i++)
        sprintf(text + strlen(text), " 0x%x/0x%x/P/-/-/0", 0x401000 + i, 0x401100 + i);
    strcat(text, "\n");
    struct bat_profile *profile = read_script(text);
    assert_int_equal(profile->counters.perf_dropped, 4);
    assert_trace(profile, 0x401000, 0x401100, MINUS_1, 1, 0);
    assert_trace(profile, 0x401000, 0x401100, 0x401001, 1, 0);
    assert_trace(profile, 0x401002, 0x401102, MINUS_1, 2, 0);
}

/* --- Records --------------------------------------------------------------------------------- */

#define SAMPLE(process) process " 0x401010/0x401020/P/-/-/0\n"

static void assert_samples(const char *text, uint64_t count)
{
    struct bat_profile *profile = profile_of_binary(true);
    struct bat_error error = {0};
    enum bat_code code = read_as_file(profile, text, &error);
    if (code != BAT_OK && (count != 0 || code != BAT_ERR_MISMATCH))
        fail_msg("%s", error.message);
    const uint64_t key[3] = {0x401010, 0x401020, MINUS_1};
    const uint64_t *item = bat_counts_find(&profile->traces, key);
    assert_int_equal(item ? item[3] : 0, count);
}

TEST(test_processes)
{
    static const char fork[] = "x 7 3.0: PERF_RECORD_FORK(8:8):(7:7)\n";
    static const char exec[] = "x 8 4.0: PERF_RECORD_COMM exec: a:b/8:8/8\n";
    static const char early_fork[] = "x 7 0.000000: PERF_RECORD_FORK(8:8):(7:7)\n";
    char text[2048];
    snprintf(text, sizeof(text), "%s%s%s", SAMPLE("8"), fork, MAP("7"));
    assert_samples(text, 1);
    /* Time, not place, tells what was first. */
    snprintf(text, sizeof(text), "%s%s%s%s", exec, SAMPLE("8"), fork, MAP("7"));
    assert_samples(text, 0);
    snprintf(text, sizeof(text), "%s%s%s", SAMPLE("8"), early_fork, MAP("7"));
    assert_samples(text, 0);
    /* A process's own mapping stays, whatever it was before. */
    snprintf(text, sizeof(text), "%s%s%s%s%s", SAMPLE("8"), fork, MAP("7"), exec, MAP("8"));
    assert_samples(text, 1);
}

TEST(test_mappings)
{
    static const char other[] =
        "x 7 2.5: PERF_RECORD_MMAP2 7/7: [0x401000(0x1000) @ 0x1000 08:01 1 1]: r-xp /other\n";
    static const char deleted[] = "7 PERF_RECORD_MMAP 7/7: [0x401000(0x1000) @ 0x1000]: x "
                                  "/a b/small.bolt (deleted)\n";
    static const char nameless[] =
        "x 7 2.5: PERF_RECORD_MMAP2 7/7: [0x401000(0x1000) @ 0x1000 0:0 0 0]: r-xp \n";
    char text[2048];
    snprintf(text, sizeof(text), "%s%s", other, SAMPLE("7"));
    assert_samples(text, 0);
    snprintf(text, sizeof(text), "%s%s", nameless, SAMPLE("7"));
    assert_samples(text, 0);
    snprintf(text, sizeof(text), "%s%s", deleted, SAMPLE("7"));
    assert_samples(text, 1);
    /* Data is not code, also where MMAP has only a letter. */
    static const char *const data[] = {"MMAP2 7/7: [0x401000(0x1000) @ 0x1000 08:01 1 1]: r--p",
                                       "MMAP2 7/7: [0x401000(0x1000) @ 0x1000 08:01 1 1]: rw-s",
                                       "MMAP 7/7: [0x401000(0x1000) @ 0x1000]: r"};
    for (size_t i = 0; i < COUNT(data); i++) {
        snprintf(text, sizeof(text), "%sx 7 2.5: PERF_RECORD_%s /a b/small.bolt\n%s", other,
                 data[i], SAMPLE("7"));
        assert_samples(text, 0);
    }
    size_t size;
    const uint8_t *id = bat_elf_build_id(binary, &size);
    assert_int_equal(size, 20);
    char hex[41];
    for (size_t i = 0; i < size; i++)
        sprintf(hex + 2 * i, "%02x", id[i]);
    static const char format[] =
        "x 7 2.5: PERF_RECORD_MMAP2 7/7: [0x401000(0x1000) @ 0x1000 <%s>]: "
        "r-xp /%s\n%s";
    snprintf(text, sizeof(text), format, hex, "other", SAMPLE("7"));
    assert_samples(text, 1);
    hex[0] ^= 1;
    snprintf(text, sizeof(text), format, hex, "small.bolt", SAMPLE("7"));
    assert_samples(text, 0);
}

/* Lines count only in sections where they belong; build-ids only in their own. */
TEST(test_sections)
{
    static const char other[] =
        "x 7 2.5: PERF_RECORD_MMAP2 7/7: [0x401000(0x1000) @ 0x1000 08:01 1 1]: r-xp /other\n";
    size_t size;
    const uint8_t *id = bat_elf_build_id(binary, &size);
    char list[128];
    for (size_t i = 0; i < size; i++)
        sprintf(list + 2 * i, "%02x", id[i]);
    strcpy(list + 2 * size, " /other\n");
    char text[2048];
    for (unsigned where = 0; where < 3; where++) {
        const char *names[3] = {where == 0   ? "BUILDIDS"
                                : where == 1 ? "MMAP"
                                             : "MEM",
                                where == 2 ? "MAIN" : "MMAP", "MAIN"};
        snprintf(text, sizeof(text), "PERFTEXT;%s=%zx;%s=%zx;%s=%zx;  \n%s%s%s", names[0],
                 strlen(list), names[1], strlen(other), names[2], strlen(SAMPLE("7")), list, other,
                 SAMPLE("7"));
        assert_samples(text, where == 0);
    }
    snprintf(text, sizeof(text), "PERFTEXT;TASK=%zx;MMAP=%zx;\n%s%s", strlen(SAMPLE("7")),
             strlen(MAP("7")), SAMPLE("7"), MAP("7"));
    assert_samples(text, 0);
}

TEST(test_lost)
{
    struct bat_profile *profile =
        read_script(MAP("7") SAMPLE("7") "x 7 9.0: PERF_RECORD_LOST lost 12\n"
                                         "x 7 9.1: PERF_RECORD_LOST_SAMPLES lost 3\n");
    assert_int_equal(profile->counters.perf_lost, 15);
    assert_int_equal(profile->counters.perf_processes, 1);
    /* Damaged numbers do not wrap around to few losses. */
    profile = read_script(MAP("7") SAMPLE("7") "x 7 9.0: PERF_RECORD_LOST lost 12\n"
                                               "x 7 9.1: PERF_RECORD_LOST lost "
                                               "18446744073709551610\n");
    assert_true(profile->counters.perf_lost == UINT64_MAX);
}

/* --- Without processes ----------------------------------------------------------------------- */

/* As llvm-profgen reads it: an address and a stack, or a call stack's addresses and a stack. */
TEST(test_without_processes)
{
    static const char *const texts[] = {
        "  40103f 0x401030/0x401040/P/-/-/0  0x401010/0x401020/M/-/-/12 \n",
        "\n\t          401036\n\t  40101f\n 0x401030/0x401040/P/-/-/0 0x401010/0x401020/M/-/-/0\n",
        MAP("7") "401036 0x401030/0x401040/P/-/-/0 0x401010/0x401020/M/-/-/0\n 7f0000001000\n",
        MAP("7") MAP("8") "0x401030/0x401040/P/-/-/0 0x401010/0x401020/M/-/-/0\n",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct bat_profile *profile = read_script(texts[i]);
        assert_int_equal(profile->traces.count, 2);
        assert_trace(profile, 0x401030, 0x401040, MINUS_1, 1, 0);
        assert_trace(profile, 0x401010, 0x401020, 0x401030, 1, 1);
        assert_int_equal(profile->counters.perf_samples, 1);
    }
    assert_refused("401a 0x1/0x2/P/-/-/0\n40103f 0x401030/401040/P/-/-/0\n", 2, 17,
                   "the target of a branch");
    assert_refused(
        "x 1 2.5: PERF_RECORD_MMAP2 1/1: [0x401000(0x1000) @ 0x1000 08:01 1 1]: r-xp /b/other\n"
        "40103f 0x401030/0x401040/P/-/-/0\n",
        0, 0, "small.bolt");
}

/* --- What is refused ------------------------------------------------------------------------- */

TEST(test_refused)
{
    assert_refused(MAP("7") "7 0x1/0x2/P/-/-/0 x\n", 3, 19, "an entry of a branch stack");
    assert_refused(MAP("7") "7 0x1/2/P/-/-/0\n", 3, 7, "the target of a branch");
    assert_refused(MAP("7") "7 0x1/0x2/X/-/-/0\n", 3, 11, "P, M or - for the branch's prediction");
    assert_refused(MAP("7") "7 0x1/0x2/PM/-/-/0\n", 3, 11, "P, M or -");
    assert_refused(MAP("7") "7 0x1/0x2/P/-/0\n", 3, 13, "the rest of a branch stack's entry");
    assert_refused(MAP("7") "7 e: 1 2 3\n", 3, 10, "the end of the line");
    assert_refused(MAP("7") "7 e: x\n", 3, 6, "a hexadecimal address");
    assert_refused(MAP("7") "7 e\n", 3, 3, "a branch stack (0xFROM/0xTO/P/...) or an event's name");
    assert_refused("x 7 PERF_RECORD_MMAP2 7: 1\n", 1, 24, "a mapping ([0xADDRESS(0xLENGTH)");
    assert_refused("\nx 7 PERF_RECORD_MMAP2 7/7: [0x1(0x1) @ x\n", 2, 40,
                   "the offset of a mapping");
    assert_refused("7 e: 1\n", 0, 0, "found none: no mappings were recorded");
    assert_refused("# ========\n# captured on: now\n", 0, 0, "no mappings were recorded");
    /* Stacks with and without processes. */
    assert_refused(MAP("7") "7 e: 1\n\t4005dc\n 0x4005c8/0x4005dc/P/-/-/0\n", 5, 2,
                   "a process id in front of a branch stack");
    /* Comments of something else. */
    assert_refused("# mine\nT 1 2 3 4\n", 1, 1, "expected a pre-aggregated profile");
    assert_refused("#\n#", 1, 1, "expected a pre-aggregated profile");
    assert_refused("# mine\n" MAP("7") "7\n", 0, 0, "expected branch stacks");
    /* The first line of sections, and nothing behind it, not even its end. */
    assert_refused("PERFTEXT;MMAP=5;", 1, 1,
                   "expected sections of 5 bytes altogether, as this line says, found 0");
    assert_refused("PERFTEXT;MMAP=5;\n7 e", 1, 1,
                   "of 5 bytes altogether, as this line says, found 3");
    assert_refused(MAP("7") "7\n", 0, 0, "expected branch stacks");
}

GROUP(open_binary, close_binary)
