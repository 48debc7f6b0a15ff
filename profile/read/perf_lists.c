/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a perf.data file lists without becoming a profile: mapped files, call chains. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/perf/perf_data.h"
#include "read_profile.h"
#include "spec/options.h"

/* Open a file or folder of perf record, which can be read twice. The caller closes *file. */
static enum bat_code open_perf_data(const char *path, int *file, struct bat_error *error)
{
    *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (*file < 0 || fstat(*file, &status) != 0) {
        int reason = errno;
        if (*file >= 0)
            close(*file);
        return bat_fail(error, BAT_ERR_IO, "%s", strerror(reason));
    }
    if (S_ISDIR(status.st_mode))
        return BAT_OK;
    uint8_t head[PERF_DATA_MAGIC_SIZE];
    size_t head_size = 0;
    enum bat_code code = BAT_OK;
    if (S_ISREG(status.st_mode))
        code = bat_form_read_head(*file, false, head, &head_size, error);
    if (code == BAT_OK && !perf_data_is(head, head_size))
        code =
            bat_fail(error, BAT_ERR_UNSUPPORTED, "expected a perf.data file, found something else");
    if (code != BAT_OK)
        close(*file);
    return code;
}

enum bat_code bat_mapped_files(const char *path, bat_mapped_file_fn *found, void *context,
                               struct bat_error *error)
{
    int file;
    enum bat_code code = open_perf_data(path, &file, error);
    if (code != BAT_OK)
        return code;
    code = perf_data_list_files(file, found, context, error);
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
    if (code == BAT_OK)
        code = open_perf_data(path, &file, error);
    if (code != BAT_OK)
        return code;
    code = perf_data_list_chains(profile, file, &own, found, context, error);
    close(file);
    return code;
}
