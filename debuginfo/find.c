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
#include <unistd.h>

#include "bat_elf.h"
#include "debuginfo.h"
#include "elfnote/descriptors.h"
#include "spec/hex_bytes.h"
#include "spec/sort.h"

/* The program whose debug information is wanted. */
struct program {
    struct bat_elf *elf;
    const char *path;
    char *folder; /* of the file, without the last slash; absolute */
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

/* --- Where elfutils looks ------------------------------------------------------------------- */

/* The separate debug file that libdwfl finds. */
struct separate {
    int file; /* -1: none */
    char *path;
};

/* The path of an open file, or NULL: libdwfl has none for what debuginfod fetched. */
static char *path_of_open(int file)
{
    char name[32];
    snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
    return realpath(name, NULL);
}

/* libdwfl's standard search, which also keeps the file that it finds. */
static int keep_found(Dwfl_Module *module, void **context, const char *name, Dwarf_Addr start,
                      const char *main_file, const char *link, GElf_Word sum, char **path)
{
    struct separate *separate = *context;
    int file =
        dwfl_standard_find_debuginfo(module, context, name, start, main_file, link, sum, path);
    if (file >= 0 && separate->file < 0) {
        separate->file = fcntl(file, F_DUPFD_CLOEXEC, 3);
        separate->path = *path ? strdup(*path) : path_of_open(file);
    }
    return file;
}

/* Report the program alone to libdwfl, and ask for its DWARF. */
static void ask_libdwfl(const struct program *program, char *folders, struct separate *separate)
{
    const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                      .find_debuginfo = keep_found,
                                      .section_address = dwfl_offline_section_address,
                                      .debuginfo_path = &folders};
    char *path = realpath(program->path, NULL);
    int file = path ? bat_regular_open(AT_FDCWD, path) : -1;
    Dwfl *libdwfl = file >= 0 ? dwfl_begin(&callbacks) : NULL;
    Dwfl_Module *module = libdwfl ? dwfl_report_elf(libdwfl, path, path, file, 0, true) : NULL;
    void **context;
    Dwarf_Addr bias;
    if (module) {
        dwfl_module_info(module, &context, NULL, NULL, NULL, NULL, NULL, NULL);
        *context = separate;
        dwfl_module_getdwarf(module, &bias);
    } else if (file >= 0) {
        close(file);
    }
    dwfl_end(libdwfl);
    free(path);
}

/* The name that .gnu_debuglink has, or NULL. */
static const char *read_link(const struct program *program)
{
    const struct bat_section *section = bat_elf_section(program->elf, ".gnu_debuglink");
    uint64_t size = 0;
    const uint8_t *bytes = section ? bat_elf_section_bytes(program->elf, section, &size) : NULL;
    return bytes && memchr(bytes, 0, size) && bytes[0] ? (const char *)bytes : NULL;
}

/* True if the file that .gnu_debuglink names is a stream in one of the folders for it. */
static bool links_to_stream(const struct program *program)
{
    const char *const formats[] = {"%s/%s", "%s/.debug/%s", "/usr/lib/debug%s/%s"};
    const char *name = read_link(program);
    bool found = false;
    for (size_t i = 0; name && i < sizeof(formats) / sizeof(formats[0]) && !found; i++) {
        char path[PATH_MAX];
        int size = snprintf(path, sizeof(path), formats[i], program->folder, name);
        found = size >= 0 && (size_t)size < sizeof(path) && bat_is_special(path);
    }
    return found;
}

/* Search as elfutils and gdb do: by build-id, by .gnu_debuglink, from debuginfod. */
static struct separate find_separate(const struct program *program)
{
    struct separate separate = {.file = -1};
    char *folders;
    if (links_to_stream(program) ||
        asprintf(&folders, ":.debug:%s:/usr/lib/debug", program->folder) < 0)
        return separate;
    ask_libdwfl(program, folders, &separate);
    free(folders);
    return separate;
}

/* Fail for a program whose debug information was found nowhere. */
static enum bat_code fail_without(const struct program *program, struct bat_error *error)
{
    char id[48];
    bat_hex_bytes(id, sizeof(id), program->build_id, program->build_id_size);
    const char *name = read_link(program);
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
        if (!bat_grow(&debuginfo->code, &capacity, debuginfo->code_count, sizeof(*debuginfo->code)))
            return bat_fail_memory(error, "to read debug information");
        debuginfo->code[debuginfo->code_count++] =
            (struct bat_debuginfo_range){segment.address, segment.address + segment.memory_size};
    }
    return BAT_OK;
}

/*
 * The folder that path is in; symbolic links are followed, as gdb does. An open file without a
 * name, such as the binary from a store, has only the folder of its path.
 */
static char *folder_of(const char *path)
{
    char *real = realpath(path, NULL);
    if (!real && errno == ENOENT)
        real = strdup(path);
    char *slash = real ? strrchr(real, '/') : NULL;
    if (slash)
        *slash = 0;
    return real;
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
    program.folder = folder_of(path);
    debuginfo->program_path = strdup(path);
    debuginfo->debug_file = debug_file ? strdup(debug_file) : NULL;
    if (!program.folder)
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
