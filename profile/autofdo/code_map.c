/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "ranges.h"

#include <elf.h>
#include <stdlib.h>

#include "binary/code/instructions.h"
#include "spec/order.h"

/* A mark is 0 until its address is decoded; the low bits are the instruction's length. */
#define LENGTH_MASK 0x1fu
#define MARK_NONE 0x20u    /* no instruction starts there */
#define MARK_BARRIER 0x40u /* a jump, call or return */

static size_t count_segments(const struct bat_elf *elf)
{
    struct bat_segment segment;
    size_t count = 0;
    while (bat_elf_segment(elf, count, &segment))
        count++;
    return count;
}

enum bat_code code_map_create(struct code_map *map, const struct bat_elf *elf,
                              struct bat_error *error)
{
    *map = (struct code_map){.machine = bat_elf_machine(elf)};
    if (map->machine != EM_X86_64 && map->machine != EM_AARCH64)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected a program for x86-64 or AArch64, found machine %u", map->machine);
    map->segments = calloc(count_segments(elf) + 1, sizeof(*map->segments));
    BAT_TRY_MEMORY(map->segments, error, "to make the profile");
    struct bat_segment segment;
    uint64_t bytes_left; /* of the file */
    bat_elf_bytes(elf, &bytes_left);
    for (size_t i = 0; bat_elf_segment(elf, i, &segment); i++) {
        uint64_t available;
        const uint8_t *bytes = bat_elf_at_address(elf, segment.address, &available);
        if (!(segment.flags & PF_X) || !bytes || available == 0)
            continue;
        if (available > bytes_left) {
            code_map_free(map);
            return bat_fail(error, BAT_ERR_ELF,
                            "expected segments that do not share the file's bytes, found "
                            "executable ones that are larger together than the file");
        }
        bytes_left -= available;
        /* The system provides zeroed pages when they are first touched, and few are. */
        uint8_t *marks = calloc(available, 1);
        if (!marks) {
            code_map_free(map);
            return bat_fail_memory(error, "to make the profile");
        }
        map->segments[map->count++] =
            (struct code_segment){segment.address, available, bytes, marks};
    }
    BAT_SORT_BY(map->segments, map->count, address);
    return BAT_OK;
}

void code_map_free(struct code_map *map)
{
    for (size_t i = 0; i < map->count; i++)
        free(map->segments[i].marks);
    free(map->segments);
    *map = (struct code_map){0};
}

static struct code_segment *find_segment(const struct code_map *map, uint64_t address)
{
    size_t up_to = BAT_COUNT_UP_TO(map->segments, map->count, address, address);
    if (up_to == 0 || address - map->segments[up_to - 1].address >= map->segments[up_to - 1].size)
        return NULL;
    return &map->segments[up_to - 1];
}

bool code_map_has(const struct code_map *map, uint64_t address)
{
    return find_segment(map, address) != NULL;
}

static bool is_barrier(const struct bat_instruction *instruction)
{
    switch (instruction->kind) {
    case BAT_INSTRUCTION_JUMP:
    case BAT_INSTRUCTION_INDIRECT_JUMP:
    case BAT_INSTRUCTION_CALL:
    case BAT_INSTRUCTION_INDIRECT_CALL:
    case BAT_INSTRUCTION_RETURN:
        return true;
    default:
        return false;
    }
}

static uint8_t decode(const struct code_map *map, const struct code_segment *segment,
                      uint64_t offset)
{
    struct bat_instruction instruction;
    if (!bat_instruction_decode(map->machine, segment->bytes + offset,
                                (size_t)(segment->size - offset), segment->address + offset,
                                &instruction))
        return MARK_NONE;
    return (uint8_t)(instruction.length | (is_barrier(&instruction) ? MARK_BARRIER : 0));
}

static uint8_t mark_at(const struct code_map *map, struct code_segment *segment, uint64_t offset)
{
    if (!segment->marks[offset])
        segment->marks[offset] = decode(map, segment, offset);
    return segment->marks[offset];
}

struct code_span code_map_span(struct code_map *map, uint64_t address, uint64_t end)
{
    struct code_span span = {.next = address};
    struct code_segment *segment = find_segment(map, address);
    if (!segment || address >= end)
        return span;
    uint64_t offset = address - segment->address;
    const uint64_t end_offset =
        end - segment->address < segment->size ? end - segment->address : segment->size;
    while (offset < end_offset) {
        const uint8_t length = mark_at(map, segment, offset) & LENGTH_MASK;
        span.count += length != 0;
        span.size += length;
        offset += length ? length : 1;
    }
    span.next = segment->address + offset;
    return span;
}

bool code_map_starts(struct code_map *map, uint64_t address)
{
    struct code_segment *segment = find_segment(map, address);
    return segment && (mark_at(map, segment, address - segment->address) & LENGTH_MASK);
}

/* Decode from start up to end. Returns the end of the last instruction, which can be behind end. */
static uint64_t sweep(const struct code_map *map, uint64_t start, uint64_t end)
{
    struct code_segment *segment = find_segment(map, start);
    if (!segment)
        return end;
    uint64_t offset = start - segment->address;
    uint64_t end_offset =
        end - segment->address < segment->size ? end - segment->address : segment->size;
    while (offset < end_offset) {
        uint8_t mark = decode(map, segment, offset);
        uint8_t length = mark & LENGTH_MASK;
        segment->marks[offset++] = mark;
        for (; length > 1 && offset < segment->size; length--)
            segment->marks[offset++] = MARK_NONE;
    }
    return segment->address + offset;
}

void code_map_sweep(struct code_map *map, struct code_range *ranges, size_t count)
{
    uint64_t end = 0;  /* of the ranges so far */
    uint64_t next = 0; /* the end of their instructions: the last one can reach beyond end */
    BAT_SORT_BY_TWO(ranges, count, start, end);
    for (size_t i = 0; i < count; i++) {
        /* A range that starts inside the ones before goes on where their instructions end. */
        uint64_t start = ranges[i].start < end ? next : ranges[i].start;
        if (ranges[i].end <= end || start >= ranges[i].end)
            continue;
        next = sweep(map, start, ranges[i].end);
        end = ranges[i].end;
    }
}

bool code_map_falls_through(struct code_map *map, uint64_t start, uint64_t end)
{
    struct code_segment *segment = find_segment(map, start);
    while (segment && start < end) {
        const uint64_t offset = start - segment->address;
        /* Segments can follow each other. */
        if (offset >= segment->size) {
            segment = find_segment(map, start);
            continue;
        }
        const uint8_t mark = mark_at(map, segment, offset);
        if ((mark & LENGTH_MASK) == 0 || (mark & MARK_BARRIER))
            return false;
        start += mark & LENGTH_MASK;
    }
    return segment && start == end && code_map_starts(map, end);
}
