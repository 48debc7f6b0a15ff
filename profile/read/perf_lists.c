/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a file of perf lists without becoming a profile: mapped files, call chains. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elfnote/regular_file.h"
#include "profile/perf/perf_data.h"
#include "profile/perf/script.h"
#include "read_profile.h"
#include "spec/options.h"

/*
 * Open a file or folder, which can be read twice as no stream can. The caller closes *file, unless
 * this fails.
 */
static enum bat_code open_profile(const char *path, int *file, struct stat *status,
                                  struct bat_error *error)
{
    *file = bat_regular_open(AT_FDCWD, path);
    if (*file < 0 && errno == EISDIR)
        *file = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (*file >= 0 && fstat(*file, status) == 0)
        return BAT_OK;
    int reason = errno;
    if (*file >= 0)
        close(*file);
    if (reason == ENXIO)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected a file or folder, which can be read twice, found a pipe or a "
                        "device");
    return bat_fail(error, BAT_ERR_IO, "%s", strerror(reason));
}

/* *result is true for perf.data, and for a folder, which is opened as one of perf record. */
static enum bat_code is_perf_data(int file, const struct stat *status, bool *result,
                                  struct bat_error *error)
{
    uint8_t head[PERF_DATA_MAGIC_SIZE];
    size_t head_size = 0;
    enum bat_code code = BAT_OK;
    if (S_ISREG(status->st_mode))
        code = bat_form_read_head(file, false, head, &head_size, error);
    *result = S_ISDIR(status->st_mode) || perf_data_is(head, head_size);
    return code;
}

/* *result is true for the text of perf script. Text of no known form is no error here. */
static enum bat_code is_script(int file, const struct stat *status, bool *result,
                               struct bat_error *error)
{
    reader_fn *reader = NULL;
    struct bat_error own = {.code = BAT_OK};
    *result = false;
    if (!S_ISREG(status->st_mode) || status->st_size == 0)
        return BAT_OK;
    enum bat_code code = bat_form_probe(file, &reader, result, &own);
    if (code != BAT_ERR_MEMORY && code != BAT_ERR_IO)
        return BAT_OK;
    if (error)
        *error = own;
    return code;
}

static enum bat_code list_mapped(int file, const struct stat *status, bat_mapped_file_fn *found,
                                 void *context, struct bat_error *error)
{
    bool is_data;
    bool is_text;
    enum bat_code code = is_perf_data(file, status, &is_data, error);
    if (code == BAT_OK && is_data)
        return perf_data_list_files(file, found, context, error);
    if (code == BAT_OK)
        code = is_script(file, status, &is_text, error);
    if (code != BAT_OK)
        return code;
    if (is_text)
        return perf_script_list_files(file, (uint64_t)status->st_size, found, context, error);
    return bat_fail(error, BAT_ERR_UNSUPPORTED,
                    "expected perf.data or the text of perf script, found something else");
}

enum bat_code bat_mapped_files(const char *path, bat_mapped_file_fn *found, void *context,
                               struct bat_error *error)
{
    int file;
    struct stat status;
    enum bat_code code = open_profile(path, &file, &status, error);
    if (code != BAT_OK)
        return code;
    code = list_mapped(file, &status, found, context, error);
    close(file);
    return code;
}

enum bat_code bat_profile_call_chains(const struct bat_profile *profile, const char *path,
                                      const struct bat_read_options *options,
                                      bat_call_chain_fn *found, void *context,
                                      struct bat_error *error)
{
    struct bat_read_options own;
    enum bat_code code = bat_options_copy(&own, sizeof(own), options, "bat_read_options", error);
    int file;
    struct stat status;
    if (code == BAT_OK)
        code = open_profile(path, &file, &status, error);
    if (code != BAT_OK)
        return code;
    bool is_data;
    code = is_perf_data(file, &status, &is_data, error);
    if (code == BAT_OK)
        code = is_data ? perf_data_list_chains(profile, file, &own, found, context, error)
                       : bat_fail(error, BAT_ERR_UNSUPPORTED,
                                  "expected a perf.data file, found something else");
    close(file);
    return code;
}
