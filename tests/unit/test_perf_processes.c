/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* profile/perf/processes_collect.c and its like: which processes have the binary, when, and where.
 */
#include "kept.h"
#include "perf_bytes.h"
#include "profile/perf/processes.h"
#include "profile_text.h"
#include "unit_test.h"

/* The demonstration's binary, which lies at fixed addresses, taken as it is or as if it did not. */
struct scene {
    struct bat_elf *elf;
    struct bat_profile *profile;
    struct perf_binary binary;
    struct perf_processes processes;
    struct bat_segment code; /* its first executable segment */
    uint64_t position;
};

static void free_processes(void *processes)
{
    perf_processes_free(processes);
}

static void start(struct scene *scene)
{
    perf_processes_free(&scene->processes);
    perf_processes_init(&scene->processes, &scene->binary, 1);
}

static struct scene *open_scene(bool is_fixed)
{
    struct scene *scene = kept_memory(NULL, sizeof(*scene));
    memset(scene, 0, sizeof(*scene));
    scene->elf = open_elf(TEST_DATA "/demo/small.bolt");
    struct bat_profile_target target = {
        .size = sizeof(target), .elf = scene->elf, .is_bolted = true};
    target.build_id = bat_elf_build_id(scene->elf, &target.build_id_size);
    assert_ok(bat_profile_new(&target, &scene->profile, NULL));
    assert_ok(perf_binary_init(&scene->binary, scene->profile, NULL));
    assert_true(scene->binary.is_fixed);
    scene->binary.is_fixed = is_fixed;
    for (size_t i = 0; bat_elf_segment(scene->elf, i, &scene->code) && !(scene->code.flags & 1);
         i++)
        continue;
    kept_profile(scene->profile);
    keep(free_processes, &scene->processes);
    start(scene);
    return scene;
}

static struct perf_moment now(struct scene *scene, uint64_t time)
{
    return (struct perf_moment){time, ++scene->position};
}

/* The process maps the code's pages of path, moved by bias. */
static void map_file(struct scene *scene, uint32_t process, uint64_t time, uint64_t bias,
                     const char *path, const uint8_t *build_id, size_t build_id_size)
{
    const uint64_t in_page = scene->code.address % 4096;
    const struct perf_mapping mapping = {.process = process,
                                         .moment = now(scene, time),
                                         .address = scene->code.address - in_page + bias,
                                         .length = scene->code.file_size + in_page,
                                         .offset = scene->code.offset - in_page,
                                         .path = path,
                                         .build_id = build_id,
                                         .build_id_size = build_id_size};
    assert_ok(perf_processes_map(&scene->processes, &mapping));
}

static void map(struct scene *scene, uint32_t process, uint64_t time, uint64_t bias)
{
    map_file(scene, process, time, bias, "/opt/small.bolt", NULL, 0);
}

static void fork_process(struct scene *scene, uint32_t process, uint32_t parent, uint64_t time)
{
    assert_ok(perf_processes_fork(&scene->processes, process, parent, now(scene, time)));
}

static void exec(struct scene *scene, uint32_t process, uint64_t time)
{
    assert_ok(perf_processes_exec(&scene->processes, process, now(scene, time)));
}

static void finish(struct scene *scene)
{
    struct bat_error error = {0};
    if (perf_processes_finish(&scene->processes, true, NULL, &error) != BAT_OK)
        fail_msg("%s", error.message);
}

/* Nothing fits, which is told with this. */
static void assert_not_found(struct scene *scene, const struct bat_read_options *options,
                             struct bat_error *error, const char *text)
{
    assert_int_equal(perf_processes_finish(&scene->processes, true, options, error),
                     BAT_ERR_MISMATCH);
    assert_non_null(strstr(error->message, text));
}

/* By how much the binary is moved in the process then; NOWHERE if it has not the binary. */
#define NOWHERE UINT64_MAX
static uint64_t bias_at(const struct scene *scene, uint32_t process, uint64_t time)
{
    const struct perf_span *span =
        perf_processes_find(&scene->processes, 0, process, (struct perf_moment){time, UINT64_MAX});
    return span ? span->windows[0].bias : NOWHERE;
}

/* --- In time -------------------------------------------------------------------------------- */

TEST(test_from_a_mapping_on)
{
    struct scene *scene = open_scene(false);
    map(scene, 7, 100, 0x1000);
    map(scene, 8, 0, 0x5000);
    finish(scene);
    assert_int_equal(perf_processes_count(&scene->processes, 0), 2);
    assert_int_equal(bias_at(scene, 7, 99), NOWHERE);
    assert_int_equal(bias_at(scene, 7, 100), 0x1000);
    assert_int_equal(bias_at(scene, 7, 5000), 0x1000);
    assert_int_equal(bias_at(scene, 8, 0), 0x5000);
    assert_int_equal(bias_at(scene, 9, 5000), NOWHERE);
}

