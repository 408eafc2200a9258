/* lookup, put, get, digest, verify, ls, show: documents, codes and exit statuses are a contract (reference: the
 * command's page). */
#include "command.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENVIRONMENT "85ccb682c235f801a3ac733c44c4e76cb5f018ce4a7ff8db70fbadbccc4cc3d7"
#define KEY         "df9fd1a81a2fd4d068567d456ae70374786ba88cc5565e95fa1fbd4ec41c51e6"
#define SPEC        "ee13741bac893dda0f168359dd97bb105ddf4750706322c60210d0136075bdca"
#define SLOT        "artifacts/" ENVIRONMENT "/" KEY "/" SPEC "/generated"

static const char components[] =
    "{\"pypto\":\"d5f6bcdda57432dbb76780fb8e74ffea3f65a3222d5cd9a4daac28c2e88f1569\","
    "\"runtime\":\"8b27bd9b7cac86b6302be2639d259fbcd321b2f2d69a4b22000832f1917b24b2\","
    "\"pto_isa\":\"83508f9effdaedc6067a56dd4dcce0a6061576a4039cdd791b2d69abcd4e05ef\","
    "\"ptoas\":\"3be107781ec6daf01456dd60fd0b316a6fe407d884a1fdffea80b0a63c44baae\","
    "\"device_toolchain\":\"b28d53a483efa2f1b4b4327ce879e253f52c4e6c2292ca0b51ef1a77944600eb\"}";

static const char *scratch, *store, *request_path;

static void write_request(const char *source_digest, const char *files, const char *more) {
    char text[4096];
    snprintf(text, sizeof text,
             "{\"components\":%s,\"source\":\"%s\",\"specialization\":"
             "\"b0451d8685d8be1eeea24dc98dea37b9e0c715f192dc418ac151cdc399acf515\","
             "\"state\":\"generated\",\"build_kind\":\"single_chip\",\"required_files\":%s%s}",
             components, source_digest, files, more);
    slt_write_file(request_path, text, strlen(text), 0644);
}

#define FIXTURE_SOURCE "9a9d8ceb53d72ca4a4920583d2e00acbc3d7dfcd743924bb6ff29bd11b9eda67"
#define OTHER_SOURCE   "5d40fe831521eb7f2f1581f3f4131651930bca78203420c8e2575f168e14bd05"
#define FIXTURE_FILES  "[\"kernel/source.pto\",\"kernel_config.py\"]"

static void set_up(void) {
    scratch = slt_scratch();
    store = slt_path(scratch, "store", NULL);
    request_path = slt_path(scratch, "request.json", NULL);
    slt_shell("mkdir %s && tar -xpf %s -C %s", store, slt_fixture("stores/fixture.tar"), store);
    write_request(FIXTURE_SOURCE, FIXTURE_FILES, "");
}

START_TEST(lookup_hit) {
    command_result r = command_run(scratch, "lookup %s --domain pypto.identity --cache %s --json", request_path, store);
    ck_assert_msg(r.status == 0 && r.json != NULL, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "status"), "HIT");
    ck_assert_ptr_null(command_text(r.json, "reason"));
    ck_assert_str_eq(command_text(r.json, "environment"), ENVIRONMENT);
    ck_assert_str_eq(command_text(r.json, "key"), KEY);
    ck_assert_str_eq(command_text(r.json, "spec"), SPEC);
    ck_assert_str_eq(command_text(r.json, "directory"), slt_path(store, SLOT, NULL));
    command_free(&r);
}
END_TEST

START_TEST(lookup_miss_and_invalid) {
    write_request(OTHER_SOURCE, FIXTURE_FILES, "");
    command_result r = command_run(scratch, "lookup %s --domain pypto.identity --cache %s --json", request_path, store);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "status"), "MISS");
    command_free(&r);
    write_request(FIXTURE_SOURCE, FIXTURE_FILES, "");
    slt_write_file(slt_path(store, SLOT, "unlisted", NULL), "x", 1, 0600);
    r = command_run(scratch, "lookup %s --domain pypto.identity --cache %s --json", request_path, store);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "status"), "INVALID");
    ck_assert_ptr_nonnull(command_text(r.json, "reason"));
    command_free(&r);
}
END_TEST

