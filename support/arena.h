/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Memory that is freed all at once, up to a limit. Internal to the library. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct bat_arena_block;

/* Start with all zero but the limit. */
struct bat_arena {
    size_t limit; /* of all bytes */
    bool is_raw;  /* its memory is not zeroed */
    size_t used;
    bool is_full;   /* something was refused because of the limit ... */
    bool no_memory; /* ... or because there was none */
    struct bat_arena_block *blocks;
    size_t left; /* bytes of the first block */
};

/* Memory, zeroed unless the arena is raw, aligned for any type. NULL at the limit, or if there is
 * none. Size may be 0. */
void *bat_arena_take(struct bat_arena *arena, size_t size);

/* Free all of it; the arena may be used again. */
void bat_arena_free(struct bat_arena *arena);
