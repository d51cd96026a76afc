// SPDX-License-Identifier: MIT
// A C++ program outside the tree. Input: the version it expects, and a model file to open if given.
// Output: exit 0 when the library answers as its headers say. Threads: one. Bounds: none.
#include <power/power.h>

#include <iostream>
#include <memory>
#include <string>

namespace {
struct close_runtime {
    void operator()(power_runtime *runtime) const {
        power_runtime_close(runtime);
    }
};
struct close_model {
    void operator()(power_model *model) const {
        power_model_close(model);
    }
};
} // namespace

int main(int argc, char **argv) {
    if (argc < 2 || std::string(argv[1]) != power_version()) return 1;
    power_error error{};
    power_runtime *opened = nullptr;
    if (power_runtime_open(nullptr, &opened, &error) != POWER_OK) {
        std::cerr << error.message << '\n';
        return 1;
    }
    const std::unique_ptr<power_runtime, close_runtime> runtime(opened);
    if (power_runtime_device(runtime.get()) == nullptr) return 1;
    if (argc < 3) return 0;
    power_model *loaded = nullptr;
    if (power_model_open(runtime.get(), argv[2], nullptr, &loaded, &error) != POWER_OK) {
        std::cerr << error.message << '\n';
        return 1;
    }
    const std::unique_ptr<power_model, close_model> model(loaded);
    power_model_info info{};
    info.struct_size = sizeof info;
    if (power_model_get_info(model.get(), &info, &error) != POWER_OK) return 1;
    return info.n_layers > 0 && info.n_vocab > 0 ? 0 : 1;
}
