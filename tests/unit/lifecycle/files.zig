pub const tests: []const []const u8 = &.{
    "test_compile",
    "test_document",
    "test_faults",
    "test_launch",
    "test_metrics",
    "test_model",
    "test_phases",
    "test_pitfall_11_grid_unit",
    "test_pitfall_27_reader_revision",
    "test_pitfall_36_fits",
    "test_preflight",
    "test_preflight_public",
};
