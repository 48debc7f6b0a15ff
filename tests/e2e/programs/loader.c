/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Loads the shared library that its first argument names and runs its driver_main() on the rest. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int (*driver)(int, char **);
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) {
        fprintf(stderr, "loader: %s\n", argc > 1 ? dlerror() : "no library was named");
        return 2;
    }
    *(void **)&driver = dlsym(library, "driver_main");
    if (!driver) {
        fprintf(stderr, "loader: %s\n", dlerror());
        return 2;
    }
    return driver(argc - 1, argv + 1);
}
