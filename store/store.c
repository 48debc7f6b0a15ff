/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bat_store.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "elfnote/descriptors.h"
#include "elfnote/replace_file.h"
#include "elfnote/shipped.h"
#include "spec/hex_bytes.h"
#include "support/temporary.h"

/* Build-ids of this many bytes have entries; the first byte is the folder's name. */
#define ID_MIN 2u
#define ID_MAX 64u

#define LEVEL 3

/*
 * No entry is unpacked to more than this many bytes, or this many times its own, if that is more:
 * a damaged or malicious entry must not fill the disk. Writers leave no entry behind that packs
 * better.
 */
#define UNPACKED_MIN (UINT64_C(64) << 20)
#define RATIO_MAX 256u

/* The most bytes that an entry of packed_size bytes may unpack to. */
static uint64_t unpacked_limit(uint64_t packed_size)
{
    if (packed_size > UINT64_MAX / RATIO_MAX)
        return UINT64_MAX;
    return packed_size * RATIO_MAX > UNPACKED_MIN ? packed_size * RATIO_MAX : UNPACKED_MIN;
}

/* Where a store may have an entry, in the order in which they are looked at. */
enum layout {
    LAYOUT_PACKED,     /* FOLDER/.build-id/ab/cdef....zst, which store_put() writes */
    LAYOUT_PLAIN,      /* FOLDER/.build-id/ab/cdef..., as gdb looks for executables */
    LAYOUT_DEBUGINFOD, /* FOLDER/abcdef.../executable: its clients' cache, and its paths by HTTP */
    LAYOUTS
};

/* The path of an entry, to be freed; NULL without memory or for a build-id of another size. */
static char *entry_path(const char *folder, const uint8_t *id, size_t size, enum layout layout)
{
    char hex[2 * ID_MAX + 1];
    char *path = NULL;
    if (size < ID_MIN || size > ID_MAX)
        return NULL;
    bat_hex_bytes(hex, sizeof(hex), id, size);
    int length = layout == LAYOUT_DEBUGINFOD
                     ? asprintf(&path, "%s/%s/executable", folder, hex)
                     : asprintf(&path, "%s/.build-id/%.2s/%s%s", folder, hex, hex + 2,
                                layout == LAYOUT_PACKED ? ".zst" : "");
    return length < 0 ? NULL : path;
}

/* --- The folders ---------------------------------------------------------------------------- */

/* Fail with a path in front of the text; of a long path the end is what tells. */
static enum bat_code fail_of(const char *path, enum bat_code failure, const char *text,
                             struct bat_error *error)
{
    const size_t most = BAT_MESSAGE_SIZE / 2;
    const size_t size = strlen(path);
    return size > most ? bat_fail(error, failure, "...%s: %s", path + (size - most), text)
                       : bat_fail(error, failure, "%s: %s", path, text);
}

/* The same with the text of an error, its place included. */
static enum bat_code fail_as(const char *path, const struct bat_error *why, struct bat_error *error)
{
    char text[BAT_MESSAGE_SIZE + 64];
    bat_error_text(why, text, sizeof(text));
    return fail_of(path, why->code, text, error);
}

/* The same with the text of errno behind what failed. */
static enum bat_code fail_errno(const char *path, const char *what, struct bat_error *error)
{
    char text[BAT_MESSAGE_SIZE];
    snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));
    return fail_of(path, BAT_ERR_IO, text, error);
}

enum bat_code bat_stores_add(struct bat_stores *stores, const char *folder, struct bat_error *error)
{
    struct stat status;
    errno = ENOTDIR;
    if (stores->count == BAT_STORES_MAX)
        return bat_fail(error, BAT_ERR_ARGUMENT, "expected at most %u stores, found more",
                        BAT_STORES_MAX);
    if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode))
        return fail_errno(folder, "expected the folder of a store", error);
    stores->folders[stores->count++] = folder;
    return BAT_OK;
}

