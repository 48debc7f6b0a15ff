/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which places of a profile are a binary's. */
#include "stack_profile.h"

#include <stdlib.h>
#include <string.h>

#include "spec/hex_bytes.h"

void stack_profile_free(struct stack_profile *profile)
{
    if (!profile)
        return;
    bat_arena_free(&profile->arena);
    free(profile);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

uint64_t stack_profile_own(struct stack_profile *profile, const char *path, const uint8_t *build_id,
                           size_t size)
{
    char own[129];
    uint64_t count = 0;
    bat_hex_bytes(own, sizeof(own), build_id, size);
    for (size_t i = 0; i < profile->mapping_count; i++) {
        struct stack_mapping *mapping = &profile->mappings[i];
        mapping->is_own = own[0] && mapping->build_id[0]
                              ? strcasecmp(mapping->build_id, own) == 0
                              : strcmp(base_name(mapping->path), base_name(path)) == 0;
        if (mapping->is_own)
            count += mapping->count;
    }
    return count;
}

bool stack_mapping_is_build(const struct stack_mapping *mapping, const struct bat_elf *elf)
{
    char own[129];
    size_t size = 0;
    const uint8_t *build_id = bat_elf_build_id(elf, &size);
    bat_hex_bytes(own, sizeof(own), build_id, build_id ? size : 0);
    return own[0] && strcasecmp(mapping->build_id, own) == 0;
}

uint64_t stack_place_own(const struct stack_place *place, const struct bat_elf *elf)
{
    const struct stack_mapping *mapping = place->mapping;
    if (!mapping)
        return BAT_ADDRESS_EXTERNAL;
    /* Without its limits, addresses are the file's own. */
    if (mapping->end == 0)
        return place->address;
    if (place->address < mapping->start || place->address >= mapping->end)
        return BAT_ADDRESS_EXTERNAL;
    const uint64_t offset = place->address - mapping->start + mapping->offset;
    struct bat_segment segment;
    for (size_t i = 0; bat_elf_segment(elf, i, &segment); i++)
        if (offset - segment.offset < segment.file_size)
            return offset - segment.offset + segment.address;
    return BAT_ADDRESS_EXTERNAL;
}
