/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "records.h"

#include <stdlib.h>

#include "support/parallel.h"

/* So many records are worth another thread. */
#define RECORDS_PER_THREAD ((size_t)4 * BAT_RECORDS_PER_PART)

enum bat_code bat_records_write(const struct bat_records *records,
                                struct bat_records_output *outputs, size_t count)
{
    if (count == 0)
        return BAT_OK;
    struct bat_parted_text *texts = calloc(count, sizeof(*texts));
    if (!texts) {
        for (size_t i = 0; i < count; i++)
            outputs[i].code = bat_fail_memory(&outputs[i].error, "to write the profile");
        return BAT_ERR_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        texts[i] = (struct bat_parted_text){.source = outputs[i].is_yaml ? &bat_yaml_source
                                                                         : &bat_fdata_source,
                                            .subject = records,
                                            .output = outputs[i].output};
    size_t all = (size_t)records->branches.count + records->samples.count;
    bat_texts_write(texts, count,
                    bat_parallel_threads(records->threads, count * all / RECORDS_PER_THREAD));
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < count; i++) {
        outputs[i].code = texts[i].code;
        outputs[i].error = texts[i].error;
        code = code == BAT_OK ? texts[i].code : code;
    }
    free(texts);
    return code;
}

/* Write one text in this thread. */
static enum bat_code write_alone(const struct bat_records *records,
                                 const struct bat_text_source *source, struct bat_output *output,
                                 struct bat_error *error)
{
    struct bat_parted_text text = {.source = source, .subject = records, .output = output};
    bat_texts_write(&text, 1, 1);
    if (text.code != BAT_OK && error)
        *error = text.error;
    return text.code;
}

enum bat_code bat_records_write_fdata(const struct bat_records *records, struct bat_output *output,
                                      struct bat_error *error)
{
    return write_alone(records, &bat_fdata_source, output, error);
}

enum bat_code bat_records_write_yaml(const struct bat_records *records, struct bat_output *output,
                                     struct bat_error *error)
{
    return write_alone(records, &bat_yaml_source, output, error);
}
