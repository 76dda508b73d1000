// The body of real_{baseline,avx2}.cpp, which define SINTER_DECOMPOSE (the function's name) and rename Eigen. Otherwise the linker could choose a copy
// of an Eigen function that was compiled with vectors that the processor lacks.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>

#include "decompositions/variants.hpp"

namespace sinter::decompositions {

namespace {

using Matrix = Eigen::MatrixXd;
using Result = Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

/// Copies a matrix to float64, because every decomposition works in place. The inner loop walks the smaller stride.
template <class From> Matrix copied_from(const MatrixIn& m) {
  Matrix matrix(m.rows, m.columns);
  const From* const from = static_cast<const From*>(m.data);
  const auto at = [&](std::int64_t i, std::int64_t j) { return static_cast<double>(from[i * m.row_stride + j * m.column_stride]); };
  if (std::abs(m.row_stride) <= std::abs(m.column_stride)) {
    for (std::int64_t j = 0; j < m.columns; ++j)
      for (std::int64_t i = 0; i < m.rows; ++i) matrix(i, j) = at(i, j);
  } else {
    for (std::int64_t i = 0; i < m.rows; ++i)
      for (std::int64_t j = 0; j < m.columns; ++j) matrix(i, j) = at(i, j);
  }
  return matrix;
}
Matrix copied(DType dtype, const MatrixIn& m) { return dtype == DType::float32 ? copied_from<float>(m) : copied_from<double>(m); }

using Lu = Eigen::PartialPivLU<Eigen::Ref<Matrix>>;
bool is_singular(const Lu& lu) { return (lu.matrixLU().diagonal().array() == 0).any(); }

Refusal solve(Matrix a, const Matrix& b, double* out) {
  const Lu lu(a);
  if (is_singular(lu)) return Refusal::singular;
  Result(out, b.rows(), b.cols()) = lu.solve(b);
  return Refusal::none;
}

template <unsigned triangle> Refusal substitute(const Matrix& a, const Matrix& b, double* out) {
  if ((a.diagonal().array() == 0).any()) return Refusal::singular;
  Result(out, b.rows(), b.cols()) = a.triangularView<triangle>().solve(b);
  return Refusal::none;
}

Refusal inverse(Matrix a, bool nan_where_singular, double* out) {
  Result result(out, a.rows(), a.cols());
  const Lu lu(a);
  if (!is_singular(lu)) result = lu.solve(Matrix::Identity(a.rows(), a.cols()));
  else if (nan_where_singular) result.setConstant(std::numeric_limits<double>::quiet_NaN());
  else return Refusal::singular;
  return Refusal::none;
}

/// Computes the determinant with a separate fraction and exponent: a product of many factors leaves the range of its type long before the determinant does.
Refusal determinant(Matrix a, double* out) {
  const Lu lu(a);
  double fraction = lu.permutationP().determinant(), logarithm = 0;
  long exponent = 0;
  for (Eigen::Index k = 0; k < a.rows(); ++k) {
    const double factor = static_cast<double>(lu.matrixLU()(k, k));
    int more = 0;
    fraction = std::frexp(fraction * factor, &more);
    exponent += std::isfinite(fraction) ? more : 0;
    logarithm += std::log(std::fabs(factor));
  }
  const int bounded = static_cast<int>(std::min(std::max(exponent, -100000L), 100000L));
  out[0] = std::ldexp(fraction, bounded);
  out[1] = fraction == 0 ? 0.0 : std::signbit(fraction) && !std::isnan(fraction) ? -1.0 : 1.0;
  out[2] = logarithm;
  return Refusal::none;
}

Refusal cholesky(Matrix a, double* out) {
  const Eigen::LLT<Eigen::Ref<Matrix>, Eigen::Lower> llt(a);
  if (llt.info() != Eigen::Success) return Refusal::indefinite;
  Result(out, a.rows(), a.cols()) = a.triangularView<Eigen::Lower>();
  return Refusal::none;
}

/// Writes R and `kept` columns of Q.
Refusal qr(Matrix a, std::int64_t kept, double* out) {
  const Eigen::HouseholderQR<Eigen::Ref<Matrix>> qr(a);
  Matrix q = Matrix::Identity(a.rows(), kept);
  q.applyOnTheLeft(qr.householderQ());
  Result result(out, kept, a.rows() + a.cols());
  result.leftCols(a.rows()) = q.transpose();
  result.rightCols(a.cols()) = a.topRows(kept).triangularView<Eigen::Upper>();
  return Refusal::none;
}

Refusal svd(const Matrix& a, bool full, bool values_only, double* out) {
  const std::int64_t m = a.rows(), n = a.cols(), k = std::min(m, n), rows = full ? std::max(m, n) : k;
  Result result(out, values_only ? 1 : rows, values_only ? k : m + 1 + n);
  if (!a.allFinite()) {  // as LAPACK: a NaN is refused, and infinity gives NaN
    if (a.hasNaN()) return Refusal::diverges;
    result.setConstant(std::numeric_limits<double>::quiet_NaN());
    return Refusal::none;
  }
  const unsigned wanted = values_only ? 0 : full ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV;
  const Eigen::BDCSVD<Matrix> svd(a, wanted);
  if (svd.info() != Eigen::Success) return Refusal::diverges;
  if (values_only) {
    result.row(0) = svd.singularValues().transpose();
    return Refusal::none;
  }
  result.setZero();
  result.leftCols(m).topRows(svd.matrixU().cols()) = svd.matrixU().transpose();
  result.col(m).head(k) = svd.singularValues();
  result.rightCols(n).topRows(svd.matrixV().cols()) = svd.matrixV().transpose();
  return Refusal::none;
}

/// Reads the lower triangle only.
Refusal eigh(const Matrix& a, bool values_only, double* out) {
  const std::int64_t n = a.rows();
  Result result(out, n, values_only ? 1 : 1 + n);
  if (!a.triangularView<Eigen::Lower>().toDenseMatrix().allFinite()) {
    result.setConstant(std::numeric_limits<double>::quiet_NaN());
    return Refusal::none;
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(a, values_only ? Eigen::EigenvaluesOnly : Eigen::ComputeEigenvectors);
  if (solver.info() != Eigen::Success) return Refusal::diverges;
  result.col(0) = solver.eigenvalues();
  if (!values_only) result.rightCols(n) = solver.eigenvectors().transpose();
  return Refusal::none;
}

/// Replaces a by D^-1 a D with powers of 2 in D, so that rows and columns have similar magnitudes and small elements beside large ones keep their digits
/// (Parlett and Reinsch, Numer. Math. 13, 1969). Returns D.
Eigen::VectorXd balance(Matrix& a) {
  const Eigen::Index n = a.rows();
  Eigen::VectorXd scale = Eigen::VectorXd::Ones(n);
  constexpr int kMaxSweeps = 100;
  bool done = false;
  for (int sweep = 0; sweep < kMaxSweeps && !done; ++sweep) {
    done = true;
    for (Eigen::Index i = 0; i < n; ++i) {
      const double diagonal = std::abs(a(i, i));
      double column = a.col(i).cwiseAbs().sum() - diagonal, factor = 1;
      const double row = a.row(i).cwiseAbs().sum() - diagonal, before = column + row;
      if (!(column > 0) || !(row > 0)) continue;
      while (column < row / 2) factor *= 2, column *= 4;
      while (column >= row * 2) factor /= 2, column /= 4;
      if ((column + row) / factor >= 0.95 * before) continue;
      done = false;
      scale[i] *= factor;
      a.row(i) /= factor;
      a.col(i) *= factor;
    }
  }
  return scale;
}

struct Pairs {
  Eigen::VectorXcd values;
  Eigen::MatrixXcd vectors;  // a column for each value
};

/// Eigen computes eigenvectors from a real Schur form. A block of two rows in it has two complex eigenvalues, or a double one, which rounding gives as a pair
/// of tiny or no imaginary part. Eigen then takes the block for a triangular one, and the eigenvectors of the pair are wrong.
bool has_block_of_double_value(const Eigen::VectorXcd& values) {
  return std::any_of(values.begin(), values.end(),
                     [](std::complex<double> w) { return std::signbit(w.imag()) && std::fabs(w.imag()) <= 1e-12 * std::fabs(w.real()); });
}

/// The complex Schur form is triangular.
Refusal by_complex_schur(const Matrix& a, Pairs& found) {
  const std::int64_t n = a.rows();
  Matrix both = Matrix::Zero(n, 2 * n);
  both.leftCols(n) = a;
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> packed(n, 2 * (1 + n));  // real parts of values and of vectors, then imaginary parts
  const MatrixIn in{both.data(), n, 2 * n, 1, n};
  if (const Refusal refusal = decompose_complex(Op::complex_eig, DType::float64, in, in, packed.data()); refusal != Refusal::none) return refusal;
  const std::complex<double> i(0, 1);
  found.values = packed.col(0) + i * packed.col(1 + n);
  found.vectors = (packed.middleCols(1, n) + i * packed.rightCols(n)).transpose();
  return Refusal::none;
}

/// Computes the eigenvectors of any square matrix. They have length 1, and their largest element is real.
Refusal eig(Matrix a, bool values_only, double* out) {
  if (!a.allFinite()) return Refusal::infinite;  // as NumPy does
  const std::int64_t n = a.rows();
  Result result(out, n, values_only ? 2 : 2 + 2 * n);
  const Eigen::VectorXd scale = balance(a);
  const Eigen::EigenSolver<Matrix> solver(a, !values_only);
  if (solver.info() != Eigen::Success) return Refusal::diverges;
  Pairs found{solver.eigenvalues(), {}};
  if (!values_only) {
    found.vectors = solver.eigenvectors();
    if (has_block_of_double_value(found.values))
      if (const Refusal refusal = by_complex_schur(a, found); refusal != Refusal::none) return refusal;
  }
  result.col(0) = found.values.real();
  result.col(1) = found.values.imag();
  if (values_only) return Refusal::none;
  for (Eigen::Index k = 0; k < n; ++k) {
    Eigen::VectorXcd vector = scale.asDiagonal() * found.vectors.col(k);
    vector /= vector.norm();
    if (found.values[k].imag() != 0) {
      Eigen::Index largest = 0;
      vector.cwiseAbs2().maxCoeff(&largest);
      vector *= std::conj(vector[largest]) / std::abs(vector[largest]);
      vector[largest] = vector[largest].real();
    }
    result.row(k).segment(2, n) = vector.real().transpose();
    result.row(k).segment(2 + n, n) = vector.imag().transpose();
  }
  return Refusal::none;
}

}  // namespace

Refusal SINTER_DECOMPOSE(Op op, DType dtype, const MatrixIn& in, const MatrixIn& right, double* out) {
  Matrix a = copied(dtype, in);
  switch (op) {
    case Op::solve: return solve(std::move(a), copied(dtype, right), out);
    case Op::solve_lower: return substitute<Eigen::Lower>(a, copied(dtype, right), out);
    case Op::solve_upper: return substitute<Eigen::Upper>(a, copied(dtype, right), out);
    case Op::inverse: return inverse(std::move(a), false, out);
    case Op::inverse_or_nan: return inverse(std::move(a), true, out);
    case Op::determinant: return determinant(std::move(a), out);
    case Op::cholesky: return cholesky(std::move(a), out);
    case Op::qr: return qr(std::move(a), std::min(in.rows, in.columns), out);
    case Op::qr_complete: return qr(std::move(a), in.rows, out);
    case Op::svd: return svd(a, false, false, out);
    case Op::svd_full: return svd(a, true, false, out);
    case Op::svdvals: return svd(a, false, true, out);
    case Op::eigh: return eigh(a, false, out);
    case Op::eig: return eig(std::move(a), false, out);
    case Op::eigvals: return eig(std::move(a), true, out);
    default: return eigh(a, true, out);
  }
}

}  // namespace sinter::decompositions
