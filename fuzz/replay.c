/* SPDX-License-Identifier: MIT */
/* Replays a corpus through a fuzz target. Input: folders of files. Output: exit 0 when every file
 * went through; a crash is the finding. Threads: one. Bounds: files of 64 MiB. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { PATH_BYTES = 4096 };
static const size_t FILE_BYTES_MAX = (size_t)64 << 20;

/* Gives the target a heap copy of exactly the file's size, so that ASan sees reads past its end. */
static int replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    unsigned char *whole = malloc(FILE_BYTES_MAX);
    size_t size = whole ? fread(whole, 1, FILE_BYTES_MAX, file) : 0;
    int failed = !whole || ferror(file) || size == FILE_BYTES_MAX;
    fclose(file);
    unsigned char *exact = failed ? NULL : malloc(size ? size : 1);
    if (exact) {
        memcpy(exact, whole, size);
        LLVMFuzzerTestOneInput(exact, size);
    } else {
        fprintf(stderr, "%s: cannot be read whole\n", path);
        failed = 1;
    }
    free(exact);
    free(whole);
    return failed;
}

static int replay_folder(const char *folder, int *count) {
    DIR *dir = opendir(folder);
    if (!dir) {
        perror(folder);
        return 1;
    }
    int failed = 0;
    for (const struct dirent *entry; !failed && (entry = readdir(dir));) {
        char path[PATH_BYTES];
        if (entry->d_name[0] == '.') continue;
        int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        failed = length < 0 || length >= PATH_BYTES || replay_file(path);
        ++*count;
    }
    closedir(dir);
    return failed;
}

int main(int argc, char **argv) {
    int failed = 0, count = 0;
    for (int i = 1; i < argc; i++)
        failed |= replay_folder(argv[i], &count);
    printf("%d inputs replayed\n", count);
    return failed || count == 0;
}
