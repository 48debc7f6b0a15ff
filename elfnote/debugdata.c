/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Mini debug information: an ELF file, packed by xz, whose symbols the file itself has lost. */
#include "debugdata.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "descriptors.h"
#include "spec/grow.h"

/* Of xz's own; its largest preset takes 65 MiB. */
#define UNPACKER_MEMORY ((uint64_t)80 << 20)

/* Symbols pack to a fifth. Beyond so many bytes they unpack to at most so many times as much. */
#define UNPACKED_FREE ((size_t)1 << 24)
#define UNPACKED_TIMES 64u

struct unpacked {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
};

static enum bat_code fail(lzma_ret status, struct bat_error *error)
{
    if (status == LZMA_MEM_ERROR)
        return bat_fail_memory(error, "for .gnu_debugdata");
    return bat_fail(error, BAT_ERR_ELF, ".gnu_debugdata: expected a file packed by xz, found %s",
                    status == LZMA_BUF_ERROR ? "its end" : "other bytes");
}

static enum bat_code unpack_all(lzma_stream *stream, struct unpacked *unpacked, size_t limit,
                                struct bat_error *error)
{
    const size_t piece = (size_t)1 << 16;
    lzma_ret status = LZMA_OK;
    while (status == LZMA_OK) {
        if (!bat_reserve(&unpacked->bytes, &unpacked->capacity, unpacked->size, piece, 1))
            return bat_fail_memory(error, "for .gnu_debugdata");
        stream->next_out = unpacked->bytes + unpacked->size;
        stream->avail_out = piece;
        status = lzma_code(stream, LZMA_FINISH);
        unpacked->size += piece - stream->avail_out;
        if (unpacked->size > limit)
            return bat_fail(error, BAT_ERR_ELF,
                            ".gnu_debugdata: expected at most %zu unpacked bytes, found more",
                            limit);
    }
    return status == LZMA_STREAM_END ? BAT_OK : fail(status, error);
}

/* Open a file of these bytes. */
static enum bat_code open_bytes(const struct bat_elf *elf, const struct unpacked *unpacked,
                                struct bat_elf **opened, struct bat_error *error)
{
    int file = bat_high_descriptor(memfd_create("debugdata", MFD_CLOEXEC));
    size_t done = 0;
    while (file >= 0 && done < unpacked->size) {
        ssize_t put = write(file, unpacked->bytes + done, unpacked->size - done);
        if (put <= 0) {
            close(file);
            return bat_fail(error, BAT_ERR_IO, ".gnu_debugdata: %s", strerror(errno));
        }
        done += (size_t)put;
    }
    return file < 0 ? bat_fail(error, BAT_ERR_IO, ".gnu_debugdata: %s", strerror(errno))
                    : bat_elf_open_file(file, bat_elf_path(elf), opened, error);
}

enum bat_code elf_debugdata_open(const struct bat_elf *elf, struct bat_elf **opened,
                                 struct bat_error *error)
{
    const struct bat_section *section = bat_elf_section(elf, ".gnu_debugdata");
    lzma_stream stream = LZMA_STREAM_INIT;
    *opened = NULL;
    if (!section)
        return BAT_OK;
    uint64_t size;
    stream.next_in = bat_elf_section_bytes(elf, section, &size);
    stream.avail_in = size;
    lzma_ret status = lzma_stream_decoder(&stream, UNPACKER_MEMORY, 0);
    struct unpacked unpacked = {0};
    enum bat_code code =
        status == LZMA_OK
            ? unpack_all(&stream, &unpacked, UNPACKED_FREE + UNPACKED_TIMES * (size_t)size, error)
            : fail(status, error);
    lzma_end(&stream);
    code = code ? code : open_bytes(elf, &unpacked, opened, error);
    free(unpacked.bytes);
    return code;
}
