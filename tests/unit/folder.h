/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Folders of tests. */
#ifndef BAT_TEST_FOLDER_H
#define BAT_TEST_FOLDER_H

#include <dirent.h>

#include "unit_test.h"

/* The number of files in a folder, to check that no temporary one is left. */
static inline unsigned count_files(const char *folder)
{
    unsigned count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count - 2; /* "." and ".." */
}

#endif
