/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which file has the DWARF of a program. */
#include <elf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bat_elf.h"
#include "debuginfo.h"

#define GLOBAL_FOLDER "/usr/lib/debug"

/* The program whose debug information is wanted. */
struct program {
    struct bat_elf *elf;
    const char *path;
    char *folder; /* of the file, without the last slash; absolute */
    const uint8_t *build_id;
    size_t build_id_size;
};

/* --- A file that may have it ---------------------------------------------------------------- */

static void close_candidate(struct bat_debuginfo *debuginfo)
{
    dwarf_end(debuginfo->dwarf);
    elf_end(debuginfo->elf);
    if (debuginfo->file >= 0)
        close(debuginfo->file);
    free(debuginfo->path);
    debuginfo->dwarf = NULL;
    debuginfo->elf = NULL;
    debuginfo->file = -1;
    debuginfo->path = NULL;
}

/* Keep the file at path if it has DWARF with at least one unit. */
static enum bat_code open_candidate(struct bat_debuginfo *debuginfo, const char *path,
                                    struct bat_error *error)
{
    elf_version(EV_CURRENT);
    debuginfo->path = strdup(path);
    debuginfo->file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status;
    if (!debuginfo->path || debuginfo->file < 0 || fstat(debuginfo->file, &status) != 0) {
        enum bat_code code = bat_fail(error, BAT_ERR_IO, "cannot be opened: %m");
        close_candidate(debuginfo);
        return code;
    }
    debuginfo->file_size = (uint64_t)status.st_size;
    debuginfo->elf = elf_begin(debuginfo->file, ELF_C_READ_MMAP_PRIVATE, NULL);
    if (debuginfo->elf && elf_kind(debuginfo->elf) == ELF_K_ELF)
        debuginfo->dwarf = dwarf_begin_elf(debuginfo->elf, DWARF_C_READ, NULL);
    Dwarf_Off next;
    size_t header_size;
    if (debuginfo->dwarf && dwarf_next_unit(debuginfo->dwarf, 0, &next, &header_size, NULL, NULL,
                                            NULL, NULL, NULL, NULL) == 0)
        return BAT_OK;
    close_candidate(debuginfo);
    return bat_fail(error, BAT_ERR_NO_DEBUG, "expected DWARF, found none");
}

/* --- Does a separate file belong to the program? -------------------------------------------- */

/* The CRC-32 that .gnu_debuglink has of the whole file. */
static bool checksum(const char *path, uint32_t *sum)
{
    FILE *file = fopen(path, "rbe");
    if (!file)
        return false;
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? value >> 1 ^ 0xedb88320 : value >> 1;
        table[i] = value;
    }
    uint32_t value = 0xffffffff;
    unsigned char bytes[1 << 14];
    size_t size;
    while ((size = fread(bytes, 1, sizeof(bytes), file)) > 0)
        for (size_t i = 0; i < size; i++)
            value = table[(value ^ bytes[i]) & 0xff] ^ value >> 8;
    bool is_read = !ferror(file);
    fclose(file);
    *sum = ~value;
    return is_read;
}

static void hex(const uint8_t *bytes, size_t size, char *text, size_t text_size)
{
    size_t used = 0;
    for (size_t i = 0; i < size && used + 3 <= text_size; i++)
        used += (size_t)snprintf(text + used, text_size - used, "%02x", bytes[i]);
    text[used] = 0;
}

/* Both have a build-id, and these differ. *is_known tells whether both have one. */
static bool is_other_build(const struct program *program, const struct bat_debuginfo *debuginfo,
                           bool *is_known, char *text, size_t text_size)
{
    const void *id = NULL;
    ssize_t size = dwelf_elf_gnu_build_id(debuginfo->elf, &id);
    *is_known = size > 0 && program->build_id_size > 0;
    if (!*is_known)
        return false;
    hex(id, (size_t)size, text, text_size);
    return (size_t)size != program->build_id_size ||
           memcmp(id, program->build_id, (size_t)size) != 0;
}

/* The file that --debug-file names, or an error. */
static enum bat_code use_given_file(struct bat_debuginfo *debuginfo, const struct program *program,
                                    const char *path, struct bat_error *error)
{
    struct bat_elf *elf;
    enum bat_code code = bat_elf_open(path, &elf, error);
    if (code != BAT_OK)
        return code;
    bat_elf_close(elf);
    if (open_candidate(debuginfo, path, error) != BAT_OK)
        return bat_fail(error, BAT_ERR_NO_DEBUG,
                        "expected DWARF debug information, found none: the program has to be "
                        "compiled with -g");
    char found[48];
    bool is_known;
    if (!is_other_build(program, debuginfo, &is_known, found, sizeof(found)))
        return BAT_OK;
    char own[48];
    hex(program->build_id, program->build_id_size, own, sizeof(own));
    return bat_fail(error, BAT_ERR_MISMATCH, "expected the debug file of build-id %s, found %s",
                    own, found);
}

/* Try a file found by build-id or, with sum not NULL, by .gnu_debuglink. */
static bool try_file(struct bat_debuginfo *debuginfo, const struct program *program,
                     const char *path, const uint32_t *sum)
{
    struct bat_elf *elf;
    struct bat_error error;
    if (bat_elf_open(path, &elf, &error) != BAT_OK)
        return false;
    bat_elf_close(elf);
    if (open_candidate(debuginfo, path, &error) != BAT_OK)
        return false;
    char id[48];
    bool is_known;
    bool is_other = is_other_build(program, debuginfo, &is_known, id, sizeof(id));
    uint32_t found = 0;
    if (!is_other && !is_known && sum)
        is_other = !checksum(path, &found) || found != *sum;
    if (is_other)
        close_candidate(debuginfo);
    return !is_other;
}

