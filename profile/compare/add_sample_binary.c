/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads LLVM's binary sample profiles of version 103, "binary" and "extbinary". All numbers are
 * LEB128, unless said otherwise:
 *
 *   binary     magic, version, summary, names, functions up to the end of the file.
 *   extbinary  magic, version, the number of sections (8 bytes), and for each its type, flags,
 *              place in the file and size (8 bytes each). A compressed section is its size
 *              unpacked, its size packed, and what zlib made of it.
 *   summary    5 numbers, the number of entries, and 3 numbers for each.
 *   names      their number, and the names with a zero behind each; or the first 64 bits of their
 *              MD5, each 8 bytes, or as LEB128.
 *   function   samples at its head, its name, its body.
 *   body       samples in all; the number of lines, and for each: line, discriminator, samples, the
 *              number of called functions, and for each of these its name and samples; the number
 *              of inlined calls, and for each: line, discriminator, name, body. With types of
 *              vtables: the number of places that have them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>

#include "add_file.h"
#include "decoder/leb128.h"
#include "overlaps.h"

/* "SPROF42" and the kind, the first byte of which is the lowest. */
#define MAGIC UINT64_C(0x5350524f46343200)
#define VERSION 103u

enum kind { KIND_COMPACT = 2, KIND_GCC = 3, KIND_EXTENSIBLE = 4, KIND_BINARY = 0xff };

enum section_type { SECTION_SUMMARY = 1, SECTION_NAMES = 2, SECTION_FUNCTIONS = 32 };

/* Flags of sections: those above bit 31 depend on the type. */
#define FLAG_COMPRESSED (UINT64_C(1) << 0)
#define FLAG_SUMMARY_CONTEXTS (UINT64_C(1) << 33)
#define FLAG_SUMMARY_VTABLES (UINT64_C(1) << 37)
#define FLAG_NAMES_MD5 (UINT64_C(1) << 32)
#define FLAG_NAMES_MD5_FIXED (UINT64_C(1) << 33)

/* zlib packs at most so many bytes in one. */
#define ZLIB_RATIO_MAX 1032u

struct section {
    uint64_t type;
    uint64_t flags;
    const uint8_t *bytes;
    uint64_t size;
};

#define SECTION_HEADER 32u

struct sample_file {
    struct bat_overlaps *comparison;
    struct sample_places *places;
    const uint8_t *file;  /* its start */
    const uint8_t *start; /* of the section that is read, which may be unpacked */
    const uint8_t *at;
    const uint8_t *end;
    const char *section; /* in words */
    bool is_unpacked;
    bool has_vtables;
    bool has_md5;
    uint32_t *names; /* numbers in places */
    uint64_t name_count;
    struct bat_error *error;
};

/* --- Numbers -------------------------------------------------------------------------------- */

/* An error at a byte of the section. */
static enum bat_code fail(const struct sample_file *file, const uint8_t *at, const char *expected)
{
    if (file->is_unpacked)
        return bat_fail(file->error, BAT_ERR_SYNTAX,
                        "expected %s at byte %zu of the unpacked section of %s, found another "
                        "value or the end",
                        expected, (size_t)(at - file->start), file->section);
    return bat_fail_at(file->error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, (uint64_t)(at - file->file),
                       "expected %s, found another value or the end of the %s", expected,
                       file->section);
}

static enum bat_code read_number(struct sample_file *file, uint64_t most, const char *expected,
                                 uint64_t *number)
{
    const uint8_t *at = file->at;
    *number = 0;
    if (bat_uleb128_read(&file->at, file->end, number) != BAT_LEB128_FINE || *number > most)
        return fail(file, at, expected);
    return BAT_OK;
}

/* The number of things that take at least `bytes` bytes each. */
static enum bat_code read_count(struct sample_file *file, unsigned bytes, const char *expected,
                                uint64_t *count)
{
    const uint8_t *at = file->at;
    enum bat_code code = read_number(file, UINT64_MAX, expected, count);
    if (code == BAT_OK && *count > (uint64_t)(file->end - file->at) / bytes)
        return fail(file, at, expected);
    return code;
}

static enum bat_code skip_numbers(struct sample_file *file, unsigned count, const char *expected)
{
    uint64_t number;
    for (unsigned i = 0; i < count; i++)
        BAT_TRY(read_number(file, UINT64_MAX, expected, &number));
    return BAT_OK;
}

/* --- Summary and names ---------------------------------------------------------------------- */

