/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* profile/remap/join.c and starts.c: halves of runs, and where runs begin. */
#include "profile/remap/to_input.h"
#include "unit_test.h"

struct joining {
    struct bat_profile *result;
    struct bat_to_input_counters counters;
    struct input_joins joins;
};

static int begin(void **state)
{
    static struct joining joining;
    const struct bat_profile_target target = {.size = sizeof(target)};
    joining = (struct joining){.result = NULL};
    assert_ok(bat_profile_new(&target, &joining.result, NULL));
    joining.joins = input_joins_new(joining.result, &joining.counters);
    *state = &joining;
    return 0;
}

static int end(void **state)
{
    struct joining *joining = *state;
    input_joins_free(&joining->joins);
    bat_profile_free(joining->result);
    return 0;
}

static uint32_t find_join(struct joining *joining, uint64_t branch, uint64_t point, uint64_t last)
{
    uint32_t join;
    assert_ok(input_joins_find(&joining->joins, branch, point, last, &join));
    return join;
}

static void add(struct joining *joining, uint64_t branch, uint64_t from, uint64_t to,
                uint64_t count, uint32_t start_join, uint32_t end_join)
{
    const struct input_piece piece = {.branch = branch,
                                      .from = from,
                                      .to = to,
                                      .count = count,
                                      .mispredictions = count / 2,
                                      .start_join = start_join,
                                      .end_join = end_join};
    assert_ok(input_joins_add(&joining->joins, &piece));
}

/* The result has this trace so often. */
static void expect(const struct joining *joining, uint64_t branch, uint64_t from, uint64_t to,
                   uint64_t count)
{
    const uint64_t key[3] = {branch, from, to};
    const uint64_t *item = bat_counts_find(&joining->result->traces, key);
    if (!item)
        fail_msg("no trace %llx %llx %llx", (unsigned long long)branch, (unsigned long long)from,
                 (unsigned long long)to);
    assert_int_equal(item[3], count);
}

static void finish(struct joining *joining, uint32_t traces)
{
    assert_ok(input_joins_finish(&joining->joins));
    assert_int_equal(joining->result->traces.count, traces);
}

TEST_BETWEEN(test_whole_pieces_pass, begin, end)
{
    struct joining *joining = *state;
    add(joining, 0x10, 0x20, 0x30, 5, BAT_NONE, BAT_NONE);
    add(joining, 0x10, 0x20, 0x30, 7, BAT_NONE, BAT_NONE);
    add(joining, 0x10, 0x20, 0x30, 0, BAT_NONE, BAT_NONE);
    finish(joining, 1);
    expect(joining, 0x10, 0x20, 0x30, 12);
    assert_int_equal(joining->counters.unjoined, 0);
}

TEST_BETWEEN(test_two_halves_are_one_run, begin, end)
{
    struct joining *joining = *state;
    uint32_t join = find_join(joining, 0x900, 0x40, 0x3c);
    assert_int_equal(find_join(joining, 0x900, 0x40, 0x3c), join);
    add(joining, 0x10, 0x20, 0, 5, BAT_NONE, join);
    add(joining, 0, 0x40, 0x50, 5, join, BAT_NONE);
    finish(joining, 1);
    expect(joining, 0x10, 0x20, 0x50, 5);
    const uint64_t key[3] = {0x10, 0x20, 0x50};
    assert_int_equal(bat_counts_find(&joining->result->traces, key)[4], 2);
}

/* Whatever is put together, each beginning and each end has its count. */
TEST_BETWEEN(test_counts_of_many_halves, begin, end)
{
    struct joining *joining = *state;
    uint32_t join = find_join(joining, 0x900, 0x40, 0x3c);
    add(joining, 0x10, 0x20, 0, 5, BAT_NONE, join);
    add(joining, 0x11, 0x20, 0, 6, BAT_NONE, join);
    add(joining, 0, 0x40, 0x50, 3, join, BAT_NONE);
    add(joining, 0, 0x40, 0x60, 8, join, BAT_NONE);
    assert_ok(input_joins_finish(&joining->joins));
    uint64_t by_branch[2] = {0};
    uint64_t by_end[2] = {0};
    for (uint32_t i = 0; i < joining->result->traces.count; i++) {
        const uint64_t *trace = bat_counts_item(&joining->result->traces, i);
        assert_int_equal(trace[1], 0x20);
        by_branch[trace[0] - 0x10] += trace[3];
        by_end[trace[2] == 0x60] += trace[3];
    }
    assert_int_equal(by_branch[0], 5);
    assert_int_equal(by_branch[1], 6);
    assert_int_equal(by_end[0], 3);
    assert_int_equal(by_end[1], 8);
    assert_int_equal(joining->counters.unjoined, 0);
}

