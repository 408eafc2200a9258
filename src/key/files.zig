pub const files: []const []const u8 = &.{
    "sha256.c",
    "sha256_arm.c",
    "sha256_k.c",
    "sha256_sodium.c",
    "sha256_x86.c",
};
