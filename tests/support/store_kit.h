/* What the store's tests share: keys, specs and builders of the conformance fixture, one request with everything it
 * gave, listings of trees to compare, the stores of tests/fixtures/stores and the operations that damage them. */
#ifndef STORE_KIT_H
#define STORE_KIT_H

#include "slt.h"

#include <stdatomic.h>

#include "os.h"
#include "store_entry.h"

/* ---- keys and specs ---- */

/* The fixture's key: components digest("pypto"), digest("runtime"), digest("isa"), digest("ptoas"), digest("cxx"),
   specialization digest({rows: 16}), and this source; a NULL source is "source". */
slw_key *slk_key(const char *domain, const char *source);
/* NULL-terminated names. */
slw_spec *slk_spec(const char *domain, slw_state state, slw_build_kind kind, ...);
/* kernel/source.pto and kernel_config.py */
slw_spec *slk_fixture_spec(const char *domain, slw_state state, slw_build_kind kind);
/* The text digest of a string record. */
void slk_string_digest(const char *domain, const char *text, char out[SLW_DIGEST_TEXT_SIZE]);

/* ---- builders ---- */

typedef struct slk_file {
    const char *path;
    const char *data;
    size_t size;
    unsigned mode;
} slk_file;

extern const slk_file slk_fixture_files[2];

typedef struct slk_build slk_build;
struct slk_build {
    const slk_file *files;
    size_t file_count;
    atomic_int calls;    /* how often build ran */
    atomic_int confirms; /* how often confirm ran */
    atomic_int released; /* how often the value was released */
    slw_code code;       /* what build returns; its record then says "builder said no" */
    slw_code confirm_code;
    void *value;
    slw_code (*before)(slk_build *self, const slw_build_context *build,
                       slw_error *err); /* before the files are written */
    void *context;                      /* for `before` */
};

/* A builder that writes `build->files`; `build` must outlive every report made with it. */
slw_builder slk_builder(slk_build *build);
/* Writes files below a directory, making the directories between. */
void slk_write_files(const char *directory, const slk_file *files, size_t count);

/* ---- a world: one scratch directory with a root, a private root, and the fixture's request ---- */

typedef struct slk_world {
    const char *domain;
    char scratch[256];
    char root[300];
    char private_root[300];
    slw_key *key;
    slw_spec *spec; /* generated, single_chip */
    slk_build build;
    slw_builder builder;
} slk_world;

/* The world's paths and request; the private root is made, the root is not. umask becomes 022. */
void slk_world_make(slk_world *world, const char *domain);
/* The same in a directory that exists. */
void slk_world_make_in(slk_world *world, const char *domain, const char *directory);
void slk_world_end(slk_world *world);
slw_store_options slk_options(const slk_world *world);
slw_store *slk_open(const slk_world *world); /* writable */
slw_store *slk_open_read_only(const slk_world *world);
slw_store *slk_open_options(const slw_store_options *options);
/* Publishes the world's request with a store of its own, and closes it. */
void slk_publish(slk_world *world);
/* <root>/artifacts/<environment>/<key>/<spec>/<state>, from the ring of slt_path. */
const char *slk_slot(const slk_world *world, const slw_key *key, const slw_spec *spec);
const char *slk_marker(const slk_world *world); /* of the world's request */
const char *slk_lock_file(const slk_world *world);

/* ---- one request ---- */

typedef struct slk_result {
    slw_code code;
    slw_cached *entry;
    slw_build_report report;
    slw_error err;
} slk_result;

