/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The library's version is the project's; PROJECT_VERSION comes from CMake. */
#include <batkit/bat_version.h>

#include "unit_test.h"

TEST(test_text_is_the_projects)
{
    assert_string_equal(bat_version(), PROJECT_VERSION);
    assert_string_equal(BATKIT_VERSION, PROJECT_VERSION);
}

TEST(test_number_is_of_the_text)
{
    unsigned major, minor, patch;
    assert_int_equal(sscanf(PROJECT_VERSION, "%u.%u.%u", &major, &minor, &patch), 3);
    assert_int_equal(bat_version_number(), major * 10000 + minor * 100 + patch);
    assert_int_equal(BATKIT_VERSION_NUMBER, bat_version_number());
}
