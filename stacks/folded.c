/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Counted stacks, for flame graphs. */
#include <stdlib.h>
#include <string.h>

#include "bat_stacks.h"
#include "spec/array.h"
#include "spec/escape_controls.h"
#include "spec/order.h"
#include "support/counts.h"
#include "support/string_table.h"

/* A stack is a string with the numbers of its frames' names, outermost first: so many bytes each,
 * of which none is 0. */
#define FRAME_SIZE 4u
#define DIGITS 255u

struct bat_folded {
    struct bat_strings names; /* of frames, as they are in texts */
    struct bat_counts known;  /* key: the address of a lasting name; its number */
    struct bat_strings stacks;
    uint64_t *counts; /* of each stack, by its number */
    size_t count_capacity;
    char *stack; /* that was begun */
    size_t size;
    size_t stack_capacity;
    char *text; /* of one name or one stack */
    size_t text_capacity;
    uint32_t *sorted; /* numbers of stacks */
    bool no_memory;
};

struct bat_folded *bat_folded_new(void)
{
    struct bat_folded *folded = calloc(1, sizeof(*folded));
    if (folded)
        folded->known = bat_counts_new(1);
    return folded;
}

void bat_folded_free(struct bat_folded *folded)
{
    if (!folded)
        return;
    bat_strings_free(&folded->names);
    bat_counts_free(&folded->known);
    bat_strings_free(&folded->stacks);
    BAT_FREE_ALL(folded->counts, folded->stack, folded->text, folded->sorted, folded);
}

void bat_folded_begin(struct bat_folded *folded)
{
    folded->size = 0;
}

static bool reserve(struct bat_folded *folded, char **bytes, size_t *capacity, size_t size,
                    size_t more)
{
    if (bat_reserve(bytes, capacity, size, more, 1))
        return true;
    folded->no_memory = true;
    return false;
}

/* The number of a frame's name. False without memory. */
static bool number_of(struct bat_folded *folded, const char *name, size_t length, uint32_t *number)
{
    if (!reserve(folded, &folded->text, &folded->text_capacity, 0, BAT_ESCAPED_BYTE * length))
        return false;
    char *end = bat_put_escaped(folded->text, name, length);
    char *at = folded->text;
    while ((at = memchr(at, ';', (size_t)(end - at))) != NULL)
        *at = ':';
    if (bat_strings_add(&folded->names, folded->text, (size_t)(end - folded->text), number) ==
        BAT_OK)
        return true;
    folded->no_memory = true;
    return false;
}

/* Add a frame to the stack that was begun. */
static void add_frame(struct bat_folded *folded, uint32_t number)
{
    if (!reserve(folded, &folded->stack, &folded->stack_capacity, folded->size, FRAME_SIZE))
        return;
    for (unsigned i = 0; i < FRAME_SIZE; i++, number /= DIGITS)
        folded->stack[folded->size++] = (char)(number % DIGITS + 1);
}

void bat_folded_frame(struct bat_folded *folded, const char *name, size_t length)
{
    static const char unknown[] = "[unknown]";
    uint32_t number;
    if (length == 0) {
        name = unknown;
        length = sizeof(unknown) - 1;
    }
    if (number_of(folded, name, length, &number))
        add_frame(folded, number);
}

void bat_folded_lasting_frame(struct bat_folded *folded, const char *name)
{
    const uint64_t key = (uintptr_t)name;
    const uint64_t *known = bat_counts_find(&folded->known, &key);
    uint32_t number;
    if (!*name) {
        bat_folded_frame(folded, name, 0);
    } else if (known) {
        add_frame(folded, (uint32_t)known[1]);
    } else if (number_of(folded, name, strlen(name), &number)) {
        add_frame(folded, number);
        if (bat_counts_add(&folded->known, &key, number, 0) != BAT_OK)
            folded->no_memory = true;
    }
}

void bat_folded_end(struct bat_folded *folded, uint64_t count)
{
    uint32_t number;
    if (folded->size == 0)
        return;
    if (bat_strings_add(&folded->stacks, folded->stack, folded->size, &number) != BAT_OK ||
        !bat_reserve_cleared(&folded->counts, &folded->count_capacity, (size_t)number + 1,
                             sizeof(*folded->counts))) {
        folded->no_memory = true;
        return;
    }
    uint64_t *sum = &folded->counts[number];
    *sum = UINT64_MAX - *sum < count ? UINT64_MAX : *sum + count;
}

/* The name of a stack's next frame; NULL at its end. */
static const char *next_name(const struct bat_folded *folded, const char **stack)
{
    uint32_t number = 0;
    if (!**stack)
        return NULL;
    for (unsigned i = FRAME_SIZE; i-- > 0;)
        number = number * DIGITS + ((unsigned char)(*stack)[i] - 1u);
    *stack += FRAME_SIZE;
    return bat_strings_get(&folded->names, number);
}

/* Compares two texts. No name has ";", so what follows the first frames that differ does not count.
 */
static int by_text(const void *left, const void *right, void *context)
{
    const struct bat_folded *folded = context;
    const char *a = bat_strings_get(&folded->stacks, *(const uint32_t *)left);
    const char *b = bat_strings_get(&folded->stacks, *(const uint32_t *)right);
    const char *name_a;
    const char *name_b;
    do {
        name_a = next_name(folded, &a);
        name_b = next_name(folded, &b);
        if (!name_a || !name_b)
            return (name_a != NULL) - (name_b != NULL);
    } while (name_a == name_b);
    while (*name_a && *name_a == *name_b) {
        name_a++;
        name_b++;
    }
    const int byte_a = *name_a || !*a ? (unsigned char)*name_a : ';';
    const int byte_b = *name_b || !*b ? (unsigned char)*name_b : ';';
    return (byte_a > byte_b) - (byte_a < byte_b);
}

enum bat_code bat_folded_sort(struct bat_folded *folded, size_t *count, struct bat_error *error)
{
    const uint32_t number = folded->stacks.count;
    free(folded->sorted);
    folded->sorted = bat_sorted_order(number, by_text, folded);
    if (!folded->sorted || folded->no_memory)
        return bat_fail_memory(error, "for %u stacks", number);
    *count = number;
    return BAT_OK;
}

const char *bat_folded_stack(struct bat_folded *folded, size_t i, uint64_t *count)
{
    const uint32_t number = folded->sorted[i];
    const char *stack = bat_strings_get(&folded->stacks, number);
    size_t size = 0;
    for (const char *name; (name = next_name(folded, &stack)) != NULL;) {
        const size_t length = strlen(name);
        if (!reserve(folded, &folded->text, &folded->text_capacity, size, length + 1))
            return NULL;
        memcpy(folded->text + size, name, length);
        size += length + 1;
        folded->text[size - 1] = *stack ? ';' : '\0';
    }
    *count = folded->counts[number];
    return folded->text;
}
