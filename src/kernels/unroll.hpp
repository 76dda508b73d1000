// SINTER_UNROLL before a loop unrolls it. Sums stay in registers only if all loops over them are unrolled. It is a macro, so that files for any instruction set
// can use it.
#pragma once

#if defined(__clang__)
#define SINTER_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SINTER_UNROLL _Pragma("GCC unroll 16")
#endif