/* Of equal times, what stands first in the file was first. */
TEST(test_order)
{
    struct scene *scene = open_scene(false);
    map(scene, 7, 300, 0x3000);
    exec(scene, 7, 200);
    map(scene, 7, 100, 0x1000);
    exec(scene, 8, 50);
    map(scene, 8, 50, 0x2000);
    finish(scene);
    assert_int_equal(bias_at(scene, 7, 150), 0x1000);
    assert_int_equal(bias_at(scene, 7, 250), NOWHERE);
    assert_int_equal(bias_at(scene, 7, 350), 0x3000);
    assert_int_equal(bias_at(scene, 8, 50), 0x2000);
}

TEST(test_forks)
{
    struct scene *scene = open_scene(false);
    fork_process(scene, 6, 7, 50);
    map(scene, 7, 100, 0x1000);
    fork_process(scene, 8, 7, 200);
    fork_process(scene, 9, 8, 300);
    exec(scene, 8, 400);
    map(scene, 8, 410, 0x9000);
    /* A thread is no process. */
    fork_process(scene, 7, 7, 500);
    finish(scene);
    assert_int_equal(bias_at(scene, 6, 1000), NOWHERE);
    assert_int_equal(bias_at(scene, 7, 1000), 0x1000);
    assert_int_equal(bias_at(scene, 8, 199), NOWHERE);
    assert_int_equal(bias_at(scene, 8, 300), 0x1000);
    assert_int_equal(bias_at(scene, 8, 405), NOWHERE);
    assert_int_equal(bias_at(scene, 8, 410), 0x9000);
    assert_int_equal(bias_at(scene, 9, 1000), 0x1000);
}

/* A process number that is given away again. */
TEST(test_number_used_again)
{
    struct scene *scene = open_scene(false);
    map(scene, 7, 100, 0x1000);
    fork_process(scene, 7, 1, 500);
    finish(scene);
    assert_int_equal(bias_at(scene, 7, 499), 0x1000);
    assert_int_equal(bias_at(scene, 7, 500), NOWHERE);
}

/* A library can be at several places at once; the newest counts first, and only so many fit. */
TEST(test_several_places)
{
    struct scene *scene = open_scene(false);
    for (uint64_t i = 1; i <= PERF_WINDOWS_MAX + 2; i++)
        map(scene, 7, 100 * i, 0x10000000 * i);
    map(scene, 7, 2000, 0x10000000 * UINT64_C(4));
    finish(scene);
    const struct perf_span *span =
        perf_processes_find(&scene->processes, 0, 7, (struct perf_moment){200, UINT64_MAX});
    assert_int_equal(span->window_count, 2);
    assert_int_equal(span->windows[0].bias, 0x20000000);
    assert_int_equal(span->windows[1].bias, 0x10000000);
    span = perf_processes_find(&scene->processes, 0, 7, (struct perf_moment){3000, UINT64_MAX});
    assert_int_equal(span->window_count, PERF_WINDOWS_MAX);
    assert_int_equal(span->windows[0].bias, 0x40000000);
    assert_int_equal(span->windows[1].bias, 0x60000000);
    assert_int_equal(span->windows[2].bias, 0x50000000);
    assert_int_equal(span->windows[3].bias, 0x30000000);

    /* Where addresses belong. */
    const struct perf_binary *binary = &scene->binary;
    assert_int_equal(perf_own_address(binary, span, 0x50000000 + binary->low), binary->low);
    assert_int_equal(perf_own_address(binary, span, 0x30000000 + binary->high - 1),
                     binary->high - 1);
    assert_int_equal(perf_own_address(binary, span, 0x30000000 + binary->high),
                     BAT_ADDRESS_EXTERNAL);
    assert_int_equal(perf_own_address(binary, span, 0x20000000 + binary->low),
                     BAT_ADDRESS_EXTERNAL);
    /* What would look like one of its own, were it left as it is. */
    assert_int_equal(perf_own_address(binary, span, binary->low), UINT64_MAX);
    assert_int_equal(perf_own_address(binary, span, 0), UINT64_MAX);
}

