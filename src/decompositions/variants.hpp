// The decompositions of real matrices, compiled for several instruction sets, and those of complex matrices.
#pragma once
#include "kernels/decompose.hpp"

namespace sinter::decompositions {

using kernels::MatrixIn, kernels::Refusal, trace::Op;

Refusal decompose_baseline(Op op, DType dtype, const MatrixIn& a, const MatrixIn& b, double* result);
Refusal decompose_avx2(Op op, DType dtype, const MatrixIn& a, const MatrixIn& b, double* result);
Refusal decompose_complex(Op op, DType dtype, const MatrixIn& a, const MatrixIn& b, double* result);
bool is_of_complex_matrices(Op op);

}  // namespace sinter::decompositions
