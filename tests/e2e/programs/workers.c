/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Work for `perf record`: workers plain|threads|fork|until N. N is the number of rounds of each
 * worker; "until" goes on until its standard input ends. Prints a number that depends on all of it.
 */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 3, CELLS = 512 };

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

__attribute__((noinline)) static uint32_t rare(uint32_t value)
{
    for (int i = 0; i < 20; i++)
        value = value << 5 ^ value >> 3 ^ (uint32_t)i;
    return value;
}

__attribute__((noinline)) static void sift(uint32_t *heap, int at, int end)
{
    while (2 * at + 1 < end) {
        int child = 2 * at + 1;
        if (child + 1 < end && heap[child + 1] > heap[child])
            child++;
        if (heap[at] >= heap[child])
            return;
        uint32_t value = heap[at];
        heap[at] = heap[child];
        heap[child] = value;
        at = child;
    }
}

__attribute__((noinline)) static uint32_t round_of_work(uint32_t seed)
{
    uint32_t cells[CELLS];
    for (int i = 0; i < CELLS; i++)
        cells[i] = next(&seed);
    for (int i = CELLS / 2; i >= 0; i--)
        sift(cells, i, CELLS);
    uint32_t sum = 0;
    for (int i = CELLS - 1; i > 0; i--) {
        sum = sum * 31 + cells[0];
        cells[0] = cells[i];
        sift(cells, 0, i);
        if (cells[0] % 1000 == 7)
            sum += rare(cells[0]);
    }
    return sum;
}

static uint32_t rounds(uint32_t seed, int count)
{
    uint32_t sum = seed;
    for (int i = 0; i < count; i++)
        sum ^= round_of_work(sum + (uint32_t)i);
    return sum;
}

struct job {
    uint32_t seed, result;
    int count;
};

static void *thread(void *argument)
{
    struct job *job = argument;
    job->result = rounds(job->seed, job->count);
    return NULL;
}

static uint32_t in_threads(int count)
{
    pthread_t threads[WORKERS];
    struct job jobs[WORKERS];
    uint32_t sum = 0;
    for (int i = 0; i < WORKERS; i++) {
        jobs[i] = (struct job){.seed = (uint32_t)i, .count = count};
        if (pthread_create(&threads[i], NULL, thread, &jobs[i]) != 0)
            abort();
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        sum ^= jobs[i].result;
    }
    return sum;
}

static uint32_t in_processes(int count)
{
    uint32_t sum = rounds(9, count);
    for (int i = 0; i < WORKERS; i++) {
        pid_t child = fork();
        if (child < 0)
            abort();
        if (child == 0)
            _exit((int)(rounds((uint32_t)i, count) & 0x7f));
        int status;
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
            abort();
        sum = sum * 31 + (uint32_t)WEXITSTATUS(status);
    }
    return sum;
}

static uint32_t until_told(void)
{
    uint32_t sum = 1;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    while (poll(&input, 1, 0) == 0)
        sum ^= rounds(sum, 10);
    return sum;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int count = atoi(argv[2]);
    uint32_t sum = 0;
    if (strcmp(argv[1], "plain") == 0)
        sum = rounds(1, count);
    else if (strcmp(argv[1], "threads") == 0)
        sum = in_threads(count);
    else if (strcmp(argv[1], "fork") == 0)
        sum = in_processes(count);
    else if (strcmp(argv[1], "until") == 0)
        sum = until_told();
    else
        return 2;
    printf("%s %x\n", argv[1], (unsigned)sum);
    return 0;
}
