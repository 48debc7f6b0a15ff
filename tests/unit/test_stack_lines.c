/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * stacks/stack_line.c and the readers of single forms: lines as the programs print them, taken from
 * their real output, and what is in them.
 */
#include "bat_stacks.h"
#include "unit_test.h"

/* A line and what should be read of it. NULL for no text, 0 for no offset. */
struct example {
    const char *line;
    enum bat_line_form form;
    uint64_t address;
    const char *name;
    uint64_t name_offset;
    const char *module;
    uint64_t module_offset;
    const char *up_to_address; /* the line's start up to the end of the address */
};

static void expect_slice(struct bat_slice slice, const char *expected)
{
    char text[256];
    assert_true(slice.length < sizeof(text));
    if (slice.length != 0)
        memcpy(text, slice.text, slice.length);
    text[slice.length] = '\0';
    assert_string_equal(text, expected ? expected : "");
}

static void expect_line(const struct example *example, enum bat_line_kind kind)
{
    struct bat_stack_line read;
    /* Without a zero behind it, so that reading on is seen. */
    size_t length = strlen(example->line);
    char *line = kept_memory(NULL, length);
    memcpy(line, example->line, length);
    bat_stack_line_read(line, length, &read);
    print_message("%s\n", example->line);
    assert_int_equal(read.kind, kind);
    assert_int_equal(read.form, example->form);
    assert_int_equal(read.address, example->address);
    expect_slice(read.name, example->name);
    assert_int_equal(read.has_name_offset, example->name_offset != 0);
    if (read.has_name_offset)
        assert_int_equal(read.name_offset, example->name_offset);
    expect_slice(read.module, example->module);
    assert_int_equal(read.has_module_offset, example->module_offset != 0);
    if (read.has_module_offset)
        assert_int_equal(read.module_offset, example->module_offset);
    if (example->up_to_address)
        expect_slice((struct bat_slice){line, read.address_end}, example->up_to_address);
}

static void expect_frames(const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect_line(&examples[i], BAT_LINE_FRAME);
}

TEST(test_queries)
{
    static const struct example examples[] = {
        {"0x118d", BAT_FORM_QUERY, 0x118d, .up_to_address = "0x118d"},
        {"0X118D\r\n", BAT_FORM_QUERY, 0x118d, .up_to_address = "0X118D"},
        {"118d", BAT_FORM_QUERY, 0x118d, .up_to_address = "118d"},
        {"  ffffffffffffffff ", BAT_FORM_QUERY, UINT64_MAX, .name = NULL},
        {"CODE 0x10", BAT_FORM_QUERY, 0x10, .name = NULL},
        {"CODE /bin/a 0x10", BAT_FORM_QUERY, 0x10, .module = "/bin/a"},
        {"\"/b i/a\" 0x10", BAT_FORM_QUERY, 0x10, .module = "/b i/a"},
        {"'/b\"i/a' 0x10", BAT_FORM_QUERY, 0x10, .module = "/b\"i/a"},
        {"DATA \"a\" 0x10", BAT_FORM_QUERY, 0x10, .module = "a"},
        {"CODE FILE:/bin/a 0x10", BAT_FORM_QUERY, 0x10, .module = "/bin/a"},
    };
    for (size_t i = 0; i < COUNT(examples); i++)
        expect_line(&examples[i], BAT_LINE_QUERY);
    struct bat_stack_line read;
    bat_stack_line_read("DATA 0x10", 9, &read);
    assert_true(read.is_data);
    bat_stack_line_read("FRAME a 0x10", 12, &read);
    assert_true(read.is_locals);
}

