/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Addresses that are answered together, by several threads if they are many. Each thread looks up a
 * part of them in ascending order, so that hardly any debug information is read by two. The texts
 * are printed in the order of the questions.
 */
#include <stdlib.h>

#include "stacks/symbolizer.h"
#include "support/key_sort.h"
#include "support/parallel.h"
#include "support/text_memory.h"
#include "symbolize_text.h"

/* So many questions are answered together. */
#define BATCH_MAX ((size_t)1 << 16)

/* A thread is worth its start for so many. */
#define THREAD_MIN ((size_t)1 << 12)

/*
 * Behind texts of this size a thread makes no more: the other questions are answered one by one. An
 * answer that alone goes far beyond it has names that are made for that.
 */
#define TEXTS_LEAST ((size_t)1 << 19)
#define QUESTION_TIMES 512u

struct answer {
    uint64_t address;
    uint32_t start; /* of the text, among the worker's */
    uint32_t size;  /* 0: there is no text */
    uint8_t found;  /* an enum bat_symbolizer_found */
    uint8_t worker;
};

/* What a thread answers with; worker 0 is this thread. */
struct worker {
    const struct bat_symbolize *text;
    unsigned number;
    struct bat_symbolizer *symbolizer; /* NULL: it does not work */
    struct symbolize_printer printer;  /* its output is in memory: */
    struct bat_text_memory memory;
    const struct bat_sort_key *sorted; /* its part of the questions */
    size_t count;
    size_t limit;      /* of its texts */
    const char *texts; /* NULL without memory */
};

struct symbolize_batches {
    unsigned threads;
    size_t count;
    struct worker workers[BAT_PARALLEL_MAX];
    struct answer answers[BATCH_MAX];
    struct bat_sort_key keys[2 * BATCH_MAX]; /* of the answers, and as much space to sort them */
};

struct symbolize_batches *symbolize_batches_new(unsigned threads)
{
    struct symbolize_batches *batches = malloc(sizeof(*batches));
    if (!batches)
        return NULL;
    batches->threads = threads;
    batches->count = 0;
    for (unsigned i = 0; i < BAT_PARALLEL_MAX; i++)
        batches->workers[i] = (struct worker){.number = i};
    return batches;
}

void symbolize_batches_free(struct symbolize_batches *batches)
{
    for (unsigned i = 0; batches && i < BAT_PARALLEL_MAX; i++) {
        struct worker *worker = &batches->workers[i];
        bat_text_memory_free(&worker->memory);
        if (i == 0)
            continue;
        demangled_names_free(worker->printer.names);
        bat_symbolizer_close(worker->symbolizer);
    }
    free(batches);
}

void symbolize_batches_add(struct bat_symbolize *text, uint64_t address)
{
    struct symbolize_batches *batches = text->batches;
    if (batches->count == BATCH_MAX)
        symbolize_batches_answer(text);
    batches->answers[batches->count++] = (struct answer){.address = address};
}

/* --- Looking up ----------------------------------------------------------------------------- */

static void begin(struct worker *worker)
{
    struct bat_symbolizer *given = symbolize_files_given(worker->text->files);
    struct symbolize_printer *printer = &worker->printer;
    struct demangled_names *names = worker->text->printer.names;
    *printer = worker->text->printer;
    if (names && worker->number != 0)
        printer->names = demangled_names_new(worker->text->binary.demangle);
    if (bat_text_memory_begin(&worker->memory, NULL) != BAT_OK || (names && !printer->names))
        return;
    printer->output = &worker->memory.text;
    worker->symbolizer = worker->number == 0 ? given : bat_symbolizer_second(given);
}

static struct answer answer(struct worker *worker, uint64_t address)
{
    const size_t start = bat_text_memory_size(&worker->memory);
    const enum bat_symbolizer_found found =
        symbolize_print_code(worker->text, worker->symbolizer, &worker->printer, address);
    return (struct answer){.address = address,
                           .start = (uint32_t)start,
                           .size = (uint32_t)(bat_text_memory_size(&worker->memory) - start),
                           .found = (uint8_t)found,
                           .worker = (uint8_t)worker->number};
}

static void *work(void *part)
{
    struct worker *worker = part;
    if (!worker->memory.text.output)
        begin(worker);
    if (!worker->symbolizer)
        return NULL;
    worker->memory.max = 2 * worker->limit;
    struct answer now = {.size = 0};
    for (size_t i = 0; i < worker->count && bat_text_memory_size(&worker->memory) < worker->limit;
         i++) {
        const struct bat_sort_key *key = &worker->sorted[i];
        if (i == 0 || key->key != now.address)
            now = answer(worker, key->key);
        worker->text->batches->answers[key->value] = now;
    }
    worker->texts = bat_text_memory_take(&worker->memory);
    return NULL;
}

/* Print an answer's text, or look it up if it has none. */
static void print(struct bat_symbolize *text, const struct answer *answer)
{
    const char *texts = answer->size ? text->batches->workers[answer->worker].texts : NULL;
    enum bat_symbolizer_found found = (enum bat_symbolizer_found)answer->found;
    if (texts)
        bat_text_bytes(text->printer.output, texts + answer->start, answer->size);
    else
        found = symbolize_print_code(text, symbolize_files_given(text->files), &text->printer,
                                     answer->address);
    symbolize_note_found(text, answer->address, found);
}

void symbolize_batches_answer(struct bat_symbolize *text)
{
    struct symbolize_batches *batches = text->batches;
    const size_t count = batches->count;
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        batches->keys[i] = (struct bat_sort_key){batches->answers[i].address, i};
    const struct bat_sort_key *sorted = bat_sort_keys(batches->keys, batches->keys + count, count);
    const unsigned threads = bat_parallel_threads(batches->threads, count / THREAD_MIN);
    for (unsigned i = 0; i < threads; i++) {
        struct worker *worker = &batches->workers[i];
        worker->text = text;
        worker->sorted = sorted + count * i / threads;
        worker->count = count * (i + 1) / threads - count * i / threads;
        worker->limit = TEXTS_LEAST + QUESTION_TIMES * worker->count;
        worker->texts = NULL;
    }
    bat_parts_run(work, batches->workers, sizeof(batches->workers[0]), threads);
    for (size_t i = 0; i < count; i++)
        print(text, &batches->answers[i]);
    batches->count = 0;
}
