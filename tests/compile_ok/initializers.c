/* Every structure that a caller allocates has an initializer that names each of its fields: no warning in C11 or C++17. */
#include <slipway/slipway.h>

#define TAKE(type, INIT)                                                                                               \
    do {                                                                                                               \
        type value = INIT;                                                                                             \
        total += value.size;                                                                                           \
    } while (0)

uint64_t all_of_them(void);

uint64_t all_of_them(void) {
    uint64_t total = 0;
    slw_allocator allocator = SLW_ALLOCATOR_INIT;
    TAKE(slw_args, SLW_ARGS_INIT);
    TAKE(slw_builder, SLW_BUILDER_INIT);
    TAKE(slw_build_report, SLW_BUILD_REPORT_INIT);
    TAKE(slw_compiler_options, SLW_COMPILER_OPTIONS_INIT);
    TAKE(slw_compile_options, SLW_COMPILE_OPTIONS_INIT);
    TAKE(slw_device_counts, SLW_DEVICE_COUNTS_INIT);
    TAKE(slw_device_info, SLW_DEVICE_INFO_INIT);
    TAKE(slw_device_options, SLW_DEVICE_OPTIONS_INIT);
    TAKE(slw_driver_status, SLW_DRIVER_STATUS_INIT);
    TAKE(slw_error, SLW_ERROR_INIT);
    TAKE(slw_function_attributes, SLW_FUNCTION_ATTRIBUTES_INIT);
    TAKE(slw_grid, SLW_GRID_INIT);
    TAKE(slw_hydrate_options, SLW_HYDRATE_OPTIONS_INIT);
    TAKE(slw_identity_cost, SLW_IDENTITY_COST_INIT);
    TAKE(slw_identity_options, SLW_IDENTITY_OPTIONS_INIT);
    TAKE(slw_key_inputs, SLW_KEY_INPUTS_INIT);
    TAKE(slw_launch_shape, SLW_LAUNCH_SHAPE_INIT);
    TAKE(slw_memo_options, SLW_MEMO_OPTIONS_INIT);
    TAKE(slw_metrics_options, SLW_METRICS_OPTIONS_INIT);
    TAKE(slw_source, SLW_SOURCE_INIT);
    TAKE(slw_spec_inputs, SLW_SPEC_INPUTS_INIT);
    TAKE(slw_store_health, SLW_STORE_HEALTH_INIT);
    TAKE(slw_store_options, SLW_STORE_OPTIONS_INIT);
    TAKE(slw_text, SLW_TEXT_INIT);
    return total + (allocator.context == NULL);
}
