/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * profile/to_input_follow: what the instructions of small output functions are in the input, and
 * the ways between them. All code and all expected values are written by hand.
 */
#include "bat_encoder.h"
#include "functions_program.h"
#include "kept.h"
#include "profile/remap/follow.h"
#include "unit_test.h"

/* Input and output have the same three functions at the same places. */
#define MAIN TEXT
#define F (TEXT + 0x100u)
#define G (TEXT + 0x200u)

struct code {
    const char *bytes;
    size_t size;
};

#define CODE(string) ((struct code){string, sizeof(string) - 1})

/* A block that the note knows: offsets in main. */
struct block {
    uint32_t output;
    uint32_t input;
};

#define BLOCKS(...)                                                                                \
    (const struct block[]){__VA_ARGS__}, COUNT(((const struct block[]){__VA_ARGS__}))

struct scene {
    char *folder;
    struct bat_binary binary;
    struct bat_original *original;
    struct input_follow follow;
};

/* --- Files ------------------------------------------------------------------------------------ */

/* The note of main's blocks. Each input block has its own hash. */
static void add_note(struct program *program, const struct block *blocks, size_t count)
{
    struct bat_builder *builder = new_builder();
    uint32_t table;
    assert_non_null(builder);
    assert_ok(bat_builder_add_function(builder, MAIN, 1, 9, &table, NULL));
    for (size_t i = 0; i < count; i++)
        assert_ok(bat_builder_add_block(builder, table, blocks[i].output, blocks[i].input,
                                        blocks[i].input + 1, blocks[i].input, NULL));
    struct bat_map *map = finish_map(builder, NULL);
    size_t size;
    uint8_t *section = encode_map(map, &size);
    add_bytes(&program->note, section, size);
}

static void save_code(const char *path, struct code main_code, struct code f_code,
                      const struct block *blocks, size_t count)
{
    struct program *program = new_program(EM_X86_64);
    memcpy(program->text + (MAIN - TEXT), main_code.bytes, main_code.size);
    memcpy(program->text + (F - TEXT), f_code.bytes, f_code.size);
    add_global(program, "main", MAIN, main_code.size);
    add_global(program, "f", F, f_code.size);
    add_global(program, "g", G, 1);
    if (count != 0)
        add_note(program, blocks, count);
    save_program(program, path);
}

static void close_scene(void *opened)
{
    struct scene *scene = opened;
    input_follow_close(&scene->follow);
    bat_original_close(scene->original);
    bat_binary_close(&scene->binary);
}

/* What BOLT made of main; f and g are as they were. */
static struct scene *open_scene(struct code input, struct code f_code, struct code output,
                                const struct block *blocks, size_t count)
{
    struct bat_error error;
    struct scene *scene = kept_memory(NULL, sizeof(*scene));
    scene->folder = make_folder();
    char *input_path = path_in(scene->folder, "input");
    char *output_path = path_in(scene->folder, "output");
    save_code(input_path, input, f_code, NULL, 0);
    save_code(output_path, output, f_code, blocks, count);
    assert_ok(bat_binary_open(output_path, &scene->binary, &error));
    if (bat_original_open(input_path, &scene->binary, NULL, &scene->original, &error) != BAT_OK)
        fail_msg("%s", error.message);
    assert_ok(input_follow_open(&scene->follow, scene->original));
    keep(close_scene, scene);
    return scene;
}

/* --- Nodes ------------------------------------------------------------------------------------ */

/* The node at an offset of main's output, its paths filled. */
static const struct input_node *node_at(struct scene *scene, uint64_t offset)
{
    const struct input_node *node;
    assert_ok(input_follow_node(&scene->follow, 0, MAIN + offset, &node));
    assert_non_null(node);
    assert_int_equal(node->address, MAIN + offset);
    assert_ok(input_follow_ways(&scene->follow, 0, node));
    return node;
}

static void assert_path(const struct input_path *path, size_t count, const struct input_jump *jumps)
{
    assert_true(path->found);
    assert_int_equal(path->jump_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(path->jumps[i].from, jumps[i].from);
        assert_int_equal(path->jumps[i].to, jumps[i].to);
    }
}

