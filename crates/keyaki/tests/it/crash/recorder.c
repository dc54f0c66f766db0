/* A disk that forgets: preloaded into a process, it remembers what of each file and directory below
 * KEYAKI_RECORDER_ROOT was synced, and can take everything else away, as a power cut does.
 *
 *   KEYAKI_RECORDER_GRAVE      a folder beside the root, for what the recorder keeps
 *   KEYAKI_RECORDER_CUT_AT     cut the power before this event (a write, a sync, a change of names)
 *   KEYAKI_RECORDER_FAIL_AT    let this sync fail with EIO; the bytes it was to sync are never safe
 *   KEYAKI_RECORDER_TAIL       what becomes of unsynced bytes: lost | half | zeros
 *   KEYAKI_RECORDER_NAMES      what becomes of unsynced names: lost | kept
 *
 * The process may also let the next sync fail, by making the folder GRAVE/fail, and cut the power
 * itself, by making GRAVE/cut. The exit code is then 86, and GRAVE/counts says how many events and
 * syncs there were.
 *
 * It relies on how the engine writes: files grow, are written over, or are replaced by renaming. So
 * the state of a file is the length that was synced, and what unsynced pages below it held before;
 * of those, `half` brings back every second one and `zeros` the others. Syncs don't reach the disk:
 * the recorder is the disk. Not modelled: names inside bulk/, which is emptied at every start, and folders removed; and an
 * unsynced truncation is taken for durable. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))real(#name))
#define FILES_MAX 4096
#define CHANGES_MAX 8192
#define PAGE 4096
#define EXIT_CUT 86

/* A file that was opened for writing. Its own descriptor reaches it under any name. */
struct file { dev_t dev; ino_t ino; int fd; off_t synced; int unsafe; };

/* What a page held that was written over and not synced since. */
struct page { struct file *file; off_t at; ssize_t length; char before[PAGE]; struct page *next; };

/* A change of names whose directory was not synced since. */
enum kind { MADE, FOLDER, RENAMED, REMOVED };
struct change { enum kind kind; char dir[PATH_MAX], at[PATH_MAX], from[PATH_MAX], grave[PATH_MAX]; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct file files[FILES_MAX];
static struct page *pages;
static struct change *changes[CHANGES_MAX];
static int file_count, change_count, grave_count;
static long event_count, sync_count, overwrite_count;
static int next_sync_fails;

static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value ? value : "";
}

static int below_root(const char *path) {
    const char *root = setting("KEYAKI_RECORDER_ROOT");
    size_t length = strlen(root);
    return length && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}

/* Names that are recorded. */
static int is_recorded(const char *path) { return below_root(path) && !strstr(path, "/bulk"); }

static struct file *file_of(int fd) {
    struct stat stat;
    if (fstat(fd, &stat)) return NULL;
    for (int i = 0; i < file_count; i++)
        if (files[i].dev == stat.st_dev && files[i].ino == stat.st_ino) return &files[i];
    return NULL;
}

static void path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
}

static void dir_of(const char *path, char *dir) {
    snprintf(dir, PATH_MAX, "%s", path);
    char *slash = strrchr(dir, '/');
    if (slash) *slash = 0;
}

static void in_grave(char *path) {
    snprintf(path, PATH_MAX, "%s/%d", setting("KEYAKI_RECORDER_GRAVE"), grave_count++);
}

static void say(const char *name, const char *text) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", setting("KEYAKI_RECORDER_GRAVE"), name);
    int fd = REAL(open)(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || REAL(write)(fd, text, strlen(text)) < 0) abort();
    close(fd);
}

/* Bytes that were not synced go, or half of them do, or they read as zeros. */
static void forget_bytes(struct file *file, const char *tail) {
    struct stat stat;
    int parity = !strcmp(tail, "half") ? 0 : !strcmp(tail, "zeros") ? 1 : -1;
    for (struct page *page = pages; page; page = page->next)
        if (page->file == file && (parity < 0 || page->at / PAGE % 2 == parity)
            && REAL(pwrite)(file->fd, page->before, page->length, page->at) != page->length) abort();
    if (fstat(file->fd, &stat) || stat.st_size <= file->synced) return;
    off_t kept = file->synced;
    if (!strcmp(tail, "half")) kept += (stat.st_size - file->synced) / 2;
    if (REAL(ftruncate)(file->fd, kept)) abort();
    if (!strcmp(tail, "zeros") && REAL(ftruncate)(file->fd, stat.st_size)) abort();
}

