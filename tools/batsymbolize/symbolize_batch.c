/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Answers addresses together. */
#include <stdlib.h>

#include "symbolize_text.h"

/* A full buffer of lines has at most half as many addresses. */
#define BATCH_MAX ((size_t)1 << 19)

/* So few questions are answered one by one. */
#define FEW 8u

/* So many questions are sorted at first; later as many as have texts of this size in total. */
#define FIRST_PART ((size_t)1 << 12)
#define TEXTS_SIZE ((size_t)32 << 20)

/* Behind texts of this size, questions are answered one by one. */
#define TEXTS_MAX (2 * TEXTS_SIZE)

/* So many answers ahead, memory is fetched that they need. */
#define AHEAD 8u

struct batch_answer {
    uint64_t address;
    size_t start; /* of the text */
    size_t size;  /* 0: there is no text */
    enum bat_symbolizer_found found;
};

static bool grow(struct text_batch *batch)
{
    size_t capacity = batch->capacity ? 2 * batch->capacity : 1024;
    if (batch->capacity == BATCH_MAX)
        return false;
    struct batch_answer *answers = realloc(batch->answers, capacity * sizeof(*answers));
    if (answers)
        batch->answers = answers;
    struct bat_sort_key *keys = realloc(batch->keys, 2 * capacity * sizeof(*keys));
    if (keys)
        batch->keys = keys;
    if (!answers || !keys)
        return false;
    batch->capacity = capacity;
    return true;
}

bool batch_add(struct text_batch *batch, uint64_t address)
{
    if (batch->count == batch->capacity && !grow(batch))
        return false;
    batch->answers[batch->count++] = (struct batch_answer){.address = address};
    return true;
}

void batch_free(struct text_batch *batch)
{
    free(batch->answers);
    free(batch->keys);
    output_free(batch->texts);
    *batch = (struct text_batch){0};
}

/* --- Texts ---------------------------------------------------------------------------------- */

/* A frame of the answer before, and where its text starts. */
struct last_frame {
    struct bat_source_frame frame;
    size_t start;
};

struct last_answer {
    struct batch_answer answer;
    struct last_frame *frames;
    size_t count;
    size_t capacity;
};

static bool is_same(const struct bat_source_frame *a, const struct bat_source_frame *b)
{
    return a->function == b->function && a->file == b->file && a->folder == b->folder &&
           a->start_file == b->start_file && a->start_line == b->start_line && a->line == b->line &&
           a->column == b->column && a->discriminator == b->discriminator &&
           a->start_address == b->start_address && a->has_start_address == b->has_start_address;
}

/* How many outer frames have texts as in the answer before. The first frame's text is special. */
static size_t count_same(const struct last_answer *last, const struct bat_source_frame *frames,
                         size_t count)
{
    size_t same = 0;
    while (same < count && same < last->count &&
           is_same(&frames[count - 1 - same], &last->frames[last->count - 1 - same].frame))
        same++;
    const bool has_first = same != 0 && (same == count || same == last->count);
    return has_first && count != last->count ? same - 1 : same;
}

static bool reserve_frames(struct last_answer *last, size_t count)
{
    if (count <= last->capacity)
        return true;
    struct last_frame *grown = realloc(last->frames, 2 * count * sizeof(*grown));
    if (!grown)
        return false;
    last->frames = grown;
    last->capacity = 2 * count;
    return true;
}

/* Print an answer. Texts of outer frames that the answer before has, too, are copied from there. */
static bool print_answer(struct symbolize_printer *printer, struct last_answer *last,
                         const struct bat_source_frame *frames, size_t count)
{
    struct output *texts = printer->output;
    const size_t same = count_same(last, frames, count);
    if (same == count)
        return true; /* the answer before */
    if (!reserve_frames(last, count))
        return false;
    const size_t first = count - same;
    const size_t end = last->answer.start + last->answer.size;
    const size_t copied = same ? last->frames[last->count - same].start : end;
    memmove(last->frames + first, last->frames + (last->count - same),
            same * sizeof(*last->frames));
    last->count = count;
    last->answer.start = output_position(texts);
    for (size_t i = 0; i < first; i++) {
        last->frames[i] = (struct last_frame){frames[i], output_position(texts)};
        print_frame(printer, &frames[i], i != 0);
        if (output_position(texts) > TEXTS_MAX)
            return false;
    }
    const size_t shift = output_position(texts) - copied;
    for (size_t i = first; i < count; i++)
        last->frames[i].start += shift;
    if (same)
        output_repeat(texts, copied, end - copied);
    else
        print_end(printer);
    last->answer.size = output_position(texts) - last->answer.start;
    return true;
}

