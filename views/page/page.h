/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writes the page: its parts, in the order in which they stand in the file. */
#pragma once

#include "bat_output.h"
#include "report.h"
#include "support/text_writer.h"

/*
 * Text as characters of HTML, also inside of attributes in double quotes: markup becomes
 * references, control characters become "\x1b", characters that change the direction of text
 * "\u202e", and each byte that is no UTF-8 becomes U+FFFD.
 */
void html_text(struct bat_text_writer *page, const char *text);

/* Elements, a text between them, and elements behind it. */
void html_put(struct bat_text_writer *page, const char *before, const char *text,
              const char *after);

/* A number and what it counts, with an "s" unless it is 1. */
void html_count(struct bat_text_writer *page, uint64_t count, const char *what);

static inline double html_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

/* Text as a string of JSON, quotes included, in which "<" cannot end the element around it. */
void html_json(struct bat_text_writer *page, const char *text);

/* A card with a table of figures: the rows stand between these two. title is no name. */
void html_begin_card(struct bat_text_writer *page, const char *title);
void html_end_card(struct bat_text_writer *page);

/* A term of a list and what is said of it, any text; label is no name. */
void html_term(struct bat_text_writer *page, const char *label, const char *text);

/* A growing array of bytes. All zero is empty. Freed with pack_free(). */
struct pack {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    bool lacks_memory; /* something could not be added */
};

void pack_free(struct pack *pack);

void pack_bytes(struct pack *pack, const void *bytes, size_t size);

/* An unsigned number: seven bits a byte, the lowest first, the highest bit set in all but the last.
 */
void pack_number(struct pack *pack, uint64_t value);

/* A difference to - from, modulo 2^64 a signed number: zigzag, then as pack_number(). */
void pack_change(struct pack *pack, uint64_t from, uint64_t to);

/* The size of a column, and then its bytes. The column is empty afterwards. */
void pack_column(struct pack *pack, struct pack *column);

/* Text, its terminating zero included. */
void pack_text(struct pack *pack, const char *text);

/* The bytes become raw deflate of them in base64; without memory there are none, and it is said. */
void pack_deflate(struct pack *pack);

/* size bytes in base64, with a terminating zero: text has room for 4 * ((size + 2) / 3) + 1. */
void pack_base64(const uint8_t *bytes, size_t size, char *text);

/* Code or style of a page, made of the files in page/ when batreport is built. */
struct report_file {
    const uint8_t *bytes;
    size_t size;
    uint8_t sha256[32];
};

extern const struct report_file report_script;     /* of the page about one binary */
extern const struct report_file comparison_script; /* of the page about two */
extern const struct report_file report_style;

/* From the start to the title's text, and from behind that to the style; the end of what is read,
 * with a remark for those without scripts; then the script and the end. */
void page_write_head(struct bat_text_writer *page, const struct report_file *script);
void page_write_style(struct bat_text_writer *page);
void page_write_remark(struct bat_text_writer *page);
void page_write_end(struct bat_text_writer *page, const struct report_file *script);

/* From the heading's end to the summary, whose title this is; then up to the static functions, and
 * from behind these on. */
void page_write_views(struct bat_text_writer *page, bool has_stacks, const char *title);
void page_begin_functions(struct bat_text_writer *page);
void page_end_functions(struct bat_text_writer *page);

/* The whole page. The caller begins and commits output. */
enum bat_code report_write(struct report *report, struct bat_output *output,
                           struct bat_error *error);

/* What can be read without scripts. */
void report_write_summary(struct report *report, struct bat_text_writer *page);
void report_write_banner(const struct report *report, struct bat_text_writer *page);
void report_write_check(const struct report *report, struct bat_text_writer *page);

/* The value of a check, what stands between, and its limit: "85.6%, at most 5.0%". */
void report_write_value(const struct report *report, enum bat_verdict_check number,
                        const char *between, struct bat_text_writer *page);
void report_write_pages(const struct report *report, struct bat_text_writer *page);

/* The curves of pages and huge pages; before may be NULL. names: of both, no markup. */
void report_write_curves(const struct report_pages before[2], const struct report_pages after[2],
                         const char *const names[2], struct bat_text_writer *page);
/* The first screen's answers. */
void report_write_answer(const struct report *report, struct bat_text_writer *page);

/* A table of the hottest functions. */
void report_write_hottest(const struct report *report, struct bat_text_writer *page);

/* The name of a function in profiles, demangled; with a link to its page unless it is BAT_NONE. */
void report_write_name(const struct report *report, uint32_t function, const char *name,
                       struct bat_text_writer *page);

/* --- The data of the page's code: spec/report.md ---------------------------------------------- */

/* Several columns that are filled side by side, then put behind each other. */
#define REPORT_COLUMNS 8u

struct report_columns {
    struct pack all[REPORT_COLUMNS];
};

/* Parts of the data: elements data-PREFIXNAME. All zero is none. */
struct page_part {
    char name[32];
    struct pack pack;
};

struct page_parts {
    struct page_part *all;
    size_t count;
    size_t capacity;
    size_t deflated; /* of count */
    size_t bytes;    /* of the others */
    bool lacks_memory;
};

/* Add a part, of bytes, columns or strings. Packs and columns are empty afterwards. */
void parts_add(struct page_parts *parts, const char *prefix, const char *name, struct pack *pack);
void parts_add_columns(struct page_parts *parts, const char *prefix, const char *name,
                       struct report_columns *columns);
void parts_add_strings(struct page_parts *parts, const char *name,
                       const struct bat_strings *strings);

/* Pack all parts, in as many threads as there are processors, write them, and free them. Fails with
 * BAT_ERR_MEMORY, also if something could not be added, and as the page has failed. */
enum bat_code parts_write(struct page_parts *parts, struct bat_text_writer *page);

/* The members of the description that are about one binary, without braces. */
void report_write_members(const struct report *report, struct bat_text_writer *page);

/* What became of the profile in the next build, if one was given: for readers, members of the
 * description, and parts. */
void report_write_next(const struct report *report, struct bat_text_writer *page);
void report_write_next_members(const struct report *report, struct bat_text_writer *page);
void report_add_carried(const struct report *report, struct page_parts *parts);

/* The parts with the instructions of the hottest functions, if there are any. */
void report_add_listings(const struct report *report, struct page_parts *parts);

/*
 * The parts of one binary's code; their names begin with prefix. Functions that are nameless, by
 * their numbers, get empty names; NULL: none is.
 */
void report_add_code(const struct report *report, const char *prefix, const bool *is_nameless,
                     struct page_parts *parts);

/* All parts of the page about one binary. */
enum bat_code report_write_data(struct report *report, struct bat_text_writer *page);
