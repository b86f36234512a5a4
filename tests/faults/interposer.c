/* Faults of the C library that a test switches on and off while a server runs.
 *
 * `interposer.py` compiles this file and maps the same control block.  Disk faults concern one device (the
 * disk of the test) and paths below one directory; every other file works as ever.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct control {
    long read_error;   /* one read in so many fails with EIO; 0: none */
    long write_error;  /* one write in so many fails with EIO; 0: none */
    long delay;        /* microseconds of each operation on the disk */
    long clock_offset; /* seconds added to the time of day */
    long is_lookup_hung;
    long device;       /* st_dev of the disk */
    long hits;         /* faults so far */
    char directory[256];
    char host[64];     /* the name whose lookup hangs; otherwise 127.0.0.1 */
};

static volatile struct control *control;
static long turns;

__attribute__((constructor)) static void map_control(void)
{
    const char *path = getenv("WHIMBREL_TEST_FAULTS");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *block = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (block != MAP_FAILED)
        control = block;
}

#define REAL(name) ((__typeof__(&name))({ static void *real; if (!real) real = dlsym(RTLD_NEXT, #name); real; }))

static void pause_for_disk(void)
{
    struct timespec time = {control->delay / 1000000, control->delay % 1000000 * 1000};
    __sync_fetch_and_add(&control->hits, 1);
    nanosleep(&time, NULL);
}

static int is_on_disk(int fd)
{
    struct stat info;
    int before = errno;
    int is_file = syscall(SYS_fstat, fd, &info) == 0 && (long)info.st_dev == control->device;
    errno = before;
    return is_file;
}

/* Returns 1 with errno set if an operation on fd fails. */
static int fails(int fd, int is_write)
{
    if (!control || !(control->delay || control->read_error || control->write_error) || !is_on_disk(fd))
        return 0;
    if (control->delay)
        pause_for_disk();
    long every = is_write ? control->write_error : control->read_error;
    if (!every || __sync_add_and_fetch(&turns, 1) % every)
        return 0;
    __sync_fetch_and_add(&control->hits, 1);
    errno = EIO;
    return 1;
}

static void delay_path(const char *path)
{
    if (control && control->delay && path
        && !strncmp(path, (const char *)control->directory, strlen((const char *)control->directory)))
        pause_for_disk();
}

#define PASSED(type, name, is_write, parameters, arguments) \
    type name parameters { return fails(fd, is_write) ? -1 : REAL(name) arguments; }

PASSED(ssize_t, read, 0, (int fd, void *data, size_t size), (fd, data, size))
PASSED(ssize_t, pread, 0, (int fd, void *data, size_t size, off_t at), (fd, data, size, at))
PASSED(ssize_t, pread64, 0, (int fd, void *data, size_t size, off64_t at), (fd, data, size, at))
PASSED(ssize_t, readv, 0, (int fd, const struct iovec *parts, int count), (fd, parts, count))
PASSED(ssize_t, preadv, 0, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at))
PASSED(ssize_t, preadv64, 0, (int fd, const struct iovec *parts, int count, off64_t at), (fd, parts, count, at))
PASSED(ssize_t, write, 1, (int fd, const void *data, size_t size), (fd, data, size))
PASSED(ssize_t, pwrite, 1, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
PASSED(ssize_t, pwrite64, 1, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
PASSED(ssize_t, writev, 1, (int fd, const struct iovec *parts, int count), (fd, parts, count))
PASSED(ssize_t, pwritev, 1, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at))
PASSED(int, fsync, 1, (int fd), (fd))
PASSED(int, fdatasync, 1, (int fd), (fd))
PASSED(int, ftruncate, 1, (int fd, off_t size), (fd, size))
PASSED(int, ftruncate64, 1, (int fd, off64_t size), (fd, size))

ssize_t sendfile(int to, int from, off_t *at, size_t size)
{
    return fails(from, 0) || fails(to, 1) ? -1 : REAL(sendfile)(to, from, at, size);
}

ssize_t sendfile64(int to, int from, off64_t *at, size_t size)
{
    return fails(from, 0) || fails(to, 1) ? -1 : REAL(sendfile64)(to, from, at, size);
}

#define OPENED(name) \
    int name(const char *path, int flags, ...) \
    { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        delay_path(path); \
        return REAL(name)(path, flags, mode); \
    }

OPENED(open)
OPENED(open64)

#define EXAMINED(name, type) \
    int name(const char *path, type *info) \
    { \
        delay_path(path); \
        return REAL(name)(path, info); \
    }

EXAMINED(stat, struct stat)
EXAMINED(lstat, struct stat)
EXAMINED(stat64, struct stat64)
EXAMINED(lstat64, struct stat64)

DIR *opendir(const char *path)
{
    delay_path(path);
    return REAL(opendir)(path);
}

int rename(const char *from, const char *to)
{
    delay_path(from);
    return REAL(rename)(from, to);
}

int unlink(const char *path)
{
    delay_path(path);
    return REAL(unlink)(path);
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int status = REAL(clock_gettime)(clock, time);
    if (!status && control && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        time->tv_sec += control->clock_offset;
    return status;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    int status = REAL(gettimeofday)(time, zone);
    if (!status && control)
        time->tv_sec += control->clock_offset;
    return status;
}

time_t time(time_t *out)
{
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (out)
        *out = found.tv_sec;
    return found.tv_sec;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    if (control && node && !strcmp(node, (const char *)control->host)) {
        struct timespec moment = {0, 20000000};
        for (int turn = 0; control->is_lookup_hung && turn < 1500; turn++) {
            if (!turn)
                __sync_fetch_and_add(&control->hits, 1);
            nanosleep(&moment, NULL);
        }
        node = "127.0.0.1";
    }
    return REAL(getaddrinfo)(node, service, hints, found);
}
