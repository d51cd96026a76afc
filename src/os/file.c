/* SPDX-License-Identifier: MIT */
/* Files: open, read, load whole, replace atomically; directories and the cache's place.
 * Input: paths from the caller. Output: handles, bytes, or a status with errno.
 * Threads: any; a power_file may be read by any number of threads at once.
 * Bounds: the callers'. Messages carry a file's last name only, never its folder. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "os/os.h"

enum { REPLACE_TRIES = 16 };

static struct power_quoted last_name(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash && slash[1] ? slash + 1 : path;
    return power_quote(name, strlen(name));
}

static power_status status_of_errno(int sys_errno) {
    if (sys_errno == ENOENT || sys_errno == ENOTDIR) return POWER_NOT_FOUND;
    if (sys_errno == ENOMEM) return POWER_NO_MEMORY;
    return POWER_IO;
}

/* A name for what is no regular file. */
static const char *kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "a directory";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISSOCK(mode)) return "a socket";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    return "no regular file";
}

power_status power_file_open(struct power_file *out, const char *path, power_error *error) {
    /* O_NONBLOCK: a FIFO without a writer must not hang us before fstat refuses it. */
    int fd;
    do {
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) {
        int sys_errno = errno;
        return power_fail_errno(error, status_of_errno(sys_errno), sys_errno, "cannot open \"%s\"",
                                last_name(path).text);
    }
    struct stat st;
    if (fstat(fd, &st) != 0) {
        int sys_errno = errno;
        close(fd);
        return power_fail_errno(error, POWER_IO, sys_errno, "cannot examine \"%s\"",
                                last_name(path).text);
    }
    if (!S_ISREG(st.st_mode)) {
        close(fd);
        return power_fail(error, POWER_INVALID, "\"%s\" is %s, not a file", last_name(path).text,
                          kind_of(st.st_mode));
    }
    *out = (struct power_file){fd, (uint64_t)st.st_size};
    return POWER_OK;
}

void power_file_close(struct power_file *file) {
    if (file->fd >= 0) close(file->fd);
    file->fd = -1;
}

power_status power_file_read(const struct power_file *file, uint64_t offset, void *out,
                             size_t length, power_error *error) {
    unsigned char *at = out;
    uint64_t end;
    if (!power_add_u64(offset, length, &end) || end > INT64_MAX) {
        return power_fail_at(error, POWER_INVALID, offset, "read past the largest file offset");
    }
    while (length > 0) {
        ssize_t n = pread(file->fd, at, length < SSIZE_MAX ? length : SSIZE_MAX, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            int sys_errno = errno;
            power_fail_errno(error, POWER_IO, sys_errno, "cannot read %zu bytes at %" PRIu64,
                             length, offset);
            if (error) error->offset = offset;
            return POWER_IO;
        }
        if (n == 0) {
            return power_fail_at(error, POWER_CHANGED, offset,
                                 "the file ends at %" PRIu64 " now, %zu bytes short", offset,
                                 length);
        }
        at += n;
        offset += (uint64_t)n;
        length -= (size_t)n;
    }
    return POWER_OK;
}

power_status power_file_identity(const struct power_file *file, struct power_file_identity *out,
                                 power_error *error) {
    struct stat st;
    if (fstat(file->fd, &st) != 0) {
        return power_fail_errno(error, POWER_IO, errno, "cannot examine a file");
    }
    *out = (struct power_file_identity){
        .device = st.st_dev,
        .inode = st.st_ino,
        .size_bytes = (uint64_t)st.st_size,
        .links = st.st_nlink,
        .mtime_s = st.st_mtim.tv_sec,
        .mtime_ns = st.st_mtim.tv_nsec,
        .ctime_s = st.st_ctim.tv_sec,
        .ctime_ns = st.st_ctim.tv_nsec,
    };
    return POWER_OK;
}

