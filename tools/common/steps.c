/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A line on the terminal that says what is being done, for as long as that takes. */
#include "tool.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "spec/escape_controls.h"

/* The line is shown after this time, and then as often. */
#define FIRST_MILLISECONDS 2000
#define EVERY_MILLISECONDS 200

/* So much of it that it stays one line on most terminals. */
#define STEP_SIZE 160u

static struct {
    pthread_mutex_t lock;
    pthread_cond_t ending; /* by the monotonic clock */
    pthread_t thread;
    bool runs;
    bool ends;
    bool is_shown;
    int64_t begin; /* of the first step, in milliseconds */
    char what[STEP_SIZE];
} steps = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_quiet;

void tool_be_quiet(void)
{
    is_quiet = true;
}

bool tool_is_quiet(void)
{
    return is_quiet;
}

static int64_t milliseconds(const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000 + time->tv_nsec / 1000000;
}

static int64_t now_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return milliseconds(&now);
}

static void hide(void)
{
    if (steps.is_shown)
        fputs("\r\033[K", stderr);
    fflush(stderr);
    steps.is_shown = false;
}

static void show(int64_t now)
{
    if (steps.what[0] == '\0' || now - steps.begin < FIRST_MILLISECONDS)
        return;
    fprintf(stderr, "\r\033[K%s, %ld s", steps.what, (now - steps.begin) / 1000);
    fflush(stderr);
    steps.is_shown = true;
}

static void *watch(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&steps.lock);
    while (!steps.ends) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        show(milliseconds(&until));
        until.tv_nsec += EVERY_MILLISECONDS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&steps.ending, &steps.lock, &until);
    }
    pthread_mutex_unlock(&steps.lock);
    return NULL;
}

static void end_watch(void)
{
    pthread_mutex_lock(&steps.lock);
    steps.ends = true;
    hide();
    pthread_cond_signal(&steps.ending);
    pthread_mutex_unlock(&steps.lock);
    pthread_join(steps.thread, NULL);
}

/* Without a thread nothing is shown. */
static void begin_watch(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&steps.ending, &attributes);
    pthread_condattr_destroy(&attributes);
    steps.begin = now_milliseconds();
    steps.runs = pthread_create(&steps.thread, NULL, watch, NULL) == 0 && atexit(end_watch) == 0;
}

void tool_step(const char *format, ...)
{
    if (is_quiet || !isatty(STDERR_FILENO))
        return;
    pthread_mutex_lock(&steps.lock);
    if (!format) {
        hide();
        steps.what[0] = '\0';
    } else {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(steps.what, sizeof(steps.what), format, arguments);
        va_end(arguments);
        bat_escape_message(steps.what, sizeof(steps.what));
        if (!steps.runs)
            begin_watch();
    }
    pthread_mutex_unlock(&steps.lock);
}

void tool_step_make_way(void)
{
    pthread_mutex_lock(&steps.lock);
    hide();
    pthread_mutex_unlock(&steps.lock);
}