static void undo(struct change *change) {
    switch (change->kind) {
    case MADE: REAL(unlink)(change->at); break;
    case FOLDER: REAL(rename)(change->at, change->grave); break;
    case RENAMED: REAL(rename)(change->at, change->from); /* fall through */
    case REMOVED: if (*change->grave) REAL(rename)(change->grave, change->at); break;
    }
}

/* Called with the lock held, so that no other thread changes anything any more. */
static void cut(void) {
    char counts[96];
    snprintf(counts, sizeof counts, "%ld %ld %ld\n", event_count, sync_count, overwrite_count);
    say("counts", counts);
    for (int i = 0; i < file_count; i++) forget_bytes(&files[i], setting("KEYAKI_RECORDER_TAIL"));
    if (strcmp(setting("KEYAKI_RECORDER_NAMES"), "kept"))
        while (change_count) undo(changes[--change_count]);
    _exit(EXIT_CUT);
}

/* Something is about to happen to the disk. */
static void event(void) {
    if (++event_count == atol(setting("KEYAKI_RECORDER_CUT_AT"))) cut();
}

static void begin(void) {
    pthread_mutex_lock(&lock);
    event();
}

static void end(void) { pthread_mutex_unlock(&lock); }

static struct change *note(enum kind kind, const char *at) {
    if (change_count == CHANGES_MAX) abort();
    struct change *change = calloc(1, sizeof *change);
    if (!change) abort();
    change->kind = kind;
    snprintf(change->at, PATH_MAX, "%s", at);
    dir_of(at, change->dir);
    return changes[change_count++] = change;
}

/* Keeps what a name stands for now, to bring it back. */
static void bury(struct change *change) {
    in_grave(change->grave);
    if (REAL(link)(change->at, change->grave)) *change->grave = 0;
}

/* A file opened for writing: what it holds already is safe, unless it is new or emptied. */
static void track(int fd, const char *path) {
    if (file_of(fd)) return;
    struct stat stat;
    int own = REAL(open)(path, O_RDWR | O_CLOEXEC);
    if (own < 0 || fstat(own, &stat) || file_count == FILES_MAX) abort();
    files[file_count++] = (struct file){stat.st_dev, stat.st_ino, own, stat.st_size, 0};
}

static int open_recorded(const char *path, int flags, mode_t mode) {
    if (!below_root(path) || (flags & O_ACCMODE) == O_RDONLY) return REAL(open)(path, flags, mode);
    begin();
    int is_new = access(path, F_OK);
    int fd = REAL(open)(path, flags, mode);
    if (fd >= 0 && is_new && is_recorded(path)) note(MADE, path);
    if (fd >= 0) track(fd, path);
    end();
    return fd;
}

#define OPEN(name)                                    \
    int name(const char *path, int flags, ...) {      \
        va_list more;                                 \
        va_start(more, flags);                        \
        mode_t mode = va_arg(more, mode_t);           \
        va_end(more);                                 \
        return open_recorded(path, flags, mode);      \
    }
OPEN(open)
OPEN(open64)

static struct page **page_of(struct file *file, off_t at) {
    struct page **page = &pages;
    while (*page && ((*page)->file != file || (*page)->at != at)) page = &(*page)->next;
    return page;
}

/* Keeps what is about to be written over. */
static void keep(struct file *file, off_t from, size_t length) {
    struct stat stat;
    if (fstat(file->fd, &stat)) abort();
    off_t to = from + (off_t)length < stat.st_size ? from + (off_t)length : stat.st_size;
    for (off_t at = from / PAGE * PAGE; from < to && at < to; at += PAGE) {
        if (*page_of(file, at)) continue;
        struct page *page = calloc(1, sizeof *page);
        if (!page) abort();
        page->file = file;
        page->at = at;
        page->length = pread(file->fd, page->before, PAGE, at);
        page->next = pages;
        pages = page;
        overwrite_count++;
    }
}

static void let_go(struct file *file) {
    for (struct page **at = &pages; *at;) {
        struct page *page = *at;
        if (page->file != file) { at = &page->next; continue; }
        *at = page->next;
        free(page);
    }
}

static off_t place(int fd) {
    return fcntl(fd, F_GETFL) & O_APPEND ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR);
}

static size_t length_of(const struct iovec *parts, int count) {
    size_t length = 0;
    while (count--) length += parts[count].iov_len;
    return length;
}

