/* SPDX-License-Identifier: MIT */
/* Clocks, processors, memory and random numbers of the machine.
 * Input: what the kernel says. Output: numbers; where the kernel says nothing, a stated fallback.
 * Threads: any.
 * Bounds: none. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "os/cgroup.h"
#include "os/os.h"

enum { CPU_SET_FIRST = 1024, CPU_SET_LAST = 1 << 20 };

uint64_t power_clock_ns(void) {
    struct timespec now = {0};
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct power_cgroup_limits own_limits(void) {
    return power_cgroup_read("/proc/self/cgroup", "/sys/fs/cgroup");
}

/* Processors this thread may run on. The kernel refuses a set smaller than its own: grow until it
 * fits. */
static unsigned affinity_count(void) {
    for (int size = CPU_SET_FIRST; size <= CPU_SET_LAST; size *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)size);
        if (!set) break;
        size_t bytes = CPU_ALLOC_SIZE((size_t)size);
        int count = 0;
        bool fits = sched_getaffinity(0, bytes, set) == 0;
        if (fits) count = CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
        if (fits) return count > 0 ? (unsigned)count : 1;
        if (errno != EINVAL) break;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

unsigned power_usable_cpus(void) {
    unsigned cpus = affinity_count();
    uint64_t quota = own_limits().cpus;
    return quota < cpus ? (unsigned)quota : cpus;
}

uint64_t power_memory_total(void) {
    struct sysinfo info;
    uint64_t total = 0;
    if (sysinfo(&info) == 0) total = (uint64_t)info.totalram * info.mem_unit;
    uint64_t limit = own_limits().memory_bytes;
    return limit < total ? limit : total;
}

/* VmHWM, because the peak that getrusage knows outlives an exec. */
uint64_t power_memory_peak(void) {
    FILE *file = fopen("/proc/self/status", "re");
    uint64_t kib = 0;
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "VmHWM: %" SCNu64 " kB", &kib) == 1) break;
    }
    if (file) fclose(file);
    if (kib) return kib * 1024;
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

uint64_t power_memory_resident(void) {
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    uint64_t total = 0, resident = 0;
    int n = fscanf(file, "%" SCNu64 " %" SCNu64, &total, &resident);
    fclose(file);
    long page = sysconf(_SC_PAGESIZE);
    return n == 2 && page > 0 ? resident * (uint64_t)page : 0;
}

power_status power_random_bytes(void *out, size_t length, power_error *error) {
    unsigned char *at = out;
    while (length > 0) {
        ssize_t n = getrandom(at, length, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return power_fail_errno(error, POWER_IO, errno, "no random numbers");
        at += n;
        length -= (size_t)n;
    }
    return POWER_OK;
}
