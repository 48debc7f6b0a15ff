// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Switch statements, computed gotos, virtual calls and exceptions, besides what of the C++ library
// is linked in. The program itself is not run: its functions are only looked at.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{
struct Node {
    virtual ~Node() = default;
    virtual int value(int x) const = 0;
};

struct Number : Node {
    explicit Number(int number) : number(number)
    {
    }
    int value(int) const override
    {
        return number;
    }
    int number;
};

struct Variable : Node {
    int value(int x) const override
    {
        return x;
    }
};

struct Binary : Node {
    Binary(char operation, std::unique_ptr<Node> left, std::unique_ptr<Node> right)
        : operation(operation), left(std::move(left)), right(std::move(right))
    {
    }
    int value(int x) const override;
    char operation;
    std::unique_ptr<Node> left;
    std::unique_ptr<Node> right;
};

int Binary::value(int x) const
{
    int a = left->value(x);
    int b = right->value(x);
    switch (operation) {
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '*':
        return a * b;
    case '/':
        if (b == 0)
            throw std::runtime_error("division by zero");
        return a / b;
    case '%':
        if (b == 0)
            throw std::domain_error("remainder by zero");
        return a % b;
    case ',':
        return b;
    case '.':
        return a;
    case '&':
        return a & b;
    default:
        throw std::invalid_argument(std::string("operation ") + operation);
    }
}

[[gnu::noinline]] int classify(int c)
{
    switch (c & 31) {
    case 0:
        return std::puts("zero");
    case 1:
        return std::puts("one");
    case 2:
        return 17;
    case 3:
        return c * 3;
    case 4:
        return c - 9;
    case 5:
        return c ^ 5;
    case 7:
        return std::abs(c);
    case 9:
        return c << 2;
    case 11:
        __builtin_unreachable();
    case 12:
        return -c;
    case 13:
        return c / 7;
    case 14:
        throw c;
    default:
        return 0;
    }
}

[[gnu::noinline]] int evaluate(const std::string &text, int x)
{
    std::vector<std::unique_ptr<Node>> stack;
    try {
        for (char c : text) {
            if (c >= '0' && c <= '9') {
                stack.push_back(std::make_unique<Number>(c - '0'));
            } else if (c == 'x') {
                stack.push_back(std::make_unique<Variable>());
            } else {
                auto right = std::move(stack.at(stack.size() - 1));
                stack.pop_back();
                auto left = std::move(stack.at(stack.size() - 1));
                stack.pop_back();
                stack.push_back(std::make_unique<Binary>(c, std::move(left), std::move(right)));
            }
        }
        return stack.at(0)->value(x);
    } catch (const std::runtime_error &) {
        return -1;
    } catch (const std::logic_error &error) {
        return -static_cast<int>(std::string(error.what()).size());
    }
}

[[gnu::noinline]] int interpret(const unsigned char *code, int size)
{
    static const void *const operations[] = {&&add, &&subtract, &&multiply, &&print, &&skip, &&end};
    int sum = 0;
    int at = 0;
#define NEXT goto *operations[at < size ? code[at++] % 6 : 5]
    NEXT;
add:
    sum += at;
    NEXT;
subtract:
    sum -= 3;
    NEXT;
multiply:
    sum *= 7;
    NEXT;
print:
    std::printf("%d\n", sum);
    NEXT;
skip:
    at += sum & 3;
    NEXT;
end:
    return sum;
}
} // namespace

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
    std::map<std::string, int> results;
    for (int i = 0; i < rounds; i++) {
        std::string text = std::string("x") + static_cast<char>('0' + i % 10) + "+-*/%,.&?"[i % 9];
        results[text] += evaluate(text, i);
        try {
            results[text] += classify(i);
        } catch (int value) {
            results[text] -= value;
        }
    }
    std::ostringstream output;
    std::regex wanted("(x[0-9])+[+*]");
    for (const auto &result : results)
        if (std::regex_match(result.first, wanted))
            output << result.first << '=' << result.second << ';';
    unsigned char code[64];
    for (int i = 0; i < 64; i++)
        code[i] = static_cast<unsigned char>(i * rounds);
    std::cout << output.str() << interpret(code, 64) << std::endl;
    return 0;
}
