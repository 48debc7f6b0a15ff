// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Templates, lambdas and virtual functions that a compiler inlines deeply: AutoFDO's usual fare.
// The argument says how much work to do.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

namespace shapes
{
struct Shape {
    virtual ~Shape() = default;
    virtual uint64_t area() const = 0;
    virtual const char *name() const = 0;
};

class Box : public Shape
{
  public:
    Box(uint64_t width, uint64_t height) : width_(width), height_(height)
    {
    }
    uint64_t area() const override
    {
        return width_ * height_;
    }
    const char *name() const override
    {
        return "box";
    }

  private:
    uint64_t width_;
    uint64_t height_;
};

class Steps : public Shape
{
  public:
    explicit Steps(uint64_t count) : count_(count)
    {
    }
    uint64_t area() const override
    {
        uint64_t sum = 0;
        for (uint64_t i = 1; i <= count_; i++)
            sum += i % 3 == 0 ? i : i / 2;
        return sum;
    }
    const char *name() const override
    {
        return "steps";
    }

  private:
    uint64_t count_;
};
} // namespace shapes

template <typename T> class Ring
{
  public:
    explicit Ring(size_t size) : items_(size)
    {
    }
    void put(const T &item)
    {
        items_[next()] = item;
    }
    template <typename F> void each(F function) const
    {
        for (const T &item : items_)
            function(item);
    }

  private:
    size_t next()
    {
        at_ = at_ + 1 == items_.size() ? 0 : at_ + 1;
        return at_;
    }
    std::vector<T> items_;
    size_t at_ = 0;
};

static uint64_t random_state = 88172645463325252ULL;

static uint64_t next_random()
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

template <unsigned N> static uint64_t mix(uint64_t value)
{
    if constexpr (N == 0)
        return value;
    else
        return mix<N - 1>((value ^ value >> (N + 7)) * 0x9e3779b97f4a7c15ULL + N);
}

static uint64_t count_words(const std::string &text, std::unordered_map<std::string, int> &words)
{
    auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    uint64_t found = 0;
    for (auto at = text.begin(); at != text.end();) {
        at = std::find_if(at, text.end(), is_letter);
        auto end = std::find_if_not(at, text.end(), is_letter);
        if (at != end) {
            words[std::string(at, end)]++;
            found++;
        }
        at = end;
    }
    return found;
}

static std::string make_text(size_t words)
{
    std::string text;
    for (size_t i = 0; i < words; i++) {
        for (uint64_t letters = 2 + next_random() % 3; letters > 0; letters--)
            text += static_cast<char>('a' + next_random() % 4);
        text += next_random() % 5 == 0 ? ", " : " ";
    }
    return text;
}

__attribute__((noinline)) static uint64_t sort_and_sum(std::vector<uint64_t> &numbers, bool down)
{
    auto compare = [down](uint64_t a, uint64_t b) { return down ? b < a : a < b; };
    std::sort(numbers.begin(), numbers.end(), compare);
    uint64_t place = 0;
    return std::accumulate(numbers.begin(), numbers.end(), uint64_t{0},
                           [&place](uint64_t sum, uint64_t number) {
                               return sum + (++place & 3 ? number >> 3 : mix<3>(number));
                           });
}

__attribute__((noinline)) static uint64_t
visit(const std::vector<std::unique_ptr<shapes::Shape>> &all,
      const std::function<bool(const shapes::Shape &)> &want)
{
    uint64_t sum = 0;
    for (const auto &shape : all)
        if (want(*shape))
            sum += shape->area();
    return sum;
}

static uint64_t round_of_work(uint64_t number)
{
    Ring<uint64_t> ring(64);
    std::vector<uint64_t> numbers;
    for (int i = 0; i < 150; i++) {
        numbers.push_back(next_random() % 1000);
        ring.put(mix<5>(numbers.back()));
    }
    uint64_t sum = sort_and_sum(numbers, number % 2 != 0);
    ring.each([&sum](uint64_t item) { sum ^= item % 7 == 0 ? item : item << 1; });

    std::unordered_map<std::string, int> words;
    sum += count_words(make_text(40), words);
    std::map<int, unsigned> by_count;
    for (const auto &entry : words)
        by_count[entry.second]++;
    for (const auto &entry : by_count)
        sum = sum * 31 + static_cast<uint64_t>(entry.first) * entry.second;

    std::vector<std::unique_ptr<shapes::Shape>> all;
    for (uint64_t i = 0; i < 20; i++) {
        if (i % 3 == 0)
            all.push_back(std::make_unique<shapes::Box>(i, number));
        else
            all.push_back(std::make_unique<shapes::Steps>(i + number % 5));
    }
    return sum + visit(all, [number](const shapes::Shape &shape) {
               return shape.name()[0] == (number % 4 == 0 ? 'b' : 's');
           });
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? strtoull(argv[1], nullptr, 10) : 10;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < rounds; i++)
        sum = sum * 33 + round_of_work(i);
    printf("%llx\n", static_cast<unsigned long long>(sum));
    return 0;
}
