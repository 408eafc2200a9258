pub const files: []const []const u8 = &.{
    "device.c",
    "drivers.c",
    "known_devices.c",
    "modules.c",
    "transfer.c",
    "host/host_driver.c",
    "host/host_image.c",
    "host/host_launch.c",
    "host/host_module.c",
    "host/host_pool.c",
};
