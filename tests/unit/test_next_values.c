/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which branches test the same value, whatever registers it is in. */
#include <elf.h>

#include "binary/code/conditions.h"
#include "next/values.h"
#include "unit_test.h"

#define CODE_MAX 8u

/* Code that ends in a branch. */
struct code {
    struct next_effect all[CODE_MAX];
    uint8_t opcode; /* of the branch */
};

enum { A, C, D, B, SI = 6, DI };

#define MOVE(destination, source)                                                                  \
    {                                                                                              \
        .kind = NEXT_EFFECT_MOVE, .to = (destination), .from = (source)                            \
    }
#define SET(destination, value)                                                                    \
    {                                                                                              \
        .kind = NEXT_EFFECT_MOVE, .to = (destination), .from = NEXT_IS_NUMBER, .number = (value)   \
    }
#define LOAD(destination, register, offset)                                                        \
    {                                                                                              \
        .kind = NEXT_EFFECT_MOVE, .to = (destination), .from = NEXT_IN_MEMORY, .base = (register), \
        .index = NEXT_NOTHING, .displacement = (offset)                                            \
    }
#define STORE(register, offset, source)                                                            \
    {                                                                                              \
        .kind = NEXT_EFFECT_MOVE, .to = NEXT_IN_MEMORY, .from = (source), .base = (register),      \
        .index = NEXT_NOTHING, .displacement = (offset)                                            \
    }
#define TEST_ITSELF(register)                                                                      \
    {                                                                                              \
        .kind = NEXT_EFFECT_TEST, .to = (register), .from = (register)                             \
    }
#define COMPARE(register, other)                                                                   \
    {                                                                                              \
        .kind = NEXT_EFFECT_COMPARE, .to = (register), .from = (other)                             \
    }
#define COMPARE_NUMBER(register, value)                                                            \
    {                                                                                              \
        .kind = NEXT_EFFECT_COMPARE, .to = (register), .from = NEXT_IS_NUMBER, .number = (value)   \
    }
#define MASK(register, value)                                                                      \
    {                                                                                              \
        .kind = NEXT_EFFECT_MASK, .to = (register), .from = NEXT_IS_NUMBER, .number = (value)      \
    }
#define TEST_FIELD(register, offset, value)                                                        \
    {                                                                                              \
        .kind = NEXT_EFFECT_TEST, .to = NEXT_IN_MEMORY, .from = NEXT_IS_NUMBER,                    \
        .base = (register), .index = NEXT_NOTHING, .displacement = (offset), .number = (value)     \
    }
#define ADD(register, other)                                                                       \
    {                                                                                              \
        .kind = NEXT_EFFECT_CALCULATE, .to = (register), .from = (other)                           \
    }
#define MOVE_STACK(distance)                                                                       \
    {                                                                                              \
        .kind = NEXT_EFFECT_CALCULATE, .to = NEXT_STACK, .from = NEXT_IS_NUMBER,                   \
        .number = (distance)                                                                       \
    }
#define PUSH(register)                                                                             \
    {                                                                                              \
        .kind = NEXT_EFFECT_PUSH, .from = (register)                                               \
    }
#define POP(register)                                                                              \
    {                                                                                              \
        .kind = NEXT_EFFECT_POP, .to = (register)                                                  \
    }
#define CALL                                                                                       \
    {                                                                                              \
        .kind = NEXT_EFFECT_CALL, .clobbers = NEXT_CLOBBERS_ALL                                    \
    }

#define JE(...)                                                                                    \
    {                                                                                              \
        {__VA_ARGS__}, 0x74                                                                        \
    }
#define JL(...)                                                                                    \
    {                                                                                              \
        {__VA_ARGS__}, 0x7c                                                                        \
    }

/* What the branch at the end of some code tests. Calls are of a function with this name. */
static uint32_t tested(const struct code *code, uint32_t name)
{
    struct next_instruction all[CODE_MAX] = {0};
    uint32_t count = 0;
    for (; count < CODE_MAX && code->all[count].kind != NEXT_EFFECT_NONE; count++)
        all[count] = (struct next_instruction){
            .kind = code->all[count].kind, .name = name, .effect = code->all[count]};
    const uint8_t branch[] = {code->opcode, 0};
    struct next_block block = {.instruction_count = count,
                               .condition = condition_in(EM_X86_64, branch, sizeof(branch))};
    struct next_unit unit = {.blocks = &block, .block_count = 1, .instructions = all};
    struct next_unit *units = &unit;
    const struct next_program program = {.units = &units};
    struct next_segment segment = {.end = count, .begins = true, .ends = true};
    struct next_node node = {.end = 1, .code = all, .code_count = count};
    uint32_t none[2] = {0};
    struct next_graph graph = {
        .nodes = &node, .node_count = 1, .segments = &segment, .segment_count = 1, .out = none};
    assert_ok(next_find_tested(&program, &graph, NULL));
    const uint32_t found = graph.tested[0];
    free(graph.tested);
    return found;
}

