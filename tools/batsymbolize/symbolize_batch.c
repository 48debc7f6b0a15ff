/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Addresses that are answered together: they are looked up in ascending order, so that debug
 * information is read once from end to end, and printed in the order of the questions.
 */
#include <stdlib.h>

#include "support/key_sort.h"
#include "symbolize_text.h"

/* So many questions are answered together. */
#define BATCH_MAX ((size_t)1 << 16)

/*
 * Behind texts of this size no more are kept: the other questions are answered one by one. An
 * answer that alone goes far beyond it has names that are made for that.
 */
#define TEXTS_LEAST ((size_t)1 << 19)
#define QUESTION_TIMES 512u

struct answer {
    uint64_t address;
    uint32_t start; /* of the text */
    uint32_t size;  /* 0: there is no text */
    enum bat_symbolizer_found found;
};

struct text_batches {
    struct output *texts; /* in memory */
    size_t count;
    struct answer answers[BATCH_MAX];
    struct bat_sort_key keys[2 * BATCH_MAX]; /* of the answers, and as much space to sort them */
};

struct text_batches *batches_new(void)
{
    struct text_batches *batches = malloc(sizeof(*batches));
    if (!batches)
        return NULL;
    batches->count = 0;
    batches->texts = output_begin_memory();
    if (batches->texts)
        return batches;
    free(batches);
    return NULL;
}

void batches_free(struct text_batches *batches)
{
    if (batches)
        output_free(batches->texts);
    free(batches);
}

void batches_add(struct symbolize_text *text, uint64_t address)
{
    struct text_batches *batches = text->batches;
    if (batches->count == BATCH_MAX)
        batches_answer(text);
    batches->answers[batches->count++] = (struct answer){.address = address};
}

/* Look up an address. Its text goes to the printer's output, which is in memory. */
static struct answer look_up(const struct symbolize_text *text, uint64_t address)
{
    const struct output *texts = text->printer->output;
    const size_t start = output_position(texts);
    const enum bat_symbolizer_found found = text_print_code(text, address);
    return (struct answer){address, (uint32_t)start, (uint32_t)(output_position(texts) - start),
                           found};
}

/* Answer the questions in the order of their addresses. Returns the texts; NULL without memory. */
static const char *look_up_all(const struct symbolize_text *text)
{
    struct text_batches *batches = text->batches;
    const size_t count = batches->count;
    const size_t limit = TEXTS_LEAST + QUESTION_TIMES * count;
    for (size_t i = 0; i < count; i++)
        batches->keys[i] = (struct bat_sort_key){batches->answers[i].address, i};
    const struct bat_sort_key *sorted = bat_sort_keys(batches->keys, batches->keys + count, count);
    struct output *output = text->printer->output;
    text->printer->output = batches->texts;
    batches->texts->memory_max = 2 * limit;
    struct answer now = {.size = 0};
    for (size_t i = 0; i < count && output_position(batches->texts) < limit; i++) {
        if (i == 0 || sorted[i].key != now.address)
            now = look_up(text, sorted[i].key);
        batches->answers[sorted[i].value] = now;
    }
    text->printer->output = output;
    return output_memory(batches->texts);
}

void batches_answer(struct symbolize_text *text)
{
    struct text_batches *batches = text->batches;
    if (batches->count == 0)
        return;
    const char *texts = look_up_all(text);
    for (size_t i = 0; i < batches->count; i++) {
        const struct answer *answer = &batches->answers[i];
        const bool has_text = texts && answer->size != 0;
        if (has_text)
            output_bytes(text->printer->output, texts + answer->start, answer->size);
        text_note_found(text, answer->address,
                        has_text ? answer->found : text_print_code(text, answer->address));
    }
    batches->count = 0;
}