static void assert_falls(const struct input_path *path)
{
    assert_path(path, 0, NULL);
}

static void assert_jumps(const struct input_path *path, uint64_t from, uint64_t to)
{
    const struct input_jump jump = {from, to};
    assert_path(path, 1, &jump);
}

/* --- Blocks in another order ------------------------------------------------------------------ */

/* BOLT has inverted a branch, moved a block and copied the return behind it. */
TEST(test_inverted_branch)
{
    struct scene *scene = open_scene(CODE("\x74\x04" /* 0: je 6 */
                                          "\x89\xc0" /* 2: mov */
                                          "\xeb\x02" /* 4: jmp 8 */
                                          "\x89\xc9" /* 6: mov */
                                          "\xc3"),   /* 8: ret */
                                     CODE("\xc3"),   /* f: ret */
                                     CODE("\x75\x03" /* 0: jne 5 */
                                          "\x89\xc9" /* 2: mov, 6 before */
                                          "\xc3"     /* 4: ret */
                                          "\x89\xc0" /* 5: mov, 2 before */
                                          "\xc3"),   /* 7: ret */
                                     BLOCKS({0, 0}, {2, 6}, {4, 8}, {5, 2}, {7, 8}));
    const struct input_node *branch = node_at(scene, 0);
    assert_int_equal(branch->source, MAIN);
    assert_true(branch->is_fixed);
    assert_int_equal(branch->taken.at, MAIN + 2);
    assert_int_equal(branch->fall.at, MAIN + 6);
    assert_falls(branch->taken_path);
    assert_int_equal(branch->taken_path->last, MAIN);
    assert_jumps(branch->fall_path, MAIN, MAIN + 6);
    assert_falls(branch->enter_path);
    assert_int_equal(input_follow_target(&scene->follow, 0, branch)->address, MAIN + 5);
    assert_falls(node_at(scene, 2)->fall_path);
    /* The jump that BOLT has left out. */
    assert_jumps(node_at(scene, 5)->fall_path, MAIN + 4, MAIN + 8);
    assert_int_equal(node_at(scene, 7)->source, MAIN + 8);
    const struct input_node *inside;
    assert_ok(input_follow_node(&scene->follow, 0, MAIN + 3, &inside));
    assert_int_equal(inside->address, MAIN + 2);
}

/* --- Calls ------------------------------------------------------------------------------------ */

TEST(test_inlined_call)
{
    struct scene *scene = open_scene(CODE("\x89\xc0"             /* 0: mov */
                                          "\xe8\xf9\x00\x00\x00" /* 2: call f */
                                          "\x89\xc0"             /* 7: mov */
                                          "\xc3"),               /* 9: ret */
                                     CODE("\x85\xc0"             /* f + 0: test */
                                          "\x74\x02"             /* f + 2: je f + 6 */
                                          "\x89\xc0"             /* f + 4: mov */
                                          "\xc3"),               /* f + 6: ret */
                                     CODE("\x89\xc0"             /* 0: mov */
                                          "\x85\xc0"             /* 2: test of f */
                                          "\x74\x02"             /* 4: je 8 */
                                          "\x89\xc0"             /* 6: mov of f */
                                          "\x89\xc0"             /* 8: mov, 7 before */
                                          "\xc3"),               /* a: ret */
                                     BLOCKS({0, 0}));
    const struct input_node *branch = node_at(scene, 4);
    assert_int_equal(branch->source, F + 2);
    assert_jumps(branch->before, MAIN + 2, F);
    assert_int_equal(branch->taken.at, F + 6);
    assert_int_equal(branch->fall.at, F + 4);
    assert_int_not_equal(branch->fall.frame, INPUT_ROOT_FRAME);
    /* Both ways return from f: the output's instruction behind them is the one behind the call. */
    const struct input_jump taken[] = {{F + 2, F + 6}, {F + 6, MAIN + 7}};
    assert_path(branch->taken_path, 2, taken);
    assert_falls(branch->fall_path);
    assert_jumps(node_at(scene, 6)->fall_path, F + 6, MAIN + 7);
    const struct input_node *end = node_at(scene, 0xa);
    assert_int_equal(end->source, MAIN + 9);
    assert_falls(end->before);
}

