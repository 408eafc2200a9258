/* Export, must-check and phase annotations.  Included by every other header; includes nothing of slipway's. */
#ifndef SLIPWAY_ATTRIBUTES_H
#define SLIPWAY_ATTRIBUTES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define SLW_BEGIN_DECLS extern "C" {
#define SLW_END_DECLS   }
#else
#define SLW_BEGIN_DECLS
#define SLW_END_DECLS
#endif

#if defined(__GNUC__) || defined(__clang__)
#define SLW_API                         __attribute__((visibility("default")))
#define SLW_MUST_CHECK                  __attribute__((warn_unused_result))
#define SLW_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#else
#define SLW_API
#define SLW_MUST_CHECK
#define SLW_PRINTF(format_at, first_at)
#endif

/* Phase annotations, for clang and zig cc only: compile with -DSLW_CHECK_PHASES -Wthread-safety and the compiler
   refuses a handle that is used after its transition, copied, leaked on a failure path or used before the code was
   tested.  Without SLW_CHECK_PHASES they are nothing.  docs/phases.md shows the style the analysis accepts. */
#if defined(__clang__) && defined(SLW_CHECK_PHASES)
#define SLW_ATTR_(x) __attribute__((x))
#else
#define SLW_ATTR_(x)
#endif
#define SLW_PHASE(name)      SLW_ATTR_(capability(name))
#define SLW_MAKES(handle)    SLW_ATTR_(try_acquire_capability(0, handle))
#define SLW_CONSUMES(handle) SLW_ATTR_(release_capability(handle)) SLW_ATTR_(try_acquire_capability(1, handle))
#define SLW_ENDS(handle)     SLW_ATTR_(release_capability(handle))
#define SLW_NEEDS(handle)    SLW_ATTR_(requires_capability(handle))
/* On a function whose body the analysis should not judge: those that move handles into and out of a table. */
#define SLW_UNCHECKED SLW_ATTR_(no_thread_safety_analysis)

#endif
