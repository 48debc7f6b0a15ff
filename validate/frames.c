/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "checking.h"

#include <stdlib.h>

#include "binary/functions/eh_frame.h"
#include "spec/array.h"
#include "spec/order.h"

static bool append(struct bat_frames *frames, size_t *capacity, struct bat_frame frame)
{
    return BAT_APPEND(frames->frames, frames->count, *capacity, frame);
}

enum bat_code bat_frames_collect(const struct bat_elf *elf, struct bat_frames *frames,
                                 struct bat_error *error)
{
    *frames = (struct bat_frames){0};
    size_t capacity = 0;
    struct bat_fde_walk walk;
    bat_fde_begin(&walk, elf);
    for (;;) {
        struct bat_fde fde;
        bool found = false;
        if (bat_fde_next(&walk, &fde, &found, NULL) != BAT_OK || !found)
            break;
        if (!append(frames, &capacity, (struct bat_frame){fde.address, fde.size})) {
            bat_frames_free(frames);
            return bat_fail_memory(error, "for the frame descriptions");
        }
    }
    BAT_SORT_BY_TWO(frames->frames, frames->count, address, size);
    return BAT_OK;
}

void bat_frames_free(struct bat_frames *frames)
{
    free(frames->frames);
    *frames = (struct bat_frames){0};
}

bool bat_frames_at(const struct bat_frames *frames, uint64_t address, uint64_t *size)
{
    size_t up_to = BAT_COUNT_UP_TO(frames->frames, frames->count, address, address);
    if (up_to == 0 || frames->frames[up_to - 1].address != address)
        return false;
    *size = frames->frames[up_to - 1].size;
    return true;
}
