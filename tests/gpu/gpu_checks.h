/* Every check, in the order in which they run. The first says what the machine is; where it is skipped, all are. */
#ifndef GPU_CHECKS_H
#define GPU_CHECKS_H

#define GPU_CHECKS(X)                                                                                                  \
    X(machine, 60)                                                                                                     \
    X(describe, 30)                                                                                                    \
    X(load_and_launch, 30)                                                                                             \
    X(measured_by_driver, 30)                                                                                          \
    X(limits, 30)                                                                                                      \
    X(shared_beyond_48k, 30)                                                                                           \
    X(globals_one_module, 30)                                                                                          \
    X(cooperative, 30)                                                                                                 \
    X(clusters, 30)                                                                                                    \
    X(grid_in_clusters, 30)                                                                                            \
    X(wrong_architecture, 30)                                                                                          \
    X(corrupted_digest, 30)                                                                                            \
    X(ptx_policy, 60)                                                                                                  \
    X(really_loaded, 30)                                                                                               \
    X(image_not_kept, 30)                                                                                              \
    X(two_contexts, 30)                                                                                                \
    X(dead_context, 30)                                                                                                \
    X(threads, 60)                                                                                                     \
    X(retire_under_launch, 30)                                                                                         \
    X(capture_elsewhere, 30)                                                                                           \
    X(forked, 30)                                                                                                      \
    X(sticky_error, 30)                                                                                                \
    X(exit_without_shutdown, 30)                                                                                       \
    X(launch_overhead, 60)                                                                                             \
    X(load_1, 30)                                                                                                      \
    X(load_100, 30)                                                                                                    \
    X(load_1000, 90)

#include "gpu_kit.h"

#define GPU_CHECK_DECLARE(name, seconds) void check_##name(gpu *g);
GPU_CHECKS(GPU_CHECK_DECLARE)
#undef GPU_CHECK_DECLARE

#endif