power_status power_file_load(struct power_arena *arena, const char *path, size_t max_bytes,
                             struct power_text *out, power_error *error) {
    struct power_file file = {.fd = -1};
    power_status status = power_file_open(&file, path, error);
    if (status != POWER_OK) return status;
    if (file.size_bytes > max_bytes) {
        status = power_fail(error, POWER_LIMIT, "\"%s\" has %" PRIu64 " bytes, the limit is %zu",
                            last_name(path).text, file.size_bytes, max_bytes);
        goto cleanup;
    }
    size_t length = (size_t)file.size_bytes, with_nul;
    char *bytes =
        power_add_size(length, 1, &with_nul) ? power_arena_alloc(arena, with_nul, 1) : NULL;
    if (!bytes) {
        status = power_fail_memory(error, length, last_name(path).text);
        goto cleanup;
    }
    status = power_file_read(&file, 0, bytes, length, error);
    if (status == POWER_OK) *out = (struct power_text){bytes, length};
cleanup:
    power_file_close(&file);
    return status;
}

static bool write_all(int fd, const unsigned char *at, size_t length) {
    while (length > 0) {
        ssize_t n = write(fd, at, length);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        at += n;
        length -= (size_t)n;
    }
    return true;
}

/* The rename lasts only once the folder is on disk. A folder that cannot be synced is no failure.
 */
static void sync_folder(const char *path) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    if (length >= sizeof folder) return;
    memcpy(folder, path, length);
    folder[length] = '\0';
    const char *name = !slash ? "." : length == 0 ? "/" : folder;
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

/* A new file beside `path`; its name goes to `name`. Negative on failure, with errno. */
static int create_beside(const char *path, char name[PATH_MAX]) {
    for (int i = 0; i < REPLACE_TRIES; i++) {
        uint64_t number;
        if (power_random_bytes(&number, sizeof number, NULL) != POWER_OK) break;
        int n = snprintf(name, PATH_MAX, "%s.%016" PRIx64 ".part", path, number);
        if (n < 0 || n >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    errno = EEXIST;
    return -1;
}

power_status power_file_replace(const char *path, const void *bytes, size_t length,
                                power_error *error) {
    char name[PATH_MAX];
    int fd = create_beside(path, name);
    if (fd < 0) {
        int sys_errno = errno;
        return power_fail_errno(error, status_of_errno(sys_errno), sys_errno,
                                "cannot create a file beside \"%s\"", last_name(path).text);
    }
    bool written = write_all(fd, bytes, length) && fsync(fd) == 0;
    int sys_errno = written ? 0 : errno;
    if (close(fd) != 0 && written) {
        written = false;
        sys_errno = errno;
    }
    if (written && rename(name, path) != 0) {
        written = false;
        sys_errno = errno;
    }
    if (!written) {
        unlink(name);
        return power_fail_errno(error, POWER_IO, sys_errno, "cannot write \"%s\"",
                                last_name(path).text);
    }
    sync_folder(path);
    return POWER_OK;
}

power_status power_directory_make(const char *path, power_error *error) {
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof part) {
        return power_fail(error, POWER_INVALID, "a folder name of %zu bytes", length);
    }
    memcpy(part, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (part[i] != '/' && part[i] != '\0') continue;
        char kept = part[i];
        part[i] = '\0';
        int sys_errno = mkdir(part, 0777) == 0 ? 0 : errno;
        /* A parent that exists may answer EROFS or EACCES instead of EEXIST. */
        if (sys_errno != 0 && !power_path_is_directory(part)) {
            return power_fail_errno(error, status_of_errno(sys_errno), sys_errno,
                                    "cannot make the folder \"%s\"", last_name(part).text);
        }
        part[i] = kept;
    }
    return POWER_OK;
}

bool power_path_exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

bool power_path_is_directory(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

power_status power_cache_path(char *out, size_t capacity, const char *name, power_error *error) {
    const char *base = getenv("XDG_CACHE_HOME"), *between = "/power/";
    /* The XDG rule: a relative value is ignored. */
    if (!base || base[0] != '/') {
        base = getenv("HOME");
        between = "/.cache/power/";
    }
    if (!base || base[0] != '/') {
        return power_fail(error, POWER_NOT_FOUND,
                          "no place for a cache: neither XDG_CACHE_HOME nor HOME is set");
    }
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s%s", base, between, name);
    if (n < 0 || (size_t)n >= sizeof path || (size_t)n >= capacity) {
        return power_fail(error, POWER_LIMIT, "the cache path is longer than %zu bytes",
                          capacity < sizeof path ? capacity : sizeof path);
    }
    memcpy(out, path, (size_t)n + 1);
    return POWER_OK;
}
