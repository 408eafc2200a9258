/* A memo that many processes use at once while another one cuts it, turns its bits, puts an old one in its place and
 * takes it away: it may cost them reading, and never gives a wrong digest. */
#include <dirent.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#include "memo_kit.h"

#define USERS      8
#define ROUNDS     25
#define FILES_EACH 40

static const char *place, *trees[USERS];
static slw_digest right[USERS];

static void make_trees(void) {
    for (int user = 0; user < USERS; user++) {
        trees[user] = strdup(slt_scratch());
        for (int i = 0; i < FILES_EACH; i++) {
            char name[16], text[32];
            snprintf(name, sizeof name, "f%d", i);
            snprintf(text, sizeof text, "file %d of %d", i, user);
            kit_put(trees[user], name, text);
        }
        right[user] = memo_ask(NULL, SLW_IDENTITY_CONTENT, trees[user]).digest;
    }
}

/* Every user asks for its own tree and for its neighbour's, so that records are shared and renewed. */
static int use(int user) {
    for (int i = 0; i < ROUNDS; i++) {
        slw_memo *memo = memo_open(place, 0);
        for (int other = user; other < user + 2; other++) {
            const memo_count count = memo_ask(memo, SLW_IDENTITY_MEMO, trees[other % USERS]);
            if (!kit_same(&count.digest, &right[other % USERS])) return 10;
            if (count.known + count.read != FILES_EACH) return 11;
        }
        slw_memo_close(&memo);
    }
    return 0;
}

static void damage(const char *path, unsigned number) {
    struct stat st;
    if (stat(path, &st) != 0 || st.st_size < 2) return;
    if (number % 4 == 0) {
        if (truncate(path, (off_t)(number * 7919u % (unsigned long)st.st_size)) != 0) return;
    } else if (number % 4 == 1) {
        const int fd = open(path, O_RDWR);
        unsigned char byte = 0;
        const off_t at = (off_t)(number * 104729u % (unsigned long)st.st_size);
        if (fd < 0) return;
        if (pread(fd, &byte, 1, at) == 1) {
            byte ^= (unsigned char)(1u << number % 8);
            if (pwrite(fd, &byte, 1, at) != 1) byte = 0;
        }
        close(fd);
    } else if (number % 4 == 2) {
        char old[700];
        snprintf(old, sizeof old, "%s.old", path);
        if (number % 8 == 2) {
            slt_shell("cp -p '%s' '%s' 2>/dev/null || true", path, old);
        } else {
            (void)rename(old, path);
        }
    } else {
        (void)unlink(path);
    }
}

static int vandal(void) {
    for (unsigned number = 1; number < 400; number++) {
        DIR *dir = opendir(place);
        const struct timespec nap = {0, 5000000};
        for (struct dirent *entry = NULL; dir != NULL && (entry = readdir(dir)) != NULL;) {
            char path[600];
            snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
            if (strstr(entry->d_name, ".old") == NULL) damage(path, number);
        }
        if (dir != NULL) closedir(dir);
        (void)nanosleep(&nap, NULL);
    }
    return 0;
}

START_TEST(pitfall_08_many_processes_and_a_vandal) {
    pid_t children[USERS + 1];
    place = strdup(memo_place());
    memo_fake();
    make_trees();
    (void)memo_run(place, trees[0]);
    for (int i = 0; i <= USERS; i++) {
        children[i] = fork();
        ck_assert_int_ge(children[i], 0);
        if (children[i] == 0) _exit(i < USERS ? use(i) : vandal());
    }
    for (int i = 0; i <= USERS; i++) {
        int status = -1;
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_msg(status == 0, "process %d: status %d", i, status);
    }
    /* Afterwards it is a memo again. */
    (void)memo_run(place, trees[3]);
    const memo_count last = memo_run(place, trees[3]);
    ck_assert_uint_eq(last.known, FILES_EACH);
    ck_assert(kit_same(&last.digest, &right[3]));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("memo of many processes");
    TCase *tests = tcase_create("processes");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, pitfall_08_many_processes_and_a_vandal);
    suite_add_tcase(suite, tests);
    return slt_run(suite, NULL);
}
