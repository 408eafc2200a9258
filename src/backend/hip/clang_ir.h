/* What the text of LLVM IR declares: its target, and whether it has a kernel. */
#ifndef SLWI_CLANG_IR_H
#define SLWI_CLANG_IR_H

#include <slipway/bytes.h>

/* Is this the text of IR for AMD GPUs, and for `processor` ("gfx90a") where its functions name one? Comments and
   strings are told apart from the rest. INVALID_SOURCE: NOT_TEXT (a NUL; bitcode is not read), NO_KERNEL (nothing is an
   amdgpu_kernel), OPEN_STRING; UNSUPPORTED_INPUT: TRIPLE (another target's; subject the triple), TARGET (a function is
   for another processor, which clang would heed function by function; subject that one). Each with path, line and
   column. A text without a triple is taken as what it is compiled for. */
slw_code slwi_clang_ir_check(slw_bytes text, const char *name, const char *processor, slw_error *err);

#endif
