/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The program that the pipeline optimises: it checks JSON, and prints what is in it.
 *
 *     json FILE [ROUNDS]       check FILE, ROUNDS times (1)
 *     json --sample RECORDS    print JSON to try it with
 *
 * With -DRELEASE=2 or more it is the next release: it also decodes strings, reads numbers without
 * strtod(), and knows comments.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef RELEASE
#define RELEASE 1
#endif

enum { DEPTH_MAX = 200 };

struct reader {
    const char *next, *start, *error;
    unsigned long objects, arrays, strings, numbers, words, escapes, bytes;
    int depth, depth_most;
    double sum;
};

static bool read_value(struct reader *r);

static bool fail(struct reader *r, const char *error)
{
    if (!r->error)
        r->error = error;
    return false;
}

static void skip_blanks(struct reader *r)
{
    for (;;) {
        switch (*r->next) {
        case ' ':
        case '\t':
        case '\n':
        case '\r':
            r->next++;
            break;
#if RELEASE >= 2
        case '/':
            if (r->next[1] != '/')
                return;
            while (*r->next && *r->next != '\n')
                r->next++;
            break;
#endif
        default:
            return;
        }
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool read_code(struct reader *r, unsigned int *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(*r->next);
        if (digit < 0)
            return fail(r, "expected a hexadecimal digit");
        *code = *code * 16 + (unsigned int)digit;
        r->next++;
    }
    return true;
}

static bool read_escape(struct reader *r, unsigned int *code)
{
    r->escapes++;
    switch (*r->next++) {
    case '"':
    case '\\':
    case '/':
        *code = (unsigned char)r->next[-1];
        return true;
    case 'b':
        *code = '\b';
        return true;
    case 'f':
        *code = '\f';
        return true;
    case 'n':
        *code = '\n';
        return true;
    case 'r':
        *code = '\r';
        return true;
    case 't':
        *code = '\t';
        return true;
    case 'u':
        return read_code(r, code);
    default:
        return fail(r, "an escape that JSON does not have");
    }
}

#if RELEASE >= 2
/* How many bytes a character has as UTF-8. */
static unsigned int size_of(unsigned int code)
{
    if (code < 0x80)
        return 1;
    return code < 0x800 ? 2 : 3;
}
#endif

static bool read_string(struct reader *r)
{
    unsigned int code;

    if (*r->next != '"')
        return fail(r, "expected a string");
    r->next++;
    while (*r->next != '"') {
        if (*r->next == '\\') {
            r->next++;
            if (!read_escape(r, &code))
                return false;
#if RELEASE >= 2
            r->bytes += size_of(code);
#else
            r->bytes++;
#endif
        } else if ((unsigned char)*r->next < ' ') {
            return fail(r,
                        *r->next ? "a control character in a string" : "a string without its end");
        } else {
            r->next++;
            r->bytes++;
        }
    }
    r->next++;
    r->strings++;
    return true;
}

static bool read_digits(struct reader *r)
{
    if (*r->next < '0' || *r->next > '9')
        return fail(r, "expected a digit");
    while (*r->next >= '0' && *r->next <= '9')
        r->next++;
    return true;
}

#if RELEASE >= 2
/* The number of up to 15 digits between two places, if that is all. */
static bool read_small(const char *at, const char *end, double *value)
{
    long sum = 0;
    bool is_negative = *at == '-';

    at += is_negative;
    if (end - at > 15)
        return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        sum = sum * 10 + (*at - '0');
    }
    *value = (double)(is_negative ? -sum : sum);
    return true;
}
#endif

static bool read_number(struct reader *r)
{
    const char *start = r->next;
    double value;

    if (*r->next == '-')
        r->next++;
    if (*r->next == '0')
        r->next++;
    else if (!read_digits(r))
        return false;
    if (*r->next == '.') {
        r->next++;
        if (!read_digits(r))
            return false;
    }
    if (*r->next == 'e' || *r->next == 'E') {
        r->next++;
        if (*r->next == '+' || *r->next == '-')
            r->next++;
        if (!read_digits(r))
            return false;
    }
    r->numbers++;
#if RELEASE >= 2
    if (!read_small(start, r->next, &value))
        value = strtod(start, NULL);
#else
    value = strtod(start, NULL);
#endif
    r->sum += value;
    return true;
}