/* A return of f, and a jump of f to it, have become one jump: the input is at the return there. */
TEST(test_merged_returns)
{
    struct scene *scene = open_scene(CODE("\x89\xc0"             /* 0: mov */
                                          "\xe8\xf9\x00\x00\x00" /* 2: call f */
                                          "\x89\xdb"             /* 7: mov */
                                          "\xc3"),               /* 9: ret */
                                     CODE("\x85\xc0"             /* f + 0: test */
                                          "\x74\x01"             /* f + 2: je f + 5 */
                                          "\xc3"                 /* f + 4: ret */
                                          "\x89\xc9"             /* f + 5: mov */
                                          "\xeb\xfb"),           /* f + 7: jmp f + 4 */
                                     CODE("\x89\xc0"             /* 0: mov */
                                          "\x85\xc0"             /* 2: test of f */
                                          "\x75\x02"             /* 4: jne 8 */
                                          "\x89\xc9"             /* 6: mov of f */
                                          "\xeb\x01"             /* 8: jmp b */
                                          "\x90"                 /* a: nop */
                                          "\x89\xdb"             /* b: mov, 7 before */
                                          "\xc3"),               /* d: ret */
                                     BLOCKS({0, 0}));
    const struct input_node *branch = node_at(scene, 4);
    assert_int_equal(branch->source, F + 2);
    assert_falls(branch->taken_path);
    assert_jumps(branch->fall_path, F + 2, F + 5);
    assert_jumps(node_at(scene, 6)->fall_path, F + 7, F + 4);
    assert_jumps(node_at(scene, 8)->taken_path, F + 4, MAIN + 7);
}

/* Behind a return of f that became a jump, BOLT jumps once more: the input is where that leads. */
TEST(test_jump_behind_return)
{
    struct scene *scene = open_scene(CODE("\x89\xc0"             /* 0: mov */
                                          "\xe8\xf9\x00\x00\x00" /* 2: call f */
                                          "\x89\xdb"             /* 7: mov */
                                          "\xc3"),               /* 9: ret */
                                     CODE("\x85\xc0"             /* f + 0: test */
                                          "\x74\x01"             /* f + 2: je f + 5 */
                                          "\xc3"                 /* f + 4: ret */
                                          "\x89\xc9"             /* f + 5: mov */
                                          "\xc3"),               /* f + 7: ret */
                                     CODE("\x89\xc0"             /* 0: mov */
                                          "\x85\xc0"             /* 2: test of f */
                                          "\x75\x05"             /* 4: jne b */
                                          "\x89\xc9"             /* 6: mov of f */
                                          "\x89\xdb"             /* 8: mov, 7 before */
                                          "\xc3"                 /* a: ret */
                                          "\xeb\x00"             /* b: jmp d */
                                          "\xeb\xf9"),           /* d: jmp 8 */
                                     BLOCKS({0, 0}));
    assert_falls(node_at(scene, 4)->taken_path);
    assert_jumps(node_at(scene, 6)->fall_path, F + 7, MAIN + 7);
    assert_jumps(node_at(scene, 0xb)->taken_path, F + 4, MAIN + 7);
    assert_falls(node_at(scene, 0xd)->taken_path);
}

