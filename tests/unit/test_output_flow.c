/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * binary/code/output_flow: what is read of functions whose FDEs are damaged. All code
 * and all expected values are written by hand; what real functions give is for the tests of
 * profiles.
 */
#include "bat_encoder.h"
#include "binary/code/output_flow.h"
#include "functions_program.h"
#include "kept.h"

KEPT(kept_flows, struct bat_output_flows, bat_output_flows_free)

#define MAIN TEXT
#define CODE_MAX ((uint64_t)1 << 27) /* the most code that is read of one function */

struct scene {
    struct program *output;
    struct bat_builder *builder;
    struct bat_program program;
    uint32_t main; /* its handle */
};

/* A binary whose function main has this code. */
static struct scene new_scene(const char *code, size_t code_size)
{
    struct scene scene = {.output = new_program(EM_X86_64), .builder = new_builder()};
    memcpy(scene.output->text, code, code_size);
    assert_ok(bat_builder_add_function(scene.builder, MAIN, 1, 9, &scene.main, NULL));
    return scene;
}

static uint32_t add_cold(struct scene *scene, uint64_t address)
{
    uint32_t cold;
    add_global(scene->output, "main.cold", address, 8);
    assert_ok(bat_builder_add_fragment(scene->builder, address, scene->main, &cold, NULL));
    return cold;
}

/* Offsets: in the table's output, and in main's input. */
static void add_block(struct scene *scene, uint32_t table, uint32_t output, uint32_t input)
{
    assert_ok(bat_builder_add_block(scene->builder, table, output, input, input + 1, input, NULL));
}

static const struct bat_output_flow *read_main(struct scene *scene)
{
    struct bat_functions *functions;
    struct bat_error error;
    char *path = path_in(make_folder(), "output");
    save_program(scene->output, path);
    struct bat_elf *elf = open_elf(path);
    assert_ok(bat_functions_create(elf, NULL, &functions, &error));
    kept_functions(functions);
    scene->program = (struct bat_program){finish_map(scene->builder, NULL), elf, functions};
    struct bat_output_flows *flows = kept_flows(bat_output_flows_new(&scene->program));
    assert_non_null(flows);
    const struct bat_output_flow *flow;
    assert_ok(bat_output_flows_get(flows, 0, &flow, &error));
    return flow;
}

static void assert_block(const struct bat_output_flow *flow, uint32_t block, uint64_t start,
                         uint64_t end, uint32_t input)
{
    assert_true(block < flow->count);
    assert_int_equal(flow->all[block].start, MAIN + start);
    assert_int_equal(bat_output_block_end(&flow->all[block]), MAIN + end);
    assert_int_equal(flow->blocks[flow->all[block].owner].input_offset, input);
}

/* No address is in two blocks. */
static void assert_ascending(const struct bat_output_flow *flow)
{
    for (uint32_t i = 0; i + 1 < flow->count; i++)
        assert_true(bat_output_block_end(&flow->all[i]) <= flow->all[i + 1].start);
}

/* The FDE claims 4 GB, most of which are not in the file: what is read of it has a limit. */
TEST(test_huge_fde)
{
    struct scene scene = new_scene("\x74\x01" /* 0: je 3 */
                                   "\xc3"     /* 2: ret */
                                   "\xc3",    /* 3: ret */
                                   4);
    add_fde(scene.output, MAIN, UINT32_MAX);
    add_block(&scene, scene.main, 0, 0);
    add_block(&scene, scene.main, 2, 6);
    add_block(&scene, scene.main, 3, 4);
    add_block(&scene, scene.main, CODE_MAX - 1, 8);
    add_block(&scene, scene.main, CODE_MAX, 10);
    const struct bat_output_flow *flow = read_main(&scene);
    assert_block(flow, 0, 0, 2, 0);
    assert_int_equal(flow->all[0].target, 2);
    assert_block(flow, 1, 2, 3, 6);
    assert_block(flow, 2, 3, 4, 4);
    assert_block(flow, flow->count - 1, CODE_MAX - 1, CODE_MAX, 8);
    assert_ascending(flow);
}

/* An FDE reaches over the next fragment: each address is in one block, that of the fragment. */
static void check_overlap(uint32_t at)
{
    struct scene scene = new_scene("\x74\x12" /* 0: je 0x14, which is the fragment's */
                                   "\x75\x7c" /* 2: jne 0x80, behind the fragment */
                                   "\xc3",    /* 4: ret */
                                   5);
    scene.output->text[1] = (uint8_t)(at + 4 - 2);
    add_block(&scene, scene.main, 0, 0);
    add_block(&scene, scene.main, 2, 2);
    add_block(&scene, scene.main, 4, 4);
    add_block(&scene, scene.main, at - 1, 6);
    add_block(&scene, scene.main, at + 1, 8);
    add_block(&scene, scene.main, 0x80, 10);
    const uint32_t cold = add_cold(&scene, MAIN + at);
    add_block(&scene, cold, 0, 12);
    add_block(&scene, cold, 4, 14);
    add_fde(scene.output, MAIN, 0x100);
    add_global(scene.output, "next", MAIN + at + 8, 8);
    const struct bat_output_flow *flow = read_main(&scene);
    uint32_t first = 0;
    while (flow->all[first].start < MAIN + at - 1)
        first++;
    assert_block(flow, 0, 0, 2, 0);
    assert_block(flow, 1, 2, 4, 2);
    assert_block(flow, 2, 4, 5, 4);
    assert_block(flow, first, at - 1, at, 6);
    assert_int_equal(flow->all[first + 1].start, MAIN + at);
    assert_int_equal(flow->blocks[flow->all[first + 1].owner].input_offset, 12);
    assert_int_equal(flow->all[0].target, bat_output_flow_at(flow, MAIN + at + 4));
    assert_int_equal(flow->blocks[flow->all[flow->all[0].target].owner].input_offset, 14);
    assert_int_equal(flow->all[1].target, BAT_NONE);
    assert_int_equal(bat_output_block_end(&flow->all[flow->count - 1]), MAIN + at + 8);
    assert_ascending(flow);
}

/* 64 addresses share a word: fragments that begin in the middle of one, and with one. */
TEST(test_overlapping_fragments)
{
    check_overlap(0x10);
    check_overlap(0x40);
    check_overlap(0x41);
}
