/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a file of perf lists without becoming a profile: mapped files, call chains. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elfnote/descriptors.h"
#include "profile/perf/perf_data.h"
#include "profile/perf/recording.h"
#include "read_profile.h"
#include "spec/options.h"

/*
 * Open a file or folder, which can be read twice as no stream can. The caller closes from->file,
 * unless this fails.
 */
static enum bat_code open_profile(const char *path, struct profile_file *from,
                                  struct bat_error *error)
{
    int file = bat_regular_open(AT_FDCWD, path);
    if (file < 0 && errno == EISDIR)
        file = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (file < 0 && errno == ENXIO)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected a file or folder, which can be read twice, found a pipe or a "
                        "device");
    if (file < 0)
        return bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
    enum bat_code code = bat_form_find(from, path, file, NULL, error);
    if (code != BAT_OK)
        close(file);
    return code;
}

/*
 * *result is true for the text of perf script. Text of no known form is no error here, but one that
 * is known not to be a profile is: BAT_ERR_UNSUPPORTED.
 */
static enum bat_code is_script(const struct profile_file *from, bool *result,
                               struct bat_error *error)
{
    enum text_form form;
    struct bat_error own = {.code = BAT_OK};
    enum bat_code code = bat_form_probe(from->file, &form, &own);
    *result = code == BAT_OK && form == TEXT_SCRIPT;
    if (code == BAT_ERR_SYNTAX && own.place == BAT_PLACE_NONE)
        code = own.code = BAT_ERR_UNSUPPORTED;
    if (code != BAT_ERR_MEMORY && code != BAT_ERR_IO && code != BAT_ERR_UNSUPPORTED)
        return BAT_OK;
    if (error)
        *error = own;
    return code;
}

/* Find out which form of a recording it is. */
static enum bat_code find_source(const struct profile_file *from, struct perf_source *source,
                                 struct bat_error *error)
{
    *source = (struct perf_source){.file = from->file};
    if (from->reader == READ_STACKS)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected perf.data or the text of perf script, found another file, as "
                        "pprof's and OpenTelemetry's profiles are");
    enum bat_code code =
        from->reader == READ_PERF_DATA ? BAT_OK : is_script(from, &source->is_text, error);
    if (code != BAT_OK || from->reader == READ_PERF_DATA || source->is_text)
        return code;
    struct stat status;
    const bool is_empty =
        fstat(from->file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0;
    return bat_fail(error, BAT_ERR_UNSUPPORTED,
                    "expected perf.data or the text of perf script, found %s",
                    is_empty ? "an empty file" : "something else");
}

/* Open a recording in one of these forms; on success the caller closes from->file. */
static enum bat_code open_recording(const char *path, struct profile_file *from,
                                    struct perf_source *source, struct bat_error *error)
{
    BAT_TRY(open_profile(path, from, error));
    enum bat_code code = find_source(from, source, error);
    if (code != BAT_OK)
        close(from->file);
    return code;
}

enum bat_code bat_mapped_files(const char *path, bat_mapped_file_fn *found, void *context,
                               struct bat_error *error)
{
    struct profile_file from;
    struct perf_source source;
    BAT_TRY(open_recording(path, &from, &source, error));
    enum bat_code code = perf_list_files(&source, found, context, error);
    close(from.file);
    return code;
}

enum bat_code perf_recording_read(const char *path, perf_recording_fn *take, void *context,
                                  struct bat_error *error)
{
    struct profile_file from;
    struct perf_source source;
    enum bat_code code;
    BAT_TRY(open_profile(path, &from, error));
    if (from.reader == READ_STACKS) {
        code = bat_stacks_take_recording(from.file, take, context, error);
    } else {
        code = find_source(&from, &source, error);
        code = code ? code : perf_recording_read_source(&source, take, context, error);
    }
    close(from.file);
    return code;
}

enum bat_code bat_profile_call_chains(const struct bat_profile *profile, const char *path,
                                      const struct bat_read_options *options,
                                      bat_call_chain_fn *found, void *context,
                                      struct bat_error *error)
{
    struct bat_read_options own;
    enum bat_code code = bat_options_copy(&own, sizeof(own), options, "bat_read_options", error);
    struct profile_file from;
    struct perf_source source;
    BAT_TRY(code);
    BAT_TRY(open_profile(path, &from, error));
    if (from.reader == READ_STACKS) {
        code = bat_stacks_list_chains(profile, from.file, &own, found, context, error);
    } else {
        code = find_source(&from, &source, error);
        code = code ? code : perf_data_list_chains(profile, &source, &own, found, context, error);
    }
    close(from.file);
    return code;
}
