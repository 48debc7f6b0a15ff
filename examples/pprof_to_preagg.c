/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Turns pprof's profiles (profile.proto, packed by gzip or not), which eBPF collectors write, into
 * pre-aggregated text for battranslate.
 *
 *     pprof_to_preagg [--branches] [--type=TYPE] BINARY PROFILE... >TEXT
 *
 * A sample's first location is where the processor was. It becomes an S record if its address is in
 * a mapping of BINARY; the count is the value of TYPE, a sample type such as samples, by default
 * the first one. With --branches the locations of a sample are a branch stack, newest branch first:
 * source, target, source, target, ... It becomes T records, with the value as count of each; the
 * newest branch becomes a B record.
 *
 * Mappings are BINARY's if they have its build-id, or, if they have none, its file name. Addresses
 * become those of the file: nothing of the process is left. battranslate takes the text with -p
 * (and with --basic-events for S records) and adds it to that of other hosts.
 *
 * Any bytes are safe to read, and memory is limited by the *_MAX below. If one profile is bad,
 * nothing is printed. Link with -lz, too.
 */
#include <batkit/bat_profile.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Bytes of an unpacked profile. */
#define PROFILE_MAX ((size_t)1 << 30)
/* A profile of more than UNPACKED_FREE bytes has at most so many times the bytes of its file: gzip
 * can make a thousand times, of a profile it does not. */
#define UNPACKED_FREE ((size_t)64 << 20)
#define UNPACKED_RATIO_MAX 256u
/* Strings, locations and mappings of the binary in a profile; distinct records of all profiles. */
#define STRINGS_MAX ((size_t)1 << 24)
#define LOCATIONS_MAX ((size_t)1 << 24)
#define MAPPINGS_MAX ((size_t)1 << 16)
#define RECORDS_MAX ((uint64_t)1 << 24)

#define COUNT_END ((uint64_t)1 << 63)
#define CHUNK_SIZE 65536u

/* Field numbers of the messages that are read. */
enum profile_field {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_STRING = 6,
};
enum value_type_field { VALUE_TYPE = 1 };
enum sample_field { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2 };
enum mapping_field {
    MAPPING_ID = 1,
    MAPPING_START = 2,
    MAPPING_LIMIT = 3,
    MAPPING_OFFSET = 4,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID = 6,
};
enum location_field { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3 };
#define FIELDS 7u /* more than any of these numbers */

/* How a field's value is stored. */
enum kind { KIND_NUMBER = 0, KIND_8_BYTES = 1, KIND_SIZED = 2, KIND_4_BYTES = 5 };

/* What the user asked for. */
struct request {
    bool branches;
    const char *type; /* NULL: the first */
    const char *binary;
};

/* Bytes of a message that were not read yet. */
struct span {
    const uint8_t *at;
    const uint8_t *end;
};

struct field {
    uint64_t number;
    enum kind kind;
    uint64_t value;    /* KIND_NUMBER */
    struct span bytes; /* all others */
};

/* What a mapping or location begins with. Of several with one id, the last in the profile counts.
 */
struct key {
    uint64_t id;
    uint64_t order;
};

/* Where a mapping of the binary is in the process. */
struct mapping {
    struct key key;
    uint64_t start;
    uint64_t end;
    uint64_t offset; /* in the file */
};

/* Where a location is in the binary, as an address of text; BAT_ADDRESS_EXTERNAL if it is not. */
struct location {
    struct key key;
    uint64_t address;
};

/* Elements of one size. */
struct array {
    void *elements;
    size_t count;
    size_t capacity;
};

/* Bytes of a profile. */
struct buffer {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
};

/* A profile that is being read. Offsets in errors are those of its unpacked bytes. */
struct profile {
    const struct request *request;
    const struct bat_elf *elf;
    struct bat_profile *total;
    struct bat_error *error;

    struct buffer buffer;
    struct array strings;   /* struct span */
    struct array mappings;  /* struct mapping */
    struct array locations; /* struct location */
    uint64_t types;         /* number of sample types */
    uint64_t type;          /* number of the one that counts; types if it was not found */
    char type_names[256];   /* of all of them, for an error */
};