START_TEST(lookup_storage_error) {
    slt_become_nobody(scratch);
    slt_shell("chmod 000 %s/%s/artifact_manifest.json", store, SLOT);
    command_result r = command_run(scratch, "lookup %s --domain pypto.identity --cache %s --json", request_path, store);
    ck_assert_msg(r.status == 4, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "status"), "STORAGE_ERROR");
    command_free(&r);
}
END_TEST

START_TEST(bad_requests) {
    write_request(FIXTURE_SOURCE, FIXTURE_FILES, ",\"surprise\":1");
    command_result r = command_run(scratch, "lookup %s --domain pypto.identity --cache %s --json", request_path, store);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "error.code"), "INVALID_METADATA");
    command_free(&r);
    write_request("short", FIXTURE_FILES, "");
    r = command_run(scratch, "lookup %s --domain pypto.identity --cache %s --json", request_path, store);
    ck_assert_int_ne(r.status, 0);
    ck_assert_ptr_nonnull(r.json);
    command_free(&r);
    slt_write_file(request_path, "{\"components\":\n  oops}", 22, 0644);
    r = command_run(scratch, "lookup %s --cache %s --json", request_path, store);
    ck_assert_str_eq(command_text(r.json, "error.code"), "INVALID_METADATA");
    ck_assert_int_eq(command_int(r.json, "error.line"), 2);
    ck_assert_str_eq(command_text(r.json, "error.path"), request_path);
    command_free(&r);
    r = command_run(scratch, "lookup %s/absent --cache %s --json", scratch, store);
    ck_assert_int_eq(r.status, 4);
    ck_assert_str_eq(command_text(r.json, "error.code"), "STORAGE");
    command_free(&r);
}
END_TEST

/* put publishes the same bytes that the real store has; a second put hits; get copies them out. */
START_TEST(put_then_get) {
    const char *files = slt_path(scratch, "files", NULL), *fresh = slt_path(scratch, "fresh", NULL),
               *dest = slt_path(scratch, "dest", NULL);
    slt_shell("mkdir -p %s/kernel && cp %s/%s/kernel/source.pto %s/kernel/ && cp %s/%s/kernel_config.py %s/", files,
              store, SLOT, files, store, SLOT, files);
    command_result r =
        command_run(scratch, "put %s %s --domain pypto.identity --cache %s --json", request_path, files, fresh);
    ck_assert_msg(r.status == 0, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "disposition"), "PUBLISHED");
    ck_assert_ptr_null(command_text(r.json, "failure"));
    ck_assert_ptr_null(command_text(r.json, "reason"));
    ck_assert_str_eq(command_text(r.json, "key"), KEY);
    command_free(&r);
    slt_shell("diff -r %s/artifacts %s/artifacts", store, fresh);
    slt_shell("test -f %s/kernel/source.pto", files); /* used in place, never changed */
    r = command_run(scratch, "put %s %s --domain pypto.identity --cache %s --json", request_path, files, fresh);
    ck_assert_str_eq(command_text(r.json, "disposition"), "HIT");
    command_free(&r);
    r = command_run(scratch, "get %s %s --domain pypto.identity --cache %s --json", request_path, dest, fresh);
    ck_assert_msg(r.status == 0, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "status"), "HIT");
    ck_assert_int_eq(command_int(r.json, "files"), 2);
    ck_assert_int_eq(command_int(r.json, "size_bytes"), 27);
    command_free(&r);
    slt_shell("diff -r %s %s", files, dest);
    r = command_run(scratch, "get %s %s --domain pypto.identity --cache %s --json", request_path, dest, fresh);
    ck_assert_int_eq(r.status, 2); /* DEST is not empty */
    command_free(&r);
    r = command_run(scratch, "get %s %s/inside --domain pypto.identity --cache %s --json", request_path, fresh, fresh);
    ck_assert_int_eq(r.status, 2);
    command_free(&r);
}
END_TEST

