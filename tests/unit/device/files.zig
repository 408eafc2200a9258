pub const tests: []const []const u8 = &.{ "test_device", "test_double_cuda", "test_examples", "test_host_image", "test_host_kernel", "test_host_launch", "test_known_devices", "test_modules" };