enum bat_code bat_stores_add_environment(struct bat_stores *stores, struct bat_error *error)
{
    const char *list = getenv("BATKIT_STORE");
    if (!list || !*list)
        return BAT_OK;
    stores->environment = strdup(list);
    BAT_TRY_MEMORY(stores->environment, error, "for the names of stores");
    enum bat_code code = BAT_OK;
    char *rest = stores->environment;
    for (char *folder = strsep(&rest, ":"); folder && code == BAT_OK; folder = strsep(&rest, ":"))
        if (*folder)
            code = bat_stores_add(stores, folder, error);
    return code;
}

void bat_stores_free(struct bat_stores *stores)
{
    free(stores->environment);
    *stores = (struct bat_stores){0};
}

void bat_stored_close(struct bat_stored *stored)
{
    if (stored->file >= 0)
        close(stored->file);
    stored->file = -1;
}

/* --- Reading -------------------------------------------------------------------------------- */

/* What unpack() works with. */
struct unpacking {
    ZSTD_DStream *stream;
    char *in;
    char *out;
    uint64_t limit;   /* of the unpacked bytes */
    uint64_t written; /* so far */
    size_t wanted;    /* 0 at the end of the frame */
    int file;
};

static enum bat_code fail_too_large(uint64_t found, uint64_t limit, struct bat_error *error)
{
    return bat_fail(error, BAT_ERR_SYNTAX,
                    "expected at most %lu bytes in the frame of zstd, which are %u for each of its "
                    "own or %lu in all, found %s%lu",
                    limit, RATIO_MAX, UNPACKED_MIN, found > limit ? "" : "more than ", found);
}

/* The frame's header may tell the unpacked size: then nothing is written if it is too large. */
static enum bat_code check_header(const struct unpacking *u, size_t size, struct bat_error *error)
{
    unsigned long long told = ZSTD_getFrameContentSize(u->in, size);
    if (told == ZSTD_CONTENTSIZE_ERROR || told == ZSTD_CONTENTSIZE_UNKNOWN || told <= u->limit)
        return BAT_OK;
    return fail_too_large(told, u->limit, error);
}

static enum bat_code write_at(int file, uint64_t offset, const char *bytes, size_t size,
                              struct bat_error *error)
{
    if (size == 0)
        return BAT_OK;
    if (lseek(file, (off_t)offset, SEEK_SET) < 0)
        return bat_fail(error, BAT_ERR_IO, "writing to a temporary file: %s", strerror(errno));
    return bat_temporary_write(file, bytes, size, error);
}

/* Append unpacked bytes. Blocks of zeros become holes: BOLT leaves megabytes of them. */
static enum bat_code append(struct unpacking *u, const char *bytes, size_t size,
                            struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    size_t start = 0; /* of the bytes that are to be written */
    for (size_t at = 0; at < size && code == BAT_OK;) {
        size_t block = size - at < BAT_HOLE_BLOCK ? size - at : BAT_HOLE_BLOCK;
        if (bat_is_zeros(bytes + at, block)) {
            code = write_at(u->file, u->written + start, bytes + start, at - start, error);
            start = at + block;
        }
        at += block;
    }
    code = code ? code : write_at(u->file, u->written + start, bytes + start, size - start, error);
    u->written += size;
    return code;
}

static enum bat_code unpack_some(struct unpacking *u, ZSTD_inBuffer *input, struct bat_error *error)
{
    ZSTD_outBuffer output = {.dst = u->out, .size = ZSTD_DStreamOutSize()};
    if (u->wanted == 0)
        return bat_fail(error, BAT_ERR_SYNTAX, "expected one frame of zstd, found more");
    u->wanted = ZSTD_decompressStream(u->stream, &output, input);
    if (ZSTD_isError(u->wanted))
        return bat_fail(error, BAT_ERR_SYNTAX, "expected one frame of zstd, found %s",
                        ZSTD_getErrorName(u->wanted));
    if (output.pos > u->limit - u->written)
        return fail_too_large(u->limit, u->limit, error);
    return append(u, u->out, output.pos, error);
}

