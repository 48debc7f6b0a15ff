/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "page.h"

#include "binary/note_facts.h"
#include "spec/escape_controls.h"

/* The number of a UTF-8 character of length bytes. */
static uint32_t character_of(const char *text, size_t length)
{
    static const uint8_t first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t character = (unsigned char)text[0] & first_bits[length];
    for (size_t i = 1; i < length; i++)
        character = character << 6 | ((unsigned char)text[i] & 0x3f);
    return character;
}

/* True for characters that have no form of their own, or that change the direction of others. */
static bool is_invisible(uint32_t character)
{
    return (character >= 0x200b && character <= 0x200f) ||
           (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2060 && character <= 0x206f) || character == 0xfeff ||
           character == 0x061c;
}

static void put_html(struct bat_text_writer *page, const char *text, size_t length)
{
    switch (*text) {
    case '&':
        bat_text_string(page, "&amp;");
        break;
    case '<':
        bat_text_string(page, "&lt;");
        break;
    case '>':
        bat_text_string(page, "&gt;");
        break;
    case '"':
        bat_text_string(page, "&quot;");
        break;
    case '\'':
        bat_text_string(page, "&#39;");
        break;
    default:
        bat_text_bytes(page, text, length);
    }
}

void html_text(struct bat_text_writer *page, const char *text)
{
    for (size_t size = strlen(text); size != 0;) {
        size_t length = bat_utf8_length(text, size);
        size_t bytes;
        if (length == 0)
            bat_text_string(page, "\xef\xbf\xbd");
        else if (bat_is_control(text, size, &bytes))
            bat_text_format(page, "\\x%02x", character_of(text, length));
        else if (is_invisible(character_of(text, length)))
            bat_text_format(page, "\\u%04x", character_of(text, length));
        else
            put_html(page, text, length);
        length += length == 0;
        text += length;
        size -= length;
    }
}

void html_put(struct bat_text_writer *page, const char *before, const char *text, const char *after)
{
    bat_text_string(page, before);
    html_text(page, text);
    bat_text_string(page, after);
}

void html_json(struct bat_text_writer *page, const char *text)
{
    bat_text_string(page, "\"");
    for (size_t size = strlen(text); size != 0;) {
        size_t length = bat_utf8_length(text, size);
        size_t bytes;
        if (length == 0)
            bat_text_string(page, "\\ufffd");
        else if (bat_is_control(text, size, &bytes) || strchr("<>&\"\\", *text) ||
                 is_invisible(character_of(text, length)))
            bat_text_format(page, "\\u%04x", character_of(text, length));
        else
            bat_text_bytes(page, text, length);
        length += length == 0;
        text += length;
        size -= length;
    }
    bat_text_string(page, "\"");
}

void html_begin_card(struct bat_text_writer *page, const char *title)
{
    bat_text_format(page, "<div class=\"card\"><h3>%s</h3>\n<table class=\"figures\"><tbody>\n",
                    title);
}

void html_end_card(struct bat_text_writer *page)
{
    bat_text_string(page, "</tbody></table></div>\n");
}

void html_term(struct bat_text_writer *page, const char *label, const char *text)
{
    bat_text_format(page, "<dt>%s</dt><dd><bdi>", label);
    html_text(page, text);
    bat_text_string(page, "</bdi></dd>\n");
}

void html_count(struct bat_text_writer *page, uint64_t count, const char *what)
{
    char text[NUMBER_SIZE];
    bat_text_format(page, "%s %s%s", with_commas(count, text), what, count == 1 ? "" : "s");
}