/* Without times, positions are only about right. */
TEST(test_without_times)
{
    struct scene *scene = open_scene(false);
    map(scene, 8, 0, 0x8000);
    fork_process(scene, 8, 7, 0);
    exec(scene, 8, 0);
    map(scene, 7, 0, 0x7000);
    fork_process(scene, 9, 7, 0);
    exec(scene, 9, 0);
    struct bat_error error;
    assert_ok(perf_processes_finish(&scene->processes, false, NULL, &error));
    const struct perf_moment first = {0, 0};
    assert_non_null(perf_processes_find(&scene->processes, 0, 7, first));
    assert_int_equal(perf_processes_find(&scene->processes, 0, 8, first)->windows[0].bias, 0x8000);
    assert_int_equal(bias_at(scene, 8, 0), 0x8000);
    assert_int_equal(bias_at(scene, 9, 0), NOWHERE);
}

/* --- Which mappings are of the binary ------------------------------------------------------- */

TEST(test_names_and_build_ids)
{
    struct scene *scene = open_scene(false);
    size_t size;
    const uint8_t *own = bat_elf_build_id(scene->elf, &size);
    assert_int_equal(size, 20);
    static const uint8_t other[20] = {1, 2, 3};
    const struct {
        const char *path;
        const uint8_t *build_id;
        const uint8_t *listed;
        bool fits;
        bool fits_ignoring;
    } cases[] = {
        {"/opt/small.bolt", NULL, NULL, true, true},
        {"small.bolt", NULL, NULL, true, true},
        {"/var/lib/x/merged/small.bolt (deleted)", NULL, NULL, true, true},
        {"/opt/small", NULL, NULL, false, false},
        {"/opt/small.bolt/x", NULL, NULL, false, false},
        {"/opt/my small.bolt", NULL, NULL, false, false},
        {"/opt/small.bolt", other, NULL, false, true},
        {"/opt/other", own, NULL, true, true},
        {"/opt/other", NULL, own, true, true},
        {"/opt/small.bolt", NULL, other, false, true},
        {"/opt/small.bolt", other, own, false, true},
        {"/opt/small.bolt", own, other, true, true},
        {"/opt/other", other, NULL, false, false},
    };
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        const size_t n = i / 2;
        start(scene);
        scene->binary.ignore_build_id = i % 2;
        if (cases[n].listed)
            assert_ok(
                perf_processes_list(&scene->processes, cases[n].path, cases[n].listed, 20, true));
        map_file(scene, 7, 100, 0, cases[n].path, cases[n].build_id, cases[n].build_id ? 20 : 0);
        struct bat_error error = {0};
        enum bat_code code = perf_processes_finish(&scene->processes, true, NULL, &error);
        bool fits = i % 2 ? cases[n].fits_ignoring : cases[n].fits;
        if (code != (fits ? BAT_OK : BAT_ERR_MISMATCH))
            fail_msg("%s, case %zu: %s", cases[n].path, i, error.message);
    }
}

/* Padded to 20 bytes where a file does not say how long they are. */
TEST(test_short_build_ids)
{
    struct scene *scene = open_scene(false);
    uint8_t padded[20] = {0};
    memcpy(padded, scene->binary.build_id, 8);
    scene->binary.build_id_size = 8;
    const struct perf_binary *binary = &scene->binary;
    assert_int_equal(perf_binary_match_build_id(binary, padded, 20, false), PERF_MATCH_YES);
    assert_int_equal(perf_binary_match_build_id(binary, padded, 20, true), PERF_MATCH_NO);
    assert_int_equal(perf_binary_match_build_id(binary, padded, 8, true), PERF_MATCH_YES);
    assert_int_equal(perf_binary_match_build_id(binary, padded, 7, true), PERF_MATCH_NO);
    assert_int_equal(perf_binary_match_build_id(binary, padded, 0, true), PERF_MATCH_UNKNOWN);
    padded[19] = 1;
    assert_int_equal(perf_binary_match_build_id(binary, padded, 20, false), PERF_MATCH_NO);
    memset(padded, 0, sizeof(padded));
    assert_int_equal(perf_binary_match_build_id(binary, padded, 20, true), PERF_MATCH_UNKNOWN);
    scene->binary.build_id_size = 0;
    assert_int_equal(perf_binary_match_build_id(binary, padded, 8, true), PERF_MATCH_UNKNOWN);
}

