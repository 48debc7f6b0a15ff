/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "to_input_path.h"

#include <stdlib.h>

enum bat_code input_paths_open(struct input_paths *paths)
{
    *paths = (struct input_paths){.capacity = 256, .count = 2};
    paths->all = calloc(paths->capacity, sizeof(*paths->all));
    if (!paths->all)
        return BAT_ERR_MEMORY;
    paths->all[INPUT_PATH_EMPTY] = (struct input_path){.found = true};
    return BAT_OK;
}

void input_paths_close(struct input_paths *paths)
{
    free(paths->all);
}

enum bat_code input_paths_keep(struct input_paths *paths, const struct input_path *path,
                               uint32_t *number)
{
    *number = path->found ? INPUT_PATH_EMPTY : INPUT_PATH_UNKNOWN;
    if (!path->found || (path->jump_count == 0 && path->last == 0))
        return BAT_OK;
    if (paths->count == paths->capacity) {
        uint32_t capacity = 2 * paths->capacity;
        struct input_path *grown = realloc(paths->all, capacity * sizeof(*grown));
        if (!grown)
            return BAT_ERR_MEMORY;
        paths->all = grown;
        paths->capacity = capacity;
    }
    *number = paths->count++;
    paths->all[*number] = *path;
    return BAT_OK;
}