static bool read_word(struct reader *r, const char *word)
{
    while (*word)
        if (*r->next++ != *word++)
            return fail(r, "expected true, false or null");
    r->words++;
    return true;
}

static bool enter(struct reader *r)
{
    r->next++;
    if (++r->depth > DEPTH_MAX)
        return fail(r, "too deep");
    if (r->depth > r->depth_most)
        r->depth_most = r->depth;
    skip_blanks(r);
    return true;
}

static bool leave(struct reader *r)
{
    r->next++;
    r->depth--;
    return true;
}

static bool read_array(struct reader *r)
{
    r->arrays++;
    if (!enter(r))
        return false;
    if (*r->next == ']')
        return leave(r);
    for (;;) {
        if (!read_value(r))
            return false;
        skip_blanks(r);
        if (*r->next == ']')
            return leave(r);
        if (*r->next != ',')
            return fail(r, "expected , or ]");
        r->next++;
    }
}

static bool read_object(struct reader *r)
{
    r->objects++;
    if (!enter(r))
        return false;
    if (*r->next == '}')
        return leave(r);
    for (;;) {
        skip_blanks(r);
        if (!read_string(r))
            return false;
        skip_blanks(r);
        if (*r->next != ':')
            return fail(r, "expected :");
        r->next++;
        if (!read_value(r))
            return false;
        skip_blanks(r);
        if (*r->next == '}')
            return leave(r);
        if (*r->next != ',')
            return fail(r, "expected , or }");
        r->next++;
    }
}

static bool read_value(struct reader *r)
{
    skip_blanks(r);
    switch (*r->next) {
    case '{':
        return read_object(r);
    case '[':
        return read_array(r);
    case '"':
        return read_string(r);
    case 't':
        return read_word(r, "true");
    case 'f':
        return read_word(r, "false");
    case 'n':
        return read_word(r, "null");
    default:
        return read_number(r);
    }
}

static bool read_text(struct reader *r, const char *text)
{
    memset(r, 0, sizeof(*r));
    r->next = r->start = text;
    if (!read_value(r))
        return false;
    skip_blanks(r);
    return !*r->next || fail(r, "expected the end");
}

static char *read_file(const char *path)
{
    size_t size = 0, room = 1 << 16, got;
    char *text = malloc(room);
    FILE *file = fopen(path, "rb");

    if (!file || !text) {
        perror(path);
        exit(1);
    }
    while ((got = fread(text + size, 1, room - size - 1, file)) > 0) {
        size += got;
        if (size + 1 == room)
            text = realloc(text, room *= 2);
        if (!text)
            exit(1);
    }
    fclose(file);
    text[size] = '\0';
    return text;
}

static void print_sample(unsigned long records)
{
    unsigned long chance = 1;

    puts("[");
    for (unsigned long i = 0; i < records; i++) {
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        printf("  {\"id\": %lu, \"name\": \"record \\\"%lu\\\"\", \"price\": %lu.%02lu, \"tags\": "
               "[\"a\", \"b%lu\"], "
               "\"sold\": %s, \"note\": %s}%s\n",
               i, chance >> 40, chance >> 50, (chance >> 20) % 100, chance >> 55,
               chance >> 63 ? "true" : "false",
               chance >> 60 ? "null" : "\"caf\\u00e9, na\\u00efve\"", i + 1 < records ? "," : "");
    }
    puts("]");
}

int main(int argc, char **argv)
{
    struct reader reader;
    char *text;

    if (argc == 3 && strcmp(argv[1], "--sample") == 0) {
        print_sample(strtoul(argv[2], NULL, 10));
        return 0;
    }
    if (argc < 2) {
        fprintf(stderr, "usage: json FILE [ROUNDS]\n");
        return 2;
    }
    text = read_file(argv[1]);
    for (long i = argc > 2 ? atol(argv[2]) : 1; i > 0; i--) {
        if (!read_text(&reader, text)) {
            fprintf(stderr, "%s: byte %ld: %s\n", argv[1], (long)(reader.next - reader.start),
                    reader.error);
            return 1;
        }
    }
    printf("%lu objects, %lu arrays, %lu strings of %lu bytes, %lu numbers (sum %.2f), %d deep\n",
           reader.objects, reader.arrays, reader.strings, reader.bytes, reader.numbers, reader.sum,
           reader.depth_most);
    free(text);
    return 0;
}
