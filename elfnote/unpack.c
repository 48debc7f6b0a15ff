/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "unpack.h"

#include <errno.h>
#include <lzma.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "descriptors.h"
#include "spec/array.h"

/* Of xz's own; its largest preset takes 65 MiB. */
#define XZ_MEMORY ((uint64_t)80 << 20)

/* So much is unpacked at once. */
#define PIECE ((size_t)1 << 16)

static const char *const names[] = {"", "gzip", "xz", "zstd"};

enum bat_packing bat_packing_of(const void *bytes, size_t size)
{
    static const char *const heads[] = {"", "\x1f\x8b", "\3757zXZ", "\x28\xb5\x2f\xfd"};
    for (unsigned i = BAT_PACKING_GZIP; i <= BAT_PACKING_ZSTD; i++)
        if (size >= strlen(heads[i]) && memcmp(bytes, heads[i], strlen(heads[i])) == 0)
            return (enum bat_packing)i;
    return BAT_PACKING_NONE;
}

/* --- One piece ------------------------------------------------------------------------------- */

/* What a step came to. */
enum step { GOES_ON, AT_END, CUT, DAMAGED, NO_MEMORY };

/* What is to be unpacked, and the libraries' own. */
struct unpacking {
    enum bat_packing packing;
    const uint8_t *next;
    size_t left;
    z_stream gzip;
    lzma_stream xz;
    ZSTD_DStream *zstd;
};

static bool begin(struct unpacking *unpacking)
{
    switch (unpacking->packing) {
    case BAT_PACKING_GZIP:
        return inflateInit2(&unpacking->gzip, 16 + MAX_WBITS) == Z_OK;
    case BAT_PACKING_XZ:
        return lzma_stream_decoder(&unpacking->xz, XZ_MEMORY, 0) == LZMA_OK;
    default:
        return (unpacking->zstd = ZSTD_createDStream()) != NULL;
    }
}

static void end(struct unpacking *unpacking)
{
    if (unpacking->packing == BAT_PACKING_GZIP)
        inflateEnd(&unpacking->gzip);
    lzma_end(&unpacking->xz);
    ZSTD_freeDStream(unpacking->zstd);
}

/* Unpack at most a piece; *size is set to what became of it. */
static enum step step_gzip(struct unpacking *unpacking, uint8_t *out, size_t *size)
{
    z_stream *gzip = &unpacking->gzip;
    gzip->next_in = (Bytef *)unpacking->next; /* zlib does not write there */
    gzip->avail_in = unpacking->left < UINT32_MAX ? (uInt)unpacking->left : UINT32_MAX;
    const size_t given = gzip->avail_in;
    gzip->next_out = out;
    gzip->avail_out = (uInt)PIECE;
    const int status = inflate(gzip, Z_NO_FLUSH);
    unpacking->next += given - gzip->avail_in;
    unpacking->left -= given - gzip->avail_in;
    *size = PIECE - gzip->avail_out;
    if (status == Z_MEM_ERROR)
        return NO_MEMORY;
    if (status == Z_BUF_ERROR)
        return CUT;
    if (status != Z_STREAM_END)
        return status == Z_OK ? GOES_ON : DAMAGED;
    /* One file may follow another, and is a part of the same. */
    if (bat_packing_of(unpacking->next, unpacking->left) != BAT_PACKING_GZIP)
        return AT_END;
    return inflateReset(gzip) == Z_OK ? GOES_ON : DAMAGED;
}

static enum step step_xz(struct unpacking *unpacking, uint8_t *out, size_t *size)
{
    lzma_stream *xz = &unpacking->xz;
    xz->next_in = unpacking->next;
    xz->avail_in = unpacking->left;
    xz->next_out = out;
    xz->avail_out = PIECE;
    const lzma_ret status = lzma_code(xz, LZMA_FINISH);
    unpacking->next = xz->next_in;
    unpacking->left = xz->avail_in;
    *size = PIECE - xz->avail_out;
    switch (status) {
    case LZMA_OK:
        return GOES_ON;
    case LZMA_STREAM_END:
        return AT_END;
    case LZMA_BUF_ERROR:
        return CUT;
    case LZMA_MEM_ERROR:
        return NO_MEMORY;
    default:
        return DAMAGED;
    }
}

