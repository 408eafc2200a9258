/* Finding a disassembler: which program, and how it is asked. */
#ifndef SLWI_DISASSEMBLE_H
#define SLWI_DISASSEMBLE_H

#include <slipway/inspect.h>

#define SLWI_TOOL_PATH_MAX 4096u

typedef struct slwi_disassembler {
    char path[SLWI_TOOL_PATH_MAX]; /* absolute */
    const char *argument;          /* before the file; static */
} slwi_disassembler;

/* The program for an image of that kind (CUBIN, HSACO). TOOL_MISSING: `tried` has the places, one of each name, and the
   hint says how to get one. UNSUPPORTED_INPUT for other kinds. */
slw_code slwi_disassembler_find(const slw_disassemble_options *options, slw_image_kind kind, slwi_disassembler *out,
                                slw_error *err);

#endif
