// SINTER_UNROLL before a loop unrolls it: sums stay in registers only where all loops over them are unrolled. It is a macro, for files of any instruction set.
#pragma once

#if defined(__clang__)
#define SINTER_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SINTER_UNROLL _Pragma("GCC unroll 16")
#endif