static enum bat_code unpack_all(struct unpacking *u, int packed, struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    bool is_first = true;
    for (ssize_t got = 1; code == BAT_OK && got != 0;) {
        got = bat_read_some(packed, u->in, ZSTD_DStreamInSize(), -1);
        if (got < 0)
            code = bat_fail(error, BAT_ERR_IO, "reading: %s", strerror(errno));
        ZSTD_inBuffer input = {.src = u->in, .size = got > 0 ? (size_t)got : 0};
        if (is_first && got > 0) {
            code = check_header(u, input.size, error);
            is_first = false;
        }
        while (code == BAT_OK && input.pos < input.size)
            code = unpack_some(u, &input, error);
    }
    /* The last bytes may wait inside the stream. */
    for (uint64_t before = UINT64_MAX; code == BAT_OK && u->wanted != 0 && before != u->written;) {
        ZSTD_inBuffer input = {.src = u->in};
        before = u->written;
        code = unpack_some(u, &input, error);
    }
    if (code == BAT_OK && u->wanted != 0)
        code = bat_fail(error, BAT_ERR_TRUNCATED, "expected a whole frame of zstd, found a part");
    /* The file may end in a hole. */
    if (code == BAT_OK && ftruncate(u->file, (off_t)u->written) != 0)
        code = bat_fail(error, BAT_ERR_IO, "writing to a temporary file: %s", strerror(errno));
    return code;
}

/* Unpack a zstd file into a temporary one. Exactly one frame is expected. */
static enum bat_code unpack(int packed, int unpacked, struct bat_error *error)
{
    struct stat status;
    if (fstat(packed, &status) != 0)
        return bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
    struct unpacking u = {
        .stream = ZSTD_createDStream(),
        .in = malloc(ZSTD_DStreamInSize()),
        .out = malloc(ZSTD_DStreamOutSize()),
        .limit = unpacked_limit((uint64_t)status.st_size),
        .wanted = 1,
        .file = unpacked,
    };
    enum bat_code code = u.stream && u.in && u.out ? unpack_all(&u, packed, error)
                                                   : bat_fail_memory(error, "for the store's file");
    ZSTD_freeDStream(u.stream);
    free(u.in);
    free(u.out);
    return code;
}

/*
 * True if two ELF headers, which the first segment usually maps, are equal but for the place and
 * number of the section headers: shipping changes these (spec/store.md, 4).
 */
static bool has_equal_header(const uint8_t *one, const uint8_t *other)
{
    Elf64_Ehdr headers[2];
    memcpy(&headers[0], one, sizeof(headers[0]));
    memcpy(&headers[1], other, sizeof(headers[1]));
    for (size_t i = 0; i < 2; i++) {
        headers[i].e_shoff = 0;
        headers[i].e_shnum = 0;
        headers[i].e_shstrndx = 0;
    }
    return memcmp(&headers[0], &headers[1], sizeof(headers[0])) == 0;
}

/* True if both files load the same bytes to the same addresses. */
static bool is_loaded_alike(const struct bat_elf *one, const struct bat_elf *other)
{
    struct bat_segment a;
    struct bat_segment b;
    for (size_t i = 0;; i++) {
        bool is_there = bat_elf_segment(one, i, &a);
        if (is_there != bat_elf_segment(other, i, &b))
            return false;
        if (!is_there)
            return true;
        if (a.offset != b.offset || a.file_size != b.file_size || a.address != b.address ||
            a.memory_size != b.memory_size || a.flags != b.flags)
            return false;
        uint64_t size;
        const uint8_t *bytes = bat_elf_bytes(one, &size);
        uint64_t other_size;
        const uint8_t *other_bytes = bat_elf_bytes(other, &other_size);
        uint64_t start = a.offset;
        uint64_t most = size < other_size ? size : other_size;
        if (start > most || a.file_size > most - start)
            return false;
        uint64_t end = start + a.file_size;
        if (start == 0 && a.file_size >= sizeof(Elf64_Ehdr)) {
            if (!has_equal_header(bytes, other_bytes))
                return false;
            start = sizeof(Elf64_Ehdr);
        }
        if (memcmp(bytes + start, other_bytes + start, (size_t)(end - start)) != 0)
            return false;
        bat_elf_release(one, bytes + start, end - start);
        bat_elf_release(other, other_bytes + start, end - start);
    }
}

/*
 * Check that the open file is the binary of that build-id. *is_other gets true if it is, but loads
 * other bytes than the shipped file, which may be NULL.
 */
