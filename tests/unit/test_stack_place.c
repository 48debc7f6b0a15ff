/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* stacks/stack_place.c: which addresses of a text are return addresses; and stacks/folded.c. */
#include "bat_stacks.h"
#include "unit_test.h"

/* One letter a line: e exact, r return address, i inside the call, "." for lines without frame. */
static void expect_places(const char *const *lines, const char *letters)
{
    struct bat_stack_place place = {0};
    size_t count = 0;
    while (lines[count])
        count++;
    assert_int_equal(count, strlen(letters));
    for (size_t i = 0; i < count; i++) {
        struct bat_stack_line read;
        bat_stack_line_read(lines[i], strlen(lines[i]), &read);
        enum bat_frame_pc pc = bat_stack_place_next(&place, &read);
        char letter = '.';
        if (read.kind == BAT_LINE_FRAME && !read.is_inlined)
            letter = pc == BAT_PC_EXACT ? 'e' : pc == BAT_PC_RETURN ? 'r' : 'i';
        print_message("%c %s\n", letter, lines[i]);
        assert_int_equal(letter, letters[i]);
    }
}

TEST(test_perf)
{
    static const char *const lines[] = {
        "t 1 1.5:  250000 cpu-clock:u: ",
        "\tffffffff81c00131 entry_SYSCALL_64+0x6e ([kernel.kallsyms])",
        "\tffffffff81c00131 [unknown] ([kernel.kallsyms])",
        "\t            1000 leaf (inlined)",
        "\t            1000 f+0x10 (/bin/a)",
        "  a.c:4",
        "\t            2000 g+0x10 (/bin/a)",
        "",
        "t 1 1.6:  250000 cpu-clock:u: ",
        "\t            1000 f+0x10 (/bin/a)",
        "  a.c:4",
        "\t            2000 g+0x10 (/bin/a)",
        "\t            3000 h+0x10 (/bin/a)",
        "",
        "\t            3000 h+0x10 (/bin/a)",
        NULL,
    };
    expect_places(lines, ".ee.e.r..e.rr.e");
}

TEST(test_gdb)
{
    static const char *const lines[] = {
        "#0  0x0000000000001000 in f () at a.c:1",
        "#1  0x0000000000002000 in handler (n=11) at a.c:2",
        "#2  <signal handler called>",
        "#3  0x0000000000003000 in g () at a.c:3",
        "#4  0x0000000000004000 in main () at a.c:4",
        NULL,
    };
    expect_places(lines, "er.er");
}

TEST(test_sanitizer)
{
    static const char *const lines[] = {
        "    #0 0x1000 in f a.c:1:2",
        "    #1 0x2000  (/bin/a+0x2000)",
        "",
        "    #1 0x2000  (/bin/a+0x2000)",
        NULL,
    };
    expect_places(lines, "ei.i");
}

TEST(test_others)
{
    static const char *const lines[] = {
        "PC: @     0x1000  f",
        "    @     0x7f00  (unknown)",
        "    @     0x1000  f",
        "    @     0x2000  main",
        "./a(f+0x29) [0x1000]",
        "#0  0x0000000000001000 crash (a.out + 0x1139)",
        "#1  0x0000000000002000 main (a.out + 0x2139)",
        "t 1 1.5:  25 c:u:  7ff4e39f23e0 f+0x270 (/usr/lib/ld.so)",
        NULL,
    };
    expect_places(lines, ".rerrere");
}

/* --- Folded --------------------------------------------------------------------------------- */

static void add_stack(struct bat_folded *folded, const char *const *frames, uint64_t count)
{
    bat_folded_begin(folded);
    for (size_t i = 0; frames[i]; i++)
        bat_folded_frame(folded, frames[i], strlen(frames[i]));
    bat_folded_end(folded, count);
}

/* The next of the sorted stacks is this one. */
static void expect_stack(struct bat_folded *folded, size_t *i, const char *text, uint64_t count)
{
    uint64_t found;
    const char *stack = bat_folded_stack(folded, (*i)++, &found);
    assert_non_null(stack);
    assert_string_equal(stack, text);
    assert_int_equal(found, count);
}

TEST(test_folded)
{
    struct bat_folded *folded = bat_folded_new();
    assert_non_null(folded);
    add_stack(folded, (const char *const[]){"main", "g", NULL}, 2);
    add_stack(folded, (const char *const[]){"main", "f;1\n", "", NULL}, 1);
    add_stack(folded, (const char *const[]){"main", "g", NULL}, 3);
    add_stack(folded, (const char *const[]){NULL}, 7);
    add_stack(folded, (const char *const[]){"main", NULL}, UINT64_MAX);
    add_stack(folded, (const char *const[]){"main", NULL}, 1);
    size_t count;
    assert_ok(bat_folded_sort(folded, &count, NULL));
    assert_int_equal(count, 3);
    size_t i = 0;
    expect_stack(folded, &i, "main", UINT64_MAX);
    expect_stack(folded, &i, "main;f:1\\x0a;[unknown]", 1);
    expect_stack(folded, &i, "main;g", 5);
    bat_folded_free(folded);
}

/* Stacks are sorted by their texts, in which ";" is a letter like others. */
TEST(test_folded_order)
{
    static const char *const sorted[] = {"a",     "a b",  "a b;c",      "a;b", "a;b;c",
                                         "a<b;a", "aa;b", "b;\xc3\xa4", "ba",  "ba;a"};
    const size_t number = COUNT(sorted);
    struct bat_folded *folded = bat_folded_new();
    assert_non_null(folded);
    for (size_t k = 0; k < number; k++) {
        char text[16];
        snprintf(text, sizeof(text), "%s", sorted[7 * k % number]);
        bat_folded_begin(folded);
        for (char *frame = strtok(text, ";"); frame; frame = strtok(NULL, ";"))
            bat_folded_frame(folded, frame, strlen(frame));
        bat_folded_end(folded, 1 + 7 * k % number);
    }
    size_t count;
    assert_ok(bat_folded_sort(folded, &count, NULL));
    assert_int_equal(count, number);
    for (size_t i = 0; i < number;)
        expect_stack(folded, &i, sorted[i], i + 1);
    bat_folded_free(folded);
}

/* Lasting names are the names of others with the same bytes. */
TEST(test_folded_lasting)
{
    static const char name[] = "f;1";
    static const char empty[] = "";
    struct bat_folded *folded = bat_folded_new();
    assert_non_null(folded);
    add_stack(folded, (const char *const[]){"f:1", "", NULL}, 1);
    for (unsigned i = 0; i < 2; i++) {
        bat_folded_begin(folded);
        bat_folded_lasting_frame(folded, name);
        bat_folded_lasting_frame(folded, empty);
        bat_folded_end(folded, 1);
    }
    size_t count;
    assert_ok(bat_folded_sort(folded, &count, NULL));
    assert_int_equal(count, 1);
    size_t i = 0;
    expect_stack(folded, &i, "f:1;[unknown]", 3);
    bat_folded_free(folded);
}

TEST(test_many_folded)
{
    struct bat_folded *folded = bat_folded_new();
    assert_non_null(folded);
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < 1000; i++) {
            char name[16];
            snprintf(name, sizeof(name), "f%03u", i);
            add_stack(folded, (const char *const[]){"main", name, NULL}, i);
        }
    size_t count;
    assert_ok(bat_folded_sort(folded, &count, NULL));
    assert_int_equal(count, 1000);
    for (size_t i = 0; i < 1000;) {
        char text[32];
        snprintf(text, sizeof(text), "main;f%03zu", i);
        expect_stack(folded, &i, text, 3 * i);
    }
    bat_folded_free(folded);
}
