/* SPDX-License-Identifier: MIT */
/* power doctor: what this build and machine can do. Input: nothing. Output: facts, one a line.
 * Owning thread: main. Bounds: none. */
#include "common.h"

#include "device/device.h"
#include "os/os.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

static const char name[] = "doctor";

static const struct {
    uint32_t bit;
    const char *name;
} features[] = {{POWER_CPU_AVX2, "avx2"},         {POWER_CPU_AVX512, "avx512"},
                {POWER_CPU_AVX512_VNNI, "vnni"},  {POWER_CPU_AVX_VNNI, "avx-vnni"},
                {POWER_CPU_AMX_INT8, "amx-int8"}, {POWER_CPU_NEON, "neon"},
                {POWER_CPU_DOTPROD, "dotprod"},   {POWER_CPU_I8MM, "i8mm"}};

static json_t *feature_list(void) {
    json_t *list = json_array();
    uint32_t have = power_cpu_features();
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++)
        if (have & features[i].bit) json_array_append_new(list, json_string(features[i].name));
    return list;
}

/* Whether the kernels of this processor were tested on the like, and else what their test says. */
static const char *self_test(const power_runtime *runtime) {
    if (!(power_cpu_features() & POWER_CPU_SELF_TESTED)) return "not needed";
    return strstr(power_runtime_device(runtime), "self-test failed") ? "failed" : "passed";
}

static json_t *architectures(void) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < power_architecture_count(); i++)
        json_array_append_new(list, json_string(power_architecture_name(i)));
    return list;
}

static json_t *tool_formats(void) {
    json_t *list = json_array();
    const char *format;
    for (size_t i = 0; (format = power_answer_formats(i)); i++)
        json_array_append_new(list, json_string(format));
    return list;
}

static void print_list(const char *label, const json_t *list) {
    char text[512];
    int n = snprintf(text, sizeof text, "%-14s", label);
    for (size_t i = 0; i < json_array_size(list) && n > 0 && (size_t)n < sizeof text - 64; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, " %s",
                      json_string_value(json_array_get(list, i)));
    if (!json_array_size(list)) n += snprintf(text + n, sizeof text - (size_t)n, " none");
    write_out(text, (size_t)n);
    write_out("\n", 1);
}

static int print_plain(const json_t *facts) {
    const char *key;
    json_t *value;
    void *iterator = json_object_iter((json_t *)(uintptr_t)facts);
    for (; iterator; iterator = json_object_iter_next((json_t *)(uintptr_t)facts, iterator)) {
        key = json_object_iter_key(iterator);
        value = json_object_iter_value(iterator);
        char text[256];
        if (json_is_array(value)) {
            print_list(key, value);
            continue;
        }
        int n = json_is_integer(value)
                    ? snprintf(text, sizeof text, "%-14s %" JSON_INTEGER_FORMAT "\n", key,
                               json_integer_value(value))
                    : snprintf(text, sizeof text, "%-14s %.200s\n", key, json_string_value(value));
        write_out(text, (size_t)n);
    }
    int rc = write_failed(name);
    return rc >= 0 ? rc : EXIT_OK;
}

int command_doctor(int argc, char **argv) {
    static const struct command command = {
        "doctor", "", "Shows what this build and this machine can do.", "power doctor --json",
        0,        0};
    int json = 0;
    const struct arg args[] = {{ARG_FLAG, "json", 0, NULL, "print JSON", &json, 0, 0},
                               {ARG_END, NULL, 0, NULL, NULL, NULL, 0, 0}};
    size_t count;
    power_runtime *runtime = NULL;
    power_error error = {.offset = POWER_NO_OFFSET};
    struct utsname system;
    char cache[512] = "";
    int rc = args_parse(&command, args, argc, argv, NULL, &count);
    if (rc >= 0) return rc;
    if (power_runtime_open(NULL, &runtime, &error)) return fail_with(name, &error);
    if (power_cache_path(cache, sizeof cache, "", NULL)) snprintf(cache, sizeof cache, "none");
    if (uname(&system)) snprintf(system.release, sizeof system.release, "unknown");
    json_t *facts = json_pack(
        "{s:s,s:s,s:o,s:s,s:s,s:I,s:I,s:s,s:s,s:o,s:o}", "version", power_version(), "device",
        power_runtime_device(runtime), "instructions", feature_list(), "self_test",
        self_test(runtime), "arithmetic", "power-arith-1", "threads",
        (json_int_t)power_usable_cpus(), "memory_bytes", (json_int_t)power_memory_total(), "kernel",
        system.release, "cache", cache, "models", architectures(), "tool_formats", tool_formats());
    power_runtime_close(runtime);
    if (!facts) return fail_text(name, "out of memory");
    if (json) return print_json(name, facts);
    rc = print_plain(facts);
    json_decref(facts);
    return rc;
}