typedef enum bat_code read_fn(struct profile *profile, const struct field *field);

static uint64_t offset_of(const struct profile *profile, const uint8_t *at)
{
    return (uint64_t)(at - profile->buffer.bytes);
}

/* --- The file ------------------------------------------------------------------------------- */

/* Make room for at least one byte. */
static enum bat_code make_room(struct buffer *buffer, struct bat_error *error)
{
    if (buffer->size < buffer->capacity)
        return BAT_OK;
    /* One byte more than allowed, to see that a profile has more. */
    if (buffer->size > PROFILE_MAX)
        return bat_fail(error, BAT_ERR_RANGE, "expected a profile of at most %zu bytes, found more",
                        PROFILE_MAX);
    size_t capacity = buffer->capacity ? 2 * buffer->capacity : CHUNK_SIZE;
    if (capacity > PROFILE_MAX)
        capacity = PROFILE_MAX + 1;
    uint8_t *bytes = realloc(buffer->bytes, capacity);
    if (!bytes)
        return bat_fail_memory(error, "for the profile");
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return BAT_OK;
}

static enum bat_code read_file(struct buffer *buffer, const char *path, struct bat_error *error)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return bat_fail(error, BAT_ERR_IO, "cannot be opened: %s", strerror(errno));
    enum bat_code code = BAT_OK;
    for (size_t got = 1; got != 0 && code == BAT_OK; buffer->size += got) {
        code = make_room(buffer, error);
        got = 0;
        if (code == BAT_OK)
            got = fread(buffer->bytes + buffer->size, 1, buffer->capacity - buffer->size, file);
    }
    if (code == BAT_OK && ferror(file))
        code = bat_fail(error, BAT_ERR_IO, "cannot be read: %s", strerror(errno));
    fclose(file);
    return code;
}

/* Unpack a piece of what unpacker has; *is_end is set behind the last one. */
static enum bat_code unpack_some(struct buffer *buffer, z_stream *unpacker, bool *is_end,
                                 struct bat_error *error)
{
    enum bat_code code = make_room(buffer, error);
    if (code != BAT_OK)
        return code;
    size_t room = buffer->capacity - buffer->size;
    unpacker->next_out = buffer->bytes + buffer->size;
    unpacker->avail_out = room < CHUNK_SIZE ? (uInt)room : CHUNK_SIZE;
    int status = inflate(unpacker, Z_NO_FLUSH);
    buffer->size = (size_t)(unpacker->next_out - buffer->bytes);
    *is_end = status == Z_STREAM_END;
    if (status == Z_BUF_ERROR)
        return bat_fail(error, BAT_ERR_TRUNCATED,
                        "expected a whole file of gzip, found its end after %lu bytes",
                        unpacker->total_in);
    if (status != Z_OK && status != Z_STREAM_END)
        return bat_fail(error, BAT_ERR_SYNTAX,
                        "expected gzip, found damaged bytes before offset 0x%lx: %s",
                        unpacker->total_in, unpacker->msg ? unpacker->msg : zError(status));
    if (buffer->size > UNPACKED_FREE && buffer->size / UNPACKED_RATIO_MAX > unpacker->total_in)
        return bat_fail(error, BAT_ERR_RANGE,
                        "expected a profile of at most %u times its packed bytes, found more: "
                        "%zu in %lu",
                        UNPACKED_RATIO_MAX, buffer->size, unpacker->total_in);
    return BAT_OK;
}

/* Unpack the bytes up to gzip's end; what follows there is no part of the profile. */
static enum bat_code unpack(struct buffer *buffer, struct bat_error *error)
{
    struct buffer unpacked = {0};
    z_stream unpacker = {.next_in = buffer->bytes, .avail_in = (uInt)buffer->size};
    if (inflateInit2(&unpacker, MAX_WBITS | 16) != Z_OK)
        return bat_fail_memory(error, "for gzip");
    enum bat_code code = BAT_OK;
    for (bool is_end = false; !is_end && code == BAT_OK;)
        code = unpack_some(&unpacked, &unpacker, &is_end, error);
    inflateEnd(&unpacker);
    free(buffer->bytes);
    *buffer = unpacked;
    return code;
}

/* --- Messages ------------------------------------------------------------------------------- */

