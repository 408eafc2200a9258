/* A pool of threads that help one launch at a time.
 *
 * The job lies on the launching thread's stack. A worker joins it under the lock (`active`) and the launcher takes it
 * away under the lock (`job` = NULL) before it waits for those who joined: a worker that wakes late finds nothing, and
 * a launch never waits for a thread that is still asleep. */
#include <pthread.h>
#include <string.h>

#include "checked.h"
#include "host_driver.h"
#include "memory.h"

typedef struct worker {
    slwi_host_pool *pool;
    pthread_t thread;
    unsigned char *scratch;
} worker;

struct slwi_host_pool {
    slw_allocator allocator;
    atomic_int claimed;
    uint32_t wanted;
    uint32_t running; /* changed by who claimed it, read at the end */
    void *scratch_memory;
    pthread_mutex_t lock; /* of the rest */
    pthread_cond_t wake;
    pthread_cond_t done;
    slwi_host_job *job;
    uint64_t turn; /* counts jobs, so that a worker does not take one twice */
    uint32_t active;
    int stopping;
    worker workers[];
};

static int make_locks(slwi_host_pool *pool) {
    if (pthread_mutex_init(&pool->lock, NULL) != 0) return 0;
    if (pthread_cond_init(&pool->wake, NULL) == 0) {
        if (pthread_cond_init(&pool->done, NULL) == 0) return 1;
        pthread_cond_destroy(&pool->wake);
    }
    pthread_mutex_destroy(&pool->lock);
    return 0;
}

static void pool_free(slwi_host_pool *pool) {
    const slw_allocator allocator = pool->allocator;
    slwi_free(&allocator, pool->scratch_memory);
    slwi_free(&allocator, pool);
}

slwi_host_pool *slwi_host_pool_create(const slw_allocator *allocator, uint32_t threads) {
    slwi_host_pool *const pool = slwi_alloc_zero(allocator, sizeof *pool + threads * sizeof pool->workers[0]);
    if (pool == NULL) return NULL;
    pool->allocator = *allocator;
    pool->wanted = threads;
    atomic_init(&pool->claimed, 0);
    /* Not touched here: pages come when a kernel uses them. */
    pool->scratch_memory =
        slwi_alloc(allocator, (size_t)threads * SLWI_HOST_SHARED_BYTES + SLWI_HOST_SHARED_ALIGNMENT - 1u);
    if (pool->scratch_memory == NULL || !make_locks(pool)) {
        pool_free(pool);
        return NULL;
    }
    const uintptr_t from = (uintptr_t)pool->scratch_memory;
    const size_t skip = (size_t)((0u - from) % SLWI_HOST_SHARED_ALIGNMENT);
    for (uint32_t i = 0; i < threads; i++) {
        pool->workers[i].pool = pool;
        pool->workers[i].scratch = (unsigned char *)pool->scratch_memory + skip + (size_t)i * SLWI_HOST_SHARED_BYTES;
    }
    return pool;
}

void slwi_host_pool_destroy(slwi_host_pool *pool, int forked) {
    if (pool == NULL) return;
    if (!forked) {
        pthread_mutex_lock(&pool->lock);
        pool->stopping = 1;
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
        for (uint32_t i = 0; i < pool->running; i++) (void)pthread_join(pool->workers[i].thread, NULL);
        pthread_cond_destroy(&pool->done);
        pthread_cond_destroy(&pool->wake);
        pthread_mutex_destroy(&pool->lock);
    }
    pool_free(pool);
}

static void *work(void *argument) {
    worker *const self = argument;
    slwi_host_pool *const pool = self->pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    while (!pool->stopping) {
        if (pool->job == NULL || pool->turn == seen) {
            pthread_cond_wait(&pool->wake, &pool->lock);
            continue;
        }
        slwi_host_job *const job = pool->job;
        seen = pool->turn;
        pool->active++;
        pthread_mutex_unlock(&pool->lock);
        slwi_host_job_work(job, self->scratch);
        pthread_mutex_lock(&pool->lock);
        if (--pool->active == 0) pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

int slwi_host_pool_claim(slwi_host_pool *pool) {
    if (pool == NULL || atomic_exchange_explicit(&pool->claimed, 1, memory_order_acquire) != 0) return 0;
    if (pool->running == 0) {
        /* Fewer than wanted is a slower pool, none at all is none. */
        while (pool->running < pool->wanted) {
            worker *const next = &pool->workers[pool->running];
            if (pthread_create(&next->thread, NULL, work, next) != 0) break;
            pool->running++;
        }
    }
    if (pool->running > 0) return 1;
    atomic_store_explicit(&pool->claimed, 0, memory_order_release);
    return 0;
}

uint32_t slwi_host_pool_threads(const slwi_host_pool *pool) {
    return pool->running;
}

void slwi_host_pool_run(slwi_host_pool *pool, slwi_host_job *job, void *scratch) {
    /* No more helpers than there is work for beside the caller's. */
    const uint64_t chunks = (job->total - 1u) / job->chunk + 1u;
    const uint64_t helpers = chunks - 1u < pool->running ? chunks - 1u : pool->running;
    pthread_mutex_lock(&pool->lock);
    pool->job = job;
    pool->turn++;
    if (helpers == pool->running) {
        pthread_cond_broadcast(&pool->wake);
    } else {
        for (uint64_t i = 0; i < helpers; i++) pthread_cond_signal(&pool->wake);
    }
    pthread_mutex_unlock(&pool->lock);
    slwi_host_job_work(job, scratch);
    pthread_mutex_lock(&pool->lock);
    pool->job = NULL;
    while (pool->active > 0) pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    atomic_store_explicit(&pool->claimed, 0, memory_order_release);
}
