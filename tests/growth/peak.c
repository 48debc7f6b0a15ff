/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A library to preload: at the end of a program it writes the most bytes that were allocated at one
 * time to the file PEAK_FILE. Unlike the resident pages, this number does not depend on the
 * machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_size_t used;
static atomic_size_t most;

/* glibc's own names of the replaced functions; dlsym() would allocate. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

/* Count new memory, which may be NULL; returns it. */
static void *count(void *memory)
{
    size_t size = malloc_usable_size(memory);
    size_t now = atomic_fetch_add(&used, size) + size;
    for (size_t old = atomic_load(&most); now > old;)
        if (atomic_compare_exchange_weak(&most, &old, now))
            break;
    return memory;
}

void *malloc(size_t size)
{
    return count(__libc_malloc(size));
}

void *calloc(size_t number, size_t size)
{
    return count(__libc_calloc(number, size));
}

void *realloc(void *memory, size_t size)
{
    size_t before = malloc_usable_size(memory);
    void *moved = __libc_realloc(memory, size);
    if (!moved && size != 0)
        return NULL;
    atomic_fetch_sub(&used, before);
    return count(moved);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return count(__libc_memalign(alignment, size));
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    void *aligned = aligned_alloc(alignment, size);
    if (!aligned)
        return ENOMEM;
    *memory = aligned;
    return 0;
}

void free(void *memory)
{
    atomic_fetch_sub(&used, malloc_usable_size(memory));
    __libc_free(memory);
}

__attribute__((destructor)) static void end(void)
{
    char text[32];
    size_t bytes = atomic_load(&most);
    const char *path = getenv("PEAK_FILE");
    int size = snprintf(text, sizeof(text), "%zu\n", bytes);
    int file = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    if (file < 0 || write(file, text, (size_t)size) != size)
        _exit(120);
    close(file);
}
