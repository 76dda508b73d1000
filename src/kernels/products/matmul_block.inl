// The body of matmul_{baseline,avx2,avx512}.cpp, which define SINTER_MATMUL_BLOCK (the function's name) and rename Eigen. The files for wider vectors
// also define SINTER_MATMUL_WIDER.
#include <Eigen/Core>
#include <type_traits>

#include "kernels/products/matmul_block.hpp"

namespace sinter::kernels {
namespace {

template <class T, int Order> using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Order>;
template <class T, int Order> using View = Eigen::Map<const Matrix<T, Order>, 0, Eigen::OuterStride<>>;

template <class T, int OrderA, int OrderB> void multiply(const MatmulBlock& p) {
  const View<T, OrderA> a(static_cast<const T*>(p.a), p.rows, p.depth, Eigen::OuterStride<>(p.a_leading));
  const View<T, OrderB> b(static_cast<const T*>(p.b), p.depth, p.columns, Eigen::OuterStride<>(p.b_leading));
  Eigen::Map<Matrix<T, Eigen::RowMajor>, 0, Eigen::OuterStride<>> c(static_cast<T*>(p.c), p.rows, p.columns, Eigen::OuterStride<>(p.c_leading));
  if (!p.accumulate) c.setZero();
  c.noalias() += a * b;
}

template <class T> bool multiply(const MatmulBlock& p) {
  constexpr int kRow = Eigen::RowMajor, kColumn = Eigen::ColMajor;
  if constexpr (std::is_integral_v<T>) {  // one layout, because each takes seconds to compile; transposed operands are copied
    MatmulBlock rows = p;
    Matrix<T, kRow> a, b;
    if (p.a_transposed) {
      a = View<T, kColumn>(static_cast<const T*>(p.a), p.rows, p.depth, Eigen::OuterStride<>(p.a_leading));
      rows.a = a.data(), rows.a_leading = p.depth;
    }
    if (p.b_transposed) {
      b = View<T, kColumn>(static_cast<const T*>(p.b), p.depth, p.columns, Eigen::OuterStride<>(p.b_leading));
      rows.b = b.data(), rows.b_leading = p.columns;
    }
    multiply<T, kRow, kRow>(rows);
  } else if (p.a_transposed) {
    p.b_transposed ? multiply<T, kColumn, kColumn>(p) : multiply<T, kColumn, kRow>(p);
  } else {
    p.b_transposed ? multiply<T, kRow, kColumn>(p) : multiply<T, kRow, kRow>(p);
  }
  return true;
}

}  // namespace

bool SINTER_MATMUL_BLOCK(DType dtype, const MatmulBlock& block) {
  switch (dtype) {
    case DType::float32: return multiply<float>(block);
    case DType::float64: return multiply<double>(block);
    case DType::int32: return multiply<std::int32_t>(block);
#if defined(SINTER_MATMUL_WIDER)
    case DType::int64: return matmul_block_baseline(dtype, block);  // Eigen has no vectors of int64
#else
    case DType::int64: return multiply<std::int64_t>(block);
#endif
    default: return false;
  }
}

}  // namespace sinter::kernels
