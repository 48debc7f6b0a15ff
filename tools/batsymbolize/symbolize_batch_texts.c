/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Makes the texts of answers, in ascending order of their addresses. */
#include <stdlib.h>

#include "spec/grow.h"
#include "stacks/symbolizer.h"
#include "symbolize_batch.h"

/* So many answers ahead, memory is fetched that they need. */
#define AHEAD 8u

/* A frame of the answer before, and where its text starts. */
struct last_frame {
    struct bat_source_frame frame;
    size_t start;
};

struct last_answer {
    size_t start; /* of the text */
    size_t size;
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

/* Print an answer. Texts of outer frames that the answer before has, too, are copied from there.
 * False if there is no memory, or the texts are longer than limit. */
static bool print_answer(struct symbolize_printer *printer, size_t limit, struct last_answer *last,
                         const struct bat_source_frame *frames, size_t count)
{
    struct output *texts = printer->output;
    const size_t same = count_same(last, frames, count);
    if (same == count)
        return true; /* the answer before */
    if (!bat_reserve(&last->frames, &last->capacity, 0, count, sizeof(*last->frames)))
        return false;
    const size_t first = count - same;
    const size_t end = last->start + last->size;
    const size_t copied = same ? last->frames[last->count - same].start : end;
    memmove(last->frames + first, last->frames + (last->count - same),
            same * sizeof(*last->frames));
    last->count = count;
    last->start = output_position(texts);
    for (size_t i = 0; i < first; i++) {
        last->frames[i] = (struct last_frame){frames[i], output_position(texts)};
        print_frame(printer, &frames[i], i != 0);
        if (output_position(texts) > limit)
            return false;
    }
    const size_t shift = output_position(texts) - copied;
    for (size_t i = first; i < count; i++)
        last->frames[i].start += shift;
    if (same)
        output_repeat(texts, copied, end - copied);
    else
        print_end(printer);
    last->size = output_position(texts) - last->start;
    return true;
}

/* Print an answer that has the address, and so is no other address's. */
static void print_alone(struct symbolize_printer *printer, struct last_answer *last,
                        const struct symbolize_request *request,
                        const struct bat_source_frame *frames, size_t count)
{
    last->start = output_position(printer->output);
    print_frames(printer, request, frames, count);
    last->size = output_position(printer->output) - last->start;
}

/* --- Answers of many addresses --------------------------------------------------------------- */

/* Addresses in a row that all have one answer, and its text. */
struct kept_text {
    uint64_t start;
    struct known_text known;
};

/* Print the answer of the symbolizer's stretch, for all its addresses. False without memory. */
static bool keep_text(const struct symbolize_text *text, struct batch_worker *worker,
                      uint64_t address, struct known_text *known)
{
    struct symbolize_printer printer = worker->printer;
    const struct bat_source_frame *frames;
    size_t count;
    if (text_find(text, worker->symbolizer, address, &frames, &count) != BAT_FOUND)
        return false;
    printer.output = worker->one;
    printer.is_once = true;
    for (size_t i = 0; i < count; i++)
        print_frame(&printer, &frames[i], i != 0);
    print_end(&printer);
    const size_t size = output_position(worker->one);
    const char *printed = output_memory(worker->one);
    /* In a damaged file many functions can have one name, and that a long one. */
    const bool fits = printed && size + worker->kept_size <= worker->limit;
    const char *kept = fits ? printed_texts_keep(printer.functions, printed, size) : NULL;
    if (!kept)
        return false;
    worker->kept_size += size;
    known->text = kept;
    known->size = (uint32_t)size;
    return true;
}

/* Find the text of an address that shares its answer with all around it. False if it has its own
 * answer, or there is no memory. */
static bool find_kept(const struct symbolize_text *text, struct batch_worker *worker,
                      uint64_t address, struct kept_text *kept)
{
    const uint64_t inside = text_inside(text, address);
    if (inside - kept->start < kept->known.addresses)
        return true;
    struct bat_symbolizer *symbolizer = worker->symbolizer;
    const struct bat_original *original = symbolizer->original;
    const uint32_t function =
        worker->known ? bat_functions_find(original->output_functions, inside) : BAT_NONE;
    if (function == BAT_NONE)
        return false;
    struct known_text *known = &worker->known[function];
    const uint64_t start = original->outputs[function].address;
    if (!known->text) {
        if (!symbolizer_is_in_stretch(symbolizer, inside) || symbolizer->stretch.start != start ||
            symbolizer->stretch.size > UINT32_MAX || !keep_text(text, worker, address, known))
            return false;
        known->addresses = (uint32_t)symbolizer->stretch.size;
    }
    if (inside - start >= known->addresses)
        return false; /* padding */
    *kept = (struct kept_text){start, *known};
    return true;
}

void batch_make_texts(const struct symbolize_text *text, struct batch_worker *worker,
                      struct batch_answer *answers, const struct bat_sort_key *sorted, size_t count)
{
    struct symbolize_printer *printer = &worker->printer;
    struct last_answer last = {.count = 0};
    struct kept_text kept = {.start = 0};
    const bool is_alone = printer->options.addresses || printer->options.style == STYLE_JSON;
    for (size_t i = 0; i < count && output_position(printer->output) < worker->limit; i++) {
        if (i + AHEAD < count)
            __builtin_prefetch(&answers[sorted[i + AHEAD].value], 1);
        struct batch_answer *answer = &answers[sorted[i].value];
        if (!is_alone && find_kept(text, worker, sorted[i].key, &kept)) {
            answer->kept = kept.known.text;
            answer->size = kept.known.size;
            answer->found = BAT_FOUND;
            answer->is_kept = true;
            continue;
        }
        struct symbolize_request request = text_request(text, sorted[i].key);
        const struct bat_source_frame *frames;
        size_t frame_count;
        enum bat_symbolizer_found found =
            text_find(text, worker->symbolizer, request.address, &frames, &frame_count);
        if (is_alone)
            print_alone(printer, &last, &request, frames, frame_count);
        else if (!print_answer(printer, worker->limit, &last, frames, frame_count))
            break;
        if (last.size > UINT32_MAX)
            break;
        answer->start = last.start;
        answer->size = (uint32_t)last.size;
        answer->found = (uint8_t)found;
        answer->worker = (uint8_t)worker->number;
    }
    free(last.frames);
}
