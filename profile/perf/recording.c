/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"
#include "spec/order.h"

void perf_recording_sort(struct perf_recorded_file *files, size_t count)
{
    BAT_SORT(files, count, BAT_DESCENDING(struct perf_recorded_file, samples),
             BAT_ASCENDING(struct perf_recorded_file, path));
}

static enum bat_code list_files(const struct perf_processes *processes,
                                struct perf_recording *recording, struct perf_recorded_file **files,
                                struct bat_error *error)
{
    struct perf_recorded_file *all = calloc((size_t)processes->names.count + 1, sizeof(*all));
    *files = all;
    BAT_TRY_MEMORY(all, error, "for the files of the recording");
    size_t count = 0;
    for (uint32_t i = 0; i < processes->names.count; i++) {
        const struct perf_object *object = &processes->objects[i];
        if (object->samples != 0)
            all[count++] =
                (struct perf_recorded_file){bat_strings_get(&processes->names, i), object->build_id,
                                            object->build_id_size, object->samples, object->stacks};
    }
    perf_recording_sort(all, count);
    recording->files = all;
    recording->file_count = count;
    return BAT_OK;
}

enum bat_code perf_recording_fill(const struct perf_session *session,
                                  struct perf_recording *recording,
                                  struct perf_recorded_file **files, struct bat_error *error)
{
    const struct perf_census_sums *census = &session->processes.census;
    const struct perf_attributes *attributes = &session->attributes;
    for (uint32_t i = 0; i < attributes->count && i < PERF_RECORDED_EVENTS; i++)
        perf_attribute_name(&attributes->items[i], recording->events[recording->event_count++],
                            PERF_RECORDED_NAME);
    snprintf(recording->machine, sizeof(recording->machine), "%s", session->processes.machine);
    recording->samples = session->text ? census->all : session->counters.perf_samples;
    recording->placed = census->all;
    recording->stacks = census->stacks;
    recording->kernel = census->kernel;
    recording->lost = session->counters.perf_lost;
    recording->has_trace_data = session->has_trace_data;
    recording->lacks_processes = session->text && session->text->lacks_processes;
    recording->is_for_people = session->text && session->text->for_people != 0;
    return list_files(&session->processes, recording, files, error);
}
