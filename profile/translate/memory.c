/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Translates memory samples: the load's address, and the datum that it read.
 */
#include "translation.h"

#include <stdlib.h>
#include <string.h>

#include "binary/functions/data_symbols.h"
#include "escape_name.h"

struct memory_translation {
    struct bat_records *records;
    const struct bat_profile *profile;
    struct bat_data_symbols *data;
    uint32_t *names;   /* for each datum that loads read: its name, as in records */
    bool keep_unknown; /* loads from outside the binary's data */
    bat_place_fn *find_place;
    void *context;
    struct bat_error *error;
};

static const uint64_t *sample_at(const struct memory_translation *translation, uint32_t i)
{
    return bat_counts_item(&translation->profile->mem_samples, i);
}

/* --- Names of data ------------------------------------------------------------------------ */

static enum bat_code add_name(struct memory_translation *translation, uint32_t datum)
{
    struct bat_records *records = translation->records;
    char *name = bat_data_symbols_name(translation->data, datum);
    char *escaped = name ? malloc(BAT_NAME_ESCAPED_BYTE * strlen(name) + 1) : NULL;
    enum bat_code code = escaped ? BAT_OK : BAT_ERR_MEMORY;
    if (code == BAT_OK)
        code = bat_strings_add(&records->extra_names, escaped,
                               (size_t)(bat_escape_name(escaped, name, strlen(name)) - escaped),
                               &translation->names[datum]);
    if (code == BAT_OK)
        translation->names[datum] += records->function_count;
    free(name);
    free(escaped);
    return code == BAT_OK ? BAT_OK : translation_fail(translation->error, code);
}

/* Name all data that the samples read, in the order of the samples. */
static enum bat_code name_data(struct memory_translation *translation)
{
    struct bat_data_symbols *data = translation->data;
    uint32_t count = bat_data_symbols_count(data);
    uint32_t samples = translation->profile->mem_samples.count;
    translation->names = malloc(((size_t)count + 1) * sizeof(*translation->names));
    uint8_t *wanted = calloc((size_t)count + 1, 1);
    if (!translation->names || !wanted) {
        free(wanted);
        return translation_fail(translation->error, BAT_ERR_MEMORY);
    }
    for (uint32_t i = 0; i < samples; i++) {
        uint32_t datum = bat_data_symbols_find(data, sample_at(translation, i)[1]);
        if (datum != BAT_NONE)
            wanted[datum] = 1;
    }
    enum bat_code code = bat_data_symbols_number(data, wanted, translation->error);
    for (uint32_t i = 0; i < samples && code == BAT_OK; i++) {
        uint32_t datum = bat_data_symbols_find(data, sample_at(translation, i)[1]);
        if (datum == BAT_NONE || !wanted[datum])
            continue;
        code = add_name(translation, datum);
        wanted[datum] = 0;
    }
    free(wanted);
    return code;
}

/* --- Records ------------------------------------------------------------------------------ */

/* The end of a record for the address that a load read. False if it is no data of the binary. */
static bool find_data(const struct memory_translation *translation, uint64_t address,
                      uint64_t *words)
{
    uint32_t datum = bat_data_symbols_find(translation->data, address);
    if (datum != BAT_NONE) {
        words[0] = bat_fdata_word(BAT_KIND_MEMORY, translation->names[datum]);
        words[1] = address - bat_data_symbols_address(translation->data, datum);
        return true;
    }
    uint32_t function;
    if (translation->find_place(translation->context, address, &function, &words[1])) {
        words[0] = bat_fdata_word(BAT_KIND_MEMORY, function);
        return true;
    }
    words[0] = bat_fdata_word(BAT_KIND_MEMORY_UNKNOWN, BAT_NAME_UNKNOWN);
    words[1] = address;
    return false;
}

static enum bat_code translate_sample(struct memory_translation *translation,
                                      const uint64_t *sample)
{
    struct bat_translate_counters *counters = &translation->records->counters;
    uint64_t count = sample[2];
    counters->memory_samples += count;
    uint32_t function;
    uint64_t key[4];
    if (!translation->find_place(translation->context, sample[0], &function, &key[1])) {
        counters->balances.loads.outside += count;
        return BAT_OK;
    }
    key[0] = bat_fdata_word(BAT_KIND_MEMORY, function);
    bool is_known = find_data(translation, sample[1], key + 2);
    if (!is_known && !translation->keep_unknown) {
        counters->memory_unknown += count;
        counters->balances.loads.left_out += count;
        return BAT_OK;
    }
    counters->memory_inside += count;
    counters->balances.loads.out += count;
    counters->records.in += count;
    enum bat_code code = bat_counts_add(&translation->records->branches, key, count, 0);
    return code == BAT_OK ? BAT_OK : translation_fail(translation->error, code);
}

enum bat_code bat_translate_memory(struct bat_records *records, const struct bat_profile *profile,
                                   const struct bat_elf *symbols, bool keep_unknown,
                                   bat_place_fn *find_place, void *context, struct bat_error *error)
{
    if (profile->mem_samples.count == 0)
        return BAT_OK;
    struct memory_translation translation = {.records = records,
                                             .profile = profile,
                                             .keep_unknown = keep_unknown,
                                             .find_place = find_place,
                                             .context = context,
                                             .error = error};
    enum bat_code code = bat_data_symbols_open(symbols, &translation.data, error);
    code = code ? code : name_data(&translation);
    for (uint32_t i = 0; i < profile->mem_samples.count && code == BAT_OK; i++)
        code = translate_sample(&translation, sample_at(&translation, i));
    free(translation.names);
    bat_data_symbols_free(translation.data);
    return code;
}
