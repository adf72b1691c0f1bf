/* Stands between a process and the C library (LD_PRELOAD) and lets one call that changes files fail.
 *
 * Calls are counted that write to, synchronise, make, rename or link something under a folder; the n-th fails as told:
 *   errno > 0   with this error, once
 *   errno < 0   with error -errno, and so does every later one: a disk that stays full
 *   errno = 0   a write does half of its work (any other call all of it): a short write
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX];
static long count, at;
static int error;
static char last[PATH_MAX + 64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* From now on calls under `path` are counted, and the n-th (from 1; 0: none) fails. */
void fault_arm(const char *path, long n, int how)
{
    snprintf(folder, sizeof folder, "%s", path);
    at = n;
    error = how;
    count = 0;
}

long fault_count(void) { return count; }

/* Name and file of the call that failed. */
const char *fault_last(void) { return last; }

enum verdict { PASS, FAIL, SHORT };

static enum verdict judge(const char *call, const char *path)
{
    enum verdict verdict = PASS;
    if (!folder[0] || strncmp(path, folder, strlen(folder)) != 0)
        return PASS;
    pthread_mutex_lock(&lock);
    count++;
    if (at && (count == at || (error < 0 && count > at))) {
        verdict = error ? FAIL : SHORT;
        if (count == at)
            snprintf(last, sizeof last, "%s %s", call, path);
    }
    pthread_mutex_unlock(&lock);
    if (verdict == FAIL)
        errno = error < 0 ? -error : error;
    return verdict;
}

static enum verdict judge_descriptor(const char *call, int descriptor)
{
    char link[64], path[PATH_MAX];
    if (!folder[0])
        return PASS;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return PASS;
    path[length] = 0;
    return judge(call, path);
}

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int descriptor, const void *bytes, size_t size)
{
    enum verdict verdict = judge_descriptor("write", descriptor);
    return verdict == FAIL ? -1 : REAL(write)(descriptor, bytes, verdict == SHORT && size > 1 ? size / 2 : size);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t size, off64_t offset)
{
    enum verdict verdict = judge_descriptor("pwrite", descriptor);
    return verdict == FAIL ? -1 : REAL(pwrite64)(descriptor, bytes, verdict == SHORT && size > 1 ? size / 2 : size, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t offset) { return pwrite64(descriptor, bytes, size, offset); }

ssize_t writev(int descriptor, const struct iovec *parts, int n)
{
    enum verdict verdict = judge_descriptor("writev", descriptor);
    return verdict == FAIL ? -1 : REAL(writev)(descriptor, parts, verdict == SHORT && n > 1 ? n / 2 : n);
}

#define ON_DESCRIPTOR(name) \
    int name(int descriptor) { return judge_descriptor(#name, descriptor) == FAIL ? -1 : REAL(name)(descriptor); }
ON_DESCRIPTOR(fsync)
ON_DESCRIPTOR(fdatasync)

int ftruncate64(int descriptor, off64_t size)
{
    return judge_descriptor("ftruncate", descriptor) == FAIL ? -1 : REAL(ftruncate64)(descriptor, size);
}

int rename(const char *from, const char *to) { return judge("rename", to) == FAIL ? -1 : REAL(rename)(from, to); }
int link(const char *from, const char *to) { return judge("link", to) == FAIL ? -1 : REAL(link)(from, to); }
int mkdir(const char *path, mode_t mode) { return judge("mkdir", path) == FAIL ? -1 : REAL(mkdir)(path, mode); }

int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if ((flags & O_ACCMODE) != O_RDONLY && judge("open", path) == FAIL)
        return -1;
    return REAL(open64)(path, flags, mode);
}

int open(const char *path, int flags, ...) __attribute__((alias("open64")));
