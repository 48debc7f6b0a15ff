/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "printed_texts.h"

#include <stdlib.h>

#include "spec/array.h"
#include "spec/escape_controls.h"
#include "tools/common/demangle.h"
#include "tools/common/escape.h"

struct printed_text {
    const char *key;  /* NULL for a free slot */
    const char *text; /* key, or the demangled name, which is in a block */
    size_t length;
    bool has_controls;
};

/* Memory for many texts, which is freed at once. */
struct text_block {
    struct text_block *before;
    char bytes[];
};

struct printed_texts {
    struct text_block *block; /* the last one, or NULL */
    size_t block_used;
    size_t block_size;
    struct printed_text *slots;
    size_t count;
    size_t mask; /* number of slots - 1 */
    struct demangled_kept_size kept;
    bool demangle;
};

#define FIRST_SLOTS ((size_t)1 << 10)

#define BLOCK_SIZE ((size_t)256 << 10)
#define LATER_BLOCK_SIZE ((size_t)4 << 20)

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

void printed_texts_free(struct printed_texts *texts)
{
    if (!texts)
        return;
    while (texts->block) {
        struct text_block *before = texts->block->before;
        free(texts->block);
        texts->block = before;
    }
    free(texts->slots);
    free(texts);
}

char *printed_texts_keep(struct printed_texts *texts, const char *text, size_t length)
{
    if (!texts->block || length > texts->block_size - texts->block_used) {
        const size_t usual = texts->block ? LATER_BLOCK_SIZE : BLOCK_SIZE;
        const size_t size = length > usual ? length : usual;
        struct text_block *block = bat_array_new(sizeof(*block) + size, 1);
        if (!block)
            return NULL;
        block->before = texts->block;
        texts->block = block;
        texts->block_size = size;
        texts->block_used = 0;
    }
    char *kept = texts->block->bytes + texts->block_used;
    memcpy(kept, text, length);
    texts->block_used += length;
    return kept;
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

static void write_text(struct output *output, const struct printed_text *text)
{
    if (text->has_controls)
        output_escaped_bytes(output, text->text, text->length);
    else
        output_bytes(output, text->text, text->length);
}

/* Write a new text, and fill its slot; slot is NULL if there is no memory for it. */
static void write_new(struct output *output, struct printed_texts *texts, const char *key,
                      struct printed_text *slot)
{
    char *plain = texts->demangle ? demangle(key) : NULL;
    struct printed_text made = {.key = key, .text = plain ? plain : key};
    made.length = strlen(made.text);
    made.has_controls = bat_has_controls(made.text, made.length);
    write_text(output, &made);
    if (plain && slot)
        made.text = demangled_may_be_kept(&texts->kept, key, made.length)
                        ? printed_texts_keep(texts, plain, made.length)
                        : NULL;
    free(plain);
    if (slot && made.text) {
        texts->count++;
        *slot = made;
    }
}

void output_printed(struct output *output, struct printed_texts *texts, const char *text)
{
    struct printed_text *slot = find_slot(texts->slots, texts->mask, text);
    if (slot->key) {
        write_text(output, slot);
        return;
    }
    if (texts->count * 2 > texts->mask)
        slot = grow(texts) ? find_slot(texts->slots, texts->mask, text) : NULL;
    write_new(output, texts, text, slot);
}

void output_printed_once(struct output *output, struct printed_texts *texts, const char *text)
{
    struct printed_text *slot = find_slot(texts->slots, texts->mask, text);
    if (slot->key)
        write_text(output, slot);
    else
        write_new(output, texts, text, NULL);
}
