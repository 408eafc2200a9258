/* Every check, in the order in which they run: its name, the seconds after which it hangs, and whether the driver has
 * all back afterwards. The first says what the machine is; where it is skipped, all are. */
#ifndef GPU_CHECKS_H
#define GPU_CHECKS_H

#define GPU_CHECKS(X)                                                                                                  \
    X(machine, 60, 1)                                                                                                  \
    X(describe, 30, 1)                                                                                                 \
    X(load_and_launch, 30, 1)                                                                                          \
    X(measured_by_driver, 30, 1)                                                                                       \
    X(limits, 30, 1)                                                                                                   \
    X(shared_beyond_48k, 30, 1)                                                                                        \
    X(globals_one_module, 30, 1)                                                                                       \
    X(cooperative, 30, 1)                                                                                              \
    X(clusters, 30, 1)                                                                                                 \
    X(grid_in_clusters, 30, 1)                                                                                         \
    X(wrong_architecture, 30, 1)                                                                                       \
    X(corrupted_digest, 30, 1)                                                                                         \
    X(ptx_policy, 60, 1)                                                                                               \
    X(really_loaded, 30, 1)                                                                                            \
    X(image_not_kept, 30, 1)                                                                                           \
    X(two_contexts, 30, 1)                                                                                             \
    X(dead_context, 30, 1)                                                                                             \
    X(threads, 60, 1)                                                                                                  \
    X(retire_under_launch, 30, 1)                                                                                      \
    X(capture_elsewhere, 30, 1)                                                                                        \
    X(forked, 30, 1)                                                                                                   \
    X(sticky_error, 30, 0)                                                                                             \
    X(exit_without_shutdown, 30, 0)                                                                                    \
    X(probe_targets, 120, 1)                                                                                           \
    X(probe_broken, 240, 1)                                                                                            \
    X(probe_alignment, 90, 1)                                                                                          \
    X(probe_lifetime, 60, 1)                                                                                           \
    X(probe_reset, 45, 1)                                                                                              \
    X(probe_fork, 90, 1)                                                                                               \
    X(launch_overhead, 60, 1)                                                                                          \
    X(load_1, 30, 1)                                                                                                   \
    X(load_100, 30, 1)                                                                                                 \
    X(load_1000, 90, 1)

#include "gpu_kit.h"

#define GPU_CHECK_DECLARE(name, seconds, gives_all_back) void check_##name(gpu *g);
GPU_CHECKS(GPU_CHECK_DECLARE)
#undef GPU_CHECK_DECLARE

#endif
