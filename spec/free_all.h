/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Frees several blocks of memory. Internal to the library and the tools. */
#pragma once

#include <stddef.h>
#include <stdlib.h>

static inline void bat_free_all(void *const *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(blocks[i]);
}

/* free() of each pointer, in this order. */
#define BAT_FREE_ALL(...)                                                                          \
    bat_free_all((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))