TEST(test_gdb)
{
    static const struct example examples[] = {
        {"#1  0x00005555555551d9 in outer (x=0) at t.c:6", BAT_FORM_GDB, 0x5555555551d9,
         .name = "outer", .up_to_address = "#1  0x00005555555551d9"},
        {"#10 0x00005555555551d9 in ?? ()", BAT_FORM_GDB, 0x5555555551d9,
         .up_to_address = "#10 0x00005555555551d9"},
        {"#2  0x00007ffff7dfc24a in __libc_start_call_main () from /lib/x86_64-linux-gnu/libc.so.6",
         BAT_FORM_GDB, 0x7ffff7dfc24a, .name = "__libc_start_call_main",
         .module = "/lib/x86_64-linux-gnu/libc.so.6"},
        {"#3  0x0000000000401136 in (anonymous namespace)::f<int> (this=0x0, s=...) at a.cc:3",
         BAT_FORM_GDB, 0x401136, .name = "(anonymous namespace)::f<int>"},
        {"#0  mid (x=x@entry=0) at t.c:5", BAT_FORM_GDB, 0, .name = "mid", .up_to_address = ""},
    };
    expect_frames(examples, COUNT(examples));
    struct bat_stack_line read;
    static const char handler[] = "#3  <signal handler called>";
    bat_stack_line_read(handler, strlen(handler), &read);
    assert_int_equal(read.kind, BAT_LINE_SIGNAL);
    bat_stack_line_read("#12 f (x=1) at a.c:1", 20, &read);
    assert_int_equal(read.number, 12);
    assert_int_equal(read.number_start, 1);
    assert_int_equal(read.number_end, 3);
    assert_false(read.has_address);
}

TEST(test_sanitizers)
{
    static const struct example examples[] = {
        {"    #0 0x55d8ff in main /work/t.c:7:112", BAT_FORM_SANITIZER, 0x55d8ff, .name = "main",
         .up_to_address = "    #0 0x55d8ff"},
        {"    #1 0x55d8ff in ns::f(int, char const*) /work/t.c:7", BAT_FORM_SANITIZER, 0x55d8ff,
         .name = "ns::f(int, char const*)"},
        {"    #1 0x7f3bd1a7f249  (/lib/x86_64-linux-gnu/libc.so.6+0x27249) (BuildId: 6196744a)",
         BAT_FORM_SANITIZER, 0x7f3bd1a7f249, .module = "/lib/x86_64-linux-gnu/libc.so.6",
         .module_offset = 0x27249, .up_to_address = "    #1 0x7f3bd1a7f249"},
        {"    #2 0x55d8ff in _start (/work/a.out+0x1e3ff)", BAT_FORM_SANITIZER, 0x55d8ff,
         .name = "_start", .module = "/work/a.out", .module_offset = 0x1e3ff},
        {"#2 0x55d8ff in f(int) (/work/a+b+0x1e3ff)", BAT_FORM_SANITIZER, 0x55d8ff,
         .name = "f(int)", .module = "/work/a+b", .module_offset = 0x1e3ff},
    };
    expect_frames(examples, COUNT(examples));
}

TEST(test_systemd)
{
    static const struct example examples[] = {
        {"                #0  0x000056028de6f139 crash (a.out + 0x1139)", BAT_FORM_SYSTEMD,
         0x56028de6f139, .name = "crash", .module = "a.out", .module_offset = 0x1139,
         .up_to_address = "                #0  0x000056028de6f139"},
        {"#1  0x00007f0c0d9e1e40 n/a (/usr/lib/libc.so.6 + 0x23e40)", BAT_FORM_SYSTEMD,
         0x7f0c0d9e1e40, .module = "/usr/lib/libc.so.6", .module_offset = 0x23e40},
    };
    expect_frames(examples, COUNT(examples));
}

TEST(test_glog)
{
    static const struct example examples[] = {
        {"    @     0x55d8ff1e4a7b  main", BAT_FORM_GLOG, 0x55d8ff1e4a7b, .name = "main",
         .up_to_address = "    @     0x55d8ff1e4a7b"},
        {"    @     0x7f0c0d9e1e40       (unknown)", BAT_FORM_GLOG, 0x7f0c0d9e1e40, .name = NULL},
        {"    @     0x55d8ff1e4a7b         64  ns::f<int>()", BAT_FORM_GLOG, 0x55d8ff1e4a7b,
         .name = "ns::f<int>()"},
    };
    expect_frames(examples, COUNT(examples));
    static const struct example pc = {"PC: @     0x55d8ff1e4a7b  main", BAT_FORM_GLOG,
                                      0x55d8ff1e4a7b, .name = "main"};
    expect_line(&pc, BAT_LINE_PC);
}

