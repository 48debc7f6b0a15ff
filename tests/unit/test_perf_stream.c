/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* profile/perf/stream.c and profile/perf/unpack.c: records one by one, compressed ones too. */
#include <sys/mman.h>
#include <unistd.h>

#include <zstd.h>

#include "perf_bytes.h"
#include "profile/perf/stream.h"
#include "unit_test.h"

static int memory_file(const struct perf_bytes *bytes)
{
    int file = memfd_create("perf", 0);
    assert_true(file >= 0);
    for (size_t done = 0; done < bytes->size;) {
        ssize_t now = write(file, bytes->bytes + done, bytes->size - done);
        assert_true(now > 0);
        done += (size_t)now;
    }
    return file;
}

/* A record of type 20 whose body is its number, and more of it up to that size. */
static void put_numbered(struct perf_bytes *out, uint32_t number, size_t size)
{
    uint8_t *body = kept_memory(NULL, size);
    memcpy(body, &number, sizeof(number));
    for (size_t i = 4; i < size; i++)
        body[i] = (uint8_t)(number + i);
    put_record(out, 20, 0, body, size);
}

static void assert_numbered(const struct perf_record *record, uint32_t number, size_t size)
{
    assert_int_equal(record->type, 20);
    assert_int_equal(record->size, size + PERF_RECORD_HEADER_SIZE);
    const uint8_t *body = record->bytes + PERF_RECORD_HEADER_SIZE;
    assert_int_equal(bat_load32(body), number);
    for (size_t i = 4; i < size; i++)
        if (body[i] != (uint8_t)(number + i))
            fail_msg("byte %zu of record %u is %u", i, number, body[i]);
}

/* Sizes of bodies, from small to as large as they can be. */
static size_t body_size(uint32_t number)
{
    return number % 50 == 49 ? 65527 : 8 + number * 331 % 4000;
}

/* Read all records of the bytes from `start` on. Returns how it ended. */
static enum bat_code read_numbered(const struct perf_bytes *bytes, uint64_t start, uint32_t count,
                                   bool expects_offsets, struct bat_error *error)
{
    int file = memory_file(bytes);
    struct perf_stream stream;
    assert_ok(perf_stream_open(&stream, file, NULL, start, bytes->size, error));
    uint64_t offset = start;
    uint64_t position = 0;
    enum bat_code code;
    uint32_t number = 0;
    for (;; number++) {
        struct perf_record record;
        code = perf_stream_next(&stream, &record, error);
        if (code != BAT_OK || !record.bytes)
            break;
        assert_numbered(&record, number, body_size(number));
        assert_true(number == 0 || record.position > position);
        position = record.position;
        if (expects_offsets) {
            assert_int_equal(record.offset, offset);
            assert_int_equal(record.position, offset);
        }
        offset += record.size;
    }
    if (code == BAT_OK)
        assert_int_equal(number, count);
    perf_stream_close(&stream);
    close(file);
    return code;
}

TEST(test_many_records)
{
    struct perf_bytes bytes = {0};
    put(&bytes, "0123456789abcdef", 16);
    for (uint32_t i = 0; i < 1000; i++)
        put_numbered(&bytes, i, body_size(i));
    assert_true(bytes.size > 3u << 20);
    assert_ok(read_numbered(&bytes, 16, 1000, true, NULL));
}

TEST(test_truncated)
{
    struct perf_bytes bytes = {0};
    put_numbered(&bytes, 0, body_size(0));
    const size_t first = bytes.size;
    put_numbered(&bytes, 1, body_size(1));
    for (; bytes.size > 0; bytes.size--) {
        struct bat_error error = {0};
        enum bat_code code = read_numbered(&bytes, 0, bytes.size == first ? 1 : 2, true, &error);
        bool is_whole = bytes.size == first || bytes.size == first + 8 + body_size(1);
        assert_int_equal(code, is_whole ? BAT_OK : BAT_ERR_TRUNCATED);
        if (!is_whole)
            assert_int_equal(error.offset, bytes.size > first ? first : 0);
    }
}

