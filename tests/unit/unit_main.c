/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* main() of every unit test: constructors of the file have added its tests. */
#include "unit_test.h"

static struct CMUnitTest tests[128];
static size_t test_count;

static struct {
    CMFixtureFunction begin, end;
} groups[4];
static size_t group_count;

/* In no memory of malloc(), which fails in some tests. */
static struct {
    void (*release)(void *);
    void *thing;
} kept[1 << 16];
static size_t kept_count;

void keep(void (*release)(void *), void *thing)
{
    if (kept_count == COUNT(kept))
        abort();
    kept[kept_count].release = release;
    kept[kept_count++].thing = thing;
}

void *kept_memory(void *old, size_t size)
{
    void *memory = realloc(old, size);
    assert_non_null(memory);
    size_t i = old ? kept_count : 0;
    while (i > 0 && kept[i - 1].thing != old)
        i--;
    if (i > 0)
        kept[i - 1].thing = memory;
    else
        keep(free, memory);
    return memory;
}

int release_kept(void **state)
{
    (void)state;
    while (kept_count > 0) {
        kept_count--;
        kept[kept_count].release(kept[kept_count].thing);
    }
    return 0;
}

void add_test(const struct CMUnitTest *test)
{
    if (test_count == COUNT(tests))
        abort();
    tests[test_count] = *test;
    if (!test->teardown_func)
        tests[test_count].teardown_func = release_kept;
    test_count++;
}

void add_group(CMFixtureFunction begin, CMFixtureFunction end)
{
    if (group_count == COUNT(groups))
        abort();
    groups[group_count].begin = begin;
    groups[group_count++].end = end;
}

int main(int argc, char **argv)
{
    const char *name = argc > 0 ? argv[0] : "tests";
    /* Only tests whose names match: "test_large*". */
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    int failed = 0;
    for (size_t i = 0; i == 0 || i < group_count;
         i++) /* cmocka passes over the array's empty rest */
        failed += cmocka_run_group_tests_name(name, tests, groups[i].begin, groups[i].end);
    return failed;
}