static enum bat_code skip_summary(struct sample_file *file)
{
    uint64_t count;
    enum bat_code code = skip_numbers(file, 5, "a number of the summary");
    code = code ? code : read_count(file, 3, "the number of the summary's entries", &count);
    for (uint64_t i = 0; code == BAT_OK && i < count; i++)
        code = skip_numbers(file, 3, "an entry of the summary");
    return code;
}

/* The number of a function's MD5, whose name is its digits, as in text. */
static enum bat_code add_md5(struct sample_file *file, uint64_t md5, uint32_t *number)
{
    char digits[24];
    int size = snprintf(digits, sizeof(digits), "%lu", md5);
    return sample_places_name(file->places, digits, (size_t)size, number, file->error);
}

static enum bat_code read_name(struct sample_file *file, uint64_t flags, uint32_t *number)
{
    uint64_t md5;
    if (flags & FLAG_NAMES_MD5_FIXED) {
        if (file->end - file->at < 8)
            return fail(file, file->at, "the MD5 of a name");
        md5 = bat_load64(file->at);
        file->at += 8;
        return add_md5(file, md5, number);
    }
    if (flags & FLAG_NAMES_MD5) {
        enum bat_code code = read_number(file, UINT64_MAX, "the MD5 of a name", &md5);
        return code ? code : add_md5(file, md5, number);
    }
    const char *name = (const char *)file->at;
    const uint8_t *end = memchr(name, '\0', (size_t)(file->end - file->at));
    if (!end)
        return fail(file, file->at, "a name and a zero behind it");
    file->at = end + 1;
    return sample_places_name(file->places, name, (size_t)(end - (const uint8_t *)name), number,
                              file->error);
}

static enum bat_code read_names(struct sample_file *file, uint64_t flags)
{
    uint64_t count;
    unsigned least = flags & FLAG_NAMES_MD5_FIXED ? 8 : 1;
    if (file->names)
        return fail(file, file->at, "one table of names");
    BAT_TRY(read_count(file, least, "the number of names", &count));
    enum bat_code code = BAT_OK;
    file->names = malloc((count + 1) * sizeof(*file->names));
    BAT_TRY_MEMORY(file->names, file->error, "for names");
    file->has_md5 = (flags & (FLAG_NAMES_MD5 | FLAG_NAMES_MD5_FIXED)) != 0;
    file->name_count = count;
    for (uint64_t i = 0; i < count && code == BAT_OK; i++)
        code = read_name(file, flags, &file->names[i]);
    return code;
}

/* --- Functions ------------------------------------------------------------------------------ */

static enum bat_code read_name_index(struct sample_file *file, uint32_t *name)
{
    const uint8_t *at = file->at;
    uint64_t index;
    enum bat_code code = read_number(file, UINT32_MAX, "the number of a name", &index);
    if (code == BAT_OK && index >= file->name_count)
        return fail(file, at, "the number of a name");
    if (code == BAT_OK)
        *name = file->names[index];
    return code;
}

static enum bat_code read_line(struct sample_file *file, struct sample_line *line)
{
    uint64_t number;
    uint64_t discriminator;
    enum bat_code code = read_number(file, UINT32_MAX, "a line of 32 bits", &number);
    code =
        code ? code : read_number(file, UINT32_MAX, "a discriminator of 32 bits", &discriminator);
    if (code == BAT_OK)
        *line = (struct sample_line){(uint32_t)number, (uint32_t)discriminator};
    return code;
}

static enum bat_code read_samples(struct sample_file *file, uint64_t *samples)
{
    return read_number(file, INT64_MAX, "samples below 2^63", samples);
}

static enum bat_code read_record(struct sample_file *file, const char *function, uint64_t call)
{
    struct sample_line line;
    uint64_t samples;
    uint64_t count;
    uint32_t name;
    enum bat_code code = read_line(file, &line);
    code = code ? code : read_samples(file, &samples);
    code = code ? code : read_count(file, 2, "the number of called functions", &count);
    if (code == BAT_OK)
        code = sample_places_record(file->comparison, function, call, line, samples, file->error);
    for (uint64_t i = 0; code == BAT_OK && i < count; i++) {
        uint64_t calls;
        code = read_name_index(file, &name);
        code = code ? code : read_samples(file, &calls);
    }
    return code;
}

