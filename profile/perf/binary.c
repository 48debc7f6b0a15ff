/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "binary.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

/* The smallest page: mappings begin and end at multiples of it. */
#define PAGE_MIN ((uint64_t)4096)

#define DELETED " (deleted)"

const char *perf_base_name(const char *path, size_t *size)
{
    size_t length = strlen(path);
    size_t mark = sizeof(DELETED) - 1;
    if (length > mark && memcmp(path + length - mark, DELETED, mark) == 0)
        length -= mark;
    const char *slash = memrchr(path, '/', length);
    const char *name = slash ? slash + 1 : path;
    *size = length - (size_t)(name - path);
    return name;
}

/* The kernel names mapped files by where links lead to. */
static void set_linked_name(struct perf_binary *binary)
{
    char *real = realpath(bat_elf_path(binary->elf), NULL);
    size_t size = 0;
    const char *name = real ? perf_base_name(real, &size) : "";
    if (size < sizeof(binary->linked_name) && strcmp(name, binary->name) != 0)
        memcpy(binary->linked_name, name, size);
    free(real);
}

enum bat_code perf_binary_init(struct perf_binary *binary, const struct bat_profile *profile,
                               struct bat_error *error)
{
    const struct bat_elf *elf = profile->elf;
    if (!elf)
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected the profiled binary, without which samples of perf cannot be "
                        "read, found none");
    size_t ignored;
    *binary = (struct perf_binary){.elf = elf,
                                   .name = perf_base_name(bat_elf_path(elf), &ignored),
                                   .build_id = profile->build_id,
                                   .build_id_size = profile->build_id_size,
                                   .ignore_build_id = profile->ignore_build_id,
                                   .is_fixed = bat_elf_type(elf) == ET_EXEC,
                                   .low = UINT64_MAX};
    set_linked_name(binary);
    binary->doubles_entry = profile->is_bolted && bat_elf_machine(elf) == EM_X86_64;
    /* BOLT knows kernels by this section, too. */
    binary->is_kernel = bat_elf_section(elf, "__ksymtab") != NULL;
    binary->is_fixed |= binary->is_kernel;
    binary->mapped_name = binary->is_kernel ? PERF_KERNEL_NAME : binary->name;
    const struct bat_section *text = bat_elf_section(elf, ".text");
    binary->text_section = text ? text->address : 0;
    struct bat_segment segment;
    for (size_t i = 0; bat_elf_segment(elf, i, &segment); i++) {
        if (segment.memory_size == 0 || segment.address > UINT64_MAX - segment.memory_size)
            continue;
        /* Variables of processors lie at 0, in a segment of their own. */
        if (binary->is_kernel && !(segment.flags & PF_X))
            continue;
        if (segment.address < binary->low)
            binary->low = segment.address;
        if (segment.address + segment.memory_size > binary->high)
            binary->high = segment.address + segment.memory_size;
        if (!(segment.flags & PF_X))
            continue;
        if (binary->code_count == PERF_CODE_MAX)
            return bat_fail(error, BAT_ERR_ELF,
                            "expected a binary with at most %u executable segments, found more",
                            PERF_CODE_MAX);
        binary->code[binary->code_count++] = segment;
    }
    if (binary->high == 0)
        return bat_fail(error, BAT_ERR_ELF, "expected a binary with loaded segments, found none");
    return BAT_OK;
}

enum perf_match perf_binary_match_build_id(const struct perf_binary *binary,
                                           const uint8_t *build_id, size_t size, bool knows_size)
{
    static const uint8_t zeros[PERF_BUILD_ID_SIZE];
    if (size > PERF_BUILD_ID_SIZE)
        size = PERF_BUILD_ID_SIZE;
    size_t own = binary->build_id_size;
    if (own > PERF_BUILD_ID_SIZE)
        own = PERF_BUILD_ID_SIZE;
    if (own == 0 || size == 0 || memcmp(build_id, zeros, size) == 0)
        return PERF_MATCH_UNKNOWN;
    bool fits =
        knows_size ? size == own : size >= own && !memcmp(build_id + own, zeros, size - own);
    return fits && memcmp(build_id, binary->build_id, own) == 0 ? PERF_MATCH_YES : PERF_MATCH_NO;
}

/* How many bytes two ranges have in common. */
static uint64_t common_bytes(uint64_t left, uint64_t left_size, uint64_t right, uint64_t right_size)
{
    uint64_t start = left > right ? left : right;
    uint64_t left_end = left + left_size < left ? UINT64_MAX : left + left_size;
    uint64_t right_end = right + right_size < right ? UINT64_MAX : right + right_size;
    uint64_t end = left_end < right_end ? left_end : right_end;
    return end > start ? end - start : 0;
}

bool perf_binary_bias(const struct perf_binary *binary, uint64_t address, uint64_t length,
                      uint64_t offset, uint64_t *bias)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < binary->code_count; i++) {
        const struct bat_segment *segment = &binary->code[i];
        uint64_t common = common_bytes(offset, length, segment->offset, segment->file_size);
        uint64_t candidate = address - (segment->address - segment->offset + offset);
        if (common <= most || candidate % PAGE_MIN != 0 || (binary->is_fixed && candidate != 0))
            continue;
        most = common;
        *bias = candidate;
    }
    return most != 0;
}

bool perf_binary_kernel_bias(const struct perf_binary *binary, uint64_t symbol, bool is_stext,
                             uint64_t *bias)
{
    if (binary->code_count == 0 || !binary->is_kernel)
        return false;
    *bias = symbol - (is_stext ? binary->text_section : binary->low);
    return true;
}
