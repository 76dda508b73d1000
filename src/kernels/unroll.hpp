// SINTER_UNROLL in front of a loop writes it out: sums are registers only where all loops over them are. A macro alone, for files of any instruction set.
#pragma once

#if defined(__clang__)
#define SINTER_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SINTER_UNROLL _Pragma("GCC unroll 16")
#endif