/* Read a number, of which each byte has 7 bits, the lowest first. */
static enum bat_code read_number(const struct profile *profile, struct span *span, uint64_t *number)
{
    const uint8_t *start = span->at;
    *number = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (span->at == span->end)
            return bat_fail_at(profile->error, BAT_ERR_TRUNCATED, BAT_PLACE_FILE,
                               offset_of(profile, start),
                               "expected a whole number, found one that ends behind its message");
        uint8_t byte = *span->at++;
        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return BAT_OK;
    }
    return bat_fail_at(profile->error, BAT_ERR_RANGE, BAT_PLACE_FILE, offset_of(profile, start),
                       "expected a number of at most 10 bytes, found a number of more than 64 "
                       "bits");
}

/* Read a field's size if its kind does not say it. */
static enum bat_code read_size(const struct profile *profile, struct span *span, unsigned kind,
                               uint64_t *size)
{
    switch (kind) {
    case KIND_8_BYTES:
        *size = 8;
        return BAT_OK;
    case KIND_4_BYTES:
        *size = 4;
        return BAT_OK;
    case KIND_SIZED:
        return read_number(profile, span, size);
    default:
        return bat_fail_at(profile->error, BAT_ERR_SYNTAX, BAT_PLACE_FILE,
                           offset_of(profile, span->at),
                           "expected a field of the kind 0, 1, 2 or 5, found %u", kind);
    }
}

static enum bat_code read_field(const struct profile *profile, struct span *span,
                                struct field *field)
{
    uint64_t key;
    uint64_t size = 0;
    const uint8_t *start = span->at;
    enum bat_code code = read_number(profile, span, &key);
    if (code != BAT_OK)
        return code;
    *field = (struct field){.number = key >> 3, .kind = (enum kind)(key & 7)};
    if (field->number == 0)
        return bat_fail_at(profile->error, BAT_ERR_SYNTAX, BAT_PLACE_FILE,
                           offset_of(profile, start),
                           "expected a field with a number from 1 on, found field 0");
    if (field->kind == KIND_NUMBER)
        return read_number(profile, span, &field->value);
    code = read_size(profile, span, key & 7, &size);
    if (code != BAT_OK)
        return code;
    size_t left = (size_t)(span->end - span->at);
    if (size > left)
        return bat_fail_at(
            profile->error, BAT_ERR_TRUNCATED, BAT_PLACE_FILE, offset_of(profile, span->at),
            "expected %" PRIu64 " bytes, found %zu: field %" PRIu64 " is not in its message", size,
            left, field->number);
    field->bytes = (struct span){.at = span->at, .end = span->at + size};
    span->at += size;
    return BAT_OK;
}

static enum bat_code check_message(const struct profile *profile, const struct field *field)
{
    if (field->kind != KIND_NUMBER)
        return BAT_OK;
    return bat_fail(profile->error, BAT_ERR_SYNTAX,
                    "expected a message in field %" PRIu64 " of the profile, found the number "
                    "%" PRIu64,
                    field->number, field->value);
}

/* Read a message whose fields come once; of several the last counts. A missing one is 0. */
static enum bat_code read_message(const struct profile *profile, const struct field *message,
                                  struct field fields[FIELDS])
{
    memset(fields, 0, FIELDS * sizeof(*fields));
    struct span span = message->bytes;
    enum bat_code code = check_message(profile, message);
    while (code == BAT_OK && span.at != span.end) {
        struct field field;
        code = read_field(profile, &span, &field);
        if (code == BAT_OK && field.number < FIELDS)
            fields[field.number] = field;
    }
    return code;
}

static enum bat_code number_in(const struct profile *profile, const struct field *field,
                               uint64_t *number)
{
    *number = field->value;
    if (field->kind == KIND_NUMBER)
        return BAT_OK;
    return bat_fail_at(profile->error, BAT_ERR_SYNTAX, BAT_PLACE_FILE,
                       offset_of(profile, field->bytes.at),
                       "expected a number in field %" PRIu64 ", found bytes", field->number);
}

/* Numbers of a repeated field of a message, each in a field of its own or packed. */
struct numbers {
    struct span message;
    struct span packed;
    uint64_t field;
};

