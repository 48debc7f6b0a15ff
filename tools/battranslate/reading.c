/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading the profiles of a request, with progress on a terminal. */
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "translate_work.h"

struct progress {
    bool is_shown;
    const char *file;
    uint64_t total; /* bytes of all regular files */
    atomic_uint_fast64_t done;
    atomic_int_fast64_t next; /* time of the next print, in milliseconds */
};

/* The line changes at most so often. */
#define EVERY_MILLISECONDS 200

static int64_t now_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void progress_begin(struct progress *progress, const struct translate_request *request)
{
    *progress = (struct progress){.is_shown = !request->quiet && isatty(STDERR_FILENO)};
    if (!progress->is_shown)
        return;
    for (size_t i = 0; i < request->profile_count; i++) {
        struct stat status;
        if (stat(request->profiles[i], &status) == 0 && S_ISREG(status.st_mode))
            progress->total += (uint64_t)status.st_size;
    }
    atomic_store(&progress->next, now_milliseconds());
}

/* Bytes were read, by any thread. */
static void progress_update(uint64_t bytes, void *context)
{
    struct progress *progress = context;
    if (!progress->is_shown)
        return;
    uint64_t done = atomic_fetch_add(&progress->done, bytes) + bytes;
    int64_t now = now_milliseconds();
    int_fast64_t next = atomic_load(&progress->next);
    /* Only one of several threads prints. */
    if (now < next ||
        !atomic_compare_exchange_strong(&progress->next, &next, now + EVERY_MILLISECONDS))
        return;
    if (progress->total)
        tool_step("reading %s: %lu of %lu MB", progress->file, done >> 20, progress->total >> 20);
    else
        tool_step("reading %s: %lu MB", progress->file, done >> 20);
}

static void begin(const char *path, void *context)
{
    struct progress *progress = context;
    progress->file = path;
    tool_step("reading %s", path);
}

enum tool_exit work_read_parts(struct parts *parts, const struct translate_request *request,
                               parts_read_fn *read, void *context)
{
    struct progress progress;
    struct bat_read_options reading = request->reading;
    reading.progress = progress_update;
    reading.progress_context = &progress;
    progress_begin(&progress, request);
    const struct parts_request all = {.profiles = request->profiles,
                                      .profile_count = request->profile_count,
                                      .reading = &reading,
                                      .once = request->once,
                                      .keep_going = request->keep_going,
                                      .begin = begin,
                                      .report = tool_tell_error};
    const bool is_fine = parts_read(parts, &all, read, context);
    parts->request.reading = NULL;
    tool_step(NULL);
    return is_fine ? TOOL_FINE : TOOL_BAD;
}

enum tool_exit work_parts_status(const struct parts *parts)
{
    return parts_are_left_out(parts) ? TOOL_PARTIAL : TOOL_FINE;
}

bool work_reports_parts(const struct translate_request *request)
{
    return request->once || request->keep_going;
}
