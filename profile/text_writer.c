/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "text_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* True for what cannot be replaced by a file: devices, pipes, sockets. */
static bool is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

static enum bat_code open_target(struct bat_text_writer *writer)
{
    if (strcmp(writer->path, "-") == 0) {
        writer->file = STDOUT_FILENO;
        return BAT_OK;
    }
    if (is_special(writer->path)) {
        writer->file = open(writer->path, O_WRONLY | O_CLOEXEC);
        writer->closes_file = true;
        return writer->file >= 0 ? BAT_OK
                                 : bat_fail(writer->error, BAT_ERR_IO, "%s", strerror(errno));
    }
    writer->is_replacement = true;
    enum bat_code code = replacement_begin(&writer->replacement, writer->path, NULL, writer->error);
    writer->replacement.is_durable = false; /* it can be translated again */
    return code;
}

enum bat_code bat_text_begin(struct bat_text_writer *writer, const char *path,
                             struct bat_error *error)
{
    *writer = (struct bat_text_writer){
        .path = path, .file = -1, .error = error, .buffer = malloc(BAT_TEXT_BUFFER)};
    if (!writer->buffer)
        return bat_fail(error, BAT_ERR_MEMORY, "not enough memory to write the profile");
    enum bat_code code = open_target(writer);
    if (code != BAT_OK)
        free(writer->buffer);
    return code;
}

static enum bat_code write_bytes(struct bat_text_writer *writer, const char *bytes, size_t size)
{
    if (writer->is_replacement) {
        enum bat_code code =
            replacement_write(&writer->replacement, bytes, size, writer->offset, writer->error);
        writer->offset += size;
        return code;
    }
    while (size != 0) {
        ssize_t written = write(writer->file, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return bat_fail(writer->error, BAT_ERR_IO, "writing: %s", strerror(errno));
        bytes += written;
        size -= (size_t)written;
    }
    return BAT_OK;
}

void bat_text_flush(struct bat_text_writer *writer)
{
    if (writer->code == BAT_OK && writer->used != 0)
        writer->code = write_bytes(writer, writer->buffer, writer->used);
    writer->used = 0;
}

void bat_text_bytes(struct bat_text_writer *writer, const char *bytes, size_t size)
{
    while (size > BAT_TEXT_BUFFER - writer->used) {
        size_t part = BAT_TEXT_BUFFER - writer->used;
        memcpy(writer->buffer + writer->used, bytes, part);
        writer->used += part;
        bytes += part;
        size -= part;
        bat_text_flush(writer);
    }
    memcpy(writer->buffer + writer->used, bytes, size);
    writer->used += size;
}

enum bat_code bat_text_finish(struct bat_text_writer *writer, enum bat_code code)
{
    if (code == BAT_OK) {
        bat_text_flush(writer);
        code = writer->code;
    }
    if (writer->is_replacement) {
        if (code == BAT_OK)
            code = replacement_finish(&writer->replacement, writer->error);
        else
            replacement_discard(&writer->replacement);
    }
    if (writer->closes_file)
        close(writer->file);
    free(writer->buffer);
    return code;
}
