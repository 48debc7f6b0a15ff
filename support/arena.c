/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "arena.h"

#include <stdlib.h>

#define BLOCK_SIZE ((size_t)1 << 16)
#define ALIGNMENT _Alignof(max_align_t)

struct bat_arena_block {
    struct bat_arena_block *next;
    _Alignas(max_align_t) char bytes[];
};

/* Add a block with room for size bytes. False at the limit or without memory. */
static bool add_block(struct bat_arena *arena, size_t size)
{
    size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
    if (room > arena->limit - arena->used) {
        arena->is_full = true;
        return false;
    }
    struct bat_arena_block *block =
        arena->is_raw ? malloc(sizeof(*block) + room) : calloc(1, sizeof(*block) + room);
    if (!block) {
        arena->no_memory = true;
        return false;
    }
    block->next = arena->blocks;
    arena->blocks = block;
    arena->used += room;
    arena->left = room;
    return true;
}

void *bat_arena_take(struct bat_arena *arena, size_t size)
{
    if (size > arena->limit) {
        arena->is_full = true;
        return NULL;
    }
    size = (size + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    if (size > arena->left && !add_block(arena, size))
        return NULL;
    arena->left -= size;
    return arena->blocks->bytes + arena->left;
}

void bat_arena_free(struct bat_arena *arena)
{
    while (arena->blocks) {
        struct bat_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    arena->left = 0;
    arena->used = 0;
}
