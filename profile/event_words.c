/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "event_words.h"

#include <stdlib.h>
#include <string.h>

#include "spec/escape_controls.h"
#include "spec/order.h"

/* The name as it is written, to be freed; NULL without memory. */
static char *event_word(const char *name)
{
    size_t size = strlen(name);
    char *word = malloc(BAT_ESCAPED_BYTE * size + 1);
    if (!word)
        return NULL;
    *bat_put_escaped(word, name, size) = '\0';
    for (char *at = word; (at = strchr(at, ' '));)
        *at = '_';
    return word;
}

void bat_events_free(struct bat_event *sorted, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(sorted[i].word);
    free(sorted);
}

enum bat_code bat_events_sort(const struct bat_strings *events, struct bat_event **sorted,
                              uint32_t *count)
{
    struct bat_event *all = calloc((size_t)events->count + 1, sizeof(*all));
    uint32_t kept = 0;
    *sorted = NULL;
    *count = 0;
    for (uint32_t i = 0; all && i < events->count; i++) {
        const char *name = bat_strings_get(events, i);
        all[i] = (struct bat_event){name, event_word(name)};
        if (!all[i].word) {
            bat_events_free(all, i);
            all = NULL;
        }
    }
    if (!all)
        return BAT_ERR_MEMORY;
    /* Names of one word have an order, too, so that it is always the same one that stays. */
    BAT_SORT_BY_TWO(all, events->count, word, name);
    for (uint32_t i = 0; i < events->count; i++) {
        bool is_new = *all[i].word && (kept == 0 || strcmp(all[i].word, all[kept - 1].word) != 0);
        if (is_new)
            all[kept++] = all[i];
        else
            free(all[i].word);
    }
    *sorted = all;
    *count = kept;
    return BAT_OK;
}