/* Calls of f in a row, all inlined: the way goes through each of them, f's jumps, and back. */
TEST(test_row_of_inlined_calls)
{
    enum { CALLS = 40 };
    char input[5 * CALLS + 1];
    char output[2 * CALLS + 1];
    for (size_t i = 0; i < CALLS; i++) {
        const char call[5] = {'\xe8', (char)(0x100 - 5 * (i + 1))}; /* call f */
        memcpy(input + 5 * i, call, sizeof(call));
        memcpy(output + 2 * i, "\x89\xc0", 2); /* mov of f */
    }
    input[5 * CALLS] = output[2 * CALLS] = '\xc3'; /* ret */
    struct scene *scene = open_scene((struct code){input, sizeof(input)},
                                     CODE("\x89\xc0" /* f + 0: mov */
                                          "\xeb\x00" /* f + 2: jmp f + 4 */
                                          "\xeb\x00" /* f + 4: jmp f + 6 */
                                          "\xc3"),   /* f + 6: ret */
                                     (struct code){output, sizeof(output)}, BLOCKS({0, 0}));
    struct input_jump jumps[4 * CALLS];
    for (size_t i = 0; i < CALLS; i++) {
        jumps[4 * i] = (struct input_jump){MAIN + 5 * i, F};
        jumps[4 * i + 1] = (struct input_jump){F + 2, F + 4};
        jumps[4 * i + 2] = (struct input_jump){F + 4, F + 6};
        jumps[4 * i + 3] = (struct input_jump){F + 6, MAIN + 5 * (i + 1)};
    }
    const struct input_node *end = node_at(scene, 2 * CALLS);
    assert_int_equal(end->source, MAIN + 5 * CALLS);
    assert_path(end->before, 4 * CALLS, jumps);
}

/* A function that calls itself, inlined without end: the ways end. */
TEST(test_endless_recursion)
{
    struct scene *scene = open_scene(CODE("\xe8\xfb\x00\x00\x00" /* 0: call f */
                                          "\xc3"),               /* 5: ret */
                                     CODE("\xe8\xfb\xff\xff\xff" /* f: call f */
                                          "\xc3"),
                                     CODE("\x89\xc0" /* 0: mov */
                                          "\xff\xe0" /* 2: jmp *%rax */
                                          "\x89\xc0" /* 4: mov */
                                          "\xc3"),   /* 6: ret */
                                     BLOCKS({0, 0}));
    assert_int_equal(node_at(scene, 2)->source, 0);
}

static const struct code indirect_call = {"\x89\xc0" /* 0: mov */
                                          "\xff\xd0" /* 2: call *%rax */
                                          "\xc3",    /* 4: ret */
                                          5};

TEST(test_promoted_call)
{
    struct scene *scene = open_scene(indirect_call, CODE("\xc3"),
                                     CODE("\x89\xc0"                 /* 0: mov */
                                          "\x48\x3d\x00\x11\x40\x00" /* 2: cmp $f,%rax */
                                          "\x75\x06"                 /* 8: jne 10 */
                                          "\xe8\xf1\x00\x00\x00"     /* a: call f */
                                          "\xc3"                     /* f: ret */
                                          "\xff\xd0"                 /* 10: call *%rax */
                                          "\xc3"),                   /* 12: ret */
                                     BLOCKS({0, 0}));
    const struct input_node *test = node_at(scene, 8);
    assert_int_equal(test->source, 0);
    assert_int_equal(test->taken.at, MAIN + 2);
    assert_int_equal(test->fall.at, MAIN + 2);
    assert_falls(test->taken_path);
    assert_falls(test->fall_path);
    for (uint64_t call = 0xa; call <= 0x10; call += 6) {
        assert_int_equal(node_at(scene, call)->source, MAIN + 2);
        assert_int_equal(node_at(scene, call)->fall.at, MAIN + 4);
    }
    assert_int_equal(node_at(scene, 0xf)->source, MAIN + 4);
    assert_int_equal(node_at(scene, 0x12)->source, MAIN + 4);
}

TEST(test_promoted_call_inlined)
{
    struct scene *scene = open_scene(indirect_call,
                                     CODE("\x89\xc9"                 /* f + 0: mov */
                                          "\xc3"),                   /* f + 2: ret */
                                     CODE("\x89\xc0"                 /* 0: mov */
                                          "\x48\x3d\x00\x11\x40\x00" /* 2: cmp $f,%rax */
                                          "\x75\x04"                 /* 8: jne e */
                                          "\x89\xc9"                 /* a: mov of f */
                                          "\xeb\x02"                 /* c: jmp 10 */
                                          "\xff\xd0"                 /* e: call *%rax */
                                          "\xc3"),                   /* 10: ret */
                                     BLOCKS({0, 0}));
    const struct input_node *test = node_at(scene, 8);
    assert_int_equal(test->source, 0);
    assert_int_equal(test->fall.at, F);
    assert_int_not_equal(test->fall.frame, INPUT_ROOT_FRAME);
    assert_jumps(test->fall_path, MAIN + 2, F);
    assert_falls(test->taken_path);
    assert_jumps(node_at(scene, 0xc)->taken_path, F + 2, MAIN + 4);
    assert_int_equal(node_at(scene, 0xe)->source, MAIN + 2);
    assert_int_equal(node_at(scene, 0x10)->source, MAIN + 4);
}

