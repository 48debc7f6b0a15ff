/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Debug information with little memory, also for libdw: an error, or a look-up that says so. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>

#include "bat_debuginfo.h"
#include "debuginfo/debuginfo.h"
#include "unit_test.h"

#define FOLDER TEST_DATA "/debug/"

/* The sanitizers have an allocator of their own. */
#if !defined(__SANITIZE_ADDRESS__)

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

static size_t limit = SIZE_MAX; /* bytes that may be in use at once */
static size_t used;
static size_t fault; /* the number of the call that fails; 0: none does */
static size_t calls;

/* libdw's own calls, and those of its trees, are not among those that fail: see
 * debuginfo/memory.c. */
static bool is_in_libdw(const void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) != 0 && ((info.dli_fname && strstr(info.dli_fname, "libdw.so")) ||
                                          (info.dli_sname && strstr(info.dli_sname, "tsearch")));
}

static bool fits(size_t size, const void *caller)
{
    bool fails = fault != 0 && !is_in_libdw(caller) && ++calls == fault;
    if (!fails && used <= limit && size <= limit - used)
        return true;
    errno = ENOMEM;
    return false;
}

static void *count(void *memory)
{
    used += malloc_usable_size(memory);
    return memory;
}

/* These stand in for the C library's in all that is linked to this program. */
void *malloc(size_t size)
{
    return fits(size, __builtin_return_address(0)) ? count(__libc_malloc(size)) : NULL;
}

void *calloc(size_t number, size_t size)
{
    return fits(number * size, __builtin_return_address(0)) ? count(__libc_calloc(number, size))
                                                            : NULL;
}

void *realloc(void *memory, size_t size)
{
    if (!fits(size, __builtin_return_address(0)))
        return NULL;
    used -= malloc_usable_size(memory);
    return count(__libc_realloc(memory, size));
}

void free(void *memory)
{
    used -= malloc_usable_size(memory);
    __libc_free(memory);
}

/* How many frames all addresses of code have, and files that these name. */
static size_t count_frames(struct bat_debuginfo *debuginfo)
{
    size_t count = 0;
    const struct bat_frame *frames;
    for (size_t i = 0; i < debuginfo->code_count; i++)
        for (uint64_t at = debuginfo->code[i].start; at < debuginfo->code[i].end; at += 4) {
            size_t found = bat_debuginfo_frames(debuginfo, at, &frames);
            count += found;
            for (size_t j = 0; j < found; j++)
                count += (frames[j].file ? 1u : 0) + (frames[j].start_file ? 1u : 0);
        }
    return count;
}

/* How many descriptors are open. */
static size_t count_open(void)
{
    size_t count = 0;
    for (int file = 0; file < 64; file++)
        count += fcntl(file, F_GETFD) >= 0;
    return count;
}

struct outcome {
    bool is_opened;
    bool lacks_memory;
    size_t frames;
};

/* Open a program and look all up with so many bytes. Nothing is left of it. */
static struct outcome run(const char *path, size_t bytes)
{
    const size_t used_before = used;
    const size_t open_before = count_open();
    struct bat_debuginfo *debuginfo = NULL;
    struct bat_error error = {0};
    struct outcome outcome = {0};
    limit = bytes == SIZE_MAX ? bytes : used + bytes;
    enum bat_code code = bat_debuginfo_open(path, NULL, &debuginfo, &error);
    outcome.is_opened = code == BAT_OK;
    outcome.frames = outcome.is_opened ? count_frames(debuginfo) : 0;
    outcome.lacks_memory = outcome.is_opened && bat_debuginfo_lacks_memory(debuginfo);
    limit = SIZE_MAX;
    if (!outcome.is_opened) {
        assert_true(error.message[0] != 0);
        assert_null(debuginfo);
    }
    bat_debuginfo_close(debuginfo);
    /* libelf 0.188 forgets what it has unpacked if it cannot keep it. */
    if (fault != 0 || bytes == SIZE_MAX)
        assert_int_equal(used, used_before);
    assert_int_equal(count_open(), open_before);
    return outcome;
}

TEST(test_little_memory)
{
    static const char *const programs[] = {FOLDER "dwarf4",   FOLDER "dwarf5", FOLDER "compressed",
                                           FOLDER "sections", FOLDER "gcc5",   FOLDER "lto",
                                           FOLDER "split",    FOLDER "package"};
    size_t failed_later = 0;
    for (size_t i = 0; i < COUNT(programs); i++) {
        struct outcome all = run(programs[i], SIZE_MAX);
        assert_true(all.is_opened && !all.lacks_memory && all.frames > 0);
        size_t failed_open = 0;
        struct outcome found = {0};
        size_t bytes = 256;
        for (; !found.is_opened || found.lacks_memory; bytes += 256) {
            assert_true(bytes < 8 << 20);
            found = run(programs[i], bytes);
            failed_open += !found.is_opened;
            failed_later += found.lacks_memory;
        }
        assert_int_equal(found.frames, all.frames);
        assert_true(failed_open > 10);
    }
    assert_true(failed_later > 100);
}

/* Each call by itself: what is not told is told to be left out, and nothing is left open. */
TEST(test_failing_calls)
{
    static const char *const programs[] = {FOLDER "dwarf5", FOLDER "split", FOLDER "package"};
    for (size_t i = 0; i < COUNT(programs); i++) {
        struct outcome all = run(programs[i], SIZE_MAX);
        size_t failed = 0;
        for (fault = 1;; fault++) {
            calls = 0;
            struct outcome found = run(programs[i], SIZE_MAX);
            if (calls < fault)
                break;
            failed += !found.is_opened || found.lacks_memory;
            if (found.is_opened && !found.lacks_memory)
                assert_int_equal(found.frames, all.frames);
        }
        assert_true(failed > 40);
        fault = 0;
    }
}

#else

TEST(test_little_memory)
{
    skip();
}

TEST(test_failing_calls)
{
    skip();
}

#endif
