/* SPDX-License-Identifier: MIT */
/* What the control groups of this process allow it. Input: the text files of cgroup v2 or v1.
 * Output: processors and memory; "no limit" where nothing says otherwise.
 * Threads: any. Bounds: 4 KiB of each file are read; a path has at most PATH_MAX bytes. */
#ifndef POWER_OS_CGROUP_H
#define POWER_OS_CGROUP_H

#include <stdint.h>

struct power_cgroup_limits {
    uint64_t cpus;         /* quota over period, rounded up; UINT64_MAX: no limit */
    uint64_t memory_bytes; /* UINT64_MAX: no limit */
};

/* `membership` is /proc/self/cgroup, `root` is /sys/fs/cgroup; tests give files of their own. The
 * least limit on the way from the group up to the root counts. */
struct power_cgroup_limits power_cgroup_read(const char *membership, const char *root);

#endif