static enum bat_code check_entry(const struct bat_stored *stored, const uint8_t *id, size_t size,
                                 const struct bat_elf *shipped, bool *is_other,
                                 struct bat_error *error)
{
    struct bat_elf *elf;
    BAT_TRY(bat_elf_open(stored->path, &elf, error));
    enum bat_code code = BAT_OK;
    size_t found_size;
    const uint8_t *found = bat_elf_build_id(elf, &found_size);
    if (!found || found_size != size || memcmp(found, id, size) != 0)
        code = bat_fail(error, BAT_ERR_MISMATCH,
                        "expected the binary of the build-id that the path names, found another");
    *is_other = code == BAT_OK && shipped && !is_loaded_alike(shipped, elf);
    bat_elf_close(elf);
    return code;
}

static enum bat_code read_packed(int packed, struct bat_stored *stored, struct bat_error *error)
{
    BAT_TRY(bat_temporary_open(&stored->file, error));
    return unpack(packed, stored->file, error);
}

/*
 * Open an entry; -1 with errno if that fails. debuginfod's clients remember what no server has by
 * an empty file that nobody may read.
 */
static int open_entry(const char *path, enum layout layout)
{
    struct stat status;
    if (layout == LAYOUT_DEBUGINFOD && stat(path, &status) == 0 && status.st_size == 0) {
        errno = ENOENT;
        return -1;
    }
    return bat_regular_open(AT_FDCWD, path);
}

/* Read the entry that file is open for. *is_other as for check_entry(). */
static enum bat_code read_entry(int file, enum layout layout, const uint8_t *id, size_t size,
                                const struct bat_elf *shipped, struct bat_stored *stored,
                                bool *is_other, struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    if (layout == LAYOUT_PACKED) {
        code = read_packed(file, stored, error);
        close(file);
    } else {
        stored->file = file;
    }
    snprintf(stored->path, sizeof(stored->path), "/proc/self/fd/%d", stored->file);
    return code ? code : check_entry(stored, id, size, shipped, is_other, error);
}

/*
 * Look in one store. Fails if an entry is damaged. An entry that is another file than the shipped
 * one was is not taken; *is_other gets true then.
 */
static enum bat_code find_in(const char *folder, const uint8_t *id, size_t size,
                             const struct bat_elf *shipped, struct bat_stored *stored,
                             bool *is_other, struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    for (enum layout i = 0; i < LAYOUTS && stored->file < 0 && code == BAT_OK; i++) {
        char *path = entry_path(folder, id, size, i);
        int file = path ? open_entry(path, i) : -1;
        struct bat_error why = {0};
        bool is_another = false;
        if (file >= 0)
            code = read_entry(file, i, id, size, shipped, stored, &is_another, &why);
        else if (path && errno != ENOENT)
            code = bat_regular_fail(&why);
        if (code != BAT_OK)
            fail_as(path, &why, error);
        if (code != BAT_OK || is_another)
            bat_stored_close(stored);
        *is_other |= is_another;
        free(path);
    }
    stored->is_system_full = code == BAT_ERR_MEMORY || code == BAT_ERR_IO;
    return code;
}

enum bat_code bat_stores_find(const struct bat_stores *stores, const uint8_t *build_id, size_t size,
                              const struct bat_elf *shipped, struct bat_stored *stored,
                              struct bat_error *error)
{
    bool is_other = false;
    enum bat_code code = BAT_OK;
    *stored = bat_stored_nothing();
    for (size_t i = 0; i < stores->count && stored->file < 0 && code == BAT_OK; i++)
        code = find_in(stores->folders[i], build_id, size, shipped, stored, &is_other, error);
    if (code == BAT_OK && is_other && stored->file < 0)
        return fail_of(bat_elf_path(shipped), BAT_ERR_MISMATCH,
                       "expected the file that it was shipped from in a store, found another one "
                       "of its build-id, which loads other bytes",
                       error);
    return code;
}

bool bat_store_is_shipped(const struct bat_elf *elf)
{
    const uint8_t *note;
    size_t size;
    return !bat_elf_has_symbols(elf) && bat_elf_note(elf, &note, &size, NULL, NULL) != BAT_OK;
}

