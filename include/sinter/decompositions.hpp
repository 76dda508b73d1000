// Systems of equations and decompositions of matrices, with NumPy's names, computed by Eigen on the host as steps of a plan.
//
// All functions work on the last two axes; the axes before them are batches. Integers and bool become float64; floats of 8 and 16 bits, which NumPy refuses,
// are computed in float32 and rounded. NaN in the operands gives NaN and no error, except in singular values and in eig. A matrix without a result (singular,
// not positive definite) throws LinAlgError when the value is computed, with the line that recorded the call. If the device has no such library, the host
// computes: operands are copied to the host and the result is copied back. explain() shows this and counters().host_calls counts it.
#pragma once
#include <cstdint>
#include <optional>

#include "sinter/complex.hpp"
#include "sinter/linalg.hpp"
#include "sinter/tensor.hpp"

namespace sinter {

/// Thrown when the value is computed, if a matrix has no inverse or is not positive definite, or an iteration does not converge.
struct LinAlgError : Error {
  using Error::Error;
};

/// Thrown by functions of linear algebra for shapes that are not matrices, not square, or do not fit each other.
struct MatrixShapeError : ShapeError {
  using ShapeError::ShapeError;
};

enum class Triangle : std::uint8_t { lower, upper };

/// Returns x with a @ x = b: a of shape (..., n, n); b a vector (n,), or matrices (..., n, k). Leading axes broadcast. It eliminates with partial pivoting, and
/// throws LinAlgError if a pivot is 0.
Tensor solve(const Arg& a, const Arg& b);
/// Does the same for triangular matrices, by substitution: the other triangle is not read; with `unit_diagonal` the diagonal counts as 1. Throws LinAlgError if
/// an element of the diagonal is 0.
Tensor solve_triangular(const Arg& a, const Arg& b, Triangle triangle = Triangle::upper, bool unit_diagonal = false);
Tensor inv(const Arg& x);
Tensor det(const Arg& x);
struct SlogdetResult {
  Tensor sign, logabsdet;
};
/// The determinant is sign * exp(logabsdet); a singular matrix gives 0 and -infinity.
SlogdetResult slogdet(const Arg& x);

/// Returns L with L @ L.T = x from the lower triangle; with `upper`, U with U.T @ U = x from the upper one. Throws LinAlgError if x is not positive definite.
Tensor cholesky(const Arg& x, bool upper = false);

enum class QRMode : std::uint8_t { reduced, complete };
struct QRResult {
  Tensor Q, R;
};
/// Returns Q and R with x = Q @ R; Q has min(m, n) orthonormal columns, or all m.
QRResult qr(const Arg& x, QRMode mode = QRMode::reduced);

struct SVDResult {
  Tensor U, S, Vh;
};
/// Returns U, S and Vh with x = U[:, :k] * S @ Vh[:k], k = min(m, n), S descending. Without `full_matrices` U and Vh have k columns and k rows.
SVDResult svd(const Arg& x, bool full_matrices = true);
/// Returns S only, in less than half the time.
Tensor svdvals(const Arg& x);

struct EighResult {
  Tensor eigenvalues, eigenvectors;
};
/// Decomposes symmetric matrices and reads only one triangle: eigenvalues ascending, eigenvectors as columns.
EighResult eigh(const Arg& x, Triangle triangle = Triangle::lower);
Tensor eigvalsh(const Arg& x, Triangle triangle = Triangle::lower);

struct EigResult {
  Complex eigenvalues, eigenvectors;
};
/// Decomposes any square matrices. The results are complex numbers as pairs of tensors, in the order of the iteration, conjugates next to each other.
/// Eigenvectors are columns of length 1 whose largest element is real. Real eigenvalues have imaginary parts of 0. For infinities and NaN the computation
/// throws LinAlgError, as in NumPy.
EigResult eig(const Arg& x);
Complex eigvals(const Arg& x);

struct LstsqResult {
  Tensor x, residuals, rank, s;
};
/// Returns the x of least norm that minimises |a @ x - b|, a of shape (m, n), b (m,) or (m, k), by the singular values s: those up to rcond * s[0] count as 0
/// (default: max(m, n) times the type's epsilon). `residuals` are the sums of squares that remain in each column of b; empty for m <= n. (NumPy's are empty
/// also for a rank below n, which is not known before it is computed.)
LstsqResult lstsq(const Arg& a, const Arg& b, std::optional<double> rcond = {});
/// Returns the Moore-Penrose pseudoinverse; singular values up to rtol * S[0] count as 0. The default is the Array API's, max(m, n) times the type's epsilon,
/// where NumPy's is 1e-15.
Tensor pinv(const Arg& x, std::optional<double> rtol = {});
/// Counts the singular values above rtol * S[0], with pinv's default, or above `tol`.
Tensor matrix_rank(const Arg& x, std::optional<double> rtol = {}, std::optional<double> tol = {});
/// Returns norm(x, p) * norm(inv(x), p); for p = 2 the quotient of the extreme singular values, for -2 its inverse. A singular x gives infinity, or 0 for -2.
Tensor cond(const Arg& x, NormOrder p = 2);

// The same functions for complex matrices. The conjugate transpose replaces the transpose: cholesky and eigh take Hermitian matrices.
Complex solve(const ComplexArg& a, const ComplexArg& b);
Complex inv(const ComplexArg& x);
Complex pinv(const ComplexArg& x, std::optional<double> rtol = {});
Complex matrix_power(const ComplexArg& x, std::int64_t n);
Complex det(const ComplexArg& x);
struct ComplexSlogdetResult {
  Complex sign;
  Tensor logabsdet;
};
ComplexSlogdetResult slogdet(const ComplexArg& x);
Complex cholesky(const ComplexArg& x, bool upper = false);
struct ComplexQRResult {
  Complex Q, R;
};
ComplexQRResult qr(const ComplexArg& x, QRMode mode = QRMode::reduced);
struct ComplexSVDResult {
  Complex U;
  Tensor S;
  Complex Vh;
};
ComplexSVDResult svd(const ComplexArg& x, bool full_matrices = true);
Tensor svdvals(const ComplexArg& x);
Tensor matrix_rank(const ComplexArg& x, std::optional<double> rtol = {}, std::optional<double> tol = {});
struct ComplexEighResult {
  Tensor eigenvalues;
  Complex eigenvectors;
};
ComplexEighResult eigh(const ComplexArg& x, Triangle triangle = Triangle::lower);
Tensor eigvalsh(const ComplexArg& x, Triangle triangle = Triangle::lower);
EigResult eig(const ComplexArg& x);
Complex eigvals(const ComplexArg& x);
/// Returns the real matrix [[re, -im], [im, re]], which maps [re; im] of a vector as the complex matrix maps the vector. It has each singular value twice.
Tensor doubled(const ComplexArg& x);

/// The namespace `linalg` of the Array API and NumPy.
namespace linalg {
using sinter::cholesky, sinter::cond, sinter::det, sinter::eig, sinter::eigh, sinter::eigvals, sinter::eigvalsh, sinter::inv, sinter::lstsq,
    sinter::matrix_norm, sinter::matrix_power, sinter::matrix_rank, sinter::matrix_transpose, sinter::norm, sinter::outer, sinter::pinv, sinter::qr,
    sinter::slogdet, sinter::solve, sinter::svd, sinter::svdvals, sinter::tensordot, sinter::vecdot, sinter::vector_norm, sinter::cross;
}

}  // namespace sinter
