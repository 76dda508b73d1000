// Systems of equations and decompositions of matrices, with NumPy's names: through Eigen on the host, as steps of a plan.
//
// All work on the last two axes and run over the axes before. Integers and bool become float64; float16 and bfloat16, which NumPy refuses, are
// computed in float32 and rounded. NaN in the operands gives NaN, and no error, but where singular values are asked for. A matrix that has no
// result (singular, not positive definite) is a LinAlgError when the value is computed, told with the line that recorded the call.
// On a device without such a library the host computes: operands are brought there and the result taken back, as explain() tells and
// counters().host_calls counts.
#pragma once
#include <cstdint>
#include <optional>

#include "sinter/complex.hpp"
#include "sinter/linalg.hpp"
#include "sinter/tensor.hpp"

namespace sinter {

/// A matrix has no inverse, is not positive definite, or an iteration does not converge: found when the value is computed.
struct LinAlgError : Error {
  using Error::Error;
};

enum class Triangle : std::uint8_t { lower, upper };

/// x with a @ x = b: a of shape (..., n, n); b a vector (n,), or matrices (..., n, k). Leading axes broadcast.
/// By elimination with partial pivoting; LinAlgError where a pivot is 0.
Tensor solve(const Arg& a, const Arg& b);
/// The same of triangular matrices, by substitution: the other triangle is not read, and with `unit_diagonal` the diagonal is 1 whatever a says. LinAlgError
/// where an element of the diagonal is 0.
Tensor solve_triangular(const Arg& a, const Arg& b, Triangle triangle = Triangle::upper, bool unit_diagonal = false);
Tensor inv(const Arg& x);
Tensor det(const Arg& x);
struct SlogdetResult {
  Tensor sign, logabsdet;
};
/// sign * exp(logabsdet) is the determinant; of a singular matrix 0 and -infinity.
SlogdetResult slogdet(const Arg& x);

/// L with L @ L.T = x, of the lower triangle of x; `upper`: U with U.T @ U = x, of the upper one. LinAlgError where x is not positive definite.
Tensor cholesky(const Arg& x, bool upper = false);

enum class QRMode : std::uint8_t { reduced, complete };
struct QRResult {
  Tensor Q, R;
};
/// x = Q @ R, Q's columns orthonormal: min(m, n) of them, or all m.
QRResult qr(const Arg& x, QRMode mode = QRMode::reduced);

struct SVDResult {
  Tensor U, S, Vh;
};
/// x = U[:, :k] * S @ Vh[:k], k = min(m, n), S descending. Without `full_matrices` U and Vh have k columns and k rows.
SVDResult svd(const Arg& x, bool full_matrices = true);
/// S alone, for less than half the time.
Tensor svdvals(const Arg& x);

struct EighResult {
  Tensor eigenvalues, eigenvectors;
};
/// Of symmetric matrices, of which one triangle is read: eigenvalues ascending, eigenvectors as columns.
EighResult eigh(const Arg& x, Triangle triangle = Triangle::lower);
Tensor eigvalsh(const Arg& x, Triangle triangle = Triangle::lower);

struct EigResult {
  Complex eigenvalues, eigenvectors;
};
/// Of any square matrices: complex numbers as pairs of tensors, in the order of the iteration, conjugates next to each other. Eigenvectors are columns of
/// length 1 whose largest element is real. Real eigenvalues have imaginary parts of 0. LinAlgError, when they are computed, for infinities and NaN, as NumPy.
EigResult eig(const Arg& x);
Complex eigvals(const Arg& x);

struct LstsqResult {
  Tensor x, residuals, rank, s;
};
/// The x of least norm that minimises |a @ x - b|, a of shape (m, n), b (m,) or (m, k), by the singular values s: those up to rcond * s[0] count
/// as 0 (default: max(m, n) times the type's epsilon). residuals: of each column of b the sum of squares that is left; empty for m <= n. (NumPy's are
/// empty for a rank below n too, which is not known before it is computed.)
LstsqResult lstsq(const Arg& a, const Arg& b, std::optional<double> rcond = {});
/// Moore and Penrose's inverse; singular values up to rtol * S[0] count as 0. The default is the Array API's, max(m, n) times the type's epsilon,
/// where NumPy's is 1e-15.
Tensor pinv(const Arg& x, std::optional<double> rtol = {});
/// How many singular values are above rtol * S[0] (default as pinv's), or above `tol`.
Tensor matrix_rank(const Arg& x, std::optional<double> rtol = {}, std::optional<double> tol = {});
/// norm(x, p) * norm(inv(x), p); for p = 2 and -2 the quotient of the singular values. Infinity where x is singular.
Tensor cond(const Arg& x, NormOrder p = 2);

// The same of complex matrices. The conjugate transpose takes the place of the transpose: cholesky and eigh are of Hermitian matrices.
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
/// The real matrix [[re, -im], [im, re]], which does to [re; im] of a vector what the complex one does to the vector. It has each singular value twice.
Tensor doubled(const ComplexArg& x);

/// Array API's and NumPy's namespace of that name.
namespace linalg {
using sinter::cholesky, sinter::cond, sinter::det, sinter::eig, sinter::eigh, sinter::eigvals, sinter::eigvalsh, sinter::inv, sinter::lstsq,
    sinter::matrix_norm, sinter::matrix_power, sinter::matrix_rank, sinter::matrix_transpose, sinter::norm, sinter::outer, sinter::pinv, sinter::qr,
    sinter::slogdet, sinter::solve, sinter::svd, sinter::svdvals, sinter::tensordot, sinter::vecdot, sinter::vector_norm, sinter::cross;
}

}  // namespace sinter