/* Each pair tests one value, and no two of different pairs do. */
TEST(test_same_values)
{
    static const struct code all[][2] = {
        {JE(TEST_ITSELF(DI)), JE(MOVE(B, DI), COMPARE_NUMBER(B, 0))},
        {JE(TEST_ITSELF(SI)), JE(PUSH(SI), SET(SI, 4), POP(C), TEST_ITSELF(C))},
        {JE(LOAD(A, DI, 8), TEST_ITSELF(A)), JE(MOVE(B, DI), LOAD(C, B, 8), COMPARE_NUMBER(C, 0))},
        {JE(LOAD(A, DI, 16), TEST_ITSELF(A)),
         JE(MOVE(B, DI), CALL, LOAD(C, B, 16), TEST_ITSELF(C))},
        {JE(LOAD(A, DI, 8), LOAD(A, A, 8), TEST_ITSELF(A)),
         JE(LOAD(C, DI, 8), LOAD(D, C, 8), TEST_ITSELF(D))},
        {JE(TEST_FIELD(DI, 6, 1)), JE(LOAD(A, DI, 4), MASK(A, 0x10000))},
        {JE(TEST_FIELD(DI, 6, 2)), JE(LOAD(A, DI, 4), MASK(A, 0x20000))},
        {JE(COMPARE(DI, D)), JE(MOVE(A, DI), COMPARE(D, A))},
        {JL(COMPARE(DI, SI)), JL(MOVE(A, DI), COMPARE(A, SI))},
        {JL(COMPARE(SI, DI)), JL(MOVE(A, SI), COMPARE(A, DI))},
        {JE(COMPARE_NUMBER(DI, 7)), JE(SET(C, 7), COMPARE(DI, C))},
        {JE(CALL, TEST_ITSELF(A)), JE(CALL, MOVE(B, A), SET(A, 3), TEST_ITSELF(B))},
        {JE(STORE(NEXT_STACK, -8, SI), MOVE_STACK(-32), LOAD(A, NEXT_STACK, 24), LOAD(A, A, 4),
            TEST_ITSELF(A)),
         JE(LOAD(C, SI, 4), TEST_ITSELF(C))},
        {JE(ADD(DI, SI), TEST_ITSELF(DI)), JE(MOVE(A, DI), ADD(A, SI), TEST_ITSELF(A))},
    };
    const size_t count = sizeof(all) / sizeof(*all);
    for (size_t i = 0; i < count; i++) {
        const uint32_t value = tested(&all[i][0], 5);
        assert_int_not_equal(value, 0);
        assert_int_equal(value, tested(&all[i][1], 5));
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(value, tested(&all[k][0], 5));
    }
    static const struct code call = JE(CALL, TEST_ITSELF(A));
    assert_int_not_equal(tested(&call, 5), tested(&call, 6));
}

/* What is not known is no value. */
TEST(test_unknown_values)
{
    static const struct code all[] = {
        JE(CALL, TEST_ITSELF(DI)),
        JE(LOAD(A, NEXT_STACK, -8), TEST_ITSELF(A)),
        JE(TEST_ITSELF(DI), CALL),
        JE(CALL, MOVE(A, DI), ADD(A, SI), TEST_ITSELF(A)),
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        assert_int_equal(tested(&all[i], 5), 0);
    static const struct code call = JE(CALL, TEST_ITSELF(A));
    assert_int_equal(tested(&call, 0), 0);
}

/* What one of two graphs alone tests is forgotten, in both. */
TEST(test_shared)
{
    uint32_t ones[] = {7, 0, 3, 9, 7};
    uint32_t others[] = {3, 3, 8, 0, 7, 1};
    struct next_graph one = {.node_count = 5, .tested = ones};
    struct next_graph other = {.node_count = 6, .tested = others};
    assert_ok(next_keep_shared_tests(&one, &other, NULL));
    assert_memory_equal(ones, ((const uint32_t[]){7, 0, 3, 0, 7}), sizeof(ones));
    assert_memory_equal(others, ((const uint32_t[]){3, 3, 0, 0, 7, 0}), sizeof(others));
    other.node_count = 0;
    assert_ok(next_keep_shared_tests(&one, &other, NULL));
    assert_memory_equal(ones, ((const uint32_t[5]){0}), sizeof(ones));
}