START_TEST(put_refuses) {
    const char *files = slt_path(scratch, "files", NULL);
    slt_shell("mkdir -p %s/kernel && echo x >%s/kernel/source.pto", files, files);
    command_result r = command_run(scratch, "put %s %s --domain pypto.identity --cache %s --read-only --json",
                                   request_path, files, store);
    ck_assert_int_eq(r.status, 2);
    ck_assert_str_eq(command_text(r.json, "error.code"), "USAGE");
    command_free(&r);
    r = command_run(scratch, "put %s %s --domain pypto.identity --cache %s/new --json", request_path, files, scratch);
    ck_assert_int_eq(r.status, 1); /* kernel_config.py is missing */
    ck_assert_str_eq(command_text(r.json, "error.code"), "INVALID_SOURCE");
    ck_assert_str_eq(command_text(r.json, "error.subject"), "kernel_config.py");
    command_free(&r);
}
END_TEST

START_TEST(put_private_statuses) {
    const char *files = slt_path(scratch, "files", NULL);
    slt_shell("mkdir -p %s/kernel && echo x >%s/kernel/source.pto && echo y >%s/kernel_config.py", files, files, files);
    slt_write_file(slt_path(store, SLOT, "unlisted", NULL), "x", 1, 0600);
    command_result r =
        command_run(scratch, "put %s %s --domain pypto.identity --cache %s --json", request_path, files, store);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "disposition"), "PRIVATE");
    ck_assert_str_eq(command_text(r.json, "failure"), "INVALID");
    ck_assert_ptr_nonnull(command_text(r.json, "reason"));
    command_free(&r);
    slt_shell("rm -rf %s/artifacts %s/locks && touch %s/locks", store, store, store);
    r = command_run(scratch, "put %s %s --domain pypto.identity --cache %s --json", request_path, files, store);
    ck_assert_int_eq(r.status, 4);
    ck_assert_str_eq(command_text(r.json, "failure"), "LOCK");
    command_free(&r);
}
END_TEST

/* A limit on file sizes is an error of the publication; it ended the command by a signal. */
START_TEST(put_under_a_limit_on_file_sizes) {
    const struct rlimit limit = {8192, 8192};
    const char *files = slt_path(scratch, "files", NULL);
    slt_shell("mkdir -p %s/kernel && head -c 20000 /dev/zero >%s/kernel/source.pto && echo y >%s/kernel_config.py", files,
              files, files);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    command_result r =
        command_run(scratch, "put %s %s --domain pypto.identity --cache %s/new --json", request_path, files, scratch);
    ck_assert_int_eq(r.status, 4);
    ck_assert_str_eq(command_text(r.json, "disposition"), "PRIVATE");
    ck_assert_str_eq(command_text(r.json, "failure"), "PUBLICATION");
    command_free(&r);
}
END_TEST

START_TEST(digest_of_a_record) {
    slt_write_file(request_path, "{\"t\":\"none\"}", 12, 0644);
    command_result r = command_run(scratch, "digest %s --domain pypto.identity --json", request_path);
    ck_assert_int_eq(r.status, 0);
    ck_assert_str_eq(command_text(r.json, "encoded"), "[\"pypto.identity\",1,[\"none\"]]");
    ck_assert_str_eq(command_text(r.json, "sha256"),
                     "1e1e02c6a8c8a6bca1bc4f83e0ab0b8a4373b5f5442012765b47fc917a41a829");
    command_free(&r);
    r = command_run(scratch, "digest %s", request_path);
    ck_assert_ptr_nonnull(strstr(r.out, "[\"slipway.identity\",1,[\"none\"]]\n"));
    command_free(&r);
    slt_write_file(request_path, "{\"t\":\"int\",\"v\":\"01\"}", 20, 0644);
    r = command_run(scratch, "digest %s --json", request_path);
    ck_assert_int_ne(r.status, 0);
    ck_assert_ptr_nonnull(command_text(r.json, "error.code"));
    command_free(&r);
}
END_TEST

