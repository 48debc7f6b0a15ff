/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "symbolize_batch.h"

#include <pthread.h>
#include <stdlib.h>

#include "spec/large_memory.h"
#include "stacks/symbolizer.h"
#include "support/parallel.h"

/* A batch has at most so many questions. */
#define BATCH_MAX ((size_t)1 << 18)

/* So few questions are answered one by one. */
#define FEW 8u

/* So many questions the first batches have; a later one as many as have texts of this size in
 * total, by the texts up to then. */
#define FIRST_BATCH ((size_t)1 << 13)
#define TEXTS_SIZE ((size_t)32 << 20)

/*
 * Behind texts of this size, questions are answered one by one. It is less for a few questions to a
 * small file: only names that are made for that have long texts.
 */
#define TEXTS_MAX (2 * TEXTS_SIZE)
#define TEXTS_LEAST ((size_t)1 << 20)
#define FILE_TIMES 8u
#define QUESTION_TIMES 64u

/* A thread is worth its start for so many questions; it takes so many at a time. */
#define THREAD_MIN ((size_t)1 << 12)
#define STRETCH ((size_t)1 << 9)

/* The last batch is this part of the questions that are left: no one works while it is printed. */
#define LAST_PART 4u

/* So many answers ahead, memory is fetched that they need. */
#define AHEAD 8u

/* Questions in their order, and their answers. */
struct batch {
    struct batch_answer *answers;
    size_t count;
    size_t capacity;
    struct bat_sort_key *keys; /* of the answers, and as much space to sort them */
    size_t key_capacity;
    const char *texts[BAT_PARALLEL_MAX]; /* of each worker; NULL: it has made none */
};

/* Questions by ascending address: each worker has a part of them, and helps others in the end. */
struct job {
    struct symbolize_text *text;
    struct batch *batch; /* NULL: there is no job */
    const struct bat_sort_key *sorted;
    unsigned number;  /* of the batch */
    unsigned workers; /* this thread is number 0: it works when it has nothing else to do */
    size_t limit;     /* of all texts */
    pthread_mutex_t lock;
    struct job_part {
        size_t next;
        size_t end;
    } parts[BAT_PARALLEL_MAX];
    struct job_worker {
        struct job *job;
        unsigned number;
        pthread_t thread;
        bool is_started; /* without memory for a thread, other workers take its part */
    } by_number[BAT_PARALLEL_MAX];
};

/*
 * While one batch is looked up by other threads, this one reads the questions of the other batch.
 * When that is full, it helps to finish the first, and prints it while the second is looked up.
 */
struct text_batches {
    struct batch batches[2];
    unsigned filled; /* questions go to batches[filled]; the other one is in the job */
    struct job job;
    size_t size; /* of the batch that is filled: then it is full */
    struct batch_worker workers[BAT_PARALLEL_MAX];
    unsigned threads;
    uint64_t made_count; /* questions whose texts were made, in all batches */
    uint64_t made_size;  /* memory that these took */
};

struct text_batches *batches_new(unsigned threads)
{
    struct text_batches *batches = calloc(1, sizeof(*batches));
    if (!batches)
        return NULL;
    batches->threads = threads;
    batches->size = FIRST_BATCH;
    pthread_mutex_init(&batches->job.lock, NULL);
    for (unsigned i = 0; i < BAT_PARALLEL_MAX; i++)
        batches->workers[i].number = i;
    return batches;
}

/* --- Workers -------------------------------------------------------------------------------- */

/* The memory for a worker's texts of a batch. */
static struct output *texts_of(const struct batch_worker *worker, unsigned batch)
{
    return worker->texts[worker->number == 0 ? 0 : batch];
}

/*
 * Worker 0 is this thread, with the symbolizer and the printer's caches of all other texts. The
 * printer was copied by this thread, which may change it while other workers begin.
 */
static void begin_worker(const struct symbolize_text *text, struct batch_worker *worker)
{
    worker->is_begun = true;
    struct symbolize_printer *printer = &worker->printer;
    struct bat_symbolizer *given = symbolize_files_given(text->files);
    worker->texts[0] = output_begin_memory();
    if (worker->number != 0) {
        worker->texts[1] = output_begin_memory();
        printer->names = demangled_names_new();
        printer->functions = printed_texts_new(printer->options.demangle);
        printer->files = printed_texts_new(false);
    }
    if (texts_of(worker, 0) && texts_of(worker, 1) && printer->names && printer->functions &&
        printer->files)
        worker->symbolizer = worker->number == 0 ? given : bat_symbolizer_second(given);
    worker->one = output_begin_memory();
    if (given->original && worker->one)
        worker->known = calloc((size_t)given->original->output_count + 1, sizeof(*worker->known));
}

