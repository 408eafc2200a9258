pub const files: []const []const u8 = &.{ "gpu_check.c", "gpu_kit.c", "check_load.c", "check_launch.c", "check_life.c", "check_probe.c", "measure.c" };