/* A run over two joins, the later one found first. */
TEST_BETWEEN(test_a_chain, begin, end)
{
    struct joining *joining = *state;
    uint32_t later = find_join(joining, 0x910, 0x60, 0x5c);
    uint32_t sooner = find_join(joining, 0x900, 0x40, 0x3c);
    add(joining, 0, 0x60, 0x70, 4, later, BAT_NONE);
    add(joining, 0, 0x40, 0, 4, sooner, later);
    add(joining, 0x10, 0x20, 0, 4, BAT_NONE, sooner);
    finish(joining, 1);
    expect(joining, 0x10, 0x20, 0x70, 4);
}

/* The branch of the output was taken: the input has passed the join's point on both sides. */
TEST_BETWEEN(test_halves_left_over, begin, end)
{
    struct joining *joining = *state;
    uint32_t join = find_join(joining, 0x900, 0x40, 0x3c);
    uint32_t other = find_join(joining, 0x910, 0x80, 0x7c);
    add(joining, 0x10, 0x20, 0, 5, BAT_NONE, join);
    add(joining, 0, 0x40, 0x50, 2, join, BAT_NONE);
    add(joining, 0, 0x80, 0x90, 7, other, BAT_NONE);
    finish(joining, 3);
    expect(joining, 0x10, 0x20, 0x50, 2);
    expect(joining, 0x10, 0x20, 0x40, 3);
    expect(joining, BAT_TRACE_FALLTHROUGH_ONLY, 0x7c, 0x90, 7);
    assert_int_equal(joining->counters.unjoined, 10);
}

/* A first half that begins at the point: the input came there, if only from the call before. */
TEST_BETWEEN(test_an_empty_half_left_over, begin, end)
{
    struct joining *joining = *state;
    uint32_t join = find_join(joining, 0x900, 0x40, 0x3c);
    add(joining, 0x10, 0x40, 0, 5, BAT_NONE, join);
    add(joining, BAT_TRACE_FALLTHROUGH_ONLY, 0x40, 0, 5, BAT_NONE, join);
    finish(joining, 2);
    expect(joining, 0x10, 0x40, 0x40, 5);
    expect(joining, BAT_TRACE_FALLTHROUGH_ONLY, 0x40, 0x40, 5);
}

/* A branch that is none in the input, without a run: nothing. */
TEST_BETWEEN(test_a_second_half_without_a_run, begin, end)
{
    struct joining *joining = *state;
    uint32_t join = find_join(joining, 0x900, 0x40, 0x3c);
    add(joining, 0, 0x40, BAT_TRACE_BRANCH_ONLY, 5, join, BAT_NONE);
    finish(joining, 0);
}

/* --- Starts --------------------------------------------------------------------------------- */

TEST(test_starts)
{
    struct input_starts starts = input_starts_new();
    struct input_start start = {.from = 0x10, .way = 1, .start_join = BAT_NONE, .count = 5};
    struct input_start other = start;
    other.from = 0x20;
    struct input_start taken;
    assert_false(input_starts_take(&starts, 0x900, 1, &taken));
    assert_ok(input_starts_add(&starts, 0x900, &start));
    assert_ok(input_starts_add(&starts, 0x900, &other));
    assert_ok(input_starts_add(&starts, 0x900, &start));
    assert_int_equal(starts.count, 2);
    assert_false(input_starts_take(&starts, 0x901, 1, &taken));

    start.count = 3;
    input_starts_remove(&starts, 0x900, &start);
    uint64_t left = 100;
    uint64_t found[2] = {0};
    while (input_starts_take(&starts, 0x900, left < 4 ? left : 4, &taken)) {
        assert_true(taken.count <= 4);
        found[taken.from == 0x20] += taken.count;
        left -= taken.count;
    }
    assert_int_equal(found[0], 7);
    assert_int_equal(found[1], 5);

    start.count = UINT64_MAX;
    assert_ok(input_starts_add(&starts, 0x900, &start));
    assert_ok(input_starts_add(&starts, 0x900, &start));
    assert_true(input_starts_take(&starts, 0x900, UINT64_MAX, &taken));
    assert_int_equal(taken.count, UINT64_MAX);
    input_starts_free(&starts);
}