TEST(test_sizes_too_small)
{
    for (uint16_t size = 0; size < 8; size++) {
        struct perf_bytes bytes = {0};
        put_numbered(&bytes, 0, body_size(0));
        const size_t at = bytes.size;
        put_u32(&bytes, 1);
        put_u16(&bytes, 0);
        put_u16(&bytes, size);
        struct bat_error error = {0};
        assert_int_equal(read_numbered(&bytes, 0, 2, true, &error), BAT_ERR_SYNTAX);
        assert_int_equal(error.offset, at);
        char expected[80];
        snprintf(expected, sizeof(expected),
                 "expected a record of at least 8 bytes, found one of %u", size);
        assert_string_equal(error.message, expected);
    }
}

/* Data that stands behind a record without being counted to it, short and long. */
TEST(test_data_behind_records)
{
    static const size_t sizes[] = {0, 8, 4096, 600000, 3 << 20};
    for (size_t i = 0; i < 2 * COUNT(sizes); i++) {
        const size_t size = sizes[i / 2];
        const bool is_trace = i % 2;
        struct perf_bytes bytes = {0};
        if (is_trace) {
            const uint64_t body[5] = {size};
            put_record(&bytes, RECORD_AUXTRACE, 0, body, sizeof(body));
        } else {
            /* Its data is padded to 8 bytes. */
            put_header(&bytes, RECORD_TRACING_DATA, 0, 4);
            put_u32(&bytes, size ? (uint32_t)size - 3 : 0);
        }
        uint8_t *data = calloc(1, size + 1);
        put(&bytes, data, size);
        free(data);
        put_numbered(&bytes, 0, body_size(0));
        int file = memory_file(&bytes);
        struct perf_stream stream;
        struct perf_record record;
        assert_ok(perf_stream_open(&stream, file, NULL, 0, bytes.size, NULL));
        assert_ok(perf_stream_next(&stream, &record, NULL));
        assert_int_equal(record.type, is_trace ? RECORD_AUXTRACE : RECORD_TRACING_DATA);
        assert_ok(perf_stream_next(&stream, &record, NULL));
        assert_numbered(&record, 0, body_size(0));
        perf_stream_close(&stream);

        /* More than there is. */
        const uint64_t end = bytes.size - 8 - body_size(0) - 1;
        if (size != 0) {
            struct bat_error error = {0};
            assert_ok(perf_stream_open(&stream, file, NULL, 0, end, NULL));
            assert_int_equal(perf_stream_next(&stream, &record, &error), BAT_ERR_TRUNCATED);
            assert_int_equal(error.offset, 0);
            perf_stream_close(&stream);
        }
        close(file);
    }
}

/* --- Compressed ----------------------------------------------------------------------------- */

/* Put records, all of one stream, that hold the bytes compressed, `slice` of them each. */
static void put_compressed(struct perf_bytes *out, const struct perf_bytes *bytes, size_t slice,
                           bool two)
{
    ZSTD_CStream *stream = ZSTD_createCStream();
    ZSTD_initCStream(stream, 1);
    static uint8_t packed[60000];
    for (size_t at = 0; at < bytes->size; at += slice) {
        const size_t size = bytes->size - at < slice ? bytes->size - at : slice;
        ZSTD_inBuffer in = {.src = bytes->bytes + at, .size = size};
        ZSTD_outBuffer to = {.dst = packed, .size = sizeof(packed)};
        assert_int_equal(ZSTD_compressStream2(stream, &to, &in, ZSTD_e_flush), 0);
        assert_int_equal(in.pos, in.size);
        if (two) {
            const size_t padding = (8 - to.pos % 8) % 8;
            put_header(out, RECORD_COMPRESSED2, 0, 8 + to.pos + padding);
            put_u64(out, to.pos);
            put(out, packed, to.pos);
            put(out, "\xee\xee\xee\xee\xee\xee\xee", padding);
        } else {
            put_record(out, RECORD_COMPRESSED, 0, packed, to.pos);
        }
    }
    ZSTD_freeCStream(stream);
}

