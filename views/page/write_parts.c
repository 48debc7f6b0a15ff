/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The packed parts of the page's data. */
#include "page.h"

enum bat_code report_write_part(struct bat_text_writer *page, const char *name, struct pack *pack)
{
    bat_text_format(page, "<script type=\"application/octet-stream\" id=\"data-%s\">", name);
    bat_text_flush(page);
    enum bat_code code =
        page->code == BAT_OK ? pack_write(pack, page->output, page->error) : page->code;
    bat_text_string(page, "</script>\n");
    pack_free(pack);
    return code;
}

enum bat_code report_write_columns(struct bat_text_writer *page, const char *name,
                                   struct report_columns *columns)
{
    struct pack pack = {0};
    for (size_t i = 0; i < REPORT_COLUMNS; i++) {
        pack_column(&pack, &columns->all[i]);
        pack_free(&columns->all[i]);
    }
    return report_write_part(page, name, &pack);
}

enum bat_code report_write_strings(struct bat_text_writer *page, const char *name,
                                   const struct bat_strings *strings)
{
    struct pack pack = {0};
    pack_bytes(&pack, strings->text, strings->text_size);
    return report_write_part(page, name, &pack);
}
