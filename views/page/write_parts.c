/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The packed parts of the page's data: deflated side by side, then written in their order. */
#include <stdio.h>
#include <stdlib.h>

#include "page.h"
#include "spec/array.h"
#include "support/parallel.h"

/* Parts are deflated as soon as they have so many bytes, or at the end. */
#define BYTES_KEPT ((size_t)32 << 20)

static void deflate_parts(void *context, size_t first, size_t end, unsigned thread)
{
    (void)thread;
    struct page_part *all = context;
    for (size_t i = first; i < end; i++)
        pack_deflate(&all[i].pack);
}

static void deflate_rest(struct page_parts *parts)
{
    size_t count = parts->count - parts->deflated;
    if (count != 0)
        bat_parallel_run(count, 1, bat_parallel_threads(0, count), deflate_parts,
                         parts->all + parts->deflated);
    parts->deflated = parts->count;
    parts->bytes = 0;
}

void parts_add(struct page_parts *parts, const char *prefix, const char *name, struct pack *pack)
{
    if (!BAT_GROW(parts->all, parts->count, parts->capacity)) {
        parts->lacks_memory = true;
        pack_free(pack);
        return;
    }
    struct page_part *part = &parts->all[parts->count++];
    snprintf(part->name, sizeof(part->name), "%s%s", prefix, name);
    part->pack = *pack;
    *pack = (struct pack){0};
    BAT_SHRINK(part->pack.bytes, part->pack.size);
    parts->bytes += part->pack.size;
    if (parts->bytes > BYTES_KEPT)
        deflate_rest(parts);
}

void parts_add_columns(struct page_parts *parts, const char *prefix, const char *name,
                       struct report_columns *columns)
{
    struct pack pack = {0};
    for (size_t i = 0; i < REPORT_COLUMNS; i++) {
        pack_column(&pack, &columns->all[i]);
        pack_free(&columns->all[i]);
    }
    parts_add(parts, prefix, name, &pack);
}

void parts_add_strings(struct page_parts *parts, const char *name,
                       const struct bat_strings *strings)
{
    struct pack pack = {0};
    pack_bytes(&pack, strings->text, strings->text_size);
    parts_add(parts, "", name, &pack);
}

enum bat_code parts_write(struct page_parts *parts, struct bat_text_writer *page)
{
    deflate_rest(parts);
    bool lacks_memory = parts->lacks_memory;
    for (size_t i = 0; i < parts->count; i++) {
        struct page_part *part = &parts->all[i];
        lacks_memory |= part->pack.lacks_memory;
        bat_text_format(page, "<script type=\"application/octet-stream\" id=\"data-%s\">",
                        part->name);
        bat_text_bytes(page, (const char *)part->pack.bytes, part->pack.size);
        bat_text_string(page, "</script>\n");
        pack_free(&part->pack);
    }
    free(parts->all);
    return lacks_memory ? bat_fail_memory(page->error, "to pack the page") : page->code;
}