START_TEST(verify_and_ls) {
    command_result r = command_run(scratch, "verify --domain pypto.identity --cache %s --json", store);
    ck_assert_msg(r.status == 0, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "entries.0.status"), "HIT");
    ck_assert_int_eq(command_int(r.json, "counts.HIT"), 1);
    command_free(&r);
    r = command_run(scratch, "ls --domain pypto.identity --cache %s --json", store);
    ck_assert_int_eq(r.status, 0);
    ck_assert_str_eq(command_text(r.json, "entries.0.key"), KEY);
    ck_assert_str_eq(command_text(r.json, "entries.0.build_kind"), "single_chip");
    ck_assert_int_eq(command_int(r.json, "entries.0.files"), 2);
    ck_assert_int_eq(command_int(r.json, "entries.0.size_bytes"), 27);
    ck_assert_ptr_null(command_text(r.json, "entries.0.name"));
    command_free(&r);
    slt_shell("printf X >>%s/%s/kernel_config.py", store, SLOT);
    r = command_run(scratch, "verify --domain pypto.identity --cache %s --json", store);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "entries.0.status"), "INVALID");
    ck_assert_int_eq(command_int(r.json, "counts.INVALID"), 1);
    command_free(&r);
    r = command_run(scratch, "verify --cache %s/absent --json", scratch);
    ck_assert_int_eq(r.status, 0);
    ck_assert_uint_eq(json_object_array_length(command_at(r.json, "entries")), 0);
    command_free(&r);
    ck_assert_int_ne(access(slt_path(scratch, "absent", NULL), F_OK), 0);
}
END_TEST

/* What lies in a damaged slot is neither followed nor waited for, and its size is not guessed. */
START_TEST(ls_of_a_damaged_slot) {
    slt_shell("mkfifo %s/%s/slipway.json", store, SLOT);
    command_result r = command_run(scratch, "ls --domain pypto.identity --cache %s --json", store);
    ck_assert_msg(r.status == 0, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "entries.0.status"), "INVALID");
    ck_assert_ptr_null(command_at(r.json, "entries.0.size_bytes"));
    ck_assert_ptr_null(command_at(r.json, "entries.0.files"));
    ck_assert_ptr_null(command_at(r.json, "entries.0.name"));
    command_free(&r);
    slt_shell("rm %s/%s/slipway.json && echo '{\"name\":\"elsewhere\"}' >%s/other && ln -s %s/other %s/%s/slipway.json",
              store, SLOT, scratch, scratch, store, SLOT);
    r = command_run(scratch, "show %s --domain pypto.identity --cache %s --json", KEY, store);
    ck_assert_msg(r.status == 0, "%d %s %s", r.status, r.out, r.err);
    ck_assert_ptr_null(command_at(r.json, "name"));
    command_free(&r);
}
END_TEST

/* Whatever becomes of it, get answers with its own document. */
/* Nothing that could not be read or written passes for a success. */
START_TEST(ls_says_what_it_could_not_do) {
    if (access("/dev/full", F_OK) == 0) {
        command_result r = command_run(scratch, "ls --cache %s/absent >/dev/full 2>&1; s=$?; (exit $s)", scratch);
        ck_assert_msg(r.status == 4, "%d %s", r.status, r.err);
        command_free(&r);
    }
    slt_become_nobody(scratch);
    slt_shell("chmod 000 %s/%s/artifact_manifest.json", store, SLOT);
    command_result r = command_run(scratch, "ls --domain pypto.identity --cache %s", store);
    ck_assert_msg(r.status == 4, "%d %s %s", r.status, r.out, r.err);
    ck_assert_ptr_nonnull(strstr(r.out, "STORAGE_ERROR"));
    command_free(&r);
}
END_TEST