enum bat_code bat_stores_find_whole(const struct bat_stores *stores, const char *path,
                                    struct bat_stored *stored, struct bat_error *error)
{
    *stored = bat_stored_nothing();
    struct bat_elf *elf;
    struct bat_error why;
    if (stores->count == 0 || strcmp(path, "-") == 0)
        return BAT_OK;
    enum bat_code code = bat_elf_open(path, &elf, &why);
    if (code == BAT_ERR_MEMORY)
        return fail_as(path, &why, error);
    if (code != BAT_OK)
        return BAT_OK;
    size_t size;
    const uint8_t *id = bat_elf_build_id(elf, &size);
    if (id && bat_store_is_shipped(elf))
        code = bat_stores_find(stores, id, size, elf, stored, error);
    bat_elf_close(elf);
    return code;
}

/* --- Writing -------------------------------------------------------------------------------- */

bool bat_store_has(const char *folder, const uint8_t *build_id, size_t size)
{
    char *packed = entry_path(folder, build_id, size, LAYOUT_PACKED);
    bool is_there = packed && access(packed, F_OK) == 0;
    free(packed);
    return is_there;
}

/*
 * Make a folder for all who may write into the store's, whatever the umask. Without its group, as
 * the umask wants.
 */
static bool make_folder(const char *path, const struct stat *store)
{
    struct stat made;
    if (mkdir(path, 0777) != 0)
        return errno == EEXIST;
    if (stat(path, &made) == 0 &&
        (made.st_gid == store->st_gid || chown(path, (uid_t)-1, store->st_gid) == 0) &&
        chmod(path, store->st_mode & 07777) != 0)
        return false;
    return true;
}

