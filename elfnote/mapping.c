/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "mapping.h"

#include "descriptors.h"

#if BAT_IS_GUARDED
#include <sanitizer/asan_interface.h>
#endif

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t round_up(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) & ~(page - 1);
}

/* Let go of a file that could not be mapped; errno stays. Returns is_mapped. */
static bool unmap_unless(bool is_mapped, struct bat_mapping *mapping)
{
    const int why = errno;
    if (!is_mapped)
        bat_unmap(mapping);
    errno = why;
    return is_mapped;
}

#if BAT_IS_GUARDED

/* --- Guarded memory -------------------------------------------------------------------------- */

/*
 * Memory of size bytes between two pages that cannot be read; it touches the one behind it, or with
 * BATKIT_GUARD=front the one before it. NULL if there is none.
 */
static uint8_t *guarded_new(struct bat_mapping *mapping, size_t size)
{
    const size_t page = round_up(1);
    const size_t inner = round_up(size ? size : 1);
    mapping->size = inner + 2 * page;
    mapping->start = mmap(NULL, mapping->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping->start == MAP_FAILED)
        return NULL;
    const char *place = getenv("BATKIT_GUARD");
    uint8_t *start = mapping->start + page;
    if (mprotect(start, inner, PROT_READ | PROT_WRITE) != 0) {
        munmap(mapping->start, mapping->size);
        return NULL;
    }
    /* A fault for each small page of a large file takes longer than to copy it. */
    madvise(start, inner, MADV_HUGEPAGE);
    return place && strcmp(place, "front") == 0 ? start : start + inner - size;
}

static void guarded_free(const struct bat_mapping *mapping)
{
    ASAN_UNPOISON_MEMORY_REGION(mapping->start, mapping->size);
    munmap(mapping->start, mapping->size);
}

/* --- Guarded parts --------------------------------------------------------------------------- */

/* The system limits the number of mappings; a file with more parts has the rest unguarded. */
#define PARTS_MAX 8192u
#define BUCKETS 4096u

struct part {
    struct part *next;
    const void *owner;
    const uint8_t *original;
    uint64_t size;
    struct bat_mapping copy;
};

static pthread_mutex_t parts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct part *parts[BUCKETS];
static size_t part_count;

static struct part *new_part(const void *owner, const uint8_t *bytes, uint64_t size, size_t tail)
{
    struct part *part = part_count < PARTS_MAX ? calloc(1, sizeof(*part)) : NULL;
    if (!part)
        return NULL;
    *part = (struct part){.owner = owner, .original = bytes, .size = size};
    part->copy.bytes = guarded_new(&part->copy, size + tail);
    if (!part->copy.bytes) {
        free(part);
        return NULL;
    }
    memcpy(part->copy.bytes, bytes, size);
    mprotect(part->copy.start, part->copy.size, PROT_NONE);
    mprotect(part->copy.start + round_up(1), part->copy.size - 2 * round_up(1), PROT_READ);
    ASAN_POISON_MEMORY_REGION(part->copy.bytes + size, tail);
    part_count++;
    return part;
}

const uint8_t *bat_guarded(const void *owner, const uint8_t *bytes, uint64_t size, size_t tail)
{
    if (!bytes)
        return NULL;
    pthread_mutex_lock(&parts_lock);
    struct part **place = &parts[((uintptr_t)bytes / 8 ^ size) % BUCKETS];
    struct part *part = *place;
    while (part && (part->owner != owner || part->original != bytes || part->size != size))
        part = part->next;
    if (!part && (part = new_part(owner, bytes, size, tail)) != NULL) {
        part->next = *place;
        *place = part;
    }
    pthread_mutex_unlock(&parts_lock);
    return part ? part->copy.bytes : bytes;
}

static void forget_parts(const void *owner)
{
    pthread_mutex_lock(&parts_lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct part **place = &parts[i]; *place;) {
            struct part *part = *place;
            if (part->owner != owner) {
                place = &part->next;
                continue;
            }
            *place = part->next;
            guarded_free(&part->copy);
            free(part);
            part_count--;
        }
    }
    pthread_mutex_unlock(&parts_lock);
}

/* --- Files ----------------------------------------------------------------------------------- */

bool bat_map_between(struct bat_mapping *mapping, int file, size_t head, size_t size, size_t tail)
{
    head = round_up(head);
    const size_t whole = head + (tail ? round_up(size) : size) + tail;
    /* What the caller puts into the head is to be aligned. */
    uint8_t *memory = guarded_new(mapping, head ? round_up(whole) : whole);
    if (!memory)
        return false;
    mapping->bytes = memory + head;
    if (tail)
        ASAN_POISON_MEMORY_REGION(mapping->bytes + size, round_up(size) - size);
    /* A file of which so much is not there any more has zeros there. */
    return unmap_unless(bat_read_all(file, mapping->bytes, size, 0) >= 0, mapping);
}

bool bat_map(struct bat_mapping *mapping, int file, size_t size)
{
    return bat_map_between(mapping, file, 0, size, 0);
}

#else

static void forget_parts(const void *owner)
{
    (void)owner;
}

bool bat_map_between(struct bat_mapping *mapping, int file, size_t head, size_t size, size_t tail)
{
    head = round_up(head);
    mapping->size = head + round_up(size) + tail;
    mapping->start = mmap(NULL, mapping->size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping->start == MAP_FAILED)
        return false;
    mapping->bytes = mapping->start + head;
    void *placed =
        mmap(mapping->bytes, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0);
    return unmap_unless(placed != MAP_FAILED, mapping);
}

bool bat_map(struct bat_mapping *mapping, int file, size_t size)
{
    mapping->start = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    mapping->size = size;
    mapping->bytes = mapping->start == MAP_FAILED ? NULL : mapping->start;
    return mapping->bytes != NULL;
}

#endif

void bat_map_release(const struct bat_mapping *mapping, const uint8_t *bytes, uint64_t size)
{
    /* A guarded copy would become zeros. */
    if (BAT_IS_GUARDED || !bytes || bytes < mapping->start ||
        bytes > mapping->start + mapping->size)
        return;
    const size_t first = round_up((size_t)(bytes - mapping->start));
    const size_t left = mapping->size - (size_t)(bytes - mapping->start);
    /* Whole pages only: other bytes on the first and last page may be in use. */
    const size_t page = round_up(1);
    const size_t end = (mapping->size - left + (size < left ? size : left)) / page * page;
    if (first < end)
        madvise(mapping->start + first, end - first, MADV_DONTNEED);
}

void bat_unmap(struct bat_mapping *mapping)
{
    if (!mapping->bytes)
        return;
    forget_parts(mapping->start);
#if BAT_IS_GUARDED
    guarded_free(mapping);
#else
    munmap(mapping->start, mapping->size);
#endif
    *mapping = (struct bat_mapping){0};
}