/* Types of vtables would be records of their own, which texts have as calls. */
static enum bat_code read_vtables(struct sample_file *file)
{
    uint64_t count;
    enum bat_code code = read_count(file, 3, "the number of places with types of vtables", &count);
    if (code == BAT_OK && count != 0)
        return bat_fail(file->error, BAT_ERR_UNSUPPORTED,
                        "expected a sample profile without types of vtables, found one with them");
    return code;
}

static enum bat_code read_body(struct sample_file *file, const char *function, uint64_t call,
                               unsigned depth)
{
    uint64_t number;
    uint64_t count;
    enum bat_code code = read_samples(file, &number);
    code = code ? code : read_count(file, 4, "the number of lines", &count);
    for (uint64_t i = 0; code == BAT_OK && i < count; i++)
        code = read_record(file, function, call);
    code = code ? code : read_count(file, 6, "the number of inlined calls", &count);
    if (code == BAT_OK && count != 0 && depth == SAMPLE_PLACES_DEPTH_MAX)
        return fail(file, file->at, "at most 254 inlined calls in each other");
    for (uint64_t i = 0; code == BAT_OK && i < count; i++) {
        struct sample_line line;
        uint32_t name;
        uint64_t inner;
        code = read_line(file, &line);
        code = code ? code : read_name_index(file, &name);
        code =
            code ? code : sample_places_call(file->places, call, line, name, &inner, file->error);
        code = code ? code : read_body(file, function, inner, depth + 1);
    }
    return code == BAT_OK && file->has_vtables ? read_vtables(file) : code;
}

static enum bat_code read_functions(struct sample_file *file)
{
    enum bat_code code = BAT_OK;
    while (code == BAT_OK && file->at < file->end) {
        uint64_t head;
        uint32_t name;
        code = read_samples(file, &head);
        code = code ? code : read_name_index(file, &name);
        if (code != BAT_OK)
            break;
        /* New calls get no new names: the string stays where it is. */
        code = read_body(file, bat_strings_get(&file->places->names, name), SAMPLE_PLACES_OUTERMOST,
                         0);
    }
    return code;
}

/* --- Sections ------------------------------------------------------------------------------- */

/* Unpack a section. The caller frees *bytes. */
static enum bat_code unpack(struct sample_file *file, uint8_t **bytes, uint64_t *size)
{
    uint64_t packed;
    BAT_TRY(read_number(file, UINT64_MAX, "the unpacked size", size));
    BAT_TRY(read_count(file, 1, "the packed size", &packed));
    if (*size / ZLIB_RATIO_MAX > packed)
        return fail(file, file->at, "an unpacked size that zlib can make of the packed one");
    *bytes = malloc(*size + 1);
    BAT_TRY_MEMORY(*bytes, file->error, "for a section");
    uLongf unpacked = *size;
    if (uncompress(*bytes, &unpacked, file->at, packed) != Z_OK || unpacked != *size)
        return fail(file, file->at, "bytes that zlib unpacks to the size before them");
    return BAT_OK;
}

static enum bat_code read_content(struct sample_file *file, const struct section *section)
{
    switch (section->type) {
    case SECTION_SUMMARY:
        return skip_summary(file);
    case SECTION_NAMES:
        return read_names(file, section->flags);
    default:
        return read_functions(file);
    }
}

static enum bat_code read_section(struct sample_file *file, const struct section *section)
{
    uint8_t *bytes = NULL;
    uint64_t size = section->size;
    enum bat_code code = BAT_OK;
    file->section = section->type == SECTION_SUMMARY ? "summary"
                    : section->type == SECTION_NAMES ? "names"
                                                     : "functions";
    file->start = file->at = section->bytes;
    file->end = section->bytes + size;
    if (section->flags & FLAG_COMPRESSED && size != 0) {
        code = unpack(file, &bytes, &size);
        if (code == BAT_OK) {
            file->start = file->at = bytes;
            file->end = bytes + size;
            file->is_unpacked = true;
        }
    }
    if (code == BAT_OK && size != 0)
        code = read_content(file, section);
    free(bytes);
    file->is_unpacked = false;
    return code;
}

static enum bat_code read_section_header(struct sample_file *file, const uint8_t *header,
                                         uint64_t file_size, struct section *section)
{
    uint64_t offset = bat_load64(header + 16);
    *section = (struct section){.type = bat_load64(header),
                                .flags = bat_load64(header + 8),
                                .size = bat_load64(header + 24)};
    if (offset > file_size || section->size > file_size - offset)
        return fail(file, header + 16, "a section inside the file");
    section->bytes = file->file + offset;
    if (section->type == SECTION_SUMMARY && section->flags & FLAG_SUMMARY_CONTEXTS)
        return bat_fail(file->error, BAT_ERR_UNSUPPORTED,
                        "expected a sample profile by functions, found one by calling contexts");
    file->has_vtables |=
        section->type == SECTION_SUMMARY && (section->flags & FLAG_SUMMARY_VTABLES) != 0;
    return BAT_OK;
}

