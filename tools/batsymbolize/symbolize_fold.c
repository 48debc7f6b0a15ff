/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writes each stack as one line, from the outermost frame to the innermost. */
#include "symbolize_text.h"

/* Add a frame that was not found: its name in the text, or its file in brackets. */
static void fold_as_read(struct symbolize_text *text, const struct bat_stack_line *read)
{
    if (read->name.length != 0) {
        bat_folded_frame(text->folded, read->name.text, read->name.length);
        return;
    }
    struct bat_slice file = read->module;
    const char *slash = file.length != 0 ? memrchr(file.text, '/', file.length) : NULL;
    if (slash)
        file = (struct bat_slice){slash + 1, file.length - (size_t)(slash + 1 - file.text)};
    char name[256] = "[";
    if (file.length == 0 || file.length > sizeof(name) - 3 || file.text[0] == '[') {
        bat_folded_frame(text->folded, file.text,
                         file.length > 0 && file.text[0] == '[' ? file.length : 0);
        return;
    }
    memcpy(name + 1, file.text, file.length);
    name[file.length + 1] = ']';
    bat_folded_frame(text->folded, name, file.length + 2);
}

void text_stack_fold(struct symbolize_text *text)
{
    bat_folded_begin(text->folded);
    if (text->with_command && text->command)
        bat_folded_frame(text->folded, text->command, strlen(text->command));
    for (size_t i = text->stack.count; i != 0; i--) {
        struct text_frame frame;
        text_frame_find(text, i - 1, &frame);
        bool is_frame = frame.read.kind == BAT_LINE_FRAME || frame.read.kind == BAT_LINE_QUERY;
        if (!is_frame || text_frame_is_replaced(text, i - 1))
            continue;
        text_frame_find(text, i - 1, &frame);
        for (size_t k = frame.count; k != 0; k--) {
            const char *name = printed_function(text->printer, &frame.frames[k - 1]);
            bat_folded_frame(text->folded, name ? name : "", name ? strlen(name) : 0);
        }
        if (frame.count == 0)
            fold_as_read(text, &frame.read);
    }
    bat_folded_end(text->folded, 1);
}
