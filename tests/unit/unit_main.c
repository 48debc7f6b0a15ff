/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* main() of every unit test: constructors of the file have added its tests. */
#include "unit_test.h"

static struct CMUnitTest tests[128];
static size_t test_count;

static struct {
    CMFixtureFunction begin, end;
} groups[4];
static size_t group_count;

void add_test(const struct CMUnitTest *test)
{
    if (test_count == COUNT(tests))
        abort();
    tests[test_count++] = *test;
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
    int failed = 0;
    for (size_t i = 0; i == 0 || i < group_count;
         i++) /* cmocka passes over the array's empty rest */
        failed += cmocka_run_group_tests_name(name, tests, groups[i].begin, groups[i].end);
    return failed;
}