START_TEST(get_of_a_miss_and_of_damage) {
    const char *dest = slt_path(scratch, "dest", NULL);
    write_request(OTHER_SOURCE, FIXTURE_FILES, "");
    command_result r =
        command_run(scratch, "get %s %s --domain pypto.identity --cache %s --json", request_path, dest, store);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "status"), "MISS");
    ck_assert_ptr_null(command_at(r.json, "files"));
    command_free(&r);
    write_request(FIXTURE_SOURCE, FIXTURE_FILES, "");
    /* ON_MAP sees sizes only: the copy finds the other bytes. */
    slt_shell("printf 'kernels = []\\n' >%s/%s/kernel_config.py", store, SLOT);
    r = command_run(scratch, "get %s %s --domain pypto.identity --cache %s --json --verify on-map", request_path, dest,
                    store);
    ck_assert_msg(r.status == 1, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "status"), "INVALID");
    ck_assert_ptr_nonnull(command_text(r.json, "reason"));
    command_free(&r);
    r = command_run(scratch, "get %s %s2 --domain pypto.identity --cache %s --json", request_path, dest, store);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "status"), "INVALID");
    command_free(&r);
}
END_TEST

/* A verb of a later version has a name, and says so. */
START_TEST(later_verbs_are_unsupported) {
    static const char *const verbs[] = {"gc", "pack", "promote", "restore"};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        command_result r = command_run(scratch, "%s --json", verbs[i]);
        ck_assert_int_eq(r.status, 3);
        ck_assert_str_eq(command_text(r.json, "error.code"), "UNSUPPORTED");
        command_free(&r);
    }
}
END_TEST

START_TEST(show_an_entry) {
    command_result r = command_run(scratch, "show %.12s --domain pypto.identity --cache %s --json", KEY, store);
    ck_assert_msg(r.status == 0, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "manifest.key"), KEY);
    ck_assert_ptr_null(command_at(r.json, "contract"));
    command_free(&r);
    r = command_run(scratch, "show 0000000000 --cache %s --json", store);
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(command_text(r.json, "error.code"), "MISS");
    command_free(&r);
}
END_TEST

START_TEST(usage) {
    static const char *const lines[] = {"",
                                        "nonsense",
                                        "ls extra",
                                        "lookup",
                                        "ls --no-such",
                                        "ls --cache",
                                        "ls --cache a --cache b",
                                        "ls --probe",
                                        "ls --json=1",
                                        "verify --verify sometimes",
                                        "ls --identity hearsay",
                                        "ls --device gpu:0",
                                        "doctor --device cuda:x"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        command_result r = command_run(scratch, "%s --json", lines[i]);
        ck_assert_msg(r.status == 2, "\"%s\": %d %s", lines[i], r.status, r.err);
        ck_assert_msg(r.json != NULL, "\"%s\": %s", lines[i], r.out);
        ck_assert_str_eq(command_text(r.json, "error.code"), "USAGE");
        command_free(&r);
        r = command_run(scratch, "%s", lines[i]);
        ck_assert_int_eq(r.status, 2);
        ck_assert_ptr_nonnull(strstr(r.err, "USAGE"));
        command_free(&r);
    }
    command_result r = command_run(scratch, "--version");
    ck_assert_int_eq(r.status, 0);
    ck_assert_str_eq(r.out, "slipway " SLW_VERSION_TEXT "\n");
    command_free(&r);
    r = command_run(scratch, "--help");
    ck_assert_int_eq(r.status, 0);
    ck_assert_ptr_nonnull(strstr(r.out, "--read-only"));
    command_free(&r);
}
END_TEST

START_TEST(no_home_no_cache) {
    command_result r = command_run(NULL, "ls --json");
    ck_assert_int_eq(r.status, 2);
    ck_assert_str_eq(command_text(r.json, "error.reason"), "NO_CACHE");
    command_free(&r);
    if (geteuid() == 0) { /* root with another's home: no cache, and it says so */
        slt_shell("mkdir %s/home && chown 65534:65534 %s/home", scratch, scratch);
        r = command_run(slt_path(scratch, "home", NULL), "ls --json");
        ck_assert_int_eq(r.status, 2);
        ck_assert_ptr_nonnull(strstr(command_text(r.json, "error.message"), "another user"));
        command_free(&r);
    }
}
END_TEST

