/* What came from outside, on its way to a terminal: a file's name, an entry's, a compiler's words. Whatever stands in
 * them, they move no cursor and change no colour. */
#include "cli.h"

#include <stdio.h>
#include <string.h>

#define TEXTS      8u
#define TEXT_BYTES 16640u /* of a path in which every byte is one that is written out */

/* How many bytes at `at` are a control character: C0, DEL, or C1 as UTF-8 has it. */
static size_t control(const unsigned char *at) {
    if ((*at < 0x20 && *at != '\0') || *at == 0x7f) return 1;
    return at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f ? 2 : 0;
}

static int is_plain(const char *text) {
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++)
        if (control(at) != 0) return 0;
    return 1;
}

const char *cli_plain(const char *text) {
    static char texts[TEXTS][TEXT_BYTES];
    static unsigned next;
    if (text == NULL || is_plain(text)) return text;
    char *out = texts[next++ % TEXTS];
    size_t used = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0' && used + 9 < TEXT_BYTES;) {
        const size_t size = control(at);
        if (size == 0) out[used++] = (char)*at++;
        for (size_t i = 0; i < size; i++) used += (size_t)snprintf(out + used, 5, "\\x%02x", *at++);
    }
    out[used] = '\0';
    return out;
}

void cli_put_lines(FILE *to, const char *text) {
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        const size_t size = *at == '\n' || *at == '\t' ? 0 : control(at);
        if (size == 0) (void)fputc(*at++, to);
        for (size_t i = 0; i < size; i++) (void)fprintf(to, "\\x%02x", *at++);
    }
}
