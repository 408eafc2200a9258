pub const files: []const []const u8 = &.{ "slt.c", "null_driver.c", "device_image.c", "driver_subject.c" };
