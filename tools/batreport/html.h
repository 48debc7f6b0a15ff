/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Text in HTML. Names and paths come from files and may have any bytes. */
#ifndef BAT_TOOLS_BATREPORT_HTML_H
#define BAT_TOOLS_BATREPORT_HTML_H

#include "support/text_writer.h"

/*
 * Text as characters of HTML, also inside of attributes in double quotes: markup becomes
 * references, control characters become "\x1b", characters that change the direction of text
 * "\u202e", and each byte that is no UTF-8 becomes U+FFFD.
 */
void html_text(struct bat_text_writer *page, const char *text);

/* The same as a string of JSON, quotes included, in which "<" cannot end the element around it. */
void html_json(struct bat_text_writer *page, const char *text);

/* Formatted text without escapes: at most 512 bytes, and no names. */
void html_format(struct bat_text_writer *page, const char *format, ...) BAT_PRINTF(2, 3);

/* A card with a table of figures: the rows stand between these two. title is no name. */
void html_begin_card(struct bat_text_writer *page, const char *title);
void html_end_card(struct bat_text_writer *page);

/* A term of a list and what is said of it, any text; label is no name. */
void html_term(struct bat_text_writer *page, const char *label, const char *text);

#endif