#define WRITE(name, parameters, arguments, from, bytes_written)        \
    ssize_t name parameters {                                          \
        pthread_mutex_lock(&lock);                                     \
        struct file *file = file_of(fd);                               \
        if (file) event();                                             \
        if (file) keep(file, from, bytes_written);                     \
        ssize_t written = REAL(name) arguments;                        \
        end();                                                         \
        return written;                                                \
    }
WRITE(write, (int fd, const void *bytes, size_t length), (fd, bytes, length), place(fd), length)
WRITE(writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), place(fd),
      length_of(parts, count))
WRITE(pwrite, (int fd, const void *bytes, size_t length, off_t at), (fd, bytes, length, at), at,
      length)

/* The kernel tells of bytes it could not write once, and then takes them for written. */
static int sync_file(struct file *file, int fails) {
    struct stat stat;
    file->unsafe |= fails;
    if (fstat(file->fd, &stat) || file->unsafe) return fails;
    file->synced = stat.st_size;
    let_go(file);
    return fails;
}

/* Names are in the file system's journal: what a failed sync has left may be safe after the next. */
static int sync_names(const char *dir, int fails) {
    int left = 0;
    for (int i = 0; i < change_count; i++)
        if (!fails && !strcmp(changes[i]->dir, dir)) free(changes[i]);
        else changes[left++] = changes[i];
    change_count = left;
    return fails;
}

static int sync_recorded(int fd, int (*otherwise)(int)) {
    char path[PATH_MAX];
    path_of(fd, path);
    if (!below_root(path)) return otherwise(fd);
    begin();
    int fails = ++sync_count == atol(setting("KEYAKI_RECORDER_FAIL_AT")) || next_sync_fails;
    next_sync_fails = 0;
    if (fails) say("failed", path);
    struct file *file = file_of(fd);
    fails = file ? sync_file(file, fails) : sync_names(path, fails);
    end();
    if (fails) errno = EIO;
    return fails ? -1 : 0;
}

int fsync(int fd) { return sync_recorded(fd, REAL(fsync)); }
int fdatasync(int fd) { return sync_recorded(fd, REAL(fdatasync)); }

static int truncate_recorded(int fd, off_t length, int (*otherwise)(int, off_t)) {
    pthread_mutex_lock(&lock);
    struct file *file = file_of(fd);
    if (file) event();
    int failed = otherwise(fd, length);
    if (!failed && file && file->synced > length) file->synced = length;
    end();
    return failed;
}

int ftruncate(int fd, off_t length) { return truncate_recorded(fd, length, REAL(ftruncate)); }
int ftruncate64(int fd, off_t length) { return truncate_recorded(fd, length, REAL(ftruncate)); }

int rename(const char *from, const char *to) {
    if (!is_recorded(from)) return REAL(rename)(from, to);
    begin();
    struct change *change = note(RENAMED, to);
    snprintf(change->from, PATH_MAX, "%s", from);
    bury(change);
    int failed = REAL(rename)(from, to);
    if (failed) free(changes[--change_count]);
    end();
    return failed;
}

int unlink(const char *path) {
    if (!is_recorded(path)) return REAL(unlink)(path);
    begin();
    bury(note(REMOVED, path));
    int failed = REAL(unlink)(path);
    if (failed) free(changes[--change_count]);
    end();
    return failed;
}

int link(const char *from, const char *to) {
    if (!is_recorded(to)) return REAL(link)(from, to);
    begin();
    int failed = REAL(link)(from, to);
    if (!failed) note(MADE, to);
    end();
    return failed;
}

static int is_wish(const char *path, const char *name) {
    char wish[PATH_MAX];
    snprintf(wish, sizeof wish, "%s/%s", setting("KEYAKI_RECORDER_GRAVE"), name);
    return !strcmp(path, wish);
}

int mkdir(const char *path, mode_t mode) {
    if (is_wish(path, "cut")) {
        pthread_mutex_lock(&lock);
        cut();
    }
    if (is_wish(path, "fail")) {
        pthread_mutex_lock(&lock);
        next_sync_fails = 1;
        end();
    }
    if (!below_root(path)) return REAL(mkdir)(path, mode);
    begin();
    int failed = REAL(mkdir)(path, mode);
    if (!failed) in_grave(note(FOLDER, path)->grave);
    end();
    return failed;
}
