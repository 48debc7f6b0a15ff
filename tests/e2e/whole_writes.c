/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Preloaded into perf2bolt, which prints each number and blank by a system call of its own:
 * collects them to 64 KB. What is written to another of standard output and standard error comes
 * after it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char kept[1 << 16];
static size_t kept_size;
static int kept_file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void write_kept(void)
{
    for (size_t at = 0; at < kept_size;) {
        long written = syscall(SYS_write, kept_file, kept + at, kept_size - at);
        if (written < 0)
            abort();
        at += (size_t)written;
    }
    kept_size = 0;
}

ssize_t write(int file, const void *bytes, size_t size)
{
    if (file != STDOUT_FILENO && file != STDERR_FILENO)
        return syscall(SYS_write, file, bytes, size);
    pthread_mutex_lock(&lock);
    if (file != kept_file || size > sizeof(kept) - kept_size)
        write_kept();
    kept_file = file;
    ssize_t result = (ssize_t)size;
    if (size > sizeof(kept)) {
        result = syscall(SYS_write, file, bytes, size);
    } else {
        memcpy(kept + kept_size, bytes, size);
        kept_size += size;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

__attribute__((destructor)) static void end(void)
{
    write_kept();
}
