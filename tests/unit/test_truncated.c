/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tools/common/truncated.c: several threads that read what a file no longer has. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/common/tool.h"
#include "unit_test.h"

#define THREADS 4
#define SIZE ((size_t)1 << 16)

/* As often as a fault that depends on threads has to show itself. */
#define REPEATS 100

static pthread_barrier_t barrier;

static void *read_byte(void *bytes)
{
    pthread_barrier_wait(&barrier);
    return *(volatile char *)bytes ? bytes : NULL;
}

/* Map a file, cut it off, and read it in all threads. Does not return. */
static void read_cut_file(int complaints)
{
    char path[] = "/tmp/test_truncated.XXXXXX";
    int file = mkstemp(path);
    unlink(path);
    if (file < 0 || ftruncate(file, SIZE) != 0 || dup2(complaints, STDERR_FILENO) < 0)
        _exit(2);
    char *bytes = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED || ftruncate(file, 0) != 0)
        _exit(2);
    truncated_catch("tool", 3);
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, read_byte, bytes + i * SIZE / THREADS) != 0)
            _exit(2);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    _exit(2);
}

TEST(test_threads)
{
    for (int i = 0; i < REPEATS; i++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            read_cut_file(ends[1]);
        close(ends[1]);
        char said[512] = "";
        size_t size = 0;
        for (ssize_t got; (got = read(ends[0], said + size, sizeof(said) - 1 - size)) > 0;)
            size += (size_t)got;
        close(ends[0]);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 3);
        /* One sentence. */
        assert_memory_equal(said, "tool: /tmp/test_truncated.", 26);
        const char *end = strchr(said, '\n');
        assert_non_null(end);
        assert_string_equal(end, "\n");
    }
}
