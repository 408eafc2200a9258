/* slipway: from a content-addressed cache to a launch, a type for every step.  Everything, by task:
 *
 *   errors and codes                   <slipway/error.h>
 *   memory, limits                     <slipway/alloc.h>  <slipway/limits.h>
 *   what an artifact is called         <slipway/record.h>  <slipway/identity.h>  <slipway/key.h>
 *   where it is kept                   <slipway/store.h>
 *   the four phases and the launch     <slipway/phases.h>
 *   what a launch must know            <slipway/contract.h>
 *   what is in a binary, would it run  <slipway/inspect.h>
 *   compile on a miss                  <slipway/compile.h>
 *   compile before anybody waits       <slipway/warm.h>
 *   why it was a miss                  <slipway/explain.h>
 *   devices                            <slipway/device.h>
 *   measuring                          <slipway/metrics.h>
 *   kernels of the host driver         <slipway/host_kernel.h>  (not included here: it is for kernels)
 *   for implementers                   <slipway/sys/driver_impl.h>  <slipway/sys/backend_impl.h>
 */
#ifndef SLIPWAY_SLIPWAY_H
#define SLIPWAY_SLIPWAY_H

#include <slipway/compile.h>
#include <slipway/explain.h>
#include <slipway/inspect.h>
#include <slipway/limits.h>
#include <slipway/metrics.h>
#include <slipway/phases.h>
#include <slipway/version.h>
#include <slipway/warm.h>

#endif
