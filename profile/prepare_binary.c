/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "prepare_binary.h"

#include <pthread.h>
#include <stdlib.h>

/* One of the two tasks. It runs in a new thread, or if none can be started, in the caller's. */
struct task {
    pthread_t thread;
    bool has_thread;
    enum bat_code code;
    struct bat_error error;
};

struct bat_preparation {
    struct bat_binary *binary;
    struct bat_binary copy;       /* as it was at first: the caller may decode binary meanwhile */
    struct bat_sparse_map sparse; /* empty if binary had a map */
    struct bat_elf *symbols;
    struct bat_functions *functions;
    struct task decode;
    struct task find;
    bool is_taken;
    unsigned threads; /* 1: all is done in the caller's thread */
};

static void *run_decode(void *context)
{
    struct bat_preparation *preparation = context;
    if (!preparation->copy.map)
        preparation->decode.code = bat_binary_decode_sparse(
            &preparation->copy, false, &preparation->sparse, &preparation->decode.error);
    return NULL;
}

static void *run_find(void *context)
{
    struct bat_preparation *preparation = context;
    preparation->find.code = bat_functions_create_unnamed(
        preparation->copy.elf, preparation->symbols, preparation->threads, &preparation->functions,
        &preparation->find.error);
    return NULL;
}

static void start(struct task *task, void *(*run)(void *), struct bat_preparation *preparation)
{
    task->has_thread =
        preparation->threads != 1 && pthread_create(&task->thread, NULL, run, preparation) == 0;
    if (!task->has_thread)
        run(preparation);
}

static void wait_for(struct task *task)
{
    if (task->has_thread)
        pthread_join(task->thread, NULL);
    task->has_thread = false;
}

static struct bat_preparation *begin(struct bat_binary *binary, struct bat_elf *symbols,
                                     unsigned threads)
{
    if (!binary->elf)
        return NULL;
    struct bat_preparation *preparation = calloc(1, sizeof(*preparation));
    if (!preparation)
        return NULL;
    preparation->binary = binary;
    preparation->copy = *binary;
    preparation->symbols = symbols;
    preparation->threads = threads;
    /* First what takes longest and cannot be divided: the last to end would run alone. */
    start(&preparation->decode, run_decode, preparation);
    start(&preparation->find, run_find, preparation);
    return preparation;
}

struct bat_preparation *bat_preparation_begin(struct bat_binary *binary, struct bat_elf *symbols)
{
    return begin(binary, symbols, 0);
}

bool bat_preparation_is_for(const struct bat_preparation *preparation,
                            const struct bat_binary *binary, const struct bat_elf *symbols)
{
    return !preparation->is_taken && preparation->binary == binary &&
           preparation->symbols == symbols;
}

enum bat_code bat_preparation_take(struct bat_preparation *preparation,
                                   struct bat_functions **functions, struct bat_sparse_map *sparse,
                                   struct bat_error *error)
{
    wait_for(&preparation->find);
    wait_for(&preparation->decode);
    preparation->is_taken = true;
    const struct task *failed = preparation->find.code ? &preparation->find : &preparation->decode;
    if (failed->code) {
        if (error)
            *error = failed->error;
        return failed->code;
    }
    /* The caller may have decoded the note too. */
    *sparse = (struct bat_sparse_map){0};
    if (!preparation->binary->map) {
        *sparse = preparation->sparse;
        preparation->sparse = (struct bat_sparse_map){0};
    }
    *functions = preparation->functions;
    preparation->functions = NULL;
    return BAT_OK;
}

void bat_preparation_free(struct bat_preparation *preparation)
{
    if (!preparation)
        return;
    wait_for(&preparation->find);
    wait_for(&preparation->decode);
    bat_functions_free(preparation->functions);
    bat_sparse_free(&preparation->sparse);
    free(preparation);
}

enum bat_code bat_preparation_load(struct bat_binary *binary, struct bat_elf *symbols,
                                   unsigned threads, struct bat_functions **functions,
                                   struct bat_sparse_map *sparse, struct bat_error *error)
{
    struct bat_preparation *preparation = begin(binary, symbols, threads);
    BAT_TRY_MEMORY(preparation, error, "for the translated profile");
    enum bat_code code = bat_preparation_take(preparation, functions, sparse, error);
    bat_preparation_free(preparation);
    return code;
}