TEST(test_backtrace_symbols)
{
    static const struct example examples[] = {
        {"./a.out(f+0x29) [0x55d8ff1e4a7b]", BAT_FORM_BACKTRACE, 0x55d8ff1e4a7b, .name = "f",
         .name_offset = 0x29, .module = "./a.out",
         .up_to_address = "./a.out(f+0x29) [0x55d8ff1e4a7b]"},
        {"./a.out(+0x11d9) [0x55d8ff1e4a7b]", BAT_FORM_BACKTRACE, 0x55d8ff1e4a7b,
         .module = "./a.out", .module_offset = 0x11d9},
        {"./a.out() [0x4011d9]", BAT_FORM_BACKTRACE, 0x4011d9, .module = "./a.out"},
        {"frame 3: ./a.out(_Z1fi+0x29) [0x4011d9]", BAT_FORM_BACKTRACE, 0x4011d9, .name = "_Z1fi",
         .name_offset = 0x29, .module = "./a.out"},
    };
    expect_frames(examples, COUNT(examples));
}

TEST(test_perf)
{
    static const struct example examples[] = {
        {"\t            11d9 outer+0x29 (/work/t.fp)", BAT_FORM_PERF, 0x11d9, .name = "outer",
         .name_offset = 0x29, .module = "/work/t.fp", .up_to_address = "\t            11d9"},
        {"\t            11d9 ns::f(int, char) const+0x29 (/tmp/a (deleted))", BAT_FORM_PERF, 0x11d9,
         .name = "ns::f(int, char) const", .name_offset = 0x29, .module = "/tmp/a (deleted)"},
        {"\t            11d9 operator()(int) (/tmp/a)", BAT_FORM_PERF, 0x11d9,
         .name = "operator()(int)", .module = "/tmp/a"},
        {"\t  7ffd4fec13c000 [unknown] ([unknown])", BAT_FORM_PERF, 0x7ffd4fec13c000, .name = NULL},
        {"\tffffffff81c00131 entry_SYSCALL_64+0x6e ([kernel.kallsyms])", BAT_FORM_PERF,
         0xffffffff81c00131, .name = "entry_SYSCALL_64", .name_offset = 0x6e,
         .module = "[kernel.kallsyms]"},
        {"\t            11d9", BAT_FORM_PERF, 0x11d9, .name = NULL},
        {"        11d9 outer+0x29 (t.fp)", BAT_FORM_PERF, 0x11d9, .name = "outer",
         .name_offset = 0x29, .module = "t.fp"},
        {"\t            11d9 outer", BAT_FORM_PERF, 0x11d9, .name = "outer"},
        {"           t.pie 10693 14460.020187:     250000 cpu-clock:u:      7ff4e39f23e0 "
         "update_active.constprop.0+0x270 (/usr/lib/ld.so)",
         BAT_FORM_PERF_SAMPLE, 0x7ff4e39f23e0, .name = "update_active.constprop.0",
         .name_offset = 0x270, .module = "/usr/lib/ld.so"},
        {"    56021cc0014d mid (/work/t.fp.bolt)", BAT_FORM_PERF_SAMPLE, 0x56021cc0014d,
         .name = "mid", .module = "/work/t.fp.bolt"},
    };
    expect_frames(examples, COUNT(examples));
    struct bat_stack_line read;
    static const char inlined[] = "\t            11d9 leaf (inlined)";
    bat_stack_line_read(inlined, strlen(inlined), &read);
    assert_true(read.is_inlined);
    expect_slice(read.name, "leaf");
    expect_slice(read.module, "");
    bat_stack_line_read(examples[8].line, strlen(examples[8].line), &read);
    assert_int_equal(read.pid, 10693);
}

TEST(test_mappings)
{
    static const char *const lines[] = {
        "t.pie 10450 14417.966470: PERF_RECORD_MMAP2 10450/10451: [0x5568d759d000(0x1000) @ 0x2000 "
        "fe:00 5308647 1948190928]: r-xp /work/t p",
        "5568d759d000-5568d759e000 r-xp 00002000 fe:00 5308647                    /work/t p",
    };
    for (size_t i = 0; i < 2; i++) {
        struct bat_stack_line read;
        bat_stack_line_read(lines[i], strlen(lines[i]), &read);
        assert_int_equal(read.kind, BAT_LINE_MAPPING);
        assert_int_equal(read.address, 0x5568d759d000);
        assert_int_equal(read.size, 0x1000);
        assert_int_equal(read.file_offset, 0x2000);
        assert_int_equal(read.pid, i == 0 ? 10450 : 0);
        expect_slice(read.module, "/work/t p");
    }
}

