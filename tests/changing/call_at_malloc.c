/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Preloaded into a program with the address sanitizer: makes a system call at each allocation, so
 * that change_at_call can change a file between what is measured and what is copied.
 */
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Allocations of fewer bytes are too many. */
#define SIZE_MIN 64u

void __sanitizer_malloc_hook(const volatile void *memory, size_t size);

void __sanitizer_malloc_hook(const volatile void *memory, size_t size)
{
    (void)memory;
    if (size >= SIZE_MIN)
        syscall(SYS_getppid);
}