/* The next one; *found is false behind the last. */
static enum bat_code next_number(const struct profile *profile, struct numbers *numbers,
                                 uint64_t *number, bool *found)
{
    struct field field;
    *found = true;
    while (numbers->packed.at == numbers->packed.end) {
        *found = numbers->message.at != numbers->message.end;
        if (!*found)
            return BAT_OK;
        enum bat_code code = read_field(profile, &numbers->message, &field);
        if (code != BAT_OK)
            return code;
        if (field.number != numbers->field)
            continue;
        *number = field.value;
        if (field.kind == KIND_NUMBER)
            return BAT_OK;
        numbers->packed = field.bytes;
        *found = true;
    }
    return read_number(profile, &numbers->packed, number);
}

/* Read all fields of the profile with a number. */
static enum bat_code read_all(struct profile *profile, uint64_t number, read_fn *read)
{
    struct span span = {.at = profile->buffer.bytes,
                        .end = profile->buffer.bytes + profile->buffer.size};
    enum bat_code code = BAT_OK;
    while (code == BAT_OK && span.at != span.end) {
        struct field field;
        code = read_field(profile, &span, &field);
        if (code == BAT_OK && field.number == number)
            code = read(profile, &field);
    }
    return code;
}

/* --- Tables --------------------------------------------------------------------------------- */

static enum bat_code append(const struct profile *profile, struct array *array, const void *element,
                            size_t size, size_t count_max, const char *what)
{
    if (array->count == count_max)
        return bat_fail(profile->error, BAT_ERR_RANGE, "expected at most %zu %s, found more",
                        count_max, what);
    if (array->count == array->capacity) {
        size_t capacity = array->capacity ? 2 * array->capacity : 64;
        void *elements = realloc(array->elements, capacity * size);
        if (!elements)
            return bat_fail_memory(profile->error, "for the %s", what);
        array->elements = elements;
        array->capacity = capacity;
    }
    memcpy((char *)array->elements + array->count++ * size, element, size);
    return BAT_OK;
}

static int compare_ids(const void *left_pointer, const void *right_pointer)
{
    const struct key *left = left_pointer;
    const struct key *right = right_pointer;
    return (left->id > right->id) - (left->id < right->id);
}

static int compare_keys(const void *left_pointer, const void *right_pointer)
{
    const struct key *left = left_pointer;
    const struct key *right = right_pointer;
    int order = compare_ids(left, right);
    return order ? order : (left->order > right->order) - (left->order < right->order);
}

/* Sort, and keep the last element of each id. */
static void sort_by_id(struct array *array, size_t size)
{
    char *elements = array->elements;
    size_t kept = 0;
    if (array->count > 1)
        qsort(elements, array->count, size, compare_keys);
    for (size_t i = 0; i < array->count; i++) {
        if (i + 1 < array->count &&
            compare_ids(elements + i * size, elements + (i + 1) * size) == 0)
            continue;
        memmove(elements + kept++ * size, elements + i * size, size);
    }
    array->count = kept;
}

static const void *find_id(const struct array *array, size_t size, uint64_t id)
{
    const struct key key = {.id = id};
    const char *elements = array->elements;
    if (array->count == 0)
        return NULL;
    /* Ids usually ascend by one. */
    uint64_t guess = id - ((const struct key *)array->elements)->id;
    if (guess < array->count && compare_ids(&key, elements + guess * size) == 0)
        return elements + guess * size;
    return bsearch(&key, elements, array->count, size, compare_ids);
}

/* --- Strings and types ---------------------------------------------------------------------- */

static enum bat_code read_string(struct profile *profile, const struct field *field)
{
    return append(profile, &profile->strings, &field->bytes, sizeof(field->bytes), STRINGS_MAX,
                  "strings");
}

/* The string that a field has the number of. */
static enum bat_code string_in(const struct profile *profile, const struct field *field,
                               struct span *string)
{
    uint64_t number;
    enum bat_code code = number_in(profile, field, &number);
    if (code != BAT_OK)
        return code;
    *string = (struct span){.at = NULL, .end = NULL};
    if (number < profile->strings.count)
        *string = ((const struct span *)profile->strings.elements)[number];
    /* A field of the number's kind has no bytes. */
    if (string->at)
        return BAT_OK;
    return bat_fail(profile->error, BAT_ERR_RANGE,
                    "expected one of %zu strings, found string %" PRIu64, profile->strings.count,
                    number);
}

