/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Keeps bytes of a mapped file as they are now. Internal to the library.
 *
 * Another program may change a file while it is mapped. What is checked or measured first and used
 * or copied later, such as headers and names, must be the same bytes both times.
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * From now on the pages of these bytes, which belong to a private mapping, are this process's own
 * copies; addresses stay the same. bat_elf_release() ends that. Several threads may keep the same
 * bytes. The copies take the place of the file's pages in memory, and of the time that reading them
 * the first time takes. If they cannot be made, the bytes stay those of the file.
 */
static inline void bat_keep_bytes(const void *bytes, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t before = (uintptr_t)bytes % page;
    const size_t whole = (before + size + page - 1) / page * page;
    if (size == 0)
        return;
    uint8_t *first = (uint8_t *)bytes - before;
    if (mprotect(first, whole, PROT_READ | PROT_WRITE) != 0 ||
        madvise(first, whole, MADV_POPULATE_WRITE) == 0 || errno != EINVAL)
        return;
    /* Linux before 5.14: a page is copied when it is written to. */
    for (volatile uint8_t *at = first; at < first + whole; at += page)
        *at = *at;
}
