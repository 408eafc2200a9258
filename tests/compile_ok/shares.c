/* One module, two entries (pitfall 15): a share is an owner of its own. */
#include <slipway/slipway.h>

slw_code two_entries(slw_device_loaded *loaded, const slw_launch_shape *first, const slw_launch_shape *second,
                     slw_error *err)
    SLW_ENDS(loaded);
slw_code two_entries(slw_device_loaded *loaded, const slw_launch_shape *first, const slw_launch_shape *second,
                     slw_error *err) {
    slw_device_loaded *share = NULL;
    slw_launchable *init = NULL;
    slw_launchable *use = NULL;
    slw_code rc = slw_device_loaded_share(loaded, &share, err);
    if (rc != SLW_OK) {
        slw_device_loaded_discard(&loaded);
        return rc;
    }
    rc = slw_make_launchable(&loaded, first, &init, err);
    if (rc != SLW_OK) {
        slw_device_loaded_discard(&loaded);
        slw_device_loaded_discard(&share);
        return rc;
    }
    rc = slw_make_launchable(&share, second, &use, err);
    if (rc != SLW_OK) {
        slw_device_loaded_discard(&share);
        slw_launchable_discard(&init);
        return rc;
    }
    slw_launchable_discard(&init);
    slw_launchable_discard(&use);
    return SLW_OK;
}

slw_code share_all(const slw_hydrated *hydrated, const slw_launchable *launchable, slw_error *err)
    SLW_NEEDS(hydrated) SLW_NEEDS(launchable);
slw_code share_all(const slw_hydrated *hydrated, const slw_launchable *launchable, slw_error *err) {
    slw_hydrated *bytes = NULL;
    slw_launchable *function = NULL;
    slw_code rc = slw_hydrated_share(hydrated, &bytes, err);
    if (rc != SLW_OK) return rc;
    rc = slw_launchable_share(launchable, &function, err);
    if (rc == SLW_OK) slw_launchable_discard(&function);
    slw_hydrated_discard(&bytes);
    return rc;
}
