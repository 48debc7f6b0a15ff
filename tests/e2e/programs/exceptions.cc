// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exceptions through several frames with destructors: landing pads and .cold functions, which GCC
// splits off at -O2 because throwing is unlikely.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{
int alive = 0;

struct Guard {
    explicit Guard(int value) : value(value)
    {
        ++alive;
    }
    ~Guard()
    {
        --alive;
    }
    int value;
};

[[gnu::noinline]] int parse_digit(char c)
{
    Guard guard(c);
    if (c < '0' || c > '9')
        throw std::invalid_argument(std::string("not a digit: ") + c);
    return c - '0';
}

[[gnu::noinline]] int parse_number(const std::string &text)
{
    Guard guard(static_cast<int>(text.size()));
    std::vector<int> digits;
    for (char c : text)
        digits.push_back(parse_digit(c));
    int value = 0;
    for (int digit : digits) {
        if (value > 1000000)
            throw std::range_error("too large: " + text);
        value = value * 10 + digit;
    }
    return value;
}

[[gnu::noinline]] int parse_or_default(const std::string &text, int otherwise)
{
    try {
        return parse_number(text);
    } catch (const std::invalid_argument &error) {
        return otherwise + static_cast<int>(std::string(error.what()).size());
    }
}

[[gnu::noinline]] int parse_all(int round)
{
    int sum = 0;
    for (int i = 0; i < 10; i++) {
        std::string text = std::to_string(round * 37 + i);
        if ((round + i) % 7 == 0)
            text += 'x';
        if ((round + i) % 31 == 0)
            text += "00000000";
        try {
            sum += parse_or_default(text, i);
        } catch (const std::range_error &) {
            sum -= 3;
        }
    }
    return sum;
}
} // namespace

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
    unsigned sum = 0;
    for (int round = 0; round < rounds; round++)
        sum = sum * 5 + static_cast<unsigned>(parse_all(round));
    std::printf("%d rounds, sum %08x, alive %d\n", rounds, sum, alive);
    return 0;
}
