/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "signature.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "spec/array.h"
#include "support/key_sort.h"

#define WEIGHT_SHAPE 1.0f
#define WEIGHT_NEIGHBOURS 0.5f
#define WEIGHT_NAME 2.0f

void next_signature_free(struct next_signature *signature)
{
    free(signature->tokens);
    *signature = (struct next_signature){0};
}

static void add(struct bat_sort_key *keys, uint32_t *count, uint32_t level, uint32_t a, uint32_t b,
                float weight)
{
    uint32_t bits;
    memcpy(&bits, &weight, sizeof(bits));
    keys[(*count)++] = (struct bat_sort_key){next_hash_pair(a, b, level), bits};
}

/* Fill the signature: each hash once, with the sum of its weights. */
static void fill(struct next_signature *signature, const struct bat_sort_key *sorted,
                 uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)sorted[i].value;
        uint32_t hash = (uint32_t)sorted[i].key;
        float weight;
        memcpy(&weight, &bits, sizeof(weight));
        if (i > 0 && (uint32_t)sorted[i - 1].key == hash)
            signature->tokens[signature->count - 1].weight += weight;
        else
            signature->tokens[signature->count++] = (struct next_token){hash, weight};
        signature->weight += weight;
    }
}

enum bat_code next_signature_of_code(const struct next_program *program, uint32_t unit,
                                     const struct next_unit *code_of,
                                     struct next_signature *signature, struct bat_error *error)
{
    *signature = (struct next_signature){0};
    size_t most = (size_t)code_of->instruction_count * 3 + 1;
    struct bat_sort_key *keys = malloc(2 * most * sizeof(*keys));
    signature->tokens = malloc(most * sizeof(*signature->tokens));
    if (!keys || !signature->tokens) {
        free(keys);
        return bat_fail_memory(error, "to compare functions");
    }
    uint32_t count = 0;
    /* What a function calls itself has another name if it has another name. */
    uint32_t own_name = program->name_of[program->first_part[unit]];
    uint32_t before = 0;
    for (uint32_t i = 0; i < code_of->instruction_count; i++) {
        const struct next_instruction *all = &code_of->instructions[i];
        if (all->flags & NEXT_IS_NOP)
            continue;
        uint32_t name = all->name == own_name ? 1 : all->name;
        add(keys, &count, 1, all->shape, name, WEIGHT_SHAPE);
        add(keys, &count, 2, before, all->kind, WEIGHT_NEIGHBOURS);
        if (all->flags & NEXT_NAMES)
            add(keys, &count, 3, name, 0, WEIGHT_NAME);
        before = all->kind;
    }
    fill(signature, bat_sort_keys(keys, keys + most, count), count);
    free(keys);
    BAT_SHRINK(signature->tokens, signature->count);
    return BAT_OK;
}

enum bat_code next_signature_make(struct next_program *program, uint32_t unit,
                                  struct next_signature *signature, struct bat_error *error)
{
    const struct next_unit *code_of;
    *signature = (struct next_signature){0};
    BAT_TRY(next_unit_get(program, unit, &code_of, error));
    return next_signature_of_code(program, unit, code_of, signature, error);
}

/* The first token from at on whose hash is not less: in steps that double, then by halves. */
static uint32_t find_token(const struct next_signature *signature, uint32_t at, uint32_t hash)
{
    uint32_t step = 1;
    uint32_t end = at;
    while (end < signature->count && signature->tokens[end].hash < hash) {
        at = end + 1;
        end = signature->count - end > step ? end + step : signature->count;
        step *= 2;
    }
    while (at < end) {
        uint32_t middle = at + (end - at) / 2;
        if (signature->tokens[middle].hash < hash)
            at = middle + 1;
        else
            end = middle;
    }
    return at;
}

float next_signature_common(const struct next_signature *a, const struct next_signature *b)
{
    float common = 0;
    for (uint32_t i = 0, k = 0; i < a->count && k < b->count;) {
        uint32_t left = a->tokens[i].hash;
        uint32_t right = b->tokens[k].hash;
        if (left == right)
            common += fminf(a->tokens[i++].weight, b->tokens[k++].weight);
        else if (left < right)
            i = find_token(a, i + 1, right);
        else
            k = find_token(b, k + 1, left);
    }
    return common;
}

void next_signature_take_out(struct next_signature *from, const struct next_signature *other)
{
    uint32_t kept = 0;
    for (uint32_t i = 0, k = 0; i < from->count; i++) {
        struct next_token token = from->tokens[i];
        while (k < other->count && other->tokens[k].hash < token.hash)
            k++;
        if (k < other->count && other->tokens[k].hash == token.hash) {
            float common = fminf(token.weight, other->tokens[k].weight);
            token.weight -= common;
            from->weight -= common;
        }
        if (token.weight > 0)
            from->tokens[kept++] = token;
    }
    from->count = kept;
}

float next_signature_compare(const struct next_signature *a, const struct next_signature *b)
{
    float common = next_signature_common(a, b);
    float all = a->weight + b->weight - common;
    return all > 0 ? common / all : 1;
}

int next_by_likeness(const void *left, const void *right)
{
    const struct next_candidate *a = left;
    const struct next_candidate *b = right;
    if (a->likeness != b->likeness)
        return a->likeness > b->likeness ? -1 : 1;
    if (a->old_index != b->old_index)
        return a->old_index < b->old_index ? -1 : 1;
    return (a->new_index > b->new_index) - (a->new_index < b->new_index);
}