/* Make the folder of a path, and those above it below the store's. */
static enum bat_code make_folders(const char *folder, char *path, struct bat_error *error)
{
    struct stat store;
    if (stat(folder, &store) != 0)
        return fail_errno(folder, "cannot be read", error);
    enum bat_code code = BAT_OK;
    for (char *slash = path + strlen(folder); code == BAT_OK && (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        if (!make_folder(path, &store))
            code = fail_errno(path, "cannot make the folder", error);
        *slash = '/';
    }
    return code;
}

/* Write the bytes as one frame with a checksum. */
static enum bat_code pack(const uint8_t *bytes, uint64_t size, struct bat_output *output,
                          uint64_t *packed_size, struct bat_error *error)
{
    ZSTD_CStream *stream = ZSTD_createCStream();
    const size_t out_size = ZSTD_CStreamOutSize();
    char *out = malloc(out_size);
    enum bat_code code = BAT_OK;
    *packed_size = 0;
    if (!stream || !out)
        code = bat_fail_memory(error, "to pack the file");
    if (code == BAT_OK) {
        ZSTD_CCtx_setParameter(stream, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(stream, ZSTD_c_checksumFlag, 1);
        ZSTD_CCtx_setPledgedSrcSize(stream, size);
    }
    ZSTD_inBuffer input = {.src = bytes, .size = (size_t)size};
    for (size_t left = 1; code == BAT_OK && left != 0;) {
        ZSTD_outBuffer part = {.dst = out, .size = out_size};
        left = ZSTD_compressStream2(stream, &part, &input, ZSTD_e_end);
        code = ZSTD_isError(left)
                   ? bat_fail(error, BAT_ERR_UNSUPPORTED, "zstd: %s", ZSTD_getErrorName(left))
                   : bat_output_write(output, out, part.pos, error);
        *packed_size += part.pos;
    }
    ZSTD_freeCStream(stream);
    free(out);
    return code;
}

/* True if the store has these very bytes. */
static bool is_same(const char *folder, const struct bat_elf *elf)
{
    size_t id_size;
    const uint8_t *id = bat_elf_build_id(elf, &id_size);
    struct bat_stored stored = bat_stored_nothing();
    struct bat_elf *other = NULL;
    bool is_other = false;
    if (find_in(folder, id, id_size, NULL, &stored, &is_other, NULL) != BAT_OK || stored.file < 0 ||
        bat_elf_open(stored.path, &other, NULL) != BAT_OK) {
        bat_stored_close(&stored);
        return false;
    }
    uint64_t size;
    uint64_t other_size;
    const uint8_t *bytes = bat_elf_bytes(elf, &size);
    const uint8_t *other_bytes = bat_elf_bytes(other, &other_size);
    bool is_equal = size == other_size && memcmp(bytes, other_bytes, (size_t)size) == 0;
    bat_elf_close(other);
    bat_stored_close(&stored);
    return is_equal;
}

static enum bat_code compare_entry(const char *folder, const struct bat_elf *elf, const char *path,
                                   struct bat_error *error)
{
    if (is_same(folder, elf))
        return BAT_OK;
    return fail_of(path, BAT_ERR_MISMATCH,
                   "expected nothing or the same file in the store, found another file of this "
                   "build-id (--force replaces it)",
                   error);
}

/*
 * Make an entry last, and the folders above it, which this process or another one has just made:
 * the shipped file must not be all that is left after a loss of power. Cuts path.
 */
static enum bat_code sync_folders(const char *folder, char *path, struct bat_error *error)
{
    for (;;) {
        if (bat_write_folder_of(path) != 0)
            return fail_errno(path, "cannot be written", error);
        if (strlen(path) <= strlen(folder))
            return BAT_OK;
        *strrchr(path, '/') = '\0';
    }
}

/* No reader would take an entry beyond the limit. */
static enum bat_code check_limit(uint64_t size, uint64_t packed_size, struct bat_error *error)
{
    if (size <= unpacked_limit(packed_size))
        return BAT_OK;
    return bat_fail(error, BAT_ERR_UNSUPPORTED,
                    "expected a file that zstd packs to at least 1/%u of its %lu bytes, found %lu: "
                    "readers of a store refuse what unpacks to more",
                    RATIO_MAX, size, packed_size);
}

static enum bat_code write_entry(const char *folder, const struct bat_elf *elf, const char *path,
                                 bool force, bool *was_there, struct bat_error *error)
{
    uint64_t size;
    uint64_t packed_size;
    size_t id_size;
    const uint8_t *bytes = bat_elf_bytes(elf, &size);
    const uint8_t *id = bat_elf_build_id(elf, &id_size);
    struct bat_error why;
    struct bat_output *output;
    enum bat_code code = bat_elf_begin_stored(elf, path, &output, &why);
    if (code == BAT_OK) {
        code = pack(bytes, size, output, &packed_size, &why);
        code = code ? code : check_limit(size, packed_size, &why);
        if (code == BAT_OK)
            code = bat_outputs_commit(&output, 1, &why);
        else
            bat_output_abandon(output);
        /* Of several processes with one entry the first wins, and the others compare theirs. */
        *was_there = code == BAT_ERR_IO && bat_store_has(folder, id, id_size) &&
                     (!force || is_same(folder, elf));
        if (*was_there)
            return compare_entry(folder, elf, path, error);
    }
    return code == BAT_OK ? BAT_OK : fail_as(bat_elf_path(elf), &why, error);
}

enum bat_code bat_store_put(const char *folder, const struct bat_elf *elf, bool force,
                            bool *was_there, struct bat_error *error)
{
    size_t size;
    const uint8_t *id = bat_elf_build_id(elf, &size);
    *was_there = false;
    if (!id || size < ID_MIN || size > ID_MAX) {
        struct bat_error why;
        bat_fail(&why, BAT_ERR_MISMATCH,
                 "expected a build-id of %u to %u bytes, by which a store has its files, found %s "
                 "(link with -Wl,--build-id)",
                 ID_MIN, ID_MAX, id ? "another" : "none");
        return fail_as(bat_elf_path(elf), &why, error);
    }
    char *path = entry_path(folder, id, size, LAYOUT_PACKED);
    BAT_TRY_MEMORY(path, error, "for the path of an entry");
    enum bat_code code;
    *was_there = !force && bat_store_has(folder, id, size);
    if (*was_there) {
        code = compare_entry(folder, elf, path, error);
    } else {
        code = make_folders(folder, path, error);
        code = code ? code : write_entry(folder, elf, path, force, was_there, error);
    }
    /* Another process may have just put an entry that is there already. */
    code = code ? code : sync_folders(folder, path, error);
    free(path);
    return code;
}
