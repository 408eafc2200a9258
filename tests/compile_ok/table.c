/* A table of kernels: handles move in and out through two functions, the only ones the analysis does not judge. */
#include <slipway/slipway.h>

struct kernel_table {
    slw_launchable *kernels[16];
    size_t count;
};

/* In: the table owns it from here on. The caller's variable is NULL afterwards. */
void table_put(struct kernel_table *table, slw_launchable **launchable) SLW_ENDS(*launchable);
SLW_UNCHECKED void table_put(struct kernel_table *table, slw_launchable **launchable) {
    table->kernels[table->count++] = *launchable;
    *launchable = NULL;
}

/* A share for the caller, who owns it: the table keeps its own. */
slw_code table_get(const struct kernel_table *table, size_t index, slw_launchable **out, slw_error *err)
    SLW_MAKES(*out);
SLW_UNCHECKED slw_code table_get(const struct kernel_table *table, size_t index, slw_launchable **out, slw_error *err) {
    return slw_launchable_share(table->kernels[index], out, err);
}

/* The end of all. */
void table_clear(struct kernel_table *table);
SLW_UNCHECKED void table_clear(struct kernel_table *table) {
    while (table->count > 0) slw_launchable_discard(&table->kernels[--table->count]);
}

slw_code fill(struct kernel_table *table, slw_device_loaded *loaded, const slw_launch_shape *shape, slw_error *err)
    SLW_ENDS(loaded);
slw_code fill(struct kernel_table *table, slw_device_loaded *loaded, const slw_launch_shape *shape, slw_error *err) {
    slw_launchable *launchable = NULL;
    const slw_code rc = slw_make_launchable(&loaded, shape, &launchable, err);
    if (rc != SLW_OK) {
        slw_device_loaded_discard(&loaded);
        return rc;
    }
    table_put(table, &launchable);
    return SLW_OK;
}

slw_code use(const struct kernel_table *table, const slw_grid *grid, slw_error *err);
slw_code use(const struct kernel_table *table, const slw_grid *grid, slw_error *err) {
    slw_launchable *launchable = NULL;
    const slw_stream stream = SLW_STREAM_DEFAULT;
    slw_code rc = table_get(table, 0, &launchable, err);
    if (rc != SLW_OK) return rc;
    rc = slw_launch(launchable, grid, stream, NULL, err);
    slw_launchable_discard(&launchable);
    return rc;
}
