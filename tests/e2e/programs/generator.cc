// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A coroutine that is resumed and destroyed by functions that do not know it.
#include <coroutine>

struct Numbers {
    struct promise_type {
        int value;
        Numbers get_return_object()
        {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() noexcept
        {
            return {};
        }
        std::suspend_always final_suspend() noexcept
        {
            return {};
        }
        std::suspend_always yield_value(int next)
        {
            value = next;
            return {};
        }
        void return_void()
        {
        }
        void unhandled_exception()
        {
        }
    };
    std::coroutine_handle<promise_type> handle;
};

[[gnu::noinline]] Numbers count_to(int end)
{
    for (int i = 0; i < end; i++)
        co_yield i * 3;
}

[[gnu::noinline]] void resume(std::coroutine_handle<> handle)
{
    handle.resume();
}

[[gnu::noinline]] void destroy(std::coroutine_handle<> handle)
{
    handle.destroy();
}

int main()
{
    unsigned sum = 0;
    for (int i = 0; i < 100; i++) {
        Numbers numbers = count_to(5);
        for (resume(numbers.handle); !numbers.handle.done(); resume(numbers.handle))
            sum += (unsigned)numbers.handle.promise().value;
        destroy(numbers.handle);
    }
    return sum != 3000;
}
