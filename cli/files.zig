pub const files: []const []const u8 = &.{
    "main.c",   "options.c", "json.c",         "requests.c",      "entries.c",
    "doctor.c", "run.c",     "arguments.c",    "expect.c",        "inspect.c",
    "inspect_json.c", "inspect_table.c", "inspect_sass.c", "run_input.c", "triton.c",
    "stats.c",   "metrics_files.c", "why.c", "warm.c", "plain.c", "interrupt.c",
};
