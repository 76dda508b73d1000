// Decompositions of complex matrices by Eigen, for the baseline instruction set alone: Eigen's templates take minutes to compile.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>

#include "decompositions/variants.hpp"

namespace sinter::decompositions {

namespace {

using Matrix = Eigen::MatrixXcd;

/// The result: first the columns of real parts, then the columns of imaginary parts.
class Result {
 public:
  Result(double* data, std::int64_t rows, std::int64_t columns) : both_(data, rows, 2 * columns), columns_(columns) { both_.setZero(); }
  void set(std::int64_t row, std::int64_t column, const Matrix& block) {
    both_.block(row, column, block.rows(), block.cols()) = block.real();
    both_.block(row, columns_ + column, block.rows(), block.cols()) = block.imag();
  }
  void set_nan() { both_.setConstant(std::numeric_limits<double>::quiet_NaN()); }

 private:
  Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> both_;
  std::int64_t columns_;
};

template <class From> Matrix copied_from(const MatrixIn& m) {
  const std::int64_t columns = m.columns / 2;
  Matrix matrix(m.rows, columns);
  const From* const from = static_cast<const From*>(m.data);
  const auto at = [&](std::int64_t i, std::int64_t j) { return static_cast<double>(from[i * m.row_stride + j * m.column_stride]); };
  for (std::int64_t i = 0; i < m.rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) matrix(i, j) = {at(i, j), at(i, j + columns)};
  return matrix;
}

/// Computes the determinant, its direction, and the logarithm of its magnitude. Fraction and exponent are separate, because the product may overflow.
Refusal determinant(Matrix a, double* out) {
  const Eigen::PartialPivLU<Eigen::Ref<Matrix>> lu(a);
  std::complex<double> fraction = static_cast<double>(lu.permutationP().determinant()), direction = fraction;
  double logarithm = 0;
  long exponent = 0;
  for (Eigen::Index k = 0; k < a.rows(); ++k) {
    const std::complex<double> factor = lu.matrixLU()(k, k);
    const double size = std::abs(factor);
    fraction *= factor;
    direction = size == 0 ? 0 : direction * (factor / size);
    logarithm += std::log(size);
    int more = 0;
    std::frexp(std::max(std::fabs(fraction.real()), std::fabs(fraction.imag())), &more);
    if (!std::isfinite(fraction.real()) || !std::isfinite(fraction.imag())) more = 0;
    fraction = {std::ldexp(fraction.real(), -more), std::ldexp(fraction.imag(), -more)};
    exponent += more;
  }
  const int bounded = static_cast<int>(std::clamp(exponent, -100000L, 100000L));
  Matrix numbers(1, 3);
  numbers << std::complex<double>(std::ldexp(fraction.real(), bounded), std::ldexp(fraction.imag(), bounded)), direction, logarithm;
  Result(out, 1, 3).set(0, 0, numbers);
  return Refusal::none;
}

/// Divides the matrix by a power of 2 first, because Eigen squares its elements.
Refusal qr(Matrix a, std::int64_t kept, double* out) {
  const double largest = a.size() == 0 ? 0 : std::max(a.real().cwiseAbs().maxCoeff(), a.imag().cwiseAbs().maxCoeff());
  const double scale = std::isfinite(largest) && largest > 0 ? std::exp2(std::clamp(std::ilogb(largest), -1000, 1000)) : 1.0;
  a /= scale;
  const Eigen::HouseholderQR<Eigen::Ref<Matrix>> qr(a);
  Matrix q = Matrix::Identity(a.rows(), kept);
  q.applyOnTheLeft(qr.householderQ());
  Result result(out, kept, a.rows() + a.cols());
  result.set(0, 0, q.transpose());
  result.set(0, a.rows(), Matrix(a.topRows(kept).triangularView<Eigen::Upper>()) * scale);
  return Refusal::none;
}

Refusal svd(const Matrix& a, bool full, double* out) {
  const std::int64_t m = a.rows(), n = a.cols();
  Result result(out, full ? std::max(m, n) : std::min(m, n), m + 1 + n);
  if (a.hasNaN()) return Refusal::diverges;  // the same as for real matrices
  if (!a.allFinite()) {
    result.set_nan();
    return Refusal::none;
  }
  const Eigen::BDCSVD<Matrix> svd(a, full ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV);
  if (svd.info() != Eigen::Success) return Refusal::diverges;
  result.set(0, 0, svd.matrixU().transpose());
  result.set(0, m, svd.singularValues().cast<std::complex<double>>());
  result.set(0, m + 1, svd.matrixV().adjoint());
  return Refusal::none;
}

/// Does not read the upper triangle.
Refusal eigh(const Matrix& a, double* out) {
  Result result(out, a.rows(), 1 + a.rows());
  if (!Matrix(a.triangularView<Eigen::Lower>()).allFinite()) {
    result.set_nan();
    return Refusal::none;
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(a);
  if (solver.info() != Eigen::Success) return Refusal::diverges;
  result.set(0, 0, solver.eigenvalues().cast<std::complex<double>>());
  result.set(0, 1, solver.eigenvectors().transpose());
  return Refusal::none;
}

/// Computes eigenvectors of length 1, whose largest element is real.
Refusal eig(const Matrix& a, double* out) {
  if (!a.allFinite()) return Refusal::infinite;
  const Eigen::ComplexEigenSolver<Matrix> solver(a);
  if (solver.info() != Eigen::Success) return Refusal::diverges;
  Matrix vectors = solver.eigenvectors();
  for (Eigen::Index k = 0; k < vectors.cols(); ++k) {
    Eigen::Index largest = 0;
    vectors.col(k).cwiseAbs2().maxCoeff(&largest);
    const std::complex<double> element = vectors(largest, k);
    vectors.col(k) *= std::conj(element) / (std::abs(element) * vectors.col(k).norm());
    vectors(largest, k) = vectors(largest, k).real();
  }
  Result result(out, a.rows(), 1 + a.rows());
  result.set(0, 0, solver.eigenvalues());
  result.set(0, 1, vectors.transpose());
  return Refusal::none;
}

}  // namespace

Refusal decompose_complex(Op op, DType dtype, const MatrixIn& in, const MatrixIn&, double* out) {
  Matrix a = dtype == DType::float32 ? copied_from<float>(in) : copied_from<double>(in);
  switch (op) {
    case Op::complex_determinant: return determinant(std::move(a), out);
    case Op::complex_qr: return qr(std::move(a), std::min(in.rows, in.columns / 2), out);
    case Op::complex_qr_complete: return qr(std::move(a), in.rows, out);
    case Op::complex_svd: return svd(a, false, out);
    case Op::complex_svd_full: return svd(a, true, out);
    case Op::complex_eigh: return eigh(a, out);
    default: return eig(a, out);
  }
}

bool is_of_complex_matrices(Op op) {
  switch (op) {
    case Op::complex_determinant:
    case Op::complex_qr:
    case Op::complex_qr_complete:
    case Op::complex_svd:
    case Op::complex_svd_full:
    case Op::complex_eigh:
    case Op::complex_eig: return true;
    default: return false;
  }
}

}  // namespace sinter::decompositions
