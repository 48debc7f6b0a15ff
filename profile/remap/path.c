/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The memory of kept paths (path.h). */
#include "path.h"

#include <stdalign.h>
#include <stdlib.h>

#include "spec/array.h"

const struct input_path input_path_empty = {.found = true};
const struct input_path input_path_unknown = {.found = false};

/* Paths differ in size; they lie one behind the other in blocks of at least this size. */
#define BLOCK_SIZE (UINT32_C(1) << 15)

struct input_path_block {
    struct input_path_block *next;
    size_t used;
    size_t size;
    alignas(struct input_path) char bytes[];
};

void input_paths_free(struct input_paths *paths)
{
    while (paths->blocks) {
        struct input_path_block *next = paths->blocks->next;
        free(paths->blocks);
        paths->blocks = next;
    }
    free(paths->drafted);
    *paths = (struct input_paths){0};
}

/* --- Drafts ----------------------------------------------------------------------------------- */

/* Make a jump of a draft, behind that with index before. Returns its index, BAT_NONE on failure. */
static uint32_t add_drafted(struct input_paths *paths, struct input_jump jump, uint32_t before)
{
    if (!BAT_GROW(paths->drafted, paths->drafted_count, paths->drafted_capacity)) {
        paths->has_failed = true;
        return BAT_NONE;
    }
    paths->drafted[paths->drafted_count] = (struct input_drafted_jump){jump, before};
    return paths->drafted_count++;
}

bool input_draft_append(struct input_paths *paths, struct input_path_draft *draft,
                        struct input_jump jump)
{
    const uint32_t added = add_drafted(paths, jump, draft->last_jump);
    if (added == BAT_NONE)
        return false;
    if (draft->jump_count++ == 0)
        draft->first_jump = added;
    draft->last_jump = added;
    return true;
}

bool input_draft_prepend(struct input_paths *paths, struct input_path_draft *draft,
                         struct input_jump jump)
{
    if (draft->jump_count == 0)
        return input_draft_append(paths, draft, jump);
    const uint32_t added = add_drafted(paths, jump, BAT_NONE);
    if (added == BAT_NONE)
        return false;
    paths->drafted[draft->first_jump].before = added;
    draft->first_jump = added;
    draft->jump_count++;
    return true;
}

/* --- Kept paths ------------------------------------------------------------------------------- */

static struct input_path *new_path(struct input_paths *paths, uint32_t jump_count)
{
    const size_t size = sizeof(struct input_path) + jump_count * sizeof(struct input_jump);
    struct input_path_block *block = paths->blocks;
    if (!block || block->size - block->used < size) {
        const size_t block_size = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        block = malloc(sizeof(*block) + block_size);
        if (!block)
            return NULL;
        block->next = paths->blocks;
        block->used = 0;
        block->size = block_size;
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
    if (paths->has_failed)
        return BAT_ERR_MEMORY;
    if (!draft->found || (draft->jump_count == 0 && draft->last == 0))
        return BAT_OK;
    struct input_path *path = new_path(paths, draft->jump_count);
    if (!path)
        return BAT_ERR_MEMORY;
    path->last = draft->last;
    path->jump_count = draft->jump_count;
    path->found = true;
    for (uint32_t i = draft->jump_count, jump = draft->last_jump; i-- > 0;) {
        path->jumps[i] = paths->drafted[jump].jump;
        jump = paths->drafted[jump].before;
    }
    *kept = path;
    return BAT_OK;
}
