/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* autofdo/: the parts that a sample profile is made with. */
#include "folder.h"
#include "output_file.h"
#include "profile/autofdo/discriminator.h"
#include "profile/autofdo/forest.h"
#include "profile/autofdo/ranges.h"
#include "unit_test.h"

/* --- Discriminators ------------------------------------------------------------------------- */

/* A component as LLVM packs it: see discriminator.h. */
static uint32_t pack(uint32_t value, unsigned *bits)
{
    if (value == 0) {
        *bits = 1;
        return 1;
    }
    *bits = value > 0x1f ? 14 : 7;
    return value > 0x1f ? (value & 0x1f) << 1 | 0x40 | value >> 5 << 7 : value << 1;
}

TEST(test_discriminators)
{
    static const uint32_t values[] = {0, 1, 2, 8, 0x1f, 0x20, 0x21, 0x1ff, 0xfff};
    const size_t count = COUNT(values);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            unsigned first;
            unsigned second;
            uint32_t packed = pack(values[i], &first);
            packed |= pack(values[j], &second) << first;
            assert_int_equal(discriminator_base(packed), values[i]);
            assert_int_equal(discriminator_factor(packed), values[j] ? values[j] : 1);
        }
    }
    /* As compilers write them: nothing; the second block of a line; a loop unrolled by 4. */
    assert_int_equal(discriminator_base(0), 0);
    assert_int_equal(discriminator_factor(0), 1);
    assert_int_equal(discriminator_base(2), 1);
    assert_int_equal(discriminator_factor(2), 1);
    assert_int_equal(discriminator_factor(0x11), 4);
    /* Of probes, as clang 22 writes them (number 5, base 0), with base 3, and without base. */
    assert_int_equal(discriminator_base(0x1b20002f), 0);
    assert_int_equal(discriminator_base(0x1b23002f), 3);
    assert_int_equal(discriminator_base(0x0b20003f), 7);
    assert_int_equal(discriminator_factor(0x0b20003f), 1);
}

/* --- Ranges --------------------------------------------------------------------------------- */

TEST(test_cut)
{
    uint64_t seed = 7;
    for (unsigned round = 0; round < 2000; round++) {
        struct range_run ranges[10];
        size_t count = round % 11;
        for (size_t i = 0; i < count; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint64_t first = (seed >> 33) % 30;
            ranges[i] = (struct range_run){first, first + (seed >> 45) % 12, (seed >> 53) % 4};
        }
        struct range_run *runs;
        size_t run_count;
        assert_ok(ranges_cut(ranges, count, &runs, &run_count, NULL));
        for (uint64_t address = 0; address < 50; address++) {
            uint64_t expected = 0;
            bool is_covered = false;
            for (size_t i = 0; i < count; i++) {
                if (address < ranges[i].first || address > ranges[i].last)
                    continue;
                expected += ranges[i].count;
                is_covered = true;
            }
            unsigned found = 0;
            for (size_t i = 0; i < run_count; i++) {
                if (address < runs[i].first || address > runs[i].last)
                    continue;
                found++;
                assert_int_equal(runs[i].count, expected);
            }
            assert_int_equal(found, is_covered);
        }
        for (size_t i = 1; i < run_count; i++)
            assert_true(runs[i - 1].last < runs[i].first);
        free(runs);
    }
}

/* --- Forests -------------------------------------------------------------------------------- */

static uint32_t name(struct forest *forest, const char *text)
{
    uint32_t number;
    assert_ok(bat_strings_add(&forest->names, text, strlen(text), &number));
    return number;
}

static uint32_t root(struct forest *forest, const char *text, uint64_t total, uint64_t head)
{
    uint32_t node;
    assert_ok(forest_root(forest, name(forest, text), &node));
    forest->nodes[node].total = total;
    forest->nodes[node].head = head;
    return node;
}

static uint32_t child(struct forest *forest, uint32_t parent, uint64_t place, const char *text,
                      uint64_t total)
{
    uint32_t node;
    assert_ok(forest_child(forest, parent, place, name(forest, text), &node));
    forest->nodes[node].total = total;
    return node;
}

static void raise_to(struct forest *forest, uint32_t node, uint64_t place, uint64_t count)
{
    assert_ok(forest_raise(forest, node, place, count));
}

static void call(struct forest *forest, uint32_t node, uint64_t place, const char *callee,
                 uint64_t count)
{
    assert_ok(forest_call(forest, node, place, name(forest, callee), count));
}

/* Write the forest by some threads, and compare with this text. */
static void expect_text_by(struct forest *forest, unsigned threads, const char *expected,
                           uint64_t roots)
{
    char *path = write_file("", 0);
    uint64_t written;
    struct bat_error error;
    struct bat_output *output = begin_output(path);
    if (forest_write(forest, threads, output, &written, &error) != BAT_OK)
        fail_msg("%s", error.message);
    commit_output(output);
    assert_int_equal(written, roots);
    assert_string_equal(file_bytes(path, NULL), expected);
    forest_free(forest);
}

static void expect_text(struct forest *forest, const char *expected, uint64_t roots)
{
    expect_text_by(forest, 1, expected, roots);
}

