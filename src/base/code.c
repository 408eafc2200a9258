/* The codes by name and by exit status: the one table behind slw_code_name and slw_code_exit_status. */
#include <slipway/error.h>
#include <slipway/version.h>

typedef struct code_row {
    slw_code code;
    int exit_status;
    const char *name;
} code_row;

static const code_row rows[] = {
    {SLW_OK, 0, "OK"},
    {SLW_E_USAGE, 2, "USAGE"},
    {SLW_E_NO_MEMORY, 3, "NO_MEMORY"},
    {SLW_E_LIMIT, 1, "LIMIT"},
    {SLW_E_UNSUPPORTED, 3, "UNSUPPORTED"},
    {SLW_E_MISS, 1, "MISS"},
    {SLW_E_INVALID_ENTRY, 1, "INVALID_ENTRY"},
    {SLW_E_GONE, 1, "GONE"},
    {SLW_E_RECURSIVE, 1, "RECURSIVE"},
    {SLW_E_INVALID_SOURCE, 1, "INVALID_SOURCE"},
    {SLW_E_STORAGE, 4, "STORAGE"},
    {SLW_E_LOCK, 4, "LOCK"},
    {SLW_E_PUBLICATION, 4, "PUBLICATION"},
    {SLW_E_COMPILE_FAILED, 1, "COMPILE_FAILED"},
    {SLW_E_TOOL_MISSING, 3, "TOOL_MISSING"},
    {SLW_E_IDENTITY_UNUSABLE, 3, "IDENTITY_UNUSABLE"},
    {SLW_E_UNSUPPORTED_INPUT, 1, "UNSUPPORTED_INPUT"},
    {SLW_E_INVALID_PTX, 1, "INVALID_PTX"},
    {SLW_E_INVALID_BINARY, 1, "INVALID_BINARY"},
    {SLW_E_INVALID_METADATA, 1, "INVALID_METADATA"},
    {SLW_E_CONTRACT_MISMATCH, 1, "CONTRACT_MISMATCH"},
    {SLW_E_TARGET_MISMATCH, 1, "TARGET_MISMATCH"},
    {SLW_E_OUT_OF_RESOURCES, 1, "OUT_OF_RESOURCES"},
    {SLW_E_INVALID_LAUNCH, 1, "INVALID_LAUNCH"},
    {SLW_E_UNAVAILABLE, 3, "UNAVAILABLE"},
    {SLW_E_STUB, 3, "STUB"},
    {SLW_E_NO_DEVICE, 3, "NO_DEVICE"},
    {SLW_E_FORKED, 3, "FORKED"},
    {SLW_E_LOST, 3, "LOST"},
    {SLW_E_DRIVER, 3, "DRIVER"},
    {SLW_E_TIMEOUT, 3, "TIMEOUT"},
    {SLW_E_CANCELLED, 3, "CANCELLED"},
};

static const code_row *find(slw_code code) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].code == code) return &rows[i];
    }
    return NULL;
}

const char *slw_code_name(slw_code code) {
    const code_row *row = find(code);
    if (row != NULL) return row->name;
    return code >= SLW_E_BUILDER_FIRST ? "BUILDER" : "UNKNOWN";
}

int slw_code_exit_status(slw_code code) {
    const code_row *row = find(code);
    if (row != NULL) return row->exit_status;
    return 1;
}

const char *slw_version(void) {
    return SLW_VERSION_TEXT;
}
