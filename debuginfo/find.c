/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds the file that has the DWARF of a program. */
#include <elf.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "bat_elf.h"
#include "debuginfo.h"
#include "elfnote/descriptors.h"
#include "spec/hex_bytes.h"
#include "spec/keep_bytes.h"
#include "spec/little_endian.h"
#include "spec/order.h"

/* The program whose debug information is wanted. */
struct program {
    struct bat_elf *elf;
    const char *path;
    char *folder;     /* of the file, without the last slash; absolute */
    const char *name; /* of the file in its folder */
    const uint8_t *build_id;
    size_t build_id_size;
};

/* --- Candidates ----------------------------------------------------------------------------- */

/* Keep the file if it has DWARF with at least one unit. */
static enum bat_code open_candidate(struct bat_debuginfo *debuginfo, const char *path, int file,
                                    struct bat_error *error)
{
    if (file < 0)
        return bat_regular_fail(error);
    enum bat_code code = debug_image_map(&debuginfo->image, path, file, 0, error);
    code = code ? code : debug_image_begin(&debuginfo->image, false, error);
    if (code != BAT_OK)
        debug_image_close(&debuginfo->image);
    return code;
}

/* True if both have a build-id and these differ. If both have one, text is the debug file's. */
static bool is_other_build(const struct program *program, const struct bat_debuginfo *debuginfo,
                           char *text, size_t text_size)
{
    const void *id = NULL;
    ssize_t size = dwelf_elf_gnu_build_id(debuginfo->image.elf, &id);
    if (size <= 0 || program->build_id_size == 0)
        return false;
    bat_hex_bytes(text, text_size, id, (size_t)size);
    return (size_t)size != program->build_id_size ||
           memcmp(id, program->build_id, (size_t)size) != 0;
}

/* The file that --debug-file names, or an error. */
static enum bat_code use_given_file(struct bat_debuginfo *debuginfo, const struct program *program,
                                    const char *path, struct bat_error *error)
{
    struct bat_elf *elf;
    BAT_TRY(bat_elf_open(path, &elf, error));
    enum bat_code code = open_candidate(debuginfo, path, bat_elf_descriptor(elf), error);
    bat_elf_close(elf);
    if (code == BAT_ERR_NO_DEBUG)
        return bat_fail(error, BAT_ERR_NO_DEBUG,
                        "expected DWARF debug information, found none: the program has to be "
                        "compiled with -g");
    char found[48];
    if (code != BAT_OK || !is_other_build(program, debuginfo, found, sizeof(found)))
        return code;
    char own[48];
    bat_hex_bytes(own, sizeof(own), program->build_id, program->build_id_size);
    return bat_fail(error, BAT_ERR_MISMATCH, "expected the debug file of build-id %s, found %s",
                    own, found);
}

/* --- Separate files ------------------------------------------------------------------------- */

/* The separate debug file that was found. */
struct separate {
    int file; /* -1: none */
    char *path;
};

/* The link to a debug file that a program has. */
struct link {
    const char *name; /* NULL: it has none */
    uint32_t sum;     /* CRC-32 of the debug file; 0: not known */
};

/* What .gnu_debuglink says: a name with its zero, up to a multiple of 4 bytes, and a sum. */
static struct link read_link(const struct program *program)
{
    const struct bat_section *section = bat_elf_section(program->elf, ".gnu_debuglink");
    uint64_t size = 0;
    const uint8_t *bytes = section ? bat_elf_section_bytes(program->elf, section, &size) : NULL;
    if (bytes)
        bat_keep_bytes(bytes, size);
    const uint8_t *end = bytes ? memchr(bytes, 0, size) : NULL;
    if (!end || end == bytes)
        return (struct link){0};
    size_t sum = ((size_t)(end - bytes) + 4) / 4 * 4;
    return (struct link){(const char *)bytes, sum + 4 <= size ? bat_load32(bytes + sum) : 0};
}

