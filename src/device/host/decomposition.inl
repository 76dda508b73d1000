// The body of decomposition_{baseline,avx2}.cpp, which define SINTER_DECOMPOSE (the function's name) and rename Eigen: no out-of-line copy of
// an Eigen function that is compiled with wider vectors may serve where these are not there.
#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>

#include "device/host/decomposition.hpp"

namespace sinter::device {
namespace {

using trace::Op;

template <class T> using Columns = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T> using Result = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

/// A copy, since every decomposition works in place; along the smaller stride.
template <class T> Columns<T> copied(const MatrixIn& m) {
  Columns<T> matrix(m.rows, m.columns);
  const T* const from = static_cast<const T*>(m.data);
  const auto at = [&](std::int64_t i, std::int64_t j) { return from[i * m.row_stride + j * m.column_stride]; };
  if (std::abs(m.row_stride) <= std::abs(m.column_stride)) {
    for (std::int64_t j = 0; j < m.columns; ++j)
      for (std::int64_t i = 0; i < m.rows; ++i) matrix(i, j) = at(i, j);
  } else {
    for (std::int64_t i = 0; i < m.rows; ++i)
      for (std::int64_t j = 0; j < m.columns; ++j) matrix(i, j) = at(i, j);
  }
  return matrix;
}

template <class T> using Lu = Eigen::PartialPivLU<Eigen::Ref<Columns<T>>>;
template <class T> bool is_singular(const Lu<T>& lu) { return (lu.matrixLU().diagonal().array() == T(0)).any(); }

template <class T> Refusal solve(Columns<T> a, const MatrixIn& b, T* out) {
  const Lu<T> lu(a);
  if (is_singular(lu)) return Refusal::singular;
  Result<T>(out, b.rows, b.columns) = lu.solve(copied<T>(b));
  return Refusal::none;
}

template <class T> Refusal inverse(Columns<T> a, bool nan_where_singular, T* out) {
  Result<T> result(out, a.rows(), a.cols());
  const Lu<T> lu(a);
  if (!is_singular(lu)) result = lu.solve(Columns<T>::Identity(a.rows(), a.cols()));
  else if (nan_where_singular) result.setConstant(std::numeric_limits<T>::quiet_NaN());
  else return Refusal::singular;
  return Refusal::none;
}

/// A product of many factors leaves the range of its type long before the determinant does: fraction and exponent are kept apart.
template <class T> Refusal determinant(Columns<T> a, T* out) {
  const Lu<T> lu(a);
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
  out[0] = static_cast<T>(std::ldexp(fraction, bounded));
  out[1] = fraction == 0 ? T(0) : std::signbit(fraction) && !std::isnan(fraction) ? T(-1) : T(1);
  out[2] = static_cast<T>(logarithm);
  return Refusal::none;
}

template <class T> Refusal cholesky(Columns<T> a, T* out) {
  const Eigen::LLT<Eigen::Ref<Columns<T>>, Eigen::Lower> llt(a);
  if (llt.info() != Eigen::Success) return Refusal::indefinite;
  Result<T>(out, a.rows(), a.cols()) = a.template triangularView<Eigen::Lower>();
  return Refusal::none;
}

/// `kept` columns of Q.
template <class T> Refusal qr(Columns<T> a, std::int64_t kept, T* out) {
  const Eigen::HouseholderQR<Eigen::Ref<Columns<T>>> qr(a);
  Columns<T> q = Columns<T>::Identity(a.rows(), kept);
  q.applyOnTheLeft(qr.householderQ());
  Result<T> result(out, kept, a.rows() + a.cols());
  result.leftCols(a.rows()) = q.transpose();
  result.rightCols(a.cols()) = a.topRows(kept).template triangularView<Eigen::Upper>();
  return Refusal::none;
}

template <class T> Refusal svd(const Columns<T>& a, bool full, bool values_only, T* out) {
  const std::int64_t m = a.rows(), n = a.cols(), k = std::min(m, n), rows = full ? std::max(m, n) : k;
  Result<T> result(out, values_only ? 1 : rows, values_only ? k : m + 1 + n);
  if (!a.allFinite()) {  // as LAPACK's: refused for NaN, NaN for infinity
    if (a.hasNaN()) return Refusal::diverges;
    result.setConstant(std::numeric_limits<T>::quiet_NaN());
    return Refusal::none;
  }
  const unsigned wanted = values_only ? 0 : full ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV;
  const Eigen::BDCSVD<Columns<T>> svd(a, wanted);
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

/// Of the lower triangle.
template <class T> Refusal eigh(const Columns<T>& a, bool values_only, T* out) {
  const std::int64_t n = a.rows();
  Result<T> result(out, n, values_only ? 1 : 1 + n);
  if (!a.template triangularView<Eigen::Lower>().toDenseMatrix().allFinite()) {
    result.setConstant(std::numeric_limits<T>::quiet_NaN());
    return Refusal::none;
  }
  const Eigen::SelfAdjointEigenSolver<Columns<T>> solver(a, values_only ? Eigen::EigenvaluesOnly : Eigen::ComputeEigenvectors);
  if (solver.info() != Eigen::Success) return Refusal::diverges;
  result.col(0) = solver.eigenvalues();
  if (!values_only) result.rightCols(n) = solver.eigenvectors().transpose();
  return Refusal::none;
}

template <class T> Refusal decompose_as(Op op, const MatrixIn& a, const MatrixIn& b, T* out) {
  switch (op) {
    case Op::solve: return solve<T>(copied<T>(a), b, out);
    case Op::inverse: return inverse<T>(copied<T>(a), false, out);
    case Op::inverse_or_nan: return inverse<T>(copied<T>(a), true, out);
    case Op::determinant: return determinant<T>(copied<T>(a), out);
    case Op::cholesky: return cholesky<T>(copied<T>(a), out);
    case Op::qr: return qr<T>(copied<T>(a), std::min(a.rows, a.columns), out);
    case Op::qr_complete: return qr<T>(copied<T>(a), a.rows, out);
    case Op::svd: return svd<T>(copied<T>(a), false, false, out);
    case Op::svd_full: return svd<T>(copied<T>(a), true, false, out);
    case Op::svdvals: return svd<T>(copied<T>(a), false, true, out);
    case Op::eigh: return eigh<T>(copied<T>(a), false, out);
    default: return eigh<T>(copied<T>(a), true, out);
  }
}

}  // namespace

Refusal SINTER_DECOMPOSE(Op op, DType dtype, const MatrixIn& a, const MatrixIn& b, void* result) {
  if (dtype == DType::float32) return decompose_as<float>(op, a, b, static_cast<float*>(result));
  return decompose_as<double>(op, a, b, static_cast<double*>(result));
}

}  // namespace sinter::device