START_TEST(doctor) {
    command_result r = command_run(scratch, "doctor --cache %s/c --json", scratch);
    ck_assert_msg(r.status == 0, "%d %s %s", r.status, r.out, r.err);
    ck_assert_str_eq(command_text(r.json, "drivers.0.name"), "host");
    ck_assert_str_eq(command_text(r.json, "drivers.0.status"), "yes");
    ck_assert_str_eq(command_text(r.json, "cache.trust"), "yes");
    ck_assert_ptr_nonnull(command_text(r.json, "sha256"));
    ck_assert_ptr_nonnull(command_text(r.json, "compilers.0.path"));
    ck_assert_int_ne(access(slt_path(scratch, "c", NULL), F_OK), 0); /* nothing was written */
    command_free(&r);
    slt_shell("mkdir -m 755 %s/c", scratch); /* what is not there cannot be probed, and is not made for it */
    r = command_run(scratch, "doctor --probe --cache %s/c --json", scratch);
    ck_assert_msg(r.status == 0, "%d %s %s", r.status, r.out, r.err);
    ck_assert(json_object_get_boolean(command_at(r.json, "cache.abilities.locks")));
    ck_assert(json_object_get_boolean(command_at(r.json, "cache.abilities.rename_no_replace")));
    command_free(&r);
    slt_shell("chmod 777 %s/c", scratch);
    r = command_run(scratch, "doctor --cache %s/c --json", scratch);
    ck_assert_str_eq(command_text(r.json, "cache.trust"), "no");
    ck_assert_str_eq(command_text(r.json, "cache.error.reason"), "UNTRUSTED");
    ck_assert_ptr_null(command_at(r.json, "cache.abilities"));
    ck_assert_ptr_nonnull(command_text(r.json, "compilers.0.path")); /* the compiler is there all the same */
    command_free(&r);
    r = command_run(scratch, "doctor --no-cache --json");
    ck_assert_ptr_null(command_at(r.json, "cache.root"));
    ck_assert_ptr_null(command_at(r.json, "cache.trust"));
    ck_assert_ptr_null(command_at(r.json, "cache.file_system"));
    command_free(&r);
    /* It looks for the compiler where run does. */
    slt_shell("mkdir %s/bin && ln -s /usr/bin/gcc %s/bin/cc", scratch, scratch);
    r = command_run(scratch, "--version; export SLIPWAY_CC=%s/bin/none; '%s' doctor --cache %s/c --json", scratch,
                    command_path, scratch);
    ck_assert_ptr_nonnull(strstr(r.out, "TOOL_MISSING"));
    command_free(&r);
}
END_TEST

int main(int argc, char **argv) {
    command_use(argc, argv);
    Suite *suite = suite_create("command: requests");
    TCase *tc = tcase_create("requests");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, lookup_hit);
    tcase_add_test(tc, lookup_miss_and_invalid);
    tcase_add_test(tc, lookup_storage_error);
    tcase_add_test(tc, bad_requests);
    tcase_add_test(tc, put_then_get);
    tcase_add_test(tc, put_refuses);
    tcase_add_test(tc, put_private_statuses);
    tcase_add_test(tc, put_under_a_limit_on_file_sizes);
    tcase_add_test(tc, digest_of_a_record);
    tcase_add_test(tc, verify_and_ls);
    tcase_add_test(tc, ls_of_a_damaged_slot);
    tcase_add_test(tc, ls_says_what_it_could_not_do);
    tcase_add_test(tc, get_of_a_miss_and_of_damage);
    tcase_add_test(tc, later_verbs_are_unsupported);
    tcase_add_test(tc, show_an_entry);
    tcase_add_test(tc, usage);
    tcase_add_test(tc, no_home_no_cache);
    tcase_add_test(tc, doctor);
    suite_add_tcase(suite, tc);
    return slt_run(suite, NULL);
}
