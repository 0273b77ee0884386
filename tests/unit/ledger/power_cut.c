/* Preloaded into a process: keeps a copy of each journal that SQLite removes, until the folder is synced.
 *
 * POSIX lets a power cut undo the removal of a file as long as its folder was not synced. So the copies, whose names end
 * in ".unsynced", are the journals that a power cut can bring back. POWER_CUT is the folder.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int (*of_path)(const char *);
typedef int (*of_file)(int);

static int ends(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

int unlink(const char *path) {
    const char *folder = getenv("POWER_CUT");
    if (folder && strncmp(path, folder, strlen(folder)) == 0 && ends(path, "-journal")) {
        char name[PATH_MAX], bytes[65536];
        ssize_t got;
        snprintf(name, sizeof name, "%s.unsynced", path);
        int from = open(path, O_RDONLY), to = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        while ((got = read(from, bytes, sizeof bytes)) > 0)
            if (write(to, bytes, got) != got) abort();
        close(from);
        close(to);
    }
    return ((of_path)dlsym(RTLD_NEXT, "unlink"))(path);
}

static void synced(int file) {
    const char *folder = getenv("POWER_CUT");
    char link[64], path[PATH_MAX], name[2 * PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    if (!folder || strcmp(path, folder) != 0) return;
    DIR *listed = opendir(folder);
    for (struct dirent *one; (one = readdir(listed));)
        if (ends(one->d_name, ".unsynced")) {
            snprintf(name, sizeof name, "%s/%s", folder, one->d_name);
            ((of_path)dlsym(RTLD_NEXT, "unlink"))(name);
        }
    closedir(listed);
}

int fsync(int file) {
    int failed = ((of_file)dlsym(RTLD_NEXT, "fsync"))(file);
    if (!failed) synced(file);
    return failed;
}

int fdatasync(int file) {
    int failed = ((of_file)dlsym(RTLD_NEXT, "fdatasync"))(file);
    if (!failed) synced(file);
    return failed;
}
