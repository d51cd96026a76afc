/* SPDX-License-Identifier: MIT */
/* Limits that control groups put on processors and memory.
 * Input: the membership file and the mounted hierarchy, v2 or v1. Output: the least limits found.
 * Threads: any.
 * Bounds: 4 KiB of each file. What is absent or unreadable limits nothing. */
#include "os/cgroup.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 4096 };

static bool read_text(const char *path, char text[TEXT_BYTES]) {
    FILE *file = fopen(path, "re");
    if (!file) return false;
    size_t n = fread(text, 1, TEXT_BYTES - 1, file);
    fclose(file);
    text[n] = '\0';
    return n > 0;
}

static bool read_in(const char *folder, const char *name, char text[TEXT_BYTES]) {
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path && read_text(path, text);
}

static void lower_cpus(struct power_cgroup_limits *limits, uint64_t quota, uint64_t period) {
    if (period == 0 || quota == 0) return;
    uint64_t cpus = quota / period + (quota % period != 0);
    if (cpus < limits->cpus) limits->cpus = cpus;
}

static void read_folder(const char *folder, struct power_cgroup_limits *limits) {
    char text[TEXT_BYTES], other[TEXT_BYTES];
    uint64_t quota, period, bytes;
    if (read_in(folder, "cpu.max", text)) {
        if (sscanf(text, "%" SCNu64 " %" SCNu64, &quota, &period) == 2) {
            lower_cpus(limits, quota, period);
        }
    } else if (read_in(folder, "cpu.cfs_quota_us", text) && text[0] != '-' &&
               read_in(folder, "cpu.cfs_period_us", other)) {
        lower_cpus(limits, strtoull(text, NULL, 10), strtoull(other, NULL, 10));
    }
    if (read_in(folder, "memory.max", text) || read_in(folder, "memory.limit_in_bytes", text)) {
        bool number = sscanf(text, "%" SCNu64, &bytes) == 1;
        if (number && bytes < limits->memory_bytes) limits->memory_bytes = bytes;
    }
}

/* The group's folder and all above it, up to `root` itself. */
static void read_upwards(const char *root, const char *group, struct power_cgroup_limits *limits) {
    char folder[PATH_MAX];
    int n = snprintf(folder, sizeof folder, "%s%s", root, group);
    if (n < 0 || (size_t)n >= sizeof folder) return;
    size_t root_length = strlen(root);
    for (;;) {
        read_folder(folder, limits);
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < root_length) break;
        *slash = '\0';
    }
}

/* One line of the membership file: "0::/path" in v2, "3:cpu,cpuacct:/path" in v1. */
static void read_line(const char *root, char *line, struct power_cgroup_limits *limits) {
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return;
    *group++ = '\0';
    controllers++;
    if (group[0] != '/' || strstr(group, "..")) return;
    if (controllers[0] == '\0') {
        read_upwards(root, group, limits);
        return;
    }
    bool wanted = strstr(controllers, "memory") || strcmp(controllers, "cpu") == 0 ||
                  strncmp(controllers, "cpu,", 4) == 0 || strstr(controllers, ",cpu");
    char mounted[PATH_MAX];
    int n = snprintf(mounted, sizeof mounted, "%s/%s", root, controllers);
    if (wanted && n > 0 && (size_t)n < sizeof mounted) read_upwards(mounted, group, limits);
}

struct power_cgroup_limits power_cgroup_read(const char *membership, const char *root) {
    struct power_cgroup_limits limits = {UINT64_MAX, UINT64_MAX};
    char text[TEXT_BYTES];
    if (!read_text(membership, text)) return limits;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        read_line(root, line, &limits);
    }
    return limits;
}
