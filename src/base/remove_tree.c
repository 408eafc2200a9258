/* Removing a tree of any depth with two descriptors and a fixed stack.
 *
 * A directory that is not empty is entered and left again by "..". Where ".." leads is believed only when it is the
 * directory (device and inode) that was entered from: the last TRAIL of them are remembered. When the memory of the way
 * is used up, or somebody moved a directory meanwhile, the walk starts again at the top; every start removes at least
 * TRAIL levels of what the last one saw. Names are never remembered: emptied directories go when their parent is listed
 * again. Links are removed, never followed. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>

#define TRAIL 512

typedef struct tree_walk {
    const slwi_os *os;
    int fd;              /* the directory being emptied */
    size_t depth;        /* levels below the top that the trail knows */
    size_t forgotten;    /* levels that fell off the trail */
    slwi_dir listing;
    struct {
        uint64_t dev, ino;
    } trail[TRAIL];      /* of the directories above, oldest first, as a ring */
    uint64_t dev, ino;   /* of fd */
} tree_walk;

enum { EMPTIED = 0, ENTER = 1 };

static void list_from_start(tree_walk *walk) {
    walk->listing.fd = walk->fd;
    walk->listing.at = 0;
    walk->listing.end = 0;
}

/* Takes over a fresh descriptor as the directory being emptied. */
static int stand_in(tree_walk *walk, int fd, const slwi_stat *st) {
    if (walk->fd >= 0) (void)walk->os->close(walk->os, walk->fd);
    walk->fd = fd;
    walk->dev = st->dev;
    walk->ino = st->ino;
    list_from_start(walk);
    return 0;
}

/* unlinkat; when the directory itself forbids it and is ours, its mode is changed and it is tried again. */
static int unlink_here(tree_walk *walk, const char *name, int directory) {
    const slwi_os *os = walk->os;
    int rc = os->unlinkat(os, walk->fd, name, directory);
    if (rc == -EACCES && os->fchmod(os, walk->fd, 0700) == 0) rc = os->unlinkat(os, walk->fd, name, directory);
    return rc == -ENOENT ? 0 : rc;
}

static int is_directory(tree_walk *walk, const slwi_dirent *entry) {
    if (entry->type != '?') return entry->type == 'd';
    slwi_stat st;
    const int rc = walk->os->fstatat(walk->os, walk->fd, entry->name, 0, &st);
    return rc == 0 && S_ISDIR(st.mode);
}

static void remember(tree_walk *walk) {
    walk->trail[(walk->forgotten + walk->depth) % TRAIL].dev = walk->dev;
    walk->trail[(walk->forgotten + walk->depth) % TRAIL].ino = walk->ino;
    if (walk->depth < TRAIL) {
        walk->depth++;
    } else {
        walk->forgotten++;
    }
}

static int enter(tree_walk *walk, const char *name) {
    slwi_stat st;
    const int fd = slwi_open_directory(walk->os, walk->fd, name, 0, &st);
    if (fd < 0) return fd;
    walk->os->closedir(walk->os, &walk->listing);
    remember(walk);
    return stand_in(walk, fd, &st);
}

/* Removes all it can from the directory; EMPTIED, or ENTER after entering one that is not empty, or -errno. */
static int empty_here(tree_walk *walk) {
    slwi_dirent entry;
    int rc = 0;
    while ((rc = walk->os->readdir(walk->os, &walk->listing, &entry)) > 0) {
        const int directory = is_directory(walk, &entry);
        rc = unlink_here(walk, entry.name, directory);
        if (directory && (rc == -ENOTEMPTY || rc == -EEXIST)) {
            rc = enter(walk, entry.name);
            if (rc == 0) return ENTER;
            if (rc == -ENOENT) continue; /* somebody else removes it too */
        }
        if (rc < 0) break;
    }
    walk->os->closedir(walk->os, &walk->listing);
    return rc < 0 ? rc : EMPTIED;
}

/* Back to the parent. 1: there; 0: not known where that is, start at the top; -errno. */
static int leave(tree_walk *walk) {
    if (walk->depth == 0) return 0;
    slwi_stat st;
    const int fd = slwi_open_directory(walk->os, walk->fd, "..", 0, &st);
    if (fd == -ENOENT) return 0;
    if (fd < 0) return fd;
    const size_t last = (walk->forgotten + walk->depth - 1) % TRAIL;
    if (st.dev != walk->trail[last].dev || st.ino != walk->trail[last].ino) {
        (void)walk->os->close(walk->os, fd);
        return 0;
    }
    walk->depth--;
    (void)stand_in(walk, fd, &st);
    return 1;
}

/* One walk from the top. 1: the top is empty; 0: walk again; -errno. */
static int walk_once(tree_walk *walk, int dirfd, const char *name) {
    slwi_stat st;
    const int fd = slwi_open_directory(walk->os, dirfd, name, 0, &st);
    if (fd < 0) return fd;
    walk->depth = 0;
    walk->forgotten = 0;
    (void)stand_in(walk, fd, &st);
    int rc = 0;
    for (;;) {
        rc = empty_here(walk);
        if (rc < 0) break;
        if (rc == ENTER) continue;
        if (walk->depth == 0 && walk->forgotten == 0) {
            rc = 1;
            break;
        }
        rc = leave(walk);
        if (rc <= 0) break;
    }
    (void)walk->os->close(walk->os, walk->fd);
    walk->fd = -1;
    return rc;
}

int slwi_remove_tree(const slwi_os *os, int dirfd, const char *name) {
    slwi_stat st;
    int rc = os->fstatat(os, dirfd, name, 0, &st);
    if (rc == 0 && !S_ISDIR(st.mode)) rc = os->unlinkat(os, dirfd, name, 0);
    if (rc == -ENOENT) return 0;
    if (rc < 0 || !S_ISDIR(st.mode)) return rc;
    tree_walk walk;
    walk.os = os;
    walk.fd = -1;
    do {
        rc = os->unlinkat(os, dirfd, name, 1);
        if (rc != -ENOTEMPTY && rc != -EEXIST) break;
        rc = walk_once(&walk, dirfd, name);
    } while (rc >= 0);
    return rc == -ENOENT ? 0 : rc;
}
