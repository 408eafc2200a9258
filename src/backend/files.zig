pub const files: []const []const u8 = &.{
    "contract.c",
    "contract_fields.c",
    "contract_json.c",
    "elf_view.c",
    "host/host_dynamic.c",
    "host/host_kernel_text.c",
    "host/host_list.c",
    "host/host_reader.c",
};