static void free_worker(struct batch_worker *worker)
{
    output_free(worker->texts[0]);
    output_free(worker->texts[1]);
    output_free(worker->one);
    free(worker->known);
    if (worker->number == 0)
        return;
    demangled_names_free(worker->printer.names);
    printed_texts_free(worker->printer.functions);
    printed_texts_free(worker->printer.files);
    bat_symbolizer_close(worker->symbolizer);
}

void batches_free(struct text_batches *batches)
{
    if (!batches)
        return;
    for (unsigned i = 0; i < BAT_PARALLEL_MAX; i++)
        free_worker(&batches->workers[i]);
    for (unsigned i = 0; i < 2; i++) {
        free(batches->batches[i].answers);
        free(batches->batches[i].keys);
    }
    pthread_mutex_destroy(&batches->job.lock);
    free(batches);
}

/* --- Printing ------------------------------------------------------------------------------- */

static void fetch(const char *text, size_t size)
{
    const size_t line = 64;
    for (size_t at = 0; at < size && at < 4 * line; at += line)
        __builtin_prefetch(text + at);
}

/* The text of an answer, or NULL. */
static const char *text_of(const struct batch *batch, const struct batch_answer *answer)
{
    if (answer->is_kept)
        return answer->kept;
    const char *texts = answer->size ? batch->texts[answer->worker] : NULL;
    return texts ? texts + answer->start : NULL;
}

/* Print the answers of a batch, and empty it. */
static void print_batch(struct symbolize_text *text, struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct batch_answer *answer = &batch->answers[i];
        const char *ahead = i + AHEAD < batch->count ? text_of(batch, answer + AHEAD) : NULL;
        if (ahead)
            fetch(ahead, answer[AHEAD].size);
        const char *found = text_of(batch, answer);
        if (found) {
            text_note_found(text, answer->address, (enum bat_symbolizer_found)answer->found);
            output_bytes(text->printer->output, found, answer->size);
        } else {
            text_answer_code(text, answer->address);
        }
    }
    batch->count = 0;
}

/* --- Looking up ----------------------------------------------------------------------------- */

/*
 * Take the next questions of the worker's own part, or else the last of the part that has most
 * left: what is between them was, or will be, taken by its owner. Returns their number.
 */
static size_t take(struct job *job, unsigned number, size_t *first)
{
    pthread_mutex_lock(&job->lock);
    struct job_part *part = &job->parts[number];
    const bool is_own = part->next != part->end;
    for (unsigned i = 0; !is_own && i < job->workers; i++)
        if (job->parts[i].end - job->parts[i].next > part->end - part->next)
            part = &job->parts[i];
    const size_t left = part->end - part->next;
    const size_t count = left < STRETCH ? left : STRETCH;
    *first = is_own ? part->next : part->end - count;
    if (is_own)
        part->next += count;
    else
        part->end -= count;
    pthread_mutex_unlock(&job->lock);
    return count;
}

static void *work(void *context)
{
    const struct job_worker *part = context;
    struct job *job = part->job;
    struct batch_worker *worker = &job->text->batches->workers[part->number];
    if (!worker->is_begun)
        begin_worker(job->text, worker);
    if (!worker->symbolizer)
        return NULL;
    worker->printer.output = texts_of(worker, job->number);
    worker->limit = job->limit / job->workers;
    size_t first;
    size_t count;
    while ((count = take(job, part->number, &first)) != 0)
        batch_make_texts(job->text, worker, job->batch->answers, job->sorted + first, count);
    return NULL;
}

/* The batch's questions by ascending address; NULL if there is no memory. */
static const struct bat_sort_key *sort(struct batch *batch)
{
    if (batch->key_capacity < batch->count) {
        free(batch->keys);
        batch->keys = bat_large_array(2 * batch->count, sizeof(*batch->keys));
        batch->key_capacity = batch->keys ? batch->count : 0;
    }
    if (!batch->keys)
        return NULL;
    for (size_t i = 0; i < batch->count; i++)
        batch->keys[i] = (struct bat_sort_key){batch->answers[i].address, i};
    return bat_sort_keys(batch->keys, batch->keys + batch->count, batch->count);
}

static size_t texts_limit(const struct bat_symbolizer *symbolizer, size_t questions)
{
    uint64_t size = 0;
    uint64_t original_size = 0;
    bat_elf_bytes(symbolizer->elf, &size);
    if (symbolizer->original)
        bat_elf_bytes(symbolizer->original->elf, &original_size);
    const uint64_t limit =
        TEXTS_LEAST + FILE_TIMES * (size + original_size) + QUESTION_TIMES * questions;
    return limit < TEXTS_MAX ? (size_t)limit : TEXTS_MAX;
}