static bool is_text(const struct span *string, const char *text)
{
    size_t size = (size_t)(string->end - string->at);
    return size == strlen(text) && memcmp(string->at, text, size) == 0;
}

static enum bat_code read_type(struct profile *profile, const struct field *message)
{
    struct field fields[FIELDS];
    struct span name;
    enum bat_code code = read_message(profile, message, fields);
    if (code == BAT_OK)
        code = string_in(profile, &fields[VALUE_TYPE], &name);
    if (code != BAT_OK)
        return code;
    const char *wanted = profile->request->type;
    if (profile->type == profile->types && wanted && !is_text(&name, wanted))
        profile->type++;
    profile->types++;
    size_t used = strlen(profile->type_names);
    size_t size = (size_t)(name.end - name.at);
    snprintf(profile->type_names + used, sizeof(profile->type_names) - used, "%s%.*s",
             used ? ", " : "", size < CHUNK_SIZE ? (int)size : (int)CHUNK_SIZE,
             (const char *)name.at);
    return BAT_OK;
}

static enum bat_code check_type(const struct profile *profile)
{
    if (!profile->request->type || profile->type < profile->types)
        return BAT_OK;
    return bat_fail(profile->error, BAT_ERR_MISMATCH, "expected samples of the type %s, found %s",
                    profile->request->type, profile->types ? profile->type_names : "none");
}

/* --- Mappings and locations ----------------------------------------------------------------- */

/* The part of a path behind its last slash. */
static struct span name_of(struct span path)
{
    for (const uint8_t *at = path.at; at != path.end; at++)
        if (*at == '/')
            path.at = at + 1;
    return path;
}

/* True if a string is the binary's build-id in hexadecimal digits. */
static bool is_build_id(const struct bat_elf *elf, const struct span *string)
{
    static const uint8_t digits[] = "0123456789abcdef";
    size_t size;
    const uint8_t *id = bat_elf_build_id(elf, &size);
    if (!id || (size_t)(string->end - string->at) != 2 * size)
        return false;
    for (size_t i = 0; i < size; i++)
        if (string->at[2 * i] != digits[id[i] >> 4] || string->at[2 * i + 1] != digits[id[i] & 15])
            return false;
    return true;
}

static bool is_of_binary(const struct profile *profile, const struct span *build_id,
                         const struct span *path)
{
    const struct span name = name_of(*path);
    if (build_id->at != build_id->end)
        return is_build_id(profile->elf, build_id);
    const char *binary = strrchr(profile->request->binary, '/');
    return is_text(&name, binary ? binary + 1 : profile->request->binary);
}

static enum bat_code read_mapping(struct profile *profile, const struct field *message)
{
    struct field fields[FIELDS];
    struct mapping mapping = {.key = {.order = profile->mappings.count}};
    struct span build_id;
    struct span path;
    enum bat_code code = read_message(profile, message, fields);
    if (code == BAT_OK)
        code = number_in(profile, &fields[MAPPING_ID], &mapping.key.id);
    if (code == BAT_OK)
        code = number_in(profile, &fields[MAPPING_START], &mapping.start);
    if (code == BAT_OK)
        code = number_in(profile, &fields[MAPPING_LIMIT], &mapping.end);
    if (code == BAT_OK)
        code = number_in(profile, &fields[MAPPING_OFFSET], &mapping.offset);
    if (code == BAT_OK)
        code = string_in(profile, &fields[MAPPING_BUILD_ID], &build_id);
    if (code == BAT_OK)
        code = string_in(profile, &fields[MAPPING_FILE], &path);
    if (code != BAT_OK || !is_of_binary(profile, &build_id, &path))
        return code;
    return append(profile, &profile->mappings, &mapping, sizeof(mapping), MAPPINGS_MAX,
                  "mappings of the binary");
}

