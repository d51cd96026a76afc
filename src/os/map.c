/* SPDX-License-Identifier: MIT */
/* Mapped files and anonymous pages. Input: an open file, or a size. Output: addresses.
 * Threads: any.
 * Bounds: the callers'. A mapped file that shrinks raises SIGBUS on access: see guard.c. */
#include <errno.h>
#include <sys/mman.h>

#include "base/checked.h"
#include "os/os.h"

enum { HUGE_PAGE = 2 << 20 };

power_status power_map_file(struct power_mapping *out, const struct power_file *file,
                            power_error *error) {
    if (file->size_bytes == 0) {
        *out = (struct power_mapping){(const unsigned char *)"", 0};
        return POWER_OK;
    }
    if (file->size_bytes > SIZE_MAX) {
        return power_fail(error, POWER_LIMIT, "the file is larger than the address space");
    }
    size_t length = (size_t)file->size_bytes;
    void *at = mmap(NULL, length, PROT_READ, MAP_PRIVATE, file->fd, 0);
    if (at == MAP_FAILED) {
        int sys_errno = errno;
        return power_fail_errno(error, sys_errno == ENOMEM ? POWER_NO_MEMORY : POWER_IO, sys_errno,
                                "cannot map %zu bytes of a file", length);
    }
    *out = (struct power_mapping){at, length};
    return POWER_OK;
}

void power_unmap(struct power_mapping *mapping) {
    if (mapping->length) {
        union {
            const unsigned char *read;
            void *write;
        } at = {mapping->bytes};
        munmap(at.write, mapping->length);
    }
    *mapping = (struct power_mapping){NULL, 0};
}

static void *map_anonymous(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Starts on a huge page: maps more and gives the ends back. */
static void *map_huge(size_t bytes) {
    size_t wide;
    if (!power_add_size(bytes, HUGE_PAGE, &wide)) return NULL;
    unsigned char *at = map_anonymous(wide);
    if (!at) return NULL;
    size_t before = HUGE_PAGE - (size_t)((uintptr_t)at & (HUGE_PAGE - 1));
    if (before == HUGE_PAGE) before = 0;
    if (before) munmap(at, before);
    if (before < HUGE_PAGE) munmap(at + before + bytes, HUGE_PAGE - before);
    (void)madvise(at + before, bytes, MADV_HUGEPAGE);
    return at + before;
}

power_status power_pages_alloc(void **out, size_t bytes, power_error *error) {
    size_t rounded;
    if (!power_align_size(bytes ? bytes : 1, 4096, &rounded)) {
        return power_fail_memory(error, bytes, "pages");
    }
    void *at = rounded >= HUGE_PAGE ? map_huge(rounded) : NULL;
    if (!at) at = map_anonymous(rounded);
    if (!at) return power_fail_memory(error, bytes, "pages");
    *out = at;
    return POWER_OK;
}

void power_pages_free(void *pages, size_t bytes) {
    size_t rounded;
    if (!pages || !power_align_size(bytes ? bytes : 1, 4096, &rounded)) return;
    munmap(pages, rounded);
}
