/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A library to preload: it makes chosen calls of a program fail, for test_faults.py.
 *
 *   FAULT_MEMORY=N   the N-th call of malloc, calloc, realloc or posix_memalign fails
 *   FAULT_FROM=N     the N-th and all later calls fail
 *   FAULT_STOP=1     with these, a debugger stops where the memory fails (SIGTRAP)
 *   FAULT_NO_TREES=1 calls by tsearch() do not count
 *   FAULT_SHORT=N    the N-th call of read, pread, write, pwrite or copy_file_range for more
 *                    than one byte transfers one byte
 *   FAULT_COUNT=FILE at the end, the numbers of both kinds of calls are written to FILE
 *
 * Calls are counted from the start of main() on, over all threads. libdw's own calls of malloc do
 * not count: libdw 0.188 crashes if its tables of abbreviations get no memory.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_ulong memory_calls;
static atomic_ulong transfer_calls;
static unsigned long memory_fault;
static unsigned long memory_fault_from;
static unsigned long short_fault;
static const char *count_path;
static bool is_ready;
static bool stops;
static ElfW(Addr) libdw_begin;
static ElfW(Addr) libdw_end;
static ElfW(Addr) tsearch_begin;
static ElfW(Addr) tsearch_end;

/* glibc's own names of the replaced functions; dlsym() would allocate. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static unsigned long number_of(const char *variable)
{
    const char *text = getenv(variable);
    return text ? strtoul(text, NULL, 10) : 0;
}

/* Note where libdw's code is. dladdr() at each call would take four fifths of a run. */
static int find_libdw(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (!strstr(info->dlpi_name, "libdw.so"))
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
            libdw_begin = info->dlpi_addr + segment->p_vaddr;
            libdw_end = libdw_begin + segment->p_memsz;
        }
    }
    return 1;
}

static void find_tsearch(void)
{
    Dl_info info;
    void *symbol;
    void *place = dlsym(RTLD_DEFAULT, "tsearch");
    if (!place || !dladdr1(place, &info, &symbol, RTLD_DL_SYMENT) || !symbol)
        _exit(120);
    tsearch_begin = (ElfW(Addr))place;
    tsearch_end = tsearch_begin + ((const ElfW(Sym) *)symbol)->st_size;
}

__attribute__((constructor)) static void begin(void)
{
    if (number_of("FAULT_NO_TREES") != 0)
        find_tsearch();
    dl_iterate_phdr(find_libdw, NULL);
    memory_fault = number_of("FAULT_MEMORY");
    memory_fault_from = number_of("FAULT_FROM");
    short_fault = number_of("FAULT_SHORT");
    count_path = getenv("FAULT_COUNT");
    stops = number_of("FAULT_STOP") != 0;
    is_ready = true;
}

__attribute__((destructor)) static void end(void)
{
    if (!count_path)
        return;
    char text[64];
    int size = snprintf(text, sizeof(text), "%lu %lu\n", atomic_load(&memory_calls),
                        atomic_load(&transfer_calls));
    is_ready = false;
    int file = open(count_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, text, (size_t)size) != size)
        _exit(120);
    close(file);
}

static bool is_left_out(const void *caller)
{
    return (ElfW(Addr))caller - libdw_begin < libdw_end - libdw_begin ||
           (ElfW(Addr))caller - tsearch_begin < tsearch_end - tsearch_begin;
}

static bool memory_fails(const void *caller)
{
    if (!is_ready || is_left_out(caller))
        return false;
    unsigned long number = atomic_fetch_add(&memory_calls, 1) + 1;
    if (number != memory_fault && (memory_fault_from == 0 || number < memory_fault_from))
        return false;
    if (stops)
        raise(SIGTRAP);
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return memory_fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return memory_fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return memory_fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    void *aligned =
        memory_fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
    if (!aligned)
        return ENOMEM;
    *memory = aligned;
    return 0;
}

/* The number of bytes to transfer, at most size. */
static size_t shortened(size_t size)
{
    if (!is_ready || size < 2)
        return size;
    return atomic_fetch_add(&transfer_calls, 1) + 1 == short_fault ? 1 : size;
}

/* glibc's function of this name, which is the next one. */
#define NEXT(function)                                                                             \
    __typeof__(&function) next;                                                                    \
    *(void **)&next = dlsym(RTLD_NEXT, #function)

ssize_t read(int file, void *buffer, size_t size)
{
    NEXT(read);
    return next(file, buffer, shortened(size));
}

ssize_t write(int file, const void *buffer, size_t size)
{
    NEXT(write);
    return next(file, buffer, shortened(size));
}

ssize_t pread(int file, void *buffer, size_t size, off_t offset)
{
    NEXT(pread);
    return next(file, buffer, shortened(size), offset);
}

ssize_t pwrite(int file, const void *buffer, size_t size, off_t offset)
{
    NEXT(pwrite);
    return next(file, buffer, shortened(size), offset);
}

ssize_t copy_file_range(int from, off_t *from_offset, int to, off_t *to_offset, size_t size,
                        unsigned flags)
{
    NEXT(copy_file_range);
    return next(from, from_offset, to, to_offset, shortened(size), flags);
}
