/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "loading.h"

#include <pthread.h>
#include <stdlib.h>

#include "bat_decoder.h"

/* One of the two tasks. It runs in a new thread, or if none can be started, in the caller's. */
struct task {
    pthread_t thread;
    bool has_thread;
    enum bat_code code;
    struct bat_error error;
};

struct bat_loading {
    struct bat_binary *binary;
    struct bat_binary decoded; /* a copy that gets the map: the caller may read binary meanwhile */
    struct bat_elf *symbols;
    struct bat_functions *functions;
    struct task decode;
    struct task find;
    bool owns_map; /* decoded.map is not binary's */
    bool is_taken;
};

static void *run_decode(void *context)
{
    struct bat_loading *loading = context;
    if (!loading->decoded.map)
        loading->decode.code = bat_binary_decode(&loading->decoded, &loading->decode.error);
    return NULL;
}

static void *run_find(void *context)
{
    struct bat_loading *loading = context;
    loading->find.code = bat_functions_create_unnamed(loading->decoded.elf, loading->symbols,
                                                      &loading->functions, &loading->find.error);
    return NULL;
}

static void start(struct task *task, void *(*run)(void *), struct bat_loading *loading)
{
    task->has_thread = pthread_create(&task->thread, NULL, run, loading) == 0;
    if (!task->has_thread)
        run(loading);
}

static void wait_for(struct task *task)
{
    if (task->has_thread)
        pthread_join(task->thread, NULL);
    task->has_thread = false;
}

struct bat_loading *bat_loading_begin(struct bat_binary *binary, struct bat_elf *symbols)
{
    struct bat_loading *loading = calloc(1, sizeof(*loading));
    if (!loading)
        return NULL;
    loading->binary = binary;
    loading->decoded = *binary;
    loading->owns_map = !binary->map;
    loading->symbols = symbols;
    start(&loading->find, run_find, loading);
    start(&loading->decode, run_decode, loading);
    return loading;
}

bool bat_loading_is_for(const struct bat_loading *loading, const struct bat_binary *binary,
                        const struct bat_elf *symbols)
{
    return !loading->is_taken && loading->binary == binary && loading->symbols == symbols;
}

enum bat_code bat_loading_take(struct bat_loading *loading, struct bat_functions **functions,
                               struct bat_error *error)
{
    wait_for(&loading->find);
    wait_for(&loading->decode);
    loading->is_taken = true;
    const struct task *failed = loading->find.code ? &loading->find : &loading->decode;
    if (failed->code) {
        if (error)
            *error = failed->error;
        return failed->code;
    }
    /* The caller may have decoded the note too. */
    if (loading->owns_map && !loading->binary->map) {
        loading->binary->map = loading->decoded.map;
        loading->owns_map = false;
    }
    *functions = loading->functions;
    loading->functions = NULL;
    return BAT_OK;
}

void bat_loading_free(struct bat_loading *loading)
{
    if (!loading)
        return;
    wait_for(&loading->find);
    wait_for(&loading->decode);
    bat_functions_free(loading->functions);
    if (loading->owns_map)
        bat_map_free(loading->decoded.map);
    free(loading);
}
