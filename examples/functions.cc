/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * In C++: prints the functions that BOLT rewrote in a binary, those with the most fragments first.
 *
 *     functions BINARY
 */
#include <batkit/bat_binary.h>
#include <batkit/bat_version.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/* A BOLTed binary that is closed by its destructor; errors become exceptions. */
class Binary
{
  public:
    explicit Binary(const char *path)
    {
        bat_error error;
        check(bat_binary_open(path, &binary, &error), error);
    }
    ~Binary()
    {
        bat_binary_close(&binary);
    }
    Binary(const Binary &) = delete;
    Binary &operator=(const Binary &) = delete;

    const bat_map &map() const
    {
        return *binary.map;
    }

    /* The name of each table; empty if it has none. */
    std::vector<std::string> table_names()
    {
        const char **names;
        bat_error error;
        check(bat_binary_table_names(&binary, &names, &error), error);
        std::unique_ptr<const char *, decltype(&std::free)> owner(names, &std::free);
        std::vector<std::string> result(bat_map_tables(binary.map));
        for (std::size_t i = 0; i < result.size(); i++)
            result[i] = names[i] ? names[i] : "";
        return result;
    }

  private:
    static void check(bat_code code, const bat_error &error)
    {
        if (code == BAT_OK)
            return;
        char text[BAT_MESSAGE_SIZE + 64];
        bat_error_text(&error, text, sizeof(text));
        throw std::runtime_error(text);
    }

    bat_binary binary;
};

int main(int argc, char **argv)
{
    if (argc != 2) {
        std::fprintf(stderr, "usage: functions BINARY (batkit %s)\n", bat_version());
        return 2;
    }
    try {
        Binary binary(argv[1]);
        const std::vector<std::string> names = binary.table_names();
        std::vector<std::pair<std::uint32_t, std::string>> functions;
        for (std::uint32_t hot = 0; hot < binary.map().hot_count; hot++)
            functions.emplace_back(binary.map().fragment_start[hot + 1] -
                                       binary.map().fragment_start[hot],
                                   names[hot]);
        std::stable_sort(
            functions.begin(), functions.end(),
            [](const auto &one, const auto &other) { return one.first > other.first; });
        for (const auto &[fragments, name] : functions)
            std::printf("%u fragments: %s\n", fragments, name.c_str());
    } catch (const std::exception &error) {
        std::fprintf(stderr, "functions: %s: %s\n", argv[1], error.what());
        return 1;
    }
    return 0;
}
