/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Counted stacks, for flame graphs. */
#include <stdlib.h>
#include <string.h>

#include "bat_stacks.h"
#include "spec/escape_controls.h"
#include "spec/grow.h"
#include "support/string_table.h"

struct bat_folded {
    struct bat_strings stacks;
    uint64_t *counts; /* of each stack, by its number */
    size_t count_capacity;
    char *text; /* the stack that was begun */
    size_t size;
    size_t text_capacity;
    struct bat_folded_stack *sorted;
    bool no_memory;
};

struct bat_folded *bat_folded_new(void)
{
    return calloc(1, sizeof(struct bat_folded));
}

void bat_folded_free(struct bat_folded *folded)
{
    if (!folded)
        return;
    bat_strings_free(&folded->stacks);
    free(folded->counts);
    free(folded->text);
    free(folded->sorted);
    free(folded);
}

void bat_folded_begin(struct bat_folded *folded)
{
    folded->size = 0;
}

static bool reserve_text(struct bat_folded *folded, size_t more)
{
    if (bat_reserve(&folded->text, &folded->text_capacity, folded->size, more, 1))
        return true;
    folded->no_memory = true;
    return false;
}

void bat_folded_frame(struct bat_folded *folded, const char *name, size_t length)
{
    static const char unknown[] = "[unknown]";
    if (length == 0) {
        name = unknown;
        length = sizeof(unknown) - 1;
    }
    if (!reserve_text(folded, BAT_ESCAPED_BYTE * length + 1))
        return;
    if (folded->size != 0)
        folded->text[folded->size++] = ';';
    char *at = folded->text + folded->size;
    char *end = bat_put_escaped(at, name, length);
    folded->size = (size_t)(end - folded->text);
    while ((at = memchr(at, ';', (size_t)(end - at))) != NULL)
        *at = ':';
}

void bat_folded_end(struct bat_folded *folded, uint64_t count)
{
    uint32_t number;
    if (folded->size == 0)
        return;
    if (bat_strings_add(&folded->stacks, folded->text, folded->size, &number) != BAT_OK ||
        !bat_reserve_cleared(&folded->counts, &folded->count_capacity, (size_t)number + 1,
                             sizeof(*folded->counts))) {
        folded->no_memory = true;
        return;
    }
    uint64_t *sum = &folded->counts[number];
    *sum = UINT64_MAX - *sum < count ? UINT64_MAX : *sum + count;
}

static int by_text(const void *left, const void *right)
{
    const struct bat_folded_stack *a = left;
    const struct bat_folded_stack *b = right;
    return strcmp(a->text, b->text);
}

enum bat_code bat_folded_stacks(struct bat_folded *folded, const struct bat_folded_stack **stacks,
                                size_t *count, struct bat_error *error)
{
    uint32_t number = folded->stacks.count;
    free(folded->sorted);
    folded->sorted = calloc(number ? number : 1, sizeof(*folded->sorted));
    if (!folded->sorted || folded->no_memory)
        return bat_fail(error, BAT_ERR_MEMORY, "not enough memory for %u stacks", number);
    for (uint32_t i = 0; i < number; i++)
        folded->sorted[i] = (struct bat_folded_stack){
            .text = bat_strings_get(&folded->stacks, i),
            .count = folded->counts[i],
        };
    qsort(folded->sorted, number, sizeof(*folded->sorted), by_text);
    *stacks = folded->sorted;
    *count = number;
    return BAT_OK;
}