TEST(test_mappings_that_cannot_be)
{
    struct scene *scene = open_scene(true);
    const struct perf_binary *binary = &scene->binary;
    const uint64_t in_page = scene->code.address % 4096;
    const uint64_t address = scene->code.address - in_page;
    const uint64_t offset = scene->code.offset - in_page;
    uint64_t bias = 1;
    assert_true(perf_binary_bias(binary, address, 4096, offset, &bias));
    assert_int_equal(bias, 0);
    /* One that was made for fixed addresses lies nowhere else. */
    assert_false(perf_binary_bias(binary, address + 4096, 4096, offset, &bias));
    scene->binary.is_fixed = false;
    assert_true(perf_binary_bias(binary, address + 4096, 4096, offset, &bias));
    assert_int_equal(bias, 4096);
    assert_true(perf_binary_bias(binary, address - 4096, 4096, offset, &bias));
    assert_int_equal(bias, (uint64_t)-4096);
    /* Nothing of the code, or no page's start. */
    assert_false(perf_binary_bias(binary, address, 0, offset, &bias));
    assert_false(perf_binary_bias(binary, address, 4096, UINT64_C(1) << 40, &bias));
    assert_false(perf_binary_bias(binary, address + 8, 4096, offset, &bias));
    assert_true(perf_binary_bias(binary, address, UINT64_MAX, offset, &bias));
}

/* --- Where there is nothing ----------------------------------------------------------------- */

TEST(test_nothing_found)
{
    struct scene *scene = open_scene(true);
    struct bat_error error;
    assert_not_found(scene, NULL, &error, "expected a process that has small.bolt (build-id ");
    assert_non_null(strstr(error.message, "found none: no mappings were recorded"));

    start(scene);
    static const uint8_t other[20] = {0xab, 0xcd};
    map_file(scene, 7, 100, 0, "/bin/a b", other, 20);
    map_file(scene, 7, 100, 0, "/bin/\x1b[31mred", NULL, 0);
    map_file(scene, 7, 100, 0, "[vdso]", NULL, 0);
    map_file(scene, 7, 100, 0, "//anon", NULL, 0);
    assert_not_found(
        scene, NULL, &error,
        "found none (give the program that ran, or record this one): /bin/a b (build-id "
        "abcd000000000000000000000000000000000000), /bin/?[31mred");
    assert_null(strstr(error.message, "vdso"));

    start(scene);
    map_file(scene, 7, 100, 0, "/bin/small.bolt", other, 20);
    assert_not_found(scene, NULL, &error,
                     "found only other builds of it (give the build that ran; "
                     "--ignore-build-id accepts any): /bin/small.bolt (build-id abcd");

    /* More than a sentence holds. */
    start(scene);
    for (unsigned i = 0; i < 100; i++) {
        char path[64];
        snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/library-%u.so", i);
        map_file(scene, 7, 100, 0, path, NULL, 0);
    }
    assert_int_equal(perf_processes_finish(&scene->processes, true, NULL, &error),
                     BAT_ERR_MISMATCH);
    unsigned named = 0;
    for (const char *at = error.message; (at = strstr(at, "library-")); at++)
        named++;
    assert_in_range(named, 5, 99);
    char more[32];
    snprintf(more, sizeof(more), " and %u more", 100 - named);
    const size_t length = strlen(error.message);
    assert_true(length > strlen(more));
    assert_string_equal(error.message + length - strlen(more), more);
}

TEST(test_one_process)
{
    struct scene *scene = open_scene(true);
    const struct bat_read_options wanted = {
        .size = sizeof(wanted), .has_process = true, .process = 8};
    const int32_t numbers[] = {9, 7, 8, 7};
    const struct bat_read_options several = {
        .size = sizeof(several), .processes = numbers, .process_count = 4};
    start(scene);
    map(scene, 7, 100, 0);
    map(scene, 8, 100, 0);
    assert_ok(perf_processes_finish(&scene->processes, true, &wanted, NULL));
    assert_int_equal(bias_at(scene, 7, 200), NOWHERE);
    assert_int_equal(bias_at(scene, 8, 200), 0);
    assert_int_equal(perf_processes_count(&scene->processes, 0), 1);

    start(scene);
    for (uint32_t process = 5; process < 9; process++)
        map(scene, process, 100, 0);
    assert_ok(perf_processes_finish(&scene->processes, true, &several, NULL));
    assert_int_equal(bias_at(scene, 6, 200), NOWHERE);
    assert_int_equal(bias_at(scene, 7, 200), 0);
    assert_int_equal(bias_at(scene, 8, 200), 0);
    assert_int_equal(perf_processes_count(&scene->processes, 0), 2);

    start(scene);
    for (uint32_t process = 100; process < 300; process++)
        map(scene, process, 100, 0);
    struct bat_error error;
    assert_not_found(scene, &wanted, &error,
                     "expected process 8 to have small.bolt, found it in 100, 101, 102,");
    assert_non_null(strstr(error.message, " more"));
}
