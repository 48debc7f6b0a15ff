/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "note_facts.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char *const share_labels[BAT_SHARES] = {
    [BAT_SHARE_CONTAINER] = "ELF note header, padding",
    [BAT_SHARE_COUNTS] = "counts",
    [BAT_SHARE_ADDRESSES] = "function addresses",
    [BAT_SHARE_FUNCTION_HASHES] = "function hashes",
    [BAT_SHARE_HOT_INDICES] = "fragments' hot indices",
    [BAT_SHARE_SKEWS] = "fragments' skews",
    [BAT_SHARE_BRANCH_MASKS] = "branch bit masks",
    [BAT_SHARE_OUTPUT_OFFSETS] = "output offsets",
    [BAT_SHARE_INPUT_OFFSETS] = "input offsets",
    [BAT_SHARE_BLOCK_HASHES] = "block hashes",
    [BAT_SHARE_BLOCK_INDICES] = "block indices",
    [BAT_SHARE_SECONDARY_ENTRIES] = "secondary entry points",
};

const char *note_share_label(enum bat_share share)
{
    return share_labels[share];
}

const char *note_version_text(const struct bat_map *map)
{
    if (map->version == BAT_VERSION_3 && !bat_map_has_function_hashes(map))
        return "version 3, upgraded from an older one: for fdata, as it has no hashes for YAML";
    static const char *const texts[] = {
        [BAT_VERSION_1] = "version 1, written by BOLT 17 or earlier",
        [BAT_VERSION_2] = "version 2, written by BOLT 18",
        [BAT_VERSION_3] = "version 3, written by BOLT 19 or later",
    };
    return texts[map->version];
}

const char *note_machine_name(const struct bat_elf *elf)
{
    switch (bat_elf_machine(elf)) {
    case EM_X86_64:
        return "x86-64";
    case EM_AARCH64:
        return "AArch64";
    case EM_RISCV:
        return "RISC-V";
    default:
        return "unknown";
    }
}

bool note_is_bolted(const struct bat_elf *elf)
{
    return bat_elf_section(elf, BAT_SECTION_NAME) || bat_elf_bolt_info(elf) ||
           bat_elf_section(elf, ".note.bolt_info") || bat_elf_section(elf, ".bolt.org.text");
}

bool note_bolt_info(const char *info, char revision[NOTE_REVISION_SIZE], const char **command)
{
    static const char before_revision[] = "BOLT revision: ";
    static const char before_command[] = ", command line: ";
    static const char unknown[] = "<unknown>";
    const char *middle = strstr(info, before_command);
    if (strncmp(info, before_revision, strlen(before_revision)) != 0 || !middle)
        return false;
    const char *start = info + strlen(before_revision);
    if (middle < start || (size_t)(middle - start) >= NOTE_REVISION_SIZE)
        return false;
    size_t size = (size_t)(middle - start);
    bool is_unknown = size == strlen(unknown) && memcmp(start, unknown, size) == 0;
    snprintf(revision, NOTE_REVISION_SIZE, "%.*s", is_unknown ? INT_MAX : (int)size,
             is_unknown ? "not recorded" : start);
    *command = middle + strlen(before_command);
    return true;
}