/* True if the file is the program's: by build-id if the program has one, else by its sum. */
static bool is_of_program(const struct program *program, const struct bat_elf *file, uint32_t sum)
{
    size_t size;
    if (program->build_id_size) {
        const uint8_t *id = bat_elf_build_id(file, &size);
        return size == program->build_id_size && memcmp(id, program->build_id, size) == 0;
    }
    uint64_t whole;
    const uint8_t *bytes = bat_elf_bytes(file, &whole);
    return sum == 0 || crc32_z(0, bytes, whole) == sum;
}

/* True if both paths lead to the same file. */
static bool is_same_file(const char *path, const char *other)
{
    struct stat first;
    struct stat second;
    return stat(path, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* Keep the file with that name in folder and below, if it is the program's debug file. */
static bool try_file(const struct program *program, const char *folder, const char *below,
                     const char *name, uint32_t sum, struct separate *found)
{
    char path[PATH_MAX];
    struct bat_elf *file;
    int size = snprintf(path, sizeof(path), "%s%s/%s", folder, below, name);
    if (size < 0 || (size_t)size >= sizeof(path) || is_same_file(path, program->path) ||
        bat_elf_open(path, &file, NULL) != BAT_OK)
        return false;
    if (is_of_program(program, file, sum))
        *found = (struct separate){bat_elf_descriptor(file), strdup(path)};
    bat_elf_close(file);
    return found->file >= 0;
}

#define DEBUG_FOLDER "/usr/lib/debug"

static bool find_by_build_id(const struct program *program, struct separate *found)
{
    char id[160];
    char name[168];
    if (program->build_id_size < 2 || program->build_id_size > 64)
        return false;
    bat_hex_bytes(id, sizeof(id), program->build_id, program->build_id_size);
    snprintf(name, sizeof(name), "%.2s/%s.debug", id, id + 2);
    if (!try_file(program, program->folder, "/.build-id", name, 0, found) &&
        !try_file(program, DEBUG_FOLDER, "/.build-id", name, 0, found))
        return false;
    /* It is a symbolic link mostly; other files are beside what it leads to. */
    char *real = realpath(found->path ? found->path : "", NULL);
    if (real) {
        free(found->path);
        found->path = real;
    }
    return true;
}

/* Beside the program, and below the debug folder, where the program's folder may lack its first
 * parts. */
static bool find_by_name(const struct program *program, const char *name, uint32_t sum,
                         struct separate *found)
{
    if (try_file(program, program->folder, "", name, sum, found) ||
        try_file(program, program->folder, "/.debug", name, sum, found))
        return true;
    const char *below = strchr(program->folder, '/');
    while (below && !try_file(program, DEBUG_FOLDER, below, name, sum, found))
        below = strchr(below + 1, '/');
    return found->file >= 0 || try_file(program, DEBUG_FOLDER, "", name, sum, found);
}

/* The path of an open file, or NULL: libdwfl has none for what debuginfod fetched. */
static char *path_of_open(int file)
{
    char name[32];
    snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
    return realpath(name, NULL);
}

/*
 * Ask the servers of DEBUGINFOD_URLS. libdwfl gets the build-id alone: it and libelf would map
 * files that other programs may change, and libelf 0.188 reads a changed header outside of the
 * file.
 */
static void ask_servers(const struct program *program, struct separate *found)
{
    char nowhere[] = "";
    char *folders = nowhere;
    const Dwfl_Callbacks callbacks = {.debuginfo_path = &folders};
    Dwfl *libdwfl = program->build_id_size ? dwfl_begin(&callbacks) : NULL;
    Dwfl_Module *module = libdwfl ? dwfl_report_module(libdwfl, "program", 0, 1) : NULL;
    char *path = NULL;
    if (module &&
        dwfl_module_report_build_id(module, program->build_id, program->build_id_size, 0) == 0) {
        int file = dwfl_standard_find_debuginfo(module, NULL, NULL, 0, NULL, NULL, 0, &path);
        if (file >= 0) {
            found->file = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
            found->path = path_of_open(file);
            close(file);
        }
    }
    dwfl_end(libdwfl);
    free(path);
}

/* Search as elfutils and gdb do: by build-id, by .gnu_debuglink or name, from debuginfod. */
static struct separate find_separate(const struct program *program)
{
    struct separate found = {.file = -1};
    struct link link = read_link(program);
    char name[NAME_MAX + sizeof(".debug")];
    snprintf(name, sizeof(name), "%.*s.debug", NAME_MAX, program->name);
    if (!find_by_build_id(program, &found) &&
        !(link.name ? find_by_name(program, link.name, link.sum, &found)
                    : find_by_name(program, name, 0, &found) ||
                          find_by_name(program, program->name, 0, &found)))
        ask_servers(program, &found);
    return found;
}

/* Fail for a program whose debug information was found nowhere. */
static enum bat_code fail_without(const struct program *program, struct bat_error *error)
{
    char id[48];
    bat_hex_bytes(id, sizeof(id), program->build_id, program->build_id_size);
    const char *name = read_link(program).name;
    return bat_fail(error, BAT_ERR_NO_DEBUG,
                    "expected DWARF debug information, found none in the file, by build-id (%s) or "
                    "by .gnu_debuglink (%.100s): compile with -g (for AutoFDO: -g1 "
                    "-fdebug-info-for-profiling), or name a separate debug file",
                    program->build_id_size ? id : "it has none", name ? name : "it has none");
}

static enum bat_code use_separate_file(struct bat_debuginfo *debuginfo,
                                       const struct program *program, struct bat_error *error)
{
    struct separate found = find_separate(program);
    if (found.file < 0) {
        free(found.path);
        return fail_without(program, error);
    }
    const char *path = found.path ? found.path : program->path;
    enum bat_code code = open_candidate(debuginfo, path, found.file, error);
    char id[48];
    if (code == BAT_OK && is_other_build(program, debuginfo, id, sizeof(id))) {
        debug_image_close(&debuginfo->image);
        code = BAT_ERR_NO_DEBUG;
    }
    free(found.path);
    return code == BAT_ERR_NO_DEBUG ? fail_without(program, error) : code;
}

/* --- dwz's supplementary file --------------------------------------------------------------- */

/* Open the file at path as the alternate one, if it has that build-id. */
static bool try_alternate(struct bat_debuginfo *debuginfo, const char *path, const void *id,
                          size_t size)
{
    int file = bat_regular_open(AT_FDCWD, path);
    struct debug_image *alternate = &debuginfo->alternate;
    if (file < 0 || debug_image_map(alternate, path, file, 0, NULL) != BAT_OK)
        return false;
    const void *found;
    if (debug_image_begin(alternate, false, NULL) == BAT_OK &&
        dwelf_elf_gnu_build_id(alternate->elf, &found) == (ssize_t)size &&
        memcmp(found, id, size) == 0)
        return true;
    debug_image_close(alternate);
    return false;
}

/*
 * Look for dwz's file beside the debug file and by its build-id. libdw's own search does not find
 * files with sections that zstd packed.
 */
static void find_alternate(struct bat_debuginfo *debuginfo)
{
    const char *name;
    const void *id;
    ssize_t size = dwelf_dwarf_gnu_debugaltlink(debuginfo->image.dwarf, &name, &id);
    if (size < 2 || size > 64)
        return;
    char *real = realpath(debuginfo->image.path, NULL);
    char *slash = real ? strrchr(real, '/') : NULL;
    char *path = NULL;
    if (slash)
        slash[1] = 0;
    if (slash && asprintf(&path, "%s%s", name[0] == '/' ? "" : real, name) < 0)
        path = NULL;
    bool is_found = path && try_alternate(debuginfo, path, id, (size_t)size);
    free(path);
    free(real);
    char text[160];
    if (is_found)
        return;
    bat_hex_bytes(text, sizeof(text), id, (size_t)size);
    if (asprintf(&path, "/usr/lib/debug/.build-id/%.2s/%s.debug", text, text + 2) < 0)
        return;
    /* libdw would open an absolute path when it needs it. The name is in memory of the image. */
    if (!try_alternate(debuginfo, path, id, (size_t)size) && bat_is_special(name))
        *(char *)name = '\0';
    free(path);
}

/* --- The program ---------------------------------------------------------------------------- */

/* Keep the executable segments: those of the program, not of its debug file. */
static enum bat_code keep_code(struct bat_debuginfo *debuginfo, const struct bat_elf *program,
                               struct bat_error *error)
{
    size_t capacity = 0;
    struct bat_segment segment;
    debuginfo->is_relocatable = bat_elf_type(program) == ET_REL;
    for (size_t i = 0; bat_elf_segment(program, i, &segment); i++) {
        if (!(segment.flags & PF_X) || segment.memory_size == 0)
            continue;
        if (!BAT_APPEND(debuginfo->code, debuginfo->code_count, capacity,
                        (struct bat_debuginfo_range){segment.address,
                                                     segment.address + segment.memory_size}))
            return bat_fail_memory(error, "to read debug information");
    }
    return BAT_OK;
}

/*
 * Find the folder that the program is in; symbolic links are followed, as gdb does. An open file
 * without a name, such as the binary from a store, has only the folder of its path.
 */
static bool find_folder(struct program *program)
{
    program->folder = realpath(program->path, NULL);
    if (!program->folder && errno == ENOENT)
        program->folder = strdup(program->path);
    char *slash = program->folder ? strrchr(program->folder, '/') : NULL;
    program->name = slash ? slash + 1 : program->folder;
    if (slash)
        *slash = 0;
    return program->folder != NULL;
}

/* Sort the segments, and join those that touch. */
static void join_code(struct bat_debuginfo *debuginfo)
{
    struct bat_debuginfo_range *code = debuginfo->code;
    size_t count = 0;
    BAT_SORT_BY(code, debuginfo->code_count, start);
    for (size_t i = 0; i < debuginfo->code_count; i++) {
        if (count > 0 && code[i].start <= code[count - 1].end) {
            if (code[i].end > code[count - 1].end)
                code[count - 1].end = code[i].end;
        } else {
            code[count++] = code[i];
        }
    }
    debuginfo->code_count = count;
}

static enum bat_code open_dwarf(struct bat_debuginfo *debuginfo, const struct program *program,
                                const char *debug_file, struct bat_error *error)
{
    if (debug_file)
        return use_given_file(debuginfo, program, debug_file, error);
    enum bat_code code =
        open_candidate(debuginfo, program->path, bat_elf_descriptor(program->elf), error);
    return code == BAT_ERR_NO_DEBUG ? use_separate_file(debuginfo, program, error) : code;
}

enum bat_code debug_find_file(struct bat_debuginfo *debuginfo, const char *path,
                              const char *debug_file, struct bat_error *error)
{
    struct program program = {.path = path};
    BAT_TRY(bat_elf_open(path, &program.elf, error));
    enum bat_code code = BAT_OK;
    program.build_id = bat_elf_build_id(program.elf, &program.build_id_size);
    debuginfo->program_path = strdup(path);
    debuginfo->debug_file = debug_file ? strdup(debug_file) : NULL;
    if (!find_folder(&program))
        code = bat_fail(error, BAT_ERR_IO, "cannot be found: %m");
    else if (!debuginfo->program_path || (debug_file && !debuginfo->debug_file))
        code = bat_fail_memory(error, "to read debug information");
    else
        code = keep_code(debuginfo, program.elf, error);
    join_code(debuginfo);
    code = code ? code : open_dwarf(debuginfo, &program, debug_file, error);
    if (code == BAT_OK)
        find_alternate(debuginfo);
    if (debuginfo->alternate.dwarf)
        dwarf_setalt(debuginfo->image.dwarf, debuginfo->alternate.dwarf);
    free(program.folder);
    bat_elf_close(program.elf);
    return code;
}
