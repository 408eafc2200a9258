/* nvcc with the host compiler it drives, and ptxas: found, asked, proved.
 *
 * Where there is no nvcc, or it has no C++ compiler to preprocess with, NVRTC compiles CUDA C: a library, run by
 * slipway-nvrtc as a program of its own (nvrtc.h). Where that is not there either, ptxas alone assembles PTX: a
 * toolchain that begins with one kind of source only, and says for the other what is missing. */
#ifndef SLWI_NVCC_TOOLCHAIN_H
#define SLWI_NVCC_TOOLCHAIN_H

#include <slipway/sys/backend_impl.h>

#include "tool_answer.h"

typedef struct slwi_nvcc_toolchain {
    slw_allocator allocator;
    char *found;     /* as the search met it: /usr/local/cuda/bin/nvcc */
    char *driver;    /* nvcc, slipway-nvrtc or ptxas, with every link followed: this is what is started */
    char *host;      /* the C++ compiler nvcc drives, with every link followed; NULL: it is not nvcc */
    char *library;   /* of NVRTC, with every link followed; NULL: it is not slipway-nvrtc */
    char *assembler; /* ptxas beside NVRTC; NULL: nvcc names its own, or `driver` is it */
    char *path;      /* PATH of every child */
    slwi_tool_answer answer;
    slw_memo *memo;          /* borrowed; NULL: none */
    slw_digest driver_proof; /* of the driver's path and bytes */
    int driver_proved;
    slw_error *missing; /* why there is no CUDA C: TOOL_MISSING, as it is said when one is asked for; NULL: there is */
} slwi_nvcc_toolchain;

slw_code slwi_nvcc_toolchain_open(const slw_toolchain_request *request, slwi_nvcc_toolchain **out, slw_error *err);
void slwi_nvcc_toolchain_close(slwi_nvcc_toolchain **toolchain);

/* The program of that name among those that were found ("ptxas"); NULL: it was not. */
const char *slwi_nvcc_program(const slwi_tool_answer *answer, const char *name);
/* What follows "NAME " in a note; NULL: there is none. */
const char *slwi_nvcc_note(const slwi_tool_answer *answer, const char *name);
#define SLWI_NVCC_NOTE_ISA          "isa"          /* the newest PTX that ptxas reads: "9.0" */
#define SLWI_NVCC_NOTE_REPRODUCIBLE "reproducible" /* "1": nvcc takes slwi_nvcc_reproducible */
#define SLWI_NVCC_NOTE_HOST         "host"         /* version of the host compiler, a claim */
#define SLWI_NVCC_NOTE_PTXAS        "ptxas"        /* and of ptxas */
#define SLWI_NVCC_NOTE_WHY          "why"          /* what cannot be proved, and so keeps everything private */

/* "9.0" as major × 1000 + minor; 0 for what is no version of PTX. */
uint32_t slwi_nvcc_isa_number(const char *text);

/* ---- the parts ---- */

/* Starts the tools and fills the answer. UNSUPPORTED (UNKNOWN_COMPILER) for what does not answer as nvcc does. */
slw_code slwi_nvcc_discover(const slwi_nvcc_toolchain *toolchain, slw_cancel *cancel, slwi_tool_answer *answer,
                            slw_error *err);
/* What in an nvcc.profile may reach outside the key, in words for a person, into why[size]; "": nothing. NO_MEMORY. */
slw_code slwi_nvcc_profile_reason(const char *path, const slw_allocator *allocator, char *why, size_t size,
                                  slw_error *err);
/* Declares, fills, proves and seals the four components. */
slw_code slwi_nvcc_declare_identity(const slwi_nvcc_toolchain *toolchain, slw_identity *identity, slw_error *err);

/* The fixed parts of the command lines, NULL-terminated: what discovery asks about is what is done. */
extern const char *const slwi_nvcc_compile_after[];
/* Names that nvcc makes up for what has none in a source come from these, not from the source's path. The source's
   digest is set behind them. Versions before 12 have no such option. */
extern const char *const slwi_nvcc_reproducible[];
#define SLWI_NVCC_SEED        "-frandom-seed=slipway-"
#define SLWI_NVCC_PATH_OPTION "-Xcicc"
#define SLWI_NVCC_PATH_VALUE  "--orig_src_path_name,/slipway/"

/* Where a child of nvcc sees its working directory, under one name for every build: cicc takes the path of the source
   into names and line tables. */
#define SLWI_NVCC_HERE "/proc/self/cwd"
/* Variables of the children beside the usual ones, as NAME=VALUE. */
void slwi_nvcc_variables(slwi_tool_list *out);

/* nvcc hands its options to a shell inside double quotes: 1 for text that means something there. */
int slwi_nvcc_is_for_shell(const char *text);

#endif