/* The index that is compared tells which of two entries the input jumps by. */
TEST(test_promoted_jump)
{
    struct scene *scene = open_scene(CODE("\xff\x24\xc5\x00\x11\x40\x00" /* 0: jmp *f(,%rax,8) */
                                          "\x89\xc0"                     /* 7: mov */
                                          "\xc3"                         /* 9: ret */
                                          "\xeb\x02"                     /* a: jmp e */
                                          "\xeb\x00"                     /* c: jmp e */
                                          "\x89\xc9"                     /* e: mov */
                                          "\xc3"),                       /* 10: ret */
                                     /* f is a table: 7, a, c. */
                                     CODE("\x07\x10\x40\x00\x00\x00\x00\x00"
                                          "\x0a\x10\x40\x00\x00\x00\x00\x00"
                                          "\x0c\x10\x40\x00\x00\x00\x00\x00"),
                                     CODE("\x48\x83\xf8\x02"             /* 0: cmp $2,%rax */
                                          "\x74\x0a"                     /* 4: je 10 */
                                          "\xff\x24\xc5\x00\x11\x40\x00" /* 6: jmp *f(,%rax,8) */
                                          "\x89\xc0"                     /* d: mov */
                                          "\xc3"                         /* f: ret */
                                          "\x89\xc9"                     /* 10: mov */
                                          "\xc3"),                       /* 12: ret */
                                     BLOCKS({0, 0}, {0xd, 7}, {0x10, 0xe}));
    const struct input_node *test = node_at(scene, 4);
    const struct input_jump jumps[] = {{MAIN, MAIN + 0xc}, {MAIN + 0xc, MAIN + 0xe}};
    assert_int_equal(test->source, 0);
    assert_int_equal(test->taken.at, MAIN + 0xc);
    assert_path(test->taken_path, 2, jumps);
    assert_falls(test->fall_path);
    assert_int_equal(node_at(scene, 6)->source, MAIN);
}

/* --- Tail calls ------------------------------------------------------------------------------- */

TEST(test_conditional_tail_call)
{
    struct scene *scene = open_scene(CODE("\x74\x01"               /* 0: je 3 */
                                          "\xc3"                   /* 2: ret */
                                          "\xe9\xf8\x01\x00\x00"), /* 3: jmp g */
                                     CODE("\xc3"),
                                     CODE("\x0f\x84\xfa\x01\x00\x00" /* 0: je g */
                                          "\xc3"),                   /* 6: ret */
                                     BLOCKS({0, 0}, {6, 2}));
    const struct input_node *branch = node_at(scene, 0);
    assert_int_equal(branch->source, MAIN);
    assert_int_equal(branch->tail_call, MAIN + 3);
    assert_jumps(branch->taken_path, MAIN, MAIN + 3);
    assert_falls(branch->fall_path);
}

/* --- Code of no known pass -------------------------------------------------------------------- */

/* A test that BOLT does not make of the input's. */
TEST(test_unlisted_branch)
{
    struct scene *scene = open_scene(CODE("\x85\xc0" /* 0: test */
                                          "\x74\x02" /* 2: je 6 */
                                          "\x89\xc0" /* 4: mov */
                                          "\xc3"),   /* 6: ret */
                                     CODE("\xc3"),
                                     CODE("\x85\xc0" /* 0: test */
                                          "\x78\x02" /* 2: js 6 */
                                          "\x89\xc0" /* 4: mov */
                                          "\xc3"),   /* 6: ret */
                                     BLOCKS({0, 0}, {4, 4}, {6, 6}));
    assert_true(node_at(scene, 2)->is_unlisted);
    assert_false(node_at(scene, 6)->is_unlisted);
}