TEST(test_compressed)
{
    struct perf_bytes plain = {0};
    for (uint32_t i = 0; i < 1000; i++)
        put_numbered(&plain, i, body_size(i));
    static const size_t slices[] = {997, 30000, 58000};
    for (size_t i = 0; i < 2 * COUNT(slices); i++) {
        struct perf_bytes bytes = {0};
        put_compressed(&bytes, &plain, slices[i / 2], i % 2);
        struct bat_error error = {0};
        if (read_numbered(&bytes, 0, 1000, false, &error) != BAT_OK)
            fail_msg("%s", error.message);
    }
}

/* A record that is compressed much more than others, so that one call cannot unpack it. */
TEST(test_compressed_much)
{
    struct perf_bytes plain = {0};
    uint8_t *zeros = calloc(1, 65527);
    for (uint32_t i = 0; i < 64; i++)
        put_record(&plain, 20, 0, zeros, 65527);
    free(zeros);
    struct perf_bytes bytes = {0};
    put_compressed(&bytes, &plain, plain.size, false);
    put_header(&bytes, 21, 0, 0);
    int file = memory_file(&bytes);
    struct perf_stream stream;
    struct perf_record record;
    assert_ok(perf_stream_open(&stream, file, NULL, 0, bytes.size, NULL));
    assert_false(stream.was_compressed);
    for (uint32_t i = 0; i < 64; i++) {
        assert_ok(perf_stream_next(&stream, &record, NULL));
        assert_int_equal(record.type, 20);
        assert_int_equal(record.size, 65535);
    }
    assert_true(stream.was_compressed);
    assert_ok(perf_stream_next(&stream, &record, NULL));
    assert_int_equal(record.type, 21);
    assert_ok(perf_stream_next(&stream, &record, NULL));
    assert_null(record.bytes);
    perf_stream_close(&stream);
    close(file);
}

TEST(test_compressed_badly)
{
    struct perf_bytes plain = {0};
    put_numbered(&plain, 0, body_size(0));
    put_numbered(&plain, 1, body_size(1));
    struct bat_error error = {0};

    /* What was compressed ends inside a record. */
    plain.size--;
    struct perf_bytes bytes = {0};
    put_compressed(&bytes, &plain, plain.size, false);
    assert_int_equal(read_numbered(&bytes, 0, 2, false, &error), BAT_ERR_TRUNCATED);
    assert_int_equal(error.offset, 0);
    assert_non_null(strstr(error.message, "expected compressed data that ends with a complete"));
    /* Not zstd's. */
    bytes.size = 0;
    put_record(&bytes, RECORD_COMPRESSED, 0, "not at all", 10);
    assert_int_equal(read_numbered(&bytes, 0, 0, false, &error), BAT_ERR_SYNTAX);
    assert_int_equal(error.offset, 0);
    assert_non_null(strstr(error.message, "found data that zstd rejects: "));

    /* More bytes than the record has. */
    bytes.size = 0;
    put_header(&bytes, RECORD_COMPRESSED2, 0, 16);
    put_u64(&bytes, 9);
    put_u64(&bytes, 0);
    assert_int_equal(read_numbered(&bytes, 0, 0, false, &error), BAT_ERR_SYNTAX);
    assert_string_equal(error.message,
                        "expected a compressed record with 9 bytes of data, found 8");

    /* A record of no size inside. */
    bytes.size = plain.size = 0;
    put_u64(&plain, 20);
    put_compressed(&bytes, &plain, plain.size, false);
    assert_int_equal(read_numbered(&bytes, 0, 0, false, &error), BAT_ERR_SYNTAX);
    assert_string_equal(
        error.message,
        "expected records of at least 8 bytes in the compressed record, found one of 0");
}
