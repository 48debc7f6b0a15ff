/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "note_text.h"

#include <stdio.h>
#include <string.h>

#include "spec/escape_controls.h"

/* Longer names are not compared: they are rarely typed, and three must fit into SIMILAR_SIZE. */
#define NAME_MAX_LENGTH 64u
#define SHOWN 3u

static unsigned smallest(unsigned first, unsigned second, unsigned third)
{
    unsigned smaller = first < second ? first : second;
    return smaller < third ? smaller : third;
}

/* Characters to change, insert or remove to turn left into right. */
static unsigned distance(const char *left, size_t left_length, const char *right,
                         size_t right_length)
{
    unsigned row[NAME_MAX_LENGTH + 1];
    for (unsigned j = 0; j <= right_length; j++)
        row[j] = j;
    for (unsigned i = 1; i <= left_length; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= right_length; j++) {
            unsigned change = diagonal + (left[i - 1] != right[j - 1]);
            diagonal = row[j];
            row[j] = smallest(change, row[j] + 1, row[j - 1] + 1);
        }
    }
    return row[right_length];
}

struct candidate {
    const char *name;
    unsigned distance;
};

/* False for a name that a user would not type as an argument. */
static bool is_typeable(const char *name, size_t length)
{
    return !memchr(name, ' ', length) && !bat_has_controls(name, length);
}

/* Insert a name among the best so far, unless it is there already. */
static void consider(struct candidate best[SHOWN], const char *name, unsigned edits)
{
    for (unsigned i = 0; i < SHOWN; i++)
        if (best[i].name && strcmp(best[i].name, name) == 0)
            return;
    struct candidate inserted = {.name = name, .distance = edits};
    for (unsigned i = 0; i < SHOWN; i++) {
        if (best[i].name && best[i].distance <= inserted.distance)
            continue;
        struct candidate displaced = best[i];
        best[i] = inserted;
        inserted = displaced;
        if (!inserted.name)
            return;
    }
}

void similar_names(const struct bat_names *names, const char *name, char text[SIMILAR_SIZE])
{
    text[0] = '\0';
    size_t length = strlen(name);
    if (length == 0 || length > NAME_MAX_LENGTH)
        return;
    unsigned limit = 1 + (unsigned)length / 4;
    struct candidate best[SHOWN] = {{0}};
    for (size_t i = 0; i < names->count; i++) {
        const char *other = names->symbols[i]->name;
        size_t other_length = strnlen(other, NAME_MAX_LENGTH + 1);
        if (other_length > NAME_MAX_LENGTH || other_length + limit < length ||
            length + limit < other_length)
            continue;
        unsigned edits = distance(name, length, other, other_length);
        if (edits <= limit && is_typeable(other, other_length))
            consider(best, other, edits);
    }
    size_t used = 0;
    for (unsigned i = 0; i < SHOWN && best[i].name; i++)
        used += (size_t)snprintf(text + used, SIMILAR_SIZE - used, "%s%s",
                                 i == 0 ? "; did you mean " : ", ", best[i].name);
    if (used != 0)
        snprintf(text + used, SIMILAR_SIZE - used, "?");
}