/* The address of text for an offset in the binary's file, or BAT_ADDRESS_EXTERNAL. */
static uint64_t text_address(const struct bat_elf *elf, uint64_t offset)
{
    struct bat_segment segment;
    for (size_t i = 0; bat_elf_segment(elf, i, &segment); i++)
        if (offset >= segment.offset && offset - segment.offset < segment.file_size)
            return offset - segment.offset + segment.address;
    return BAT_ADDRESS_EXTERNAL;
}

/* The same for an address of a process, in the mapping with that id. */
static uint64_t process_address(const struct profile *profile, uint64_t id, uint64_t address)
{
    const struct mapping *mapping = find_id(&profile->mappings, sizeof(*mapping), id);
    if (!mapping || address < mapping->start || address >= mapping->end)
        return BAT_ADDRESS_EXTERNAL;
    uint64_t distance = address - mapping->start;
    if (distance > UINT64_MAX - mapping->offset)
        return BAT_ADDRESS_EXTERNAL;
    return text_address(profile->elf, mapping->offset + distance);
}

static enum bat_code read_location(struct profile *profile, const struct field *message)
{
    struct field fields[FIELDS];
    struct location location = {.key = {.order = profile->locations.count}};
    uint64_t mapping;
    uint64_t address;
    enum bat_code code = read_message(profile, message, fields);
    if (code == BAT_OK)
        code = number_in(profile, &fields[LOCATION_ID], &location.key.id);
    if (code == BAT_OK)
        code = number_in(profile, &fields[LOCATION_MAPPING], &mapping);
    if (code == BAT_OK)
        code = number_in(profile, &fields[LOCATION_ADDRESS], &address);
    if (code != BAT_OK)
        return code;
    location.address = process_address(profile, mapping, address);
    return append(profile, &profile->locations, &location, sizeof(location), LOCATIONS_MAX,
                  "locations");
}

/* --- Samples -------------------------------------------------------------------------------- */

/* The value of the type that counts. */
static enum bat_code read_count(const struct profile *profile, const struct field *message,
                                uint64_t *count)
{
    struct numbers values = {.message = message->bytes, .field = SAMPLE_VALUES};
    uint64_t found_count = 0;
    bool found = true;
    *count = 0;
    while (found) {
        uint64_t value;
        enum bat_code code = next_number(profile, &values, &value, &found);
        if (code != BAT_OK)
            return code;
        if (found && found_count++ == profile->type)
            *count = value;
    }
    const uint64_t offset = offset_of(profile, message->bytes.at);
    if (found_count != profile->types || found_count == 0)
        return bat_fail_at(profile->error, BAT_ERR_COUNT, BAT_PLACE_FILE, offset,
                           "expected a value in a sample for each of %" PRIu64
                           " types, found %" PRIu64,
                           profile->types, found_count);
    if (*count >= COUNT_END)
        return bat_fail_at(profile->error, BAT_ERR_RANGE, BAT_PLACE_FILE, offset,
                           "expected a count below 2^63, found %" PRIu64, *count);
    return BAT_OK;
}

/* Add a record, unless all of it is outside of the binary. */
static enum bat_code add_address(const struct profile *profile, uint64_t address, uint64_t count)
{
    if (address == BAT_ADDRESS_EXTERNAL)
        return BAT_OK;
    return bat_profile_add_sample(profile->total, address, count, profile->error);
}

static enum bat_code add_branch(const struct profile *profile, const struct bat_trace *trace)
{
    if (trace->branch == BAT_ADDRESS_EXTERNAL && trace->from == BAT_ADDRESS_EXTERNAL)
        return BAT_OK;
    return bat_profile_add_trace(profile->total, trace, profile->error);
}

static enum bat_code check_records(const struct profile *profile)
{
    if (bat_profile_distinct(profile->total) <= RECORDS_MAX)
        return BAT_OK;
    return bat_fail(profile->error, BAT_ERR_RANGE,
                    "expected at most %" PRIu64 " distinct records, found more", RECORDS_MAX);
}