/* Asks, and checks that OK and a set `out` are the same thing. */
void slk_get(slw_store *store, const slw_key *key, const slw_spec *spec, const slw_builder *builder, slk_result *out);
void slk_world_get(const slk_world *world, slw_store *store, slk_result *out);
void slk_result_release(slk_result *result);
/* The disposition and failure of an OK result; a PRIVATE one has a reason, the others have none. */
void slk_expect(const slk_result *result, slw_disposition disposition, slw_build_failure failure);
/* Asks, expects, releases. */
void slk_world_expect(const slk_world *world, slw_store *store, slw_disposition disposition, slw_build_failure failure);
/* "HIT", "MISS", "INVALID", "STORAGE_ERROR", or the code's name. */
const char *slk_verdict(slw_code code);
const char *slk_lookup_verdict(slw_store *store, const slw_key *key, const slw_spec *spec);
const char *slk_world_verdict(const slk_world *world, slw_store *store);
#define slk_expect_verdict(world, store, verdict) ck_assert_str_eq(slk_world_verdict((world), (store)), (verdict))
/* The entry's inventory is these files, and so are the files where it lies. */
void slk_expect_files(const slw_cached *entry, const slk_file *files, size_t count);

/* ---- trees ---- */

#define SLK_TREE_MODES  1u /* permission bits */
#define SLK_TREE_TIMES  2u /* mtime and ctime */
#define SLK_TREE_INODES 4u
/* One line for everything below a directory, sorted; contents by digest. malloc'ed; "" for an absent directory. */
char *slk_tree(const char *directory, unsigned flags);
size_t slk_names(const char *directory); /* entries of a directory, 0 when absent */
size_t slk_leftovers(const char *root);  /* names below that begin with ".tmp." or ".trash." */
int slk_exists(const char *path);
unsigned slk_mode(const char *path); /* permission bits */
uint64_t slk_inode(const char *path);
void slk_replace(const char *path, const char *old_text,
                 const char *new_text); /* the first place; fails when there is none */
void slk_append(const char *path, const void *data, size_t size);
/* Nested directories, made step by step; holds one descriptor. */
void slk_nest(const char *directory, const char *name, unsigned depth);

/* ---- processes ---- */

/* Later scratch directories lie on a memory file system where there is one: for tests of thousands of publications. */
void slk_use_memory(void);
void *slk_shared(size_t size);                           /* zeroed, shared with forked children */
int slk_child(int (*run)(void *context), void *context); /* forks, waits; exit status, or 128 + signal */
int slk_child_start(int (*run)(void *context), void *context);
int slk_child_end(int process);
void slk_wait_for(atomic_int *value, int at_least); /* polls for 60 s, then fails */
void slk_pause_ms(unsigned duration_ms);

/* A copy of the real table whose calls go on to it; put in force with slwi_os_replace. */
slwi_os slk_table(void);
/* The path a descriptor was opened by, from /proc; "" when there is none. */
void slk_descriptor_path(int fd, char out[4096]);

/* ---- the stores of tests/fixtures/stores ---- */

typedef struct slk_fixture slk_fixture; /* one .json, parsed */

/* Copies tars and documents to <scratch>/fixtures, so that they can be read after the user was dropped. */
void slk_fixtures_copy(const char *scratch);
slk_fixture *slk_fixture_load(const char *scratch, const char *name);
void slk_fixture_free(slk_fixture *fixture);
size_t slk_fixture_requests(const slk_fixture *fixture);
typedef struct slk_request {
    char name[128];
    char expect[16];
    char slot[512]; /* relative to the root */
    slw_key *key;
    slw_spec *spec;
    size_t files; /* of the payload */
} slk_request;
void slk_fixture_request(const slk_fixture *fixture, size_t index, slk_request *out);
void slk_request_release(slk_request *request);
void slk_fixture_extract(const char *scratch, const char *name, const char *directory);

/* The cases of damaged.json ("cases") and accepted.json ("cases", "marker_text"). */
typedef struct slk_case {
    char id[64];
    char base[32];
    char verdict[16];
    char disposition[16];
    char failure[16]; /* "" for none */
    char after[16];
    int as_root_differs;
    int unprivileged_only;
    const void *operations;
} slk_case;
typedef struct slk_cases slk_cases;
slk_cases *slk_cases_load(const char *scratch, const char *document, const char *list);
void slk_cases_free(slk_cases *cases);
size_t slk_cases_count(const slk_cases *cases);
void slk_case_at(const slk_cases *cases, size_t index, int as_root, slk_case *out);
/* Applies the operations to a store in `root` whose request 0 has this slot (relative to the root). */
void slk_apply(const slk_case *which, const char *root, const char *slot);

#endif