/* --- Where to look -------------------------------------------------------------------------- */

static bool try_build_id(struct bat_debuginfo *debuginfo, const struct program *program)
{
    if (program->build_id_size < 2)
        return false;
    char first[4];
    char rest[160];
    hex(program->build_id, 1, first, sizeof(first));
    hex(program->build_id + 1, program->build_id_size - 1, rest, sizeof(rest));
    const char *folders[] = {program->folder, GLOBAL_FOLDER};
    bool is_found = false;
    for (size_t i = 0; i < 2 && !is_found; i++) {
        char *path;
        if (asprintf(&path, "%s/.build-id/%s/%s.debug", folders[i], first, rest) < 0)
            return false;
        is_found = try_file(debuginfo, program, path, NULL);
        free(path);
    }
    return is_found;
}

/* The name and checksum in .gnu_debuglink: "name", padding to 4 bytes, CRC-32. */
static const char *read_link(const struct program *program, uint32_t *sum)
{
    const struct bat_section *section = bat_elf_section(program->elf, ".gnu_debuglink");
    uint64_t size = 0;
    const uint8_t *bytes = section ? bat_elf_section_bytes(program->elf, section, &size) : NULL;
    const uint8_t *end = bytes ? memchr(bytes, 0, size) : NULL;
    if (!end || end == bytes)
        return NULL;
    uint64_t place = ((uint64_t)(end - bytes) + 4) & ~UINT64_C(3);
    if (place + 4 > size)
        return NULL;
    memcpy(sum, bytes + place, 4);
    return (const char *)bytes;
}

static bool try_link(struct bat_debuginfo *debuginfo, const struct program *program)
{
    uint32_t sum = 0;
    const char *name = read_link(program, &sum);
    if (!name)
        return false;
    const struct {
        const char *before;
        const char *after;
    } folders[] = {{"", ""}, {"", "/.debug"}, {GLOBAL_FOLDER, ""}};
    bool is_found = false;
    for (size_t i = 0; i < 3 && !is_found; i++) {
        char *path;
        if (asprintf(&path, "%s%s%s/%s", folders[i].before, program->folder, folders[i].after,
                     name) < 0)
            return false;
        is_found = try_file(debuginfo, program, path, &sum);
        free(path);
    }
    return is_found;
}

/* The sentence for a program without debug information anywhere. */
static enum bat_code fail_without(const struct program *program, struct bat_error *error)
{
    char id[48];
    hex(program->build_id, program->build_id_size, id, sizeof(id));
    uint32_t sum;
    const char *name = read_link(program, &sum);
    return bat_fail(error, BAT_ERR_NO_DEBUG,
                    "expected DWARF debug information, found none in the file, by build-id (%s) or "
                    "by .gnu_debuglink (%.100s): compile with -g (for AutoFDO: -g1 "
                    "-fdebug-info-for-profiling), or name a separate debug file",
                    program->build_id_size ? id : "it has none", name ? name : "it has none");
}

/* --- The program ---------------------------------------------------------------------------- */

static enum bat_code keep_code(struct bat_debuginfo *debuginfo, const struct bat_elf *elf,
                               struct bat_error *error)
{
    size_t capacity = 0;
    struct bat_segment segment;
    for (size_t i = 0; bat_elf_segment(elf, i, &segment); i++) {
        if (!(segment.flags & PF_X) || segment.memory_size == 0)
            continue;
        if (!debug_grow(&debuginfo->code, &capacity, debuginfo->code_count,
                        sizeof(*debuginfo->code)))
            return bat_fail(error, BAT_ERR_MEMORY, "not enough memory");
        debuginfo->code[debuginfo->code_count++] =
            (struct bat_debuginfo_range){segment.address, segment.address + segment.memory_size};
    }
    return BAT_OK;
}

/* The folder that path is in; symbolic links are followed, as gdb does. */
static char *folder_of(const char *path)
{
    char *real = realpath(path, NULL);
    char *slash = real ? strrchr(real, '/') : NULL;
    if (slash)
        *slash = 0;
    return real;
}

enum bat_code debug_find_file(struct bat_debuginfo *debuginfo, const char *path,
                              const char *debug_file, struct bat_error *error)
{
    struct program program = {.path = path};
    enum bat_code code = bat_elf_open(path, &program.elf, error);
    if (code != BAT_OK)
        return code;
    program.build_id = bat_elf_build_id(program.elf, &program.build_id_size);
    program.folder = folder_of(path);
    code = program.folder ? keep_code(debuginfo, program.elf, error)
                          : bat_fail(error, BAT_ERR_IO, "cannot be found: %m");
    if (code == BAT_OK && debug_file)
        code = use_given_file(debuginfo, &program, debug_file, error);
    else if (code == BAT_OK && open_candidate(debuginfo, path, error) != BAT_OK &&
             !try_build_id(debuginfo, &program) && !try_link(debuginfo, &program))
        code = fail_without(&program, error);
    free(program.folder);
    bat_elf_close(program.elf);
    return code;
}