/* A call where the input has a branch. */
TEST(test_unlisted_call)
{
    struct scene *scene = open_scene(CODE("\x85\xc0" /* 0: test */
                                          "\x74\x02" /* 2: je 6 */
                                          "\x89\xc0" /* 4: mov */
                                          "\xc3"),   /* 6: ret */
                                     CODE("\xc3"),
                                     CODE("\x85\xc0"             /* 0: test */
                                          "\xe8\xf9\x00\x00\x00" /* 2: call f */
                                          "\x89\xc0"             /* 7: mov, 4 before */
                                          "\xc3"),               /* 9: ret, 6 before */
                                     BLOCKS({0, 0}, {7, 4}, {9, 6}));
    assert_true(node_at(scene, 2)->is_unlisted);
}

/* A conditional branch out of the function, inverted: a jump goes where it went. */
TEST(test_jump_of_conditional_branch)
{
    struct scene *scene = open_scene(CODE("\x85\xc0"                 /* 0: test */
                                          "\x0f\x87\xf8\x01\x00\x00" /* 2: ja g */
                                          "\xc3"),                   /* 8: ret */
                                     CODE("\xc3"),
                                     CODE("\x85\xc0"             /* 0: test */
                                          "\x76\x05"             /* 2: jbe 9 */
                                          "\xe9\xf7\x01\x00\x00" /* 4: jmp g */
                                          "\xc3"),               /* 9: ret, 8 before */
                                     BLOCKS({0, 0}, {9, 8}));
    assert_int_equal(node_at(scene, 2)->source, MAIN + 2);
    assert_false(node_at(scene, 2)->is_unlisted);
    assert_false(node_at(scene, 4)->is_unlisted);
}

/* The same into the middle of f: the input is there already. The call before never returns. */
TEST(test_jump_behind_last_call)
{
    struct scene *scene = open_scene(CODE("\x85\xc0"                 /* 0: test */
                                          "\x0f\x87\xfa\x00\x00\x00" /* 2: ja f + 2 */
                                          "\xe8\xf3\x01\x00\x00"),   /* 8: call g */
                                     CODE("\x89\xc0"                 /* f + 0: mov */
                                          "\x89\xc0"                 /* f + 2: mov */
                                          "\xc3"),                   /* f + 4: ret */
                                     CODE("\x85\xc0"                 /* 0: test */
                                          "\x0f\x87\x05\x00\x00\x00" /* 2: ja d */
                                          "\xe8\xf3\x01\x00\x00"     /* 8: call g */
                                          "\xe9\xf0\x00\x00\x00"),   /* d: jmp f + 2 */
                                     BLOCKS({0, 0}, {8, 8}, {0xd, 0}));
    assert_jumps(node_at(scene, 2)->taken_path, MAIN + 2, F + 2);
    assert_int_equal(node_at(scene, 0xd)->state.at, F + 2);
    assert_int_equal(node_at(scene, 8)->fall.at, 0);
}

/* -three-way-branch exchanges two tests of one comparison, and may change their conditions. */
TEST(test_exchanged_tests)
{
    struct scene *scene = open_scene(CODE("\x85\xc0" /* 0: test */
                                          "\x74\x04" /* 2: je 8 */
                                          "\x7f\x01" /* 4: jg 7 */
                                          "\xc3"     /* 6: ret */
                                          "\x90"     /* 7: nop */
                                          "\xc3"),   /* 8: ret */
                                     CODE("\xc3"),
                                     CODE("\x85\xc0" /* 0: test */
                                          "\x7f\x03" /* 2: jg 7 */
                                          "\x7d\x02" /* 4: jge 8 */
                                          "\xc3"     /* 6: ret */
                                          "\x90"     /* 7: nop */
                                          "\xc3"),   /* 8: ret */
                                     BLOCKS({0, 0}, {6, 6}, {8, 8}));
    assert_int_equal(node_at(scene, 2)->source, 0);
    assert_false(node_at(scene, 2)->is_unlisted);
    assert_false(node_at(scene, 4)->is_unlisted);
}