static enum step step_zstd(struct unpacking *unpacking, uint8_t *out, size_t *size)
{
    ZSTD_outBuffer output = {.dst = out, .size = PIECE};
    ZSTD_inBuffer input = {.src = unpacking->next, .size = unpacking->left};
    const size_t status = ZSTD_decompressStream(unpacking->zstd, &output, &input);
    unpacking->next += input.pos;
    unpacking->left -= input.pos;
    *size = output.pos;
    if (ZSTD_isError(status))
        return ZSTD_getErrorCode(status) == ZSTD_error_memory_allocation ? NO_MEMORY : DAMAGED;
    /* Frames follow each other if threads packed them. */
    if (status == 0)
        return unpacking->left == 0 ? AT_END : GOES_ON;
    return unpacking->left == 0 && output.pos == 0 ? CUT : GOES_ON;
}

/* --- All ------------------------------------------------------------------------------------- */

static enum bat_code fail_step(enum step step, const char *what, enum bat_packing packing,
                               struct bat_error *error)
{
    if (step == NO_MEMORY)
        return bat_fail_memory(error, "to unpack what %s packed", names[packing]);
    if (step == CUT)
        return bat_fail(error, BAT_ERR_TRUNCATED,
                        "%sexpected a whole file packed by %s, found its end", what,
                        names[packing]);
    return bat_fail(error, BAT_ERR_SYNTAX, "%sexpected a file packed by %s, found other bytes",
                    what, names[packing]);
}

static enum bat_code unpack_all(struct unpacking *unpacking, const char *what, size_t limit,
                                bat_unpacked_check_fn *check, struct bat_unpacked *unpacked,
                                struct bat_error *error)
{
    enum step step = GOES_ON;
    bool is_checked = !check;
    while (step == GOES_ON) {
        size_t size;
        if (!bat_reserve(&unpacked->bytes, &unpacked->capacity, unpacked->size, PIECE, 1))
            return fail_step(NO_MEMORY, what, unpacking->packing, error);
        uint8_t *out = unpacked->bytes + unpacked->size;
        step = unpacking->packing == BAT_PACKING_GZIP ? step_gzip(unpacking, out, &size)
               : unpacking->packing == BAT_PACKING_XZ ? step_xz(unpacking, out, &size)
                                                      : step_zstd(unpacking, out, &size);
        unpacked->size += size;
        if (step > AT_END)
            return fail_step(step, what, unpacking->packing, error);
        if (unpacked->size > limit)
            return bat_fail(error, BAT_ERR_RANGE,
                            "%sexpected at most %zu unpacked bytes, found more", what, limit);
        if (!is_checked && (unpacked->size >= PIECE || step == AT_END)) {
            BAT_TRY(check(unpacked, unpacking->packing, error));
            is_checked = true;
        }
    }
    return BAT_OK;
}

enum bat_code bat_unpack(const char *what, enum bat_packing packing, const uint8_t *bytes,
                         size_t size, size_t limit, bat_unpacked_check_fn *check,
                         struct bat_unpacked *unpacked, struct bat_error *error)
{
    struct unpacking unpacking = {.packing = packing, .next = bytes, .left = size};
    unpacking.xz = (lzma_stream)LZMA_STREAM_INIT;
    if (!begin(&unpacking)) {
        end(&unpacking);
        return fail_step(NO_MEMORY, what, packing, error);
    }
    enum bat_code code = unpack_all(&unpacking, what, limit, check, unpacked, error);
    end(&unpacking);
    return code;
}

enum bat_code bat_unpacked_file(const struct bat_unpacked *unpacked, int *file,
                                struct bat_error *error)
{
    *file = bat_high_descriptor(memfd_create("unpacked", MFD_CLOEXEC));
    size_t done = 0;
    while (*file >= 0 && done < unpacked->size) {
        const ssize_t put = write(*file, unpacked->bytes + done, unpacked->size - done);
        if (put > 0) {
            done += (size_t)put;
        } else if (put == 0 || errno != EINTR) {
            const int reason = put == 0 ? ENOSPC : errno;
            close(*file);
            *file = -1;
            errno = reason;
        }
    }
    return *file < 0 ? bat_fail(error, BAT_ERR_IO, "cannot be unpacked: %s", strerror(errno))
                     : BAT_OK;
}