/* Print an answer that has the address, and so is no other address's. */
static void print_alone(struct symbolize_printer *printer, struct last_answer *last,
                        const struct symbolize_request *request,
                        const struct bat_source_frame *frames, size_t count)
{
    last->answer.start = output_position(printer->output);
    print_frames(printer, request, frames, count);
    last->answer.size = output_position(printer->output) - last->answer.start;
}

/* Make texts for questions in this order, as long as there is memory for them. */
static void make_texts(struct symbolize_text *text, struct batch_answer *answers,
                       const struct bat_sort_key *sorted, size_t sorted_count)
{
    struct symbolize_printer printer = *text->printer;
    struct last_answer last = {.count = 0};
    printer.output = text->batch.texts;
    const bool is_alone = printer.options.addresses || printer.options.style == STYLE_JSON;
    for (size_t i = 0; i < sorted_count && output_position(printer.output) < TEXTS_MAX; i++) {
        if (i + AHEAD < sorted_count)
            __builtin_prefetch(&answers[sorted[i + AHEAD].value], 1);
        struct symbolize_request request = text_request(text, sorted[i].key);
        const struct bat_source_frame *frames;
        size_t count;
        enum bat_symbolizer_found found = text_find(text, request.address, &frames, &count);
        if (is_alone)
            print_alone(&printer, &last, &request, frames, count);
        else if (!print_answer(&printer, &last, frames, count))
            break;
        struct batch_answer *answer = &answers[sorted[i].value];
        answer->start = last.answer.start;
        answer->size = last.answer.size;
        answer->found = found;
    }
    free(last.frames);
}

/* --- Answers -------------------------------------------------------------------------------- */

static void fetch(const char *text, size_t size)
{
    const size_t line = 64;
    for (size_t at = 0; at < size && at < 4 * line; at += line)
        __builtin_prefetch(text + at);
}

static void print_answers(struct symbolize_text *text, const struct batch_answer *answers,
                          size_t count, const char *texts)
{
    for (size_t i = 0; i < count; i++) {
        const struct batch_answer *answer = &answers[i];
        if (texts && i + AHEAD < count)
            fetch(texts + answer[AHEAD].start, answer[AHEAD].size);
        if (texts && answer->size != 0) {
            text_note_found(text, answer->address, answer->found);
            output_bytes(text->printer->output, texts + answer->start, answer->size);
        } else {
            text_answer_code(text, answer->address);
        }
    }
}

static void answer_part(struct symbolize_text *text, struct batch_answer *answers, size_t count)
{
    struct text_batch *batch = &text->batch;
    if (count > FEW && !batch->texts)
        batch->texts = output_begin_memory();
    if (count <= FEW || !batch->texts) {
        print_answers(text, answers, count, NULL);
        return;
    }
    for (size_t i = 0; i < count; i++)
        batch->keys[i] = (struct bat_sort_key){answers[i].address, i};
    make_texts(text, answers, bat_sort_keys(batch->keys, batch->keys + batch->capacity, count),
               count);
    batch->made_count += count;
    batch->made_size += output_position(batch->texts);
    print_answers(text, answers, count, output_memory(batch->texts));
}

void batch_answer_all(struct symbolize_text *text)
{
    struct text_batch *batch = &text->batch;
    for (size_t done = 0, size; done < batch->count; done += size) {
        size_t left = batch->count - done;
        size = batch->made_count == 0
                   ? FIRST_PART
                   : TEXTS_SIZE / (size_t)(batch->made_size / batch->made_count + 1) + 1;
        size = size < left ? size : left;
        answer_part(text, batch->answers + done, size);
    }
    batch->count = 0;
}
