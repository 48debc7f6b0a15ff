/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "printed_texts.h"

#include <stdlib.h>

#include "spec/escape_controls.h"
#include "tools/common/demangle.h"
#include "tools/common/escape.h"

struct printed_text {
    const char *key;  /* NULL for a free slot */
    const char *text; /* key, or the demangled name, which is owned */
    size_t length;
    bool has_controls;
};

struct printed_texts {
    struct printed_text *slots;
    size_t count;
    size_t mask; /* number of slots - 1 */
    bool demangle;
};

#define FIRST_SLOTS ((size_t)1 << 10)

struct printed_texts *printed_texts_new(bool demangle)
{
    struct printed_texts *texts = calloc(1, sizeof(*texts));
    if (!texts)
        return NULL;
    texts->slots = calloc(FIRST_SLOTS, sizeof(*texts->slots));
    texts->mask = FIRST_SLOTS - 1;
    texts->demangle = demangle;
    if (texts->slots)
        return texts;
    free(texts);
    return NULL;
}

static void free_text(const struct printed_text *text)
{
    if (text->text != text->key)
        free((char *)text->text);
}

void printed_texts_free(struct printed_texts *texts)
{
    if (!texts)
        return;
    for (size_t i = 0; i <= texts->mask; i++)
        free_text(&texts->slots[i]);
    free(texts->slots);
    free(texts);
}

static struct printed_text *find_slot(struct printed_text *slots, size_t mask, const char *key)
{
    size_t at = (size_t)((uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u >> 20) & mask;
    while (slots[at].key && slots[at].key != key)
        at = (at + 1) & mask;
    return &slots[at];
}

static bool grow(struct printed_texts *texts)
{
    size_t mask = texts->mask * 2 + 1;
    struct printed_text *slots = calloc(mask + 1, sizeof(*slots));
    if (!slots)
        return false;
    for (size_t i = 0; i <= texts->mask; i++)
        if (texts->slots[i].key)
            *find_slot(slots, mask, texts->slots[i].key) = texts->slots[i];
    free(texts->slots);
    texts->slots = slots;
    texts->mask = mask;
    return true;
}

static struct printed_text prepare(const struct printed_texts *texts, const char *key)
{
    const char *plain = texts->demangle ? demangle(key) : NULL;
    struct printed_text made = {.key = key, .text = plain ? plain : key};
    made.length = strlen(made.text);
    made.has_controls = bat_has_controls(made.text, made.length);
    return made;
}

static void write_text(struct output *output, const struct printed_text *text)
{
    if (text->has_controls)
        output_escaped_bytes(output, text->text, text->length);
    else
        output_bytes(output, text->text, text->length);
}

void output_printed(struct output *output, struct printed_texts *texts, const char *text)
{
    struct printed_text *slot = find_slot(texts->slots, texts->mask, text);
    if (!slot->key) {
        if (texts->count * 2 > texts->mask) {
            if (!grow(texts)) {
                struct printed_text made = prepare(texts, text);
                write_text(output, &made);
                free_text(&made);
                return;
            }
            slot = find_slot(texts->slots, texts->mask, text);
        }
        texts->count++;
        *slot = prepare(texts, text);
    }
    write_text(output, slot);
}
