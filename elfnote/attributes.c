/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Gives a new file the attributes of its model, which is the file that it replaces or a file that
 * the caller has opened: owner, access control list and other extended attributes, mode. They are
 * read as late as possible, because access may have been narrowed meanwhile, and set in an order
 * that never gives anybody more access than in the end.
 */
#include "replace_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ACCESS_LIST "system.posix_acl_access"

/* --- The model: an open file, or the existing file by a path ------------------------------- */

static int model_stat(const struct replacement *replacement, struct stat *status)
{
    char path[REPLACEMENT_OPEN_PATH];
    return replacement->model >= 0 ? fstat(replacement->model, status)
                                   : stat(replacement_existing_path(replacement, path), status);
}

static ssize_t model_list(const struct replacement *replacement, char *names, size_t size)
{
    char path[REPLACEMENT_OPEN_PATH];
    return replacement->model >= 0
               ? flistxattr(replacement->model, names, size)
               : listxattr(replacement_existing_path(replacement, path), names, size);
}

static ssize_t model_get(const struct replacement *replacement, const char *name, void *value,
                         size_t size)
{
    char path[REPLACEMENT_OPEN_PATH];
    return replacement->model >= 0
               ? fgetxattr(replacement->model, name, value, size)
               : getxattr(replacement_existing_path(replacement, path), name, value, size);
}

/* --- Extended attributes ------------------------------------------------------------------ */

static enum bat_code fail_attribute(const struct replacement *replacement, const char *name,
                                    struct bat_error *error)
{
    return bat_fail(error, BAT_ERR_IO,
                    "cannot write %s: the extended attribute %s cannot be carried over to the new "
                    "file: %m",
                    replacement->path, name);
}

/*
 * The names of the model's attributes, each with its terminator, in memory that the caller frees;
 * NULL, *size 0, if it has none.
 */
static enum bat_code list_attributes(const struct replacement *replacement, char **names,
                                     size_t *size, struct bat_error *error)
{
    *names = NULL;
    *size = 0;
    ssize_t most = model_list(replacement, NULL, 0);
    if (most < 0 && errno == ENOTSUP)
        return BAT_OK;
    if (most < 0)
        return replacement_fail(replacement, error);
    if (most == 0)
        return BAT_OK;
    *names = malloc((size_t)most);
    BAT_TRY_MEMORY(*names, error, "for the extended attributes");
    ssize_t got = model_list(replacement, *names, (size_t)most);
    if (got < 0)
        return replacement_fail(replacement, error);
    *size = (size_t)got;
    return BAT_OK;
}

/* Signatures of the content: those of the old content are wrong; the kernel makes new ones. */
static bool describes_content(const char *name)
{
    return strcmp(name, "security.ima") == 0 || strcmp(name, "security.evm") == 0;
}

/* An attribute's value, in memory that the caller frees. On failure *size is -1, errno is set. */
static void *get_attribute(const struct replacement *replacement, const char *name, ssize_t *size)
{
    *size = model_get(replacement, name, NULL, 0);
    /* One byte more than the value: with a size of 0 the call would only ask for the size again. */
    size_t capacity = *size < 0 ? 0 : (size_t)*size + 1;
    void *value = capacity ? malloc(capacity) : NULL;
    if (*size >= 0)
        *size = value ? model_get(replacement, name, value, capacity) : -1;
    return value;
}

/* True if the new file has this value already: it often gets the folder's security label. */
static bool has_value(const struct replacement *replacement, const char *name, const void *value,
                      size_t size)
{
    char *own = malloc(size + 1);
    ssize_t own_size = own ? fgetxattr(replacement->file, name, own, size) : -1;
    bool is_same = own_size >= 0 && (size_t)own_size == size && memcmp(own, value, size) == 0;
    free(own);
    return is_same;
}

static enum bat_code carry_attribute(const struct replacement *replacement, const char *name,
                                     struct bat_error *error)
{
    ssize_t size = 0;
    void *value = get_attribute(replacement, name, &size);
    bool is_carried =
        size >= 0 && (has_value(replacement, name, value, (size_t)size) ||
                      fsetxattr(replacement->file, name, value, (size_t)size, 0) == 0);
    enum bat_code code = is_carried ? BAT_OK : fail_attribute(replacement, name, error);
    free(value);
    return code;
}

/* Remove the access control list that the folder gives to new files: the model has none. */
static enum bat_code drop_inherited(const struct replacement *replacement, struct bat_error *error)
{
    if (fremovexattr(replacement->file, ACCESS_LIST) == 0 || errno == ENODATA || errno == ENOTSUP)
        return BAT_OK;
    return replacement_fail(replacement, error);
}

/* *has_access_list says whether the new file has an access control list in the end. */
static enum bat_code carry_attributes(const struct replacement *replacement, bool *has_access_list,
                                      struct bat_error *error)
{
    char *names;
    size_t size;
    *has_access_list = false;
    enum bat_code code = list_attributes(replacement, &names, &size, error);
    for (size_t at = 0; at < size && code == BAT_OK; at += strlen(names + at) + 1) {
        *has_access_list |= strcmp(names + at, ACCESS_LIST) == 0;
        if (!describes_content(names + at))
            code = carry_attribute(replacement, names + at, error);
    }
    free(names);
    return code == BAT_OK && !*has_access_list ? drop_inherited(replacement, error) : code;
}

/* --- Owner and mode ----------------------------------------------------------------------- */

/*
 * Give the new file the model's owner and group if the caller may. Returns the mode for the new
 * file: without the set-id bit of an owner or group that could not be set; members of another group
 * get no more access than everybody.
 */
static mode_t carry_owner(const struct replacement *replacement, const struct stat *model,
                          const struct stat *now, bool *has_group)
{
    mode_t mode = model->st_mode & (S_ISUID | S_ISGID | S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO);
    *has_group =
        now->st_gid == model->st_gid || fchown(replacement->file, (uid_t)-1, model->st_gid) == 0;
    if (!*has_group)
        mode &= ~(mode_t)S_ISGID & ~(S_IRWXG & ~((mode & S_IRWXO) << 3));
    if (now->st_uid != model->st_uid && fchown(replacement->file, model->st_uid, (gid_t)-1) != 0)
        mode &= ~(mode_t)S_ISUID;
    return mode;
}

/* Owner first: a change of owner clears set-id bits and capabilities. */
enum bat_code replacement_take_attributes(struct replacement *replacement, struct bat_error *error)
{
    struct stat model;
    struct stat now;
    if (model_stat(replacement, &model) != 0 || fstat(replacement->file, &now) != 0)
        return replacement_fail(replacement, error);
    bool has_group = false;
    bool has_access_list = false;
    mode_t mode = carry_owner(replacement, &model, &now, &has_group);
    enum bat_code code = BAT_OK;
    if (replacement->is_stored)
        mode = S_IRUSR | S_IWUSR | (mode & (S_IRGRP | S_IROTH));
    else
        code = carry_attributes(replacement, &has_access_list, error);
    if (code != BAT_OK)
        return code;
    /* With an access control list, the mode's group bits are its mask, not the group's access. */
    if (has_access_list && !has_group)
        return bat_fail(error, BAT_ERR_IO,
                        "cannot write %s: the file has an access control list, and its group "
                        "cannot be carried over to the new file",
                        replacement->path);
    if (fchmod(replacement->file, mode) != 0)
        return replacement_fail(replacement, error);
    return BAT_OK;
}
