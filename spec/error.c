/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bat.h"
#include "escape_controls.h"

#undef bat_fail
#undef bat_fail_at
#undef bat_fail_text
#undef bat_fail_memory

#include <stdarg.h>
#include <stdio.h>

static const char *const code_names[BAT_ERR_CODES] = {
    [BAT_OK] = "ok",
    [BAT_ERR_MEMORY] = "memory",
    [BAT_ERR_IO] = "io",
    [BAT_ERR_ARGUMENT] = "argument",
    [BAT_ERR_CONTAINER] = "container",
    [BAT_ERR_TRUNCATED] = "truncated",
    [BAT_ERR_TRAILING] = "trailing",
    [BAT_ERR_LEB128] = "leb128",
    [BAT_ERR_COUNT] = "count",
    [BAT_ERR_RANGE] = "range",
    [BAT_ERR_ORDER] = "order",
    [BAT_ERR_PREFIX] = "prefix",
    [BAT_ERR_HOT_INDEX] = "hot-index",
    [BAT_ERR_VERSION] = "version",
    [BAT_ERR_NOT_ELF] = "not-elf",
    [BAT_ERR_UNSUPPORTED] = "unsupported",
    [BAT_ERR_ELF] = "elf",
    [BAT_ERR_NO_NOTE] = "no-note",
    [BAT_ERR_SYNTAX] = "syntax",
    [BAT_ERR_MISMATCH] = "mismatch",
    [BAT_ERR_NO_DEBUG] = "no-debug",
};

const char *bat_code_name(enum bat_code code)
{
    if ((unsigned)code >= BAT_ERR_CODES)
        return "unknown";
    return code_names[code];
}

void bat_error_text(const struct bat_error *error, char *buffer, size_t size)
{
    switch (error->place) {
    case BAT_PLACE_SECTION:
        if (error->offset == BAT_NO_OFFSET)
            snprintf(buffer, size, "%s: %s", BAT_SECTION_NAME, error->message);
        else
            snprintf(buffer, size, "%s+0x%lx: %s", BAT_SECTION_NAME, error->offset, error->message);
        return;
    case BAT_PLACE_FILE:
        if (error->offset != BAT_NO_OFFSET) {
            snprintf(buffer, size, "offset 0x%lx: %s", error->offset, error->message);
            return;
        }
        break;
    case BAT_PLACE_TEXT:
        snprintf(buffer, size, "%lu:%lu: %s", error->line, error->column, error->message);
        return;
    case BAT_PLACE_NONE:
        break;
    }
    snprintf(buffer, size, "%s", error->message);
}

/* Consumes arguments. Names in a message may hold any bytes, so control characters are escaped. */
static BAT_PRINTF(3, 0) void fill(struct bat_error *error, struct bat_error kind,
                                  const char *format, va_list arguments)
{
    if (!error)
        return;
    *error = kind;
    vsnprintf(error->message, sizeof(error->message), format, arguments);
    bat_escape_message(error->message, sizeof(error->message));
}

enum bat_code bat_fail(struct bat_error *error, enum bat_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fill(error, (struct bat_error){.code = code, .offset = BAT_NO_OFFSET}, format, arguments);
    va_end(arguments);
    return code;
}

enum bat_code bat_fail_memory(struct bat_error *error, const char *format, ...)
{
    char what[BAT_MESSAGE_SIZE];
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(what, sizeof(what), format, arguments);
        va_end(arguments);
        bat_fail(error, BAT_ERR_MEMORY, "not enough memory %s", what);
    }
    return BAT_ERR_MEMORY;
}

enum bat_code bat_fail_at(struct bat_error *error, enum bat_code code, enum bat_place place,
                          uint64_t offset, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fill(error, (struct bat_error){.code = code, .place = place, .offset = offset}, format,
         arguments);
    va_end(arguments);
    return code;
}

enum bat_code bat_fail_text(struct bat_error *error, enum bat_code code, uint64_t line,
                            uint64_t column, const char *format, ...)
{
    const struct bat_error kind = {.code = code,
                                   .place = BAT_PLACE_TEXT,
                                   .offset = BAT_NO_OFFSET,
                                   .line = line,
                                   .column = column};
    va_list arguments;
    va_start(arguments, format);
    fill(error, kind, format, arguments);
    va_end(arguments);
    return code;
}
