/* Guards: a wrong type of `from`, `out` or of a discard is a hard error on every C11 compiler, with no flag. C++ has it
 * by its own rules. The selection picks the function; wrapping the arguments themselves in _Generic would hide them
 * from clang's analysis. They are macros: put a compound literal with a comma in it in parentheses, or in a variable.
 * Included by <slipway/phases.h> only; a translation unit that defines these functions undefines the guards first
 * (SLIPWAY_NO_GUARDS). */
#ifndef SLIPWAY_PHASES_GUARD_H
#define SLIPWAY_PHASES_GUARD_H
#if !defined(__cplusplus) && !defined(SLIPWAY_NO_GUARDS)

/* A type cannot stand in parentheses. NOLINTBEGIN(bugprone-macro-parentheses) */
#define SLW_PICK_(fn, T, a)        _Generic((a), T * * : (fn))
#define SLW_PICK2_(fn, T, a, U, b) _Generic((a), T * * : _Generic((b), U * * : (fn)))
#define SLW_PICK_CONST_(fn, T, a)  _Generic((a), T * : (fn), const T * : (fn))
/* NOLINTEND(bugprone-macro-parentheses) */

#define slw_store_lookup(store, key, spec, out, err)                                                                   \
    SLW_PICK_(slw_store_lookup, slw_cached, out)((store), (key), (spec), (out), (err))
#define slw_store_get_or_build(store, key, spec, builder, report, out, err)                                            \
    SLW_PICK_(slw_store_get_or_build, slw_cached, out)((store), (key), (spec), (builder), (report), (out), (err))
#define slw_hydrate(from, options, out, err)                                                                           \
    SLW_PICK2_(slw_hydrate, slw_cached, from, slw_hydrated, out)((from), (options), (out), (err))
#define slw_hydrate_binary(binary, name, allocator, options, out, err)                                                 \
    SLW_PICK_(slw_hydrate_binary, slw_hydrated, out)((binary), (name), (allocator), (options), (out), (err))
#define slw_device_load(from, device, out, err)                                                                        \
    SLW_PICK2_(slw_device_load, slw_hydrated, from, slw_device_loaded, out)((from), (device), (out), (err))
#define slw_make_launchable(from, shape, out, err)                                                                     \
    SLW_PICK2_(slw_make_launchable, slw_device_loaded, from, slw_launchable, out)((from), (shape), (out), (err))
#define slw_launch(launchable, grid, stream, args, err)                                                                \
    SLW_PICK_CONST_(slw_launch, slw_launchable, launchable)((launchable), (grid), (stream), (args), (err))
#define slw_hydrated_share(hydrated, out, err)                                                                         \
    _Generic((hydrated), slw_hydrated *: SLW_PICK_(slw_hydrated_share, slw_hydrated, out),                         \
             const slw_hydrated *: SLW_PICK_(slw_hydrated_share, slw_hydrated, out))((hydrated), (out), (err))
#define slw_device_loaded_share(loaded, out, err)                                                                      \
    _Generic((loaded), slw_device_loaded *: SLW_PICK_(slw_device_loaded_share, slw_device_loaded, out),                \
             const slw_device_loaded *: SLW_PICK_(slw_device_loaded_share, slw_device_loaded, out))(                   \
        (loaded), (out), (err))
#define slw_launchable_share(launchable, out, err)                                                                     \
    _Generic((launchable), slw_launchable *: SLW_PICK_(slw_launchable_share, slw_launchable, out),                 \
             const slw_launchable *: SLW_PICK_(slw_launchable_share, slw_launchable, out))((launchable), (out), (err))
#define slw_launchable_retire(from, streams, count, timeout_ns, err)                                                   \
    SLW_PICK_(slw_launchable_retire, slw_launchable, from)((from), (streams), (count), (timeout_ns), (err))
#define slw_cached_discard(cached)         SLW_PICK_(slw_cached_discard, slw_cached, cached)((cached))
#define slw_hydrated_discard(hydrated)     SLW_PICK_(slw_hydrated_discard, slw_hydrated, hydrated)((hydrated))
#define slw_device_loaded_discard(loaded)  SLW_PICK_(slw_device_loaded_discard, slw_device_loaded, loaded)((loaded))
#define slw_launchable_discard(launchable) SLW_PICK_(slw_launchable_discard, slw_launchable, launchable)((launchable))

#endif
#endif
