/* --sass: machine code of an image, whole or of one kernel. */
#include "inspect.h"

#include <stdlib.h>
#include <string.h>

/* ---- one kernel of the text ---- */

static int begins(slw_bytes line, const char *text, slw_bytes *rest) {
    const size_t size = strlen(text);
    if (line.size < size || memcmp(line.data, text, size) != 0) return 0;
    *rest = (slw_bytes){(const char *)line.data + size, line.size - size};
    return 1;
}

/* The name a line begins the code of, as the three tools write it:
     nvdisasm       TAB .section TAB .text.NAME,"ax",@progbits
     cuobjdump      TAB TAB Function : NAME
     llvm-objdump   0000000000001600 <NAME>:
   0 for any other line. */
static int begins_function(slw_bytes line, slw_bytes *name) {
    const char *comma;
    if (begins(line, "\t.section\t.text.", name)) {
        comma = memchr(name->data, ',', name->size);
        if (comma != NULL) name->size = (size_t)(comma - (const char *)name->data);
        return 1;
    }
    if (begins(line, "\t\tFunction : ", name)) return 1;
    const char *text = line.data;
    size_t digits = 0;
    while (digits < line.size && strchr("0123456789abcdef", text[digits]) != NULL && text[digits] != '\0') digits++;
    if (digits < 8 || line.size < digits + 4 || memcmp(text + digits, " <", 2) != 0) return 0;
    if (memcmp(text + line.size - 2, ">:", 2) != 0) return 0;
    *name = (slw_bytes){text + digits + 2, line.size - digits - 4};
    return 1;
}

/* nvdisasm draws a line before each section; what follows it belongs to no function yet. */
static int ends_function(slw_bytes line) {
    slw_bytes rest;
    return begins(line, "//-----", &rest);
}

/* Keeps the lines of the kernel and no others, in place. */
static size_t keep_entry(char *text, size_t size, const char *entry) {
    size_t kept = 0;
    int inside = 0;
    for (size_t at = 0; at < size;) {
        const char *newline = memchr(text + at, '\n', size - at);
        const size_t end = newline != NULL ? (size_t)(newline - text) : size;
        const slw_bytes line = {text + at, end - at};
        const size_t with_newline = end - at + (newline != NULL);
        slw_bytes name;
        if (begins_function(line, &name))
            inside = name.size == strlen(entry) && memcmp(name.data, entry, name.size) == 0;
        else if (ends_function(line))
            inside = 0;
        if (inside) {
            memmove(text + kept, text + at, with_newline);
            kept += with_newline;
        }
        at += with_newline;
    }
    text[kept] = '\0';
    return kept;
}

/* ---- an image ---- */

static int is_machine_code(const slw_image *image) {
    return (image->kind == SLW_IMAGE_CUBIN || image->kind == SLW_IMAGE_HSACO) && image->compression == NULL;
}

/* In PATH first, then where the system and the toolkits put their tools. */
static slw_code disassemble(slw_bytes bytes, slw_text *text, slw_error *err) {
    slw_disassemble_options how = SLW_DISASSEMBLE_OPTIONS_INIT;
    const char *temporary = secure_getenv("TMPDIR");
    if (temporary != NULL && temporary[0] == '/') how.temporary = temporary;
    how.search_path = secure_getenv("PATH");
    slw_error first = SLW_ERROR_INIT;
    if (how.search_path == NULL) return slw_disassemble(&how, bytes, text, err);
    slw_code code = slw_disassemble(&how, bytes, text, err);
    if (code != SLW_E_TOOL_MISSING) return code;
    memcpy(first.tried, err->tried, sizeof first.tried);
    how.search_path = NULL;
    code = slw_disassemble(&how, bytes, text, err);
    if (code == SLW_E_TOOL_MISSING) {
        const size_t used = strlen(first.tried);
        snprintf(first.tried + used, sizeof first.tried - used, "%s%s", used != 0 ? "\n" : "", err->tried);
        memcpy(err->tried, first.tried, sizeof err->tried);
    }
    return code;
}

slw_code inspect_sass(inspect_run *run, const inspect_file *file, const slw_image *image, slw_text *text,
                      slw_error *err) {
    slw_error why = SLW_ERROR_INIT;
    if (!is_machine_code(image)) return SLW_OK;
    if (inspect_judge_image(run, image, &why) == FITS_NO && why.code == SLW_E_TARGET_MISMATCH) return SLW_OK;
    const slw_bytes bytes = {(const char *)file->bytes.data + image->offset_bytes, (size_t)image->size_bytes};
    slw_text made = SLW_TEXT_INIT;
    const slw_code code = disassemble(bytes, &made, err);
    if (code != SLW_OK) {
        if (err->path[0] == '\0') snprintf(err->path, sizeof err->path, "%s", file->path);
        return code;
    }
    run->images_disassembled++;
    if (run->options->entry != NULL) {
        made.size = keep_entry(made.data, made.size, run->options->entry);
        if (made.size == 0) {
            slw_text_release(&made);
            return SLW_OK;
        }
        run->entries_found++;
    }
    *text = made;
    return SLW_OK;
}