/* Let the other workers make the texts of the filled batch. */
static void start_job(struct symbolize_text *text, const struct bat_sort_key *sorted)
{
    struct text_batches *batches = text->batches;
    struct job *job = &batches->job;
    struct batch *batch = &batches->batches[batches->filled];
    job->text = text;
    job->batch = batch;
    job->sorted = sorted;
    job->number = batches->filled;
    job->workers = bat_parallel_threads(batches->threads, batch->count / THREAD_MIN);
    job->limit = texts_limit(symbolize_files_given(text->files), batch->count);
    for (unsigned i = 0; i < job->workers; i++) {
        job->parts[i] = (struct job_part){batch->count * i / job->workers,
                                          batch->count * (i + 1) / job->workers};
        if (!batches->workers[i].is_begun)
            batches->workers[i].printer = *text->printer;
    }
    for (unsigned i = 0; i < job->workers; i++) {
        struct job_worker *worker = &job->by_number[i];
        worker->job = job;
        worker->number = i;
        worker->is_started = i != 0 && pthread_create(&worker->thread, NULL, work, worker) == 0;
    }
}

/* Help with the job until it is done, if there is one. Then its batch can be printed. */
static void finish_job(struct text_batches *batches)
{
    struct job *job = &batches->job;
    struct batch *batch = job->batch;
    if (!batch)
        return;
    work(&job->by_number[0]);
    for (unsigned i = 1; i < job->workers; i++)
        if (job->by_number[i].is_started)
            pthread_join(job->by_number[i].thread, NULL);
    job->batch = NULL;
    batches->made_count += batch->count;
    for (unsigned i = 0; i < BAT_PARALLEL_MAX; i++) {
        struct output *texts =
            i < job->workers ? texts_of(&batches->workers[i], job->number) : NULL;
        batches->made_size += texts ? output_position(texts) : 0;
        batch->texts[i] = texts ? output_memory(texts) : NULL;
    }
    const size_t mean = (size_t)(batches->made_size / batches->made_count);
    batches->size = TEXTS_SIZE / (mean + 1) + 1;
    batches->size = batches->size < BATCH_MAX ? batches->size : BATCH_MAX;
}

/* Finish the batch before, let the filled one be looked up, and print the one before meanwhile. */
static void next_batch(struct symbolize_text *text)
{
    struct text_batches *batches = text->batches;
    struct batch *batch = &batches->batches[batches->filled];
    struct batch *before = &batches->batches[!batches->filled];
    /* Other workers still have the batch before. */
    const struct bat_sort_key *sorted = batch->count > FEW ? sort(batch) : NULL;
    finish_job(batches);
    memset(batch->texts, 0, sizeof(batch->texts));
    if (sorted)
        start_job(text, sorted);
    print_batch(text, before);
    batches->filled = !batches->filled;
}

/* --- Questions ------------------------------------------------------------------------------ */

/* Make room for a full batch of that size, which is larger than the batch's capacity. */
static bool grow(struct batch *batch, size_t capacity)
{
    struct batch_answer *answers = bat_large_grow(batch->answers, batch->count * sizeof(*answers),
                                                  capacity * sizeof(*answers));
    if (!answers)
        return false;
    batch->answers = answers;
    batch->capacity = capacity;
    return true;
}

bool batches_add(struct symbolize_text *text, uint64_t address)
{
    struct text_batches *batches = text->batches;
    if (batches->batches[batches->filled].count >= batches->size)
        next_batch(text);
    struct batch *batch = &batches->batches[batches->filled];
    if (batch->count == batch->capacity && !grow(batch, batches->size))
        return false;
    batch->answers[batch->count++] = (struct batch_answer){.address = address};
    return true;
}

/* Leave only a part of the questions in the filled batch, and let the others be looked up. */
static void begin_last(struct symbolize_text *text)
{
    struct text_batches *batches = text->batches;
    struct batch *batch = &batches->batches[batches->filled];
    struct batch *last = &batches->batches[!batches->filled];
    const size_t count = batch->count / LAST_PART;
    if (count < THREAD_MIN || last->capacity < count)
        return;
    batch->count -= count;
    next_batch(text);
    for (size_t i = 0; i < count; i++)
        last->answers[i] =
            (struct batch_answer){.address = batch->answers[batch->count + i].address};
    last->count = count;
}

void batches_answer(struct symbolize_text *text)
{
    struct text_batches *batches = text->batches;
    begin_last(text);
    if (batches->batches[batches->filled].count != 0)
        next_batch(text);
    finish_job(batches);
    print_batch(text, &batches->batches[!batches->filled]);
}