TEST(test_forest)
{
    struct forest forest = forest_new();
    uint32_t g = root(&forest, "g", 10, 0);
    uint32_t f = root(&forest, "f", 10, 4);
    root(&forest, "called_only", 0, 9);
    uint32_t large = root(&forest, "large", 5000, 1);
    raise_to(&forest, g, forest_place(3, 0), 2);
    raise_to(&forest, g, forest_place(3, 0), 7);
    raise_to(&forest, g, forest_place(3, 0), 5);
    raise_to(&forest, f, forest_place(12, 0), 1);
    raise_to(&forest, f, forest_place(2, 11), 0);
    raise_to(&forest, f, forest_place(2, 2), 4);
    /* In a root the calls raise the count, in an inlined call they do not. */
    call(&forest, f, forest_place(2, 2), "b", 3);
    call(&forest, f, forest_place(2, 2), "a", 3);
    call(&forest, f, forest_place(2, 2), "c", 8);
    call(&forest, f, forest_place(2, 2), "c", 1);
    uint32_t inner = child(&forest, large, forest_place(4, 1), "y", 300);
    call(&forest, inner, forest_place(1, 0), "a", 6);
    uint32_t deep = child(&forest, inner, forest_place(1, 0), "z", 200);
    raise_to(&forest, deep, forest_place(65535, 0), 33);
    child(&forest, large, forest_place(4, 1), "x", 20);
    child(&forest, large, forest_place(4, 0), "z", 10);
    raise_to(&forest, large, forest_place(9, 0), 1);
    expect_text(&forest,
                "large:5000:1\n"
                " 9: 1\n"
                " 4: z:10\n"
                " 4.1: x:20\n"
                " 4.1: y:300\n"
                "  1: 0 a:6\n"
                "  1: z:200\n"
                "   65535: 33\n"
                "f:10:4\n"
                " 2.2: 15 c:9 a:3 b:3\n"
                " 2.11: 0\n"
                " 12: 1\n"
                "g:10:0\n"
                " 3: 7\n"
                "called_only:0:9\n",
                4);
}

/* Functions of which each file has its own are left out, inlined ones too. */
TEST(test_ambiguous)
{
    struct forest forest = forest_new();
    root(&forest, "__cxx_global_var_init.3", 9, 1);
    root(&forest, "__tls_init", 9, 1);
    uint32_t f = root(&forest, "_GLOBAL__sub_I_a", 10, 1);
    uint32_t gone = child(&forest, f, forest_place(1, 0), "__cxx_global_var_init", 5);
    child(&forest, gone, forest_place(1, 0), "a", 5);
    child(&forest, f, forest_place(2, 0), "b", 5);
    expect_text(&forest, "_GLOBAL__sub_I_a:10:1\n 2: b:5\n", 1);
}

/* The same name at the same place is the same node. */
TEST(test_nodes)
{
    struct forest forest = forest_new();
    uint32_t f = root(&forest, "f", 0, 0);
    assert_int_equal(root(&forest, "f", 0, 0), f);
    uint32_t inner = child(&forest, f, forest_place(1, 2), "f", 0);
    assert_int_not_equal(inner, f);
    assert_int_equal(child(&forest, f, forest_place(1, 2), "f", 0), inner);
    assert_int_not_equal(child(&forest, f, forest_place(1, 3), "f", 0), inner);
    assert_int_not_equal(child(&forest, inner, forest_place(1, 2), "f", 0), inner);
    assert_int_equal(forest.node_count, 4);
    forest_free(&forest);
}

/* A node with many children, which are added twice. */
TEST(test_many_children)
{
    struct forest forest = forest_new();
    const uint32_t f = root(&forest, "f", 1, 0);
    uint32_t nodes[100];
    for (uint32_t i = 0; i < 200; i++) {
        const uint32_t node =
            child(&forest, f, forest_place(i % 50, 0), i % 100 < 50 ? "a" : "b", i % 100);
        if (i < 100)
            nodes[i] = node;
        else
            assert_int_equal(node, nodes[i - 100]);
    }
    assert_int_equal(forest.node_count, 101);
    char expected[4096] = "f:1:0\n";
    size_t used = strlen(expected);
    for (unsigned place = 0; place < 50; place++)
        used += (size_t)snprintf(expected + used, sizeof(expected) - used, " %u: a:%u\n %u: b:%u\n",
                                 place, place, place, place + 50);
    expect_text(&forest, expected, 1);
}

/* The text does not depend on the number of threads that make it. */
TEST(test_threads)
{
    for (unsigned threads = 0; threads <= 4; threads++) {
        struct forest forest = forest_new();
        char expected[4096];
        size_t used = 0;
        for (unsigned i = 100; i > 0; i--) {
            char text[16];
            snprintf(text, sizeof(text), "f%u", i);
            const uint32_t f = root(&forest, text, i, 0);
            child(&forest, f, forest_place(i, 0), "g", 1);
            raise_to(&forest, f, forest_place(1, 0), i);
            used += (size_t)snprintf(expected + used, sizeof(expected) - used,
                                     "f%u:%u:0\n 1: %u\n %u: g:1\n", i, i, i, i);
        }
        expect_text_by(&forest, threads, expected, 100);
    }
}

TEST(test_largest_numbers)
{
    struct forest forest = forest_new();
    uint32_t f = root(&forest, "f", UINT64_MAX, forest_add(UINT64_MAX - 1, 7));
    raise_to(&forest, f, forest_place(0, UINT32_MAX), UINT64_MAX);
    call(&forest, f, forest_place(0, UINT32_MAX), "g", UINT64_MAX);
    call(&forest, f, forest_place(0, UINT32_MAX), "g", UINT64_MAX);
    call(&forest, f, forest_place(0, UINT32_MAX), "h", 1);
    expect_text(&forest,
                "f:18446744073709551615:18446744073709551615\n"
                " 0.4294967295: 18446744073709551615 g:18446744073709551615 h:1\n",
                1);
}