/* The address of a sample's location. */
static enum bat_code read_address(const struct profile *profile, const struct field *message,
                                  uint64_t id, uint64_t *address)
{
    const struct location *location = find_id(&profile->locations, sizeof(*location), id);
    if (!location)
        return bat_fail_at(profile->error, BAT_ERR_RANGE, BAT_PLACE_FILE,
                           offset_of(profile, message->bytes.at),
                           "expected a sample of the profile's locations, found a location that is "
                           "not in the profile: %" PRIu64,
                           id);
    *address = location->address;
    return BAT_OK;
}

/* Add number i, counted from 0, of a sample's addresses. trace has what was read before it. */
static enum bat_code add_location(const struct profile *profile, struct bat_trace *trace,
                                  uint64_t address, uint64_t i)
{
    if (trace->count == 0)
        return BAT_OK;
    if (!profile->request->branches)
        return i == 0 ? add_address(profile, address, trace->count) : BAT_OK;
    if (i % 2 == 0) {
        trace->branch = address;
        return BAT_OK;
    }
    trace->from = address;
    enum bat_code code = add_branch(profile, trace);
    /* The next branch is older: the code behind it ran up to this one. */
    trace->to = trace->branch;
    return code == BAT_OK ? check_records(profile) : code;
}

static enum bat_code read_sample(struct profile *profile, const struct field *message)
{
    struct bat_trace trace = {.to = BAT_TRACE_BRANCH_ONLY};
    enum bat_code code = check_message(profile, message);
    if (code == BAT_OK)
        code = read_count(profile, message, &trace.count);
    struct numbers ids = {.message = message->bytes, .field = SAMPLE_LOCATIONS};
    uint64_t locations = 0;
    for (bool found = true; code == BAT_OK;) {
        uint64_t id = 0;
        uint64_t address = BAT_ADDRESS_EXTERNAL;
        code = next_number(profile, &ids, &id, &found);
        if (code != BAT_OK || !found)
            break;
        code = read_address(profile, message, id, &address);
        if (code == BAT_OK)
            code = add_location(profile, &trace, address, locations++);
    }
    if (code == BAT_OK && profile->request->branches && trace.count != 0 && locations % 2 != 0)
        return bat_fail_at(profile->error, BAT_ERR_COUNT, BAT_PLACE_FILE,
                           offset_of(profile, message->bytes.at),
                           "expected sources and targets of branches, found an odd number of "
                           "locations: %" PRIu64,
                           locations);
    return code == BAT_OK ? check_records(profile) : code;
}

/* --- Profiles ------------------------------------------------------------------------------- */

/* Fields may come in any order, so each is read when those that it refers to are known. */
static enum bat_code read_fields(struct profile *profile)
{
    enum bat_code code = read_all(profile, PROFILE_STRING, read_string);
    if (code == BAT_OK)
        code = read_all(profile, PROFILE_SAMPLE_TYPE, read_type);
    if (code == BAT_OK)
        code = check_type(profile);
    if (code == BAT_OK)
        code = read_all(profile, PROFILE_MAPPING, read_mapping);
    if (code != BAT_OK)
        return code;
    sort_by_id(&profile->mappings, sizeof(struct mapping));
    code = read_all(profile, PROFILE_LOCATION, read_location);
    if (code != BAT_OK)
        return code;
    sort_by_id(&profile->locations, sizeof(struct location));
    return read_all(profile, PROFILE_SAMPLE, read_sample);
}

/* Print "pprof_to_preagg: path: place: what is wrong". */
static int report(const char *path, const char *before_place, const struct bat_error *error)
{
    char text[BAT_MESSAGE_SIZE + 64];
    bat_error_text(error, text, sizeof(text));
    fprintf(stderr, "pprof_to_preagg: %s: %s%s\n", path,
            error->place == BAT_PLACE_NONE ? "" : before_place, text);
    return 1;
}

/* Add a profile to the total. Returns the exit status. */
static int add_profile(const struct request *request, const struct bat_elf *elf, const char *path,
                       struct bat_profile *total)
{
    struct bat_error error;
    struct profile profile = {.request = request, .elf = elf, .total = total, .error = &error};
    enum bat_code code = read_file(&profile.buffer, path, &error);
    /* No field begins with gzip's first byte. */
    bool is_packed = profile.buffer.size != 0 && profile.buffer.bytes[0] == 0x1f;
    if (code == BAT_OK && is_packed)
        code = unpack(&profile.buffer, &error);
    if (code == BAT_OK)
        code = read_fields(&profile);
    int status = code == BAT_OK ? 0 : report(path, is_packed ? "unpacked " : "", &error);
    free(profile.buffer.bytes);
    free(profile.strings.elements);
    free(profile.mappings.elements);
    free(profile.locations.elements);
    return status;
}