TEST(test_other_lines)
{
    static const char *const texts[] = {
        "Program received signal SIGSEGV, Segmentation fault.",
        "#include <stdio.h>",
        "# 1 \"a.c\"",
        "t.fp 10701 14461.343932:     250000 cpu-clock:u: ",
        "  t.c:4",
        "    add some text",
        "dead beef",
        "0x",
        "0x12345678123456789",
        "user@example.org",
        "  @ 5 pm",
        "[0x401136]",
        "a (b) c",
        "the end [0x401136]",
        "0x10-0x20 r-xp",
        "ns::f(int)",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct bat_stack_line read;
        bat_stack_line_read(texts[i], strlen(texts[i]), &read);
        print_message("%s\n", texts[i]);
        assert_int_equal(read.kind, BAT_LINE_TEXT);
        assert_false(read.has_address);
    }
    static const char *const blanks[] = {"", "\n", "  \t \r\n"};
    for (size_t i = 0; i < COUNT(blanks); i++) {
        struct bat_stack_line read;
        bat_stack_line_read(blanks[i], strlen(blanks[i]), &read);
        assert_int_equal(read.kind, BAT_LINE_BLANK);
    }
}

/* Every line cut at every byte stays inside what was given: the sanitizer tells. */
TEST(test_cut_lines)
{
    static const char *const lines[] = {
        "CODE \"/bin/a\" 0x118d",
        "#1  0x00005555555551d9 in (anonymous namespace)::f (x=0) from /lib/a.so",
        "    #1 0x7f3bd1a7f249 in f  (/lib/libc.so.6+0x27249) (BuildId: 6196744a)",
        "#1  0x00007f0c0d9e1e40 n/a (/usr/lib/libc.so.6 + 0x23e40)",
        "PC: @     0x55d8ff1e4a7b       64  main",
        "frame 3: ./a.out(_Z1fi+0x29) [0x4011d9]",
        "\t            11d9 ns::f(int, char) const+0x29 (/tmp/a (deleted))",
        "t 1 1.5:  25 c:u:  7ff4e39f23e0 f+0x270 (/usr/lib/ld.so)",
        "t 1 1.5: PERF_RECORD_MMAP2 1/1: [0x1000(0x1000) @ 0 fe:00 5 1]: r-xp /w",
        "5568d759d000-5568d759e000 r-xp 00002000 fe:00 5308647       /work/t",
    };
    size_t frames = 0;
    for (size_t i = 0; i < COUNT(lines); i++)
        for (size_t length = 0; length <= strlen(lines[i]); length++) {
            char *cut = kept_memory(NULL, length ? length : 1);
            memcpy(cut, lines[i], length);
            struct bat_stack_line read;
            bat_stack_line_read(cut, length, &read);
            assert_true(read.address_end <= length);
            assert_true(read.number_start <= read.number_end && read.number_end <= length);
            frames += length == strlen(lines[i]) && read.kind != BAT_LINE_TEXT;
        }
    assert_int_equal(frames, COUNT(lines));
}

TEST(test_sample_heads)
{
    static const struct {
        const char *line;
        const char *command;
        uint64_t pid;
    } heads[] = {
        {"t.fp 10701 14461.343932:     250000 cpu-clock:u: ", "t.fp", 10701},
        {"Web Content 7/8 [001] 1.5: cycles:", "Web Content", 7},
        {"  swapper     0 [000]  1.5: cycles: ", "swapper", 0},
    };
    for (size_t i = 0; i < COUNT(heads); i++) {
        struct bat_slice command;
        uint64_t pid = 1;
        assert_true(bat_sample_head(heads[i].line, strlen(heads[i].line), &command, &pid));
        expect_slice(command, heads[i].command);
        assert_int_equal(pid, heads[i].pid);
    }
    struct bat_slice command;
    uint64_t pid;
    assert_false(bat_sample_head("no number here", 14, &command, &pid));
    assert_false(bat_sample_head("", 0, &command, &pid));
}