/* Read the sections of a type; file->at is at their number. */
static enum bat_code read_sections_of(struct sample_file *file, const uint8_t *table,
                                      uint64_t count, uint64_t file_size, enum section_type type)
{
    enum bat_code code = BAT_OK;
    for (uint64_t i = 0; i < count && code == BAT_OK; i++) {
        struct section section;
        file->section = "table of sections";
        code = read_section_header(file, table + i * SECTION_HEADER, file_size, &section);
        if (code == BAT_OK && section.type == (uint64_t)type)
            code = read_section(file, &section);
    }
    return code;
}

static enum bat_code read_sections(struct sample_file *file, uint64_t file_size)
{
    const uint8_t *table = file->at + 8;
    if (file->end - file->at < 8)
        return fail(file, file->at, "the number of sections");
    uint64_t count = bat_load64(file->at);
    uint64_t size = 0;
    if (count > (uint64_t)(file->end - table) / SECTION_HEADER)
        return fail(file, file->at, "the number of sections");
    /* Bytes that are in several sections would be read again and again. */
    for (uint64_t i = 0; i < count && size <= file_size; i++)
        size += bat_load64(table + i * SECTION_HEADER + 24) & INT64_MAX;
    if (size > file_size)
        return fail(file, table, "sections that have together at most the file's size");
    /* Functions need the names, which may stand behind them. */
    enum bat_code code = read_sections_of(file, table, count, file_size, SECTION_NAMES);
    return code ? code : read_sections_of(file, table, count, file_size, SECTION_FUNCTIONS);
}

static enum bat_code read_plain(struct sample_file *file)
{
    enum bat_code code = skip_summary(file);
    code = code ? code : read_names(file, 0);
    return code ? code : read_functions(file);
}

/* The kind of the profile with these first bytes; 0 if it is none. */
static uint64_t kind_of(const uint8_t **at, const uint8_t *end)
{
    uint64_t magic;
    bool is_profile =
        bat_uleb128_read(at, end, &magic) == BAT_LEB128_FINE && (magic & ~UINT64_C(0xff)) == MAGIC;
    return is_profile ? magic & 0xff : 0;
}

bool bat_is_sample_binary(const char *bytes, size_t size)
{
    const uint8_t *at = (const uint8_t *)bytes;
    return kind_of(&at, at + size) != 0;
}

static enum bat_code read_file(struct sample_file *file, uint64_t size)
{
    uint64_t kind = kind_of(&file->at, file->end);
    uint64_t version;
    if (kind != KIND_EXTENSIBLE && kind != KIND_BINARY)
        return bat_fail(file->error, BAT_ERR_UNSUPPORTED,
                        "expected a binary sample profile, plain or extensible, found %s "
                        "(llvm-profdata merge --sample --text makes text of it)",
                        kind == KIND_COMPACT ? "a compact one"
                        : kind == KIND_GCC   ? "one of gcc"
                                             : "one of another kind");
    const uint8_t *at = file->at;
    enum bat_code code = read_number(file, UINT64_MAX, "a version", &version);
    if (code == BAT_OK && version != VERSION)
        return bat_fail_at(file->error, BAT_ERR_UNSUPPORTED, BAT_PLACE_FILE,
                           (uint64_t)(at - file->file), "expected version %u, found %lu", VERSION,
                           version);
    BAT_TRY(code);
    BAT_TRY(bat_overlaps_begin(file->comparison, file->error));
    return kind == KIND_BINARY ? read_plain(file) : read_sections(file, size);
}

enum bat_code bat_overlaps_add_sample_binary(struct bat_overlaps *comparison, const char *bytes,
                                             size_t size, bool *has_md5, struct bat_error *error)
{
    struct sample_file file = {.comparison = comparison,
                               .places = &comparison->places,
                               .file = (const uint8_t *)bytes,
                               .section = "file",
                               .error = error};
    file.start = file.at = file.file;
    file.end = file.file + size;
    enum bat_code code = read_file(&file, size);
    *has_md5 = file.has_md5;
    free(file.names);
    return code;
}
