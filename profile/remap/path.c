/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The memory of kept paths (path.h). */
#include "path.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

const struct input_path input_path_empty = {.found = true};
const struct input_path input_path_unknown = {.found = false};

/* Paths differ in size; they lie one behind the other in blocks of this size. */
#define BLOCK_SIZE (UINT32_C(1) << 15)

struct input_path_block {
    struct input_path_block *next;
    size_t used;
    alignas(struct input_path) char bytes[BLOCK_SIZE];
};

void input_paths_free(struct input_paths *paths)
{
    while (paths->blocks) {
        struct input_path_block *next = paths->blocks->next;
        free(paths->blocks);
        paths->blocks = next;
    }
}

static struct input_path *new_path(struct input_paths *paths, uint32_t jump_count)
{
    size_t size = sizeof(struct input_path) + jump_count * sizeof(struct input_jump);
    struct input_path_block *block = paths->blocks;
    if (!block || block->used + size > BLOCK_SIZE) {
        block = malloc(sizeof(*block));
        if (!block)
            return NULL;
        block->next = paths->blocks;
        block->used = 0;
        paths->blocks = block;
    }
    void *path = block->bytes + block->used;
    block->used += size;
    return path;
}

enum bat_code input_paths_keep(struct input_paths *paths, const struct input_path_draft *draft,
                               const struct input_path **kept)
{
    *kept = draft->found ? &input_path_empty : &input_path_unknown;
    if (!draft->found || (draft->jump_count == 0 && draft->last == 0))
        return BAT_OK;
    struct input_path *path = new_path(paths, draft->jump_count);
    if (!path)
        return BAT_ERR_MEMORY;
    path->last = draft->last;
    path->jump_count = draft->jump_count;
    path->found = true;
    memcpy(path->jumps, draft->jumps, draft->jump_count * sizeof(*path->jumps));
    *kept = path;
    return BAT_OK;
}
