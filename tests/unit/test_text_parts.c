/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* support/text_parts: parts come in their order by any number of threads, and failures end a text.
 */
#include <stdatomic.h>

#include "bat_output.h"
#include "support/parallel.h"
#include "support/text_parts.h"
#include "unit_test.h"

#define NO_PART SIZE_MAX

/* A text of numbered lines; some parts are longer than a writer's buffer, some are empty. */
struct subject {
    size_t parts;
    size_t bad_part; /* fails; or NO_PART */
    bool is_bad;     /* begin() fails */
    int ends;        /* how often end() was called */
    atomic_bool is_used[BAT_PARALLEL_MAX];
    atomic_bool is_wrong; /* two calls for the same thread at once, or for none */
};

/* What an output has received. */
struct taken {
    char *bytes;
    size_t size;
    size_t size_max; /* more than this cannot be written */
};

static size_t lines_of(size_t part)
{
    return part % 7 == 3 ? 0 : part % 11 == 5 ? 20000 : 50;
}

static enum bat_code begin(const void *subject, void **state, size_t *parts,
                           struct bat_error *error)
{
    const struct subject *lines = subject;
    *state = (void *)subject;
    *parts = lines->parts;
    return lines->is_bad ? bat_fail(error, BAT_ERR_RANGE, "bad subject") : BAT_OK;
}

static enum bat_code write_part(void *state, size_t part, unsigned thread,
                                struct bat_text_writer *text, struct bat_error *error)
{
    struct subject *subject = state;
    if (thread >= BAT_PARALLEL_MAX || atomic_exchange(&subject->is_used[thread], true)) {
        subject->is_wrong = true;
        return BAT_OK;
    }
    for (size_t i = 0; i < lines_of(part); i++) {
        char *at = bat_put_decimal(bat_text_room(text, 64), part);
        *at++ = ' ';
        at = bat_put_decimal(at, i);
        *at++ = '\n';
        bat_text_end(text, at);
    }
    subject->is_used[thread] = false;
    return part == subject->bad_part ? bat_fail(error, BAT_ERR_RANGE, "bad part") : BAT_OK;
}

static void end(void *state)
{
    struct subject *subject = state;
    if (subject)
        subject->ends++;
}

static const struct bat_text_source source = {begin, write_part, end};

static bool take(const void *bytes, size_t size, void *context)
{
    struct taken *taken = context;
    if (taken->size + size > taken->size_max)
        return false;
    char *grown = realloc(taken->bytes, taken->size + size + 1);
    if (!grown)
        return false;
    memcpy(grown + taken->size, bytes, size);
    taken->bytes = grown;
    taken->size += size;
    grown[taken->size] = '\0';
    return true;
}

/* The text of a subject without failures. The caller frees it. */
static char *expected_text(size_t parts)
{
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    for (size_t part = 0; part < parts; part++)
        for (size_t i = 0; i < lines_of(part); i++)
            fprintf(stream, "%zu %zu\n", part, i);
    fclose(stream);
    return text;
}

/* Write three texts at the same time. */
static void write_texts(struct subject subjects[3], struct taken taken[3],
                        struct bat_parted_text texts[3], unsigned threads)
{
    for (size_t i = 0; i < 3; i++) {
        texts[i] = (struct bat_parted_text){.source = &source, .subject = &subjects[i]};
        assert_ok(bat_output_begin_callback(take, &taken[i], &texts[i].output, NULL));
    }
    bat_texts_write(texts, 3, threads);
    for (size_t i = 0; i < 3; i++) {
        bat_output_abandon(texts[i].output);
        assert_int_equal(subjects[i].ends, 1);
        assert_false(subjects[i].is_wrong);
    }
}

TEST(test_order)
{
    for (unsigned threads = 0; threads <= 9; threads++) {
        struct subject subjects[3] = {{.parts = 100, .bad_part = NO_PART},
                                      {.parts = 0, .bad_part = NO_PART},
                                      {.parts = 37, .bad_part = NO_PART}};
        struct taken taken[3] = {
            {.size_max = SIZE_MAX}, {.size_max = SIZE_MAX}, {.size_max = SIZE_MAX}};
        struct bat_parted_text texts[3];
        write_texts(subjects, taken, texts, threads);
        for (size_t i = 0; i < 3; i++) {
            assert_ok(texts[i].code);
            char *expected = expected_text(subjects[i].parts);
            assert_string_equal(taken[i].bytes ? taken[i].bytes : "", expected);
            free(expected);
            free(taken[i].bytes);
        }
    }
}

/* A text that fails, in each of the three ways, is cut off; the others are whole. */
TEST(test_failures)
{
    char *expected = expected_text(40);
    for (unsigned threads = 1; threads <= 8; threads++) {
        for (size_t bad = 0; bad < 3; bad++) {
            struct subject subjects[3] = {{.parts = 40, .bad_part = bad == 0 ? 20 : NO_PART},
                                          {.parts = 40, .bad_part = NO_PART, .is_bad = bad == 1},
                                          {.parts = 40, .bad_part = NO_PART}};
            struct taken taken[3] = {{.size_max = SIZE_MAX},
                                     {.size_max = SIZE_MAX},
                                     {.size_max = bad == 2 ? 3000 : SIZE_MAX}};
            struct bat_parted_text texts[3];
            write_texts(subjects, taken, texts, threads);
            for (size_t i = 0; i < 3; i++) {
                const char *text = taken[i].bytes ? taken[i].bytes : "";
                if (i == bad) {
                    assert_int_equal(texts[i].code, bad == 2 ? BAT_ERR_IO : BAT_ERR_RANGE);
                    assert_int_equal(texts[i].error.code, texts[i].code);
                    assert_true(taken[i].size < strlen(expected));
                    assert_memory_equal(text, expected, taken[i].size);
                } else {
                    assert_ok(texts[i].code);
                    assert_string_equal(text, expected);
                }
                free(taken[i].bytes);
            }
        }
    }
    free(expected);
}
