/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bat.h"
#include "spec/escape_controls.h"

/* The line is printed after the first time, and then at most once in the second time. */
#define FIRST_MILLISECONDS 1000
#define EVERY_MILLISECONDS 200

static int64_t now_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void progress_begin(struct progress *progress, const char *const *files, size_t count, bool quiet)
{
    *progress = (struct progress){.is_shown = !quiet && isatty(STDERR_FILENO)};
    if (!progress->is_shown)
        return;
    for (size_t i = 0; i < count; i++) {
        struct stat status;
        if (stat(files[i], &status) == 0 && S_ISREG(status.st_mode))
            progress->total += (uint64_t)status.st_size;
    }
    atomic_store(&progress->next, now_milliseconds() + FIRST_MILLISECONDS);
}

void progress_file(struct progress *progress, const char *file)
{
    progress->file = file;
}

void progress_update(uint64_t bytes, void *context)
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
    char file[BAT_MESSAGE_SIZE];
    snprintf(file, sizeof(file), "%s", progress->file);
    bat_escape_message(file, sizeof(file));
    if (progress->total)
        fprintf(stderr, "\r\033[Kreading %s: %" PRIu64 " of %" PRIu64 " MB", file, done >> 20,
                progress->total >> 20);
    else
        fprintf(stderr, "\r\033[Kreading %s: %" PRIu64 " MB", file, done >> 20);
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->is_shown)
        fputs("\r\033[K", stderr);
    fflush(stderr);
}
