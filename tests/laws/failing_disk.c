/* Preloaded into a process: counts what it does to the files of one folder, logs that, and lets one operation fail.
 *
 * FAILING_DISK is the folder, FAILING_DISK_LOG where the log is written. The operations are the creation, write, cut,
 * sync, move and removal of a file, and the creation and sync of a folder. From the log a test works out what a power
 * cut leaves. A failure is an error number, or SHORT: a write then writes half of its bytes, and says so.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define SHORT (-1)
static long done, failing, failure;
static int lasting;
static FILE *log_file;

/* Start to count and to log anew; operation `at` (none if 0) fails with `error`, and all later ones if `for_good`. */
void disk_fails(long at, long error, int for_good) {
    done = 0; failing = at; failure = error; lasting = for_good;
    if (log_file) { fclose(log_file); log_file = NULL; }
}
long disk_operations(void) { return done; }

static int inside(const char *path) {
    const char *folder = getenv("FAILING_DISK");
    return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static const char *named(int file, char *place) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, place, PATH_MAX - 1);
    place[size < 0 ? 0 : size] = 0;
    return place;
}

static int reached(void) {
    done++;
    return failing && (done == failing || (lasting && done > failing));
}

static int fails(void) {
    if (!reached() || failure == SHORT) return 0;
    errno = failure;
    return 1;
}

/* How much of a write is done; -1 if it fails. */
static ssize_t written(size_t size) {
    if (!reached()) return size;
    if (failure == SHORT) return size / 2 ? size / 2 : size;
    errno = failure;
    return -1;
}

static void logged(const char *what, const char *path, const char *other, long place, const void *bytes, size_t size) {
    const char *name = getenv("FAILING_DISK_LOG");
    int before = errno;
    if (!name) return;
    if (!log_file) log_file = fopen(name, "wb");
    FILE *log = log_file;
    fprintf(log, "%s\t%s\t%s\t%ld\t%zu\n", what, path, other, place, size);
    fwrite(bytes, 1, size, log);
    fflush(log);
    errno = before;
}

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                                  \
    int name(const char *path, int flags, ...) {                                    \
        va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest); \
        int makes = (flags & O_CREAT) && inside(path) && access(path, F_OK) != 0;   \
        int cuts = (flags & O_TRUNC) && !makes && inside(path);                     \
        if ((makes || cuts) && fails()) return -1;                                  \
        int file = REAL(int, name, const char *, int, ...)(path, flags, mode);      \
        if (file >= 0 && makes) logged("make", path, "", 0, "", 0);                 \
        if (file >= 0 && cuts) logged("cut", path, "", 0, "", 0);                   \
        return file;                                                                \
    }
OPEN(open)
OPEN(open64)

ssize_t write(int file, const void *bytes, size_t size) {
    char place[PATH_MAX];
    int ours = inside(named(file, place));
    ssize_t part = ours ? written(size) : (ssize_t)size;
    if (part < 0) return -1;
    size = part;
    ssize_t wrote = REAL(ssize_t, write, int, const void *, size_t)(file, bytes, size);
    if (ours && wrote > 0) logged("write", place, "", lseek(file, 0, SEEK_CUR) - wrote, bytes, wrote);
    return wrote;
}

#define PWRITE(name)                                                                              \
    ssize_t name(int file, const void *bytes, size_t size, off_t at) {                            \
        char place[PATH_MAX];                                                                     \
        int ours = inside(named(file, place));                                                    \
        ssize_t part = ours ? written(size) : (ssize_t)size;                                      \
        if (part < 0) return -1;                                                                  \
        size = part;                                                                              \
        ssize_t wrote = REAL(ssize_t, name, int, const void *, size_t, off_t)(file, bytes, size, at); \
        if (ours && wrote > 0) logged("write", place, "", at, bytes, wrote);                      \
        return wrote;                                                                             \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define CUT(name)                                                             \
    int name(int file, off_t size) {                                          \
        char place[PATH_MAX];                                                 \
        int ours = inside(named(file, place));                                \
        if (ours && fails()) return -1;                                       \
        int result = REAL(int, name, int, off_t)(file, size);                 \
        if (ours && result == 0) logged("cut", place, "", size, "", 0);       \
        return result;                                                        \
    }
CUT(ftruncate)
CUT(ftruncate64)

#define SYNC(name)                                                            \
    int name(int file) {                                                      \
        char place[PATH_MAX];                                                 \
        int ours = inside(named(file, place));                                \
        if (ours && fails()) return -1;                                       \
        int result = REAL(int, name, int)(file);                              \
        if (ours && result == 0) logged("sync", place, "", 0, "", 0);         \
        return result;                                                        \
    }
SYNC(fsync)
SYNC(fdatasync)

int unlink(const char *path) {
    int ours = inside(path);
    if (ours && fails()) return -1;
    int result = REAL(int, unlink, const char *)(path);
    if (ours && result == 0) logged("remove", path, "", 0, "", 0);
    return result;
}

int rename(const char *from, const char *to) {
    int ours = inside(from) || inside(to);
    if (ours && fails()) return -1;
    int result = REAL(int, rename, const char *, const char *)(from, to);
    if (ours && result == 0) logged("move", from, to, 0, "", 0);
    return result;
}

int mkdir(const char *path, mode_t mode) {
    if (inside(path) && fails()) return -1;
    return REAL(int, mkdir, const char *, mode_t)(path, mode);
}