/* --- Text ----------------------------------------------------------------------------------- */

/* A line of the text. */
struct record {
    uint64_t addresses[3]; /* of an S record one, and zeros */
    uint64_t count;
};

static int compare_records(const void *left_pointer, const void *right_pointer)
{
    const struct record *left = left_pointer;
    const struct record *right = right_pointer;
    for (size_t i = 0; i < 3; i++)
        if (left->addresses[i] != right->addresses[i])
            return left->addresses[i] < right->addresses[i] ? -1 : 1;
    return 0;
}

/* Record number i, which is there. */
static struct record get_record(const struct bat_profile *total, bool branches, uint64_t i)
{
    struct bat_trace trace;
    struct record record = {.count = 0};
    if (branches && bat_profile_trace(total, i, &trace))
        return (struct record){.addresses = {trace.branch, trace.from, trace.to},
                               .count = trace.count};
    bat_profile_sample(total, i, &record.addresses[0], &record.count);
    return record;
}

static void print_record(const struct record *record, bool branches)
{
    if (branches)
        printf("T %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", record->addresses[0],
               record->addresses[1], record->addresses[2], record->count);
    else
        printf("S %" PRIx64 " %" PRIu64 "\n", record->addresses[0], record->count);
}

/* True for a word that the text can have as the name of an event; bytes from 0x80 on are UTF-8's.
 */
static bool is_event(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_:.-";
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at < 0x80 && !strchr(allowed, *at))
            return false;
    return *name != '\0';
}

/* Print the total, in the order of addresses. Returns the exit status. */
static int print_text(const struct bat_profile *total, const struct request *request)
{
    struct bat_error error;
    size_t count = bat_profile_distinct(total);
    struct record *records = malloc((count + 1) * sizeof(*records));
    if (!records) {
        bat_fail_memory(&error, "for the text");
        return report("standard output", "", &error);
    }
    for (size_t i = 0; i < count; i++)
        records[i] = get_record(total, request->branches, i);
    qsort(records, count, sizeof(*records), compare_records);
    if (request->type && is_event(request->type))
        printf("E %s\n", request->type);
    for (size_t i = 0; i < count; i++)
        print_record(&records[i], request->branches);
    free(records);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    bat_fail(&error, BAT_ERR_IO, "cannot be written: %s", strerror(errno));
    return report("standard output", "", &error);
}

/* --- The program ---------------------------------------------------------------------------- */

static int convert(const struct request *request, char *const *paths)
{
    struct bat_elf *elf;
    struct bat_profile *total = NULL;
    struct bat_error error;
    if (bat_elf_open(request->binary, &elf, &error) != BAT_OK)
        return report(request->binary, "", &error);
    /* The total has addresses of text, and it is only added up here, so it need not know BINARY. */
    int status = 0;
    if (bat_profile_new(NULL, &total, &error) != BAT_OK)
        status = report(request->binary, "", &error);
    for (; status == 0 && *paths; paths++)
        status = add_profile(request, elf, *paths, total);
    if (status == 0)
        status = print_text(total, request);
    bat_profile_free(total);
    bat_elf_close(elf);
    return status;
}

static void print_usage(FILE *file)
{
    fputs("usage: pprof_to_preagg [--branches] [--type=TYPE] BINARY PROFILE... >TEXT\n", file);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"branches", no_argument, NULL, 'b'},
                                            {"type", required_argument, NULL, 't'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    struct request request = {.branches = false};
    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        switch (option) {
        case 'b':
            request.branches = true;
            break;
        case 't':
            request.type = optarg;
            break;
        case 'h':
            print_usage(stdout);
            return 0;
        default:
            print_usage(stderr);
            return 2;
        }
    }
    if (argc - optind < 2) {
        print_usage(stderr);
        return 2;
    }
    request.binary = argv[optind];
    return convert(&request, argv + optind + 1);
}
