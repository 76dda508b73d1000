// Systems of equations and decompositions of matrices, with NumPy's names, computed by Eigen on the host as steps of a plan.
//
// All functions work on the last two axes; the axes before them are batches. Integers and bool become float64; floats of 8 and 16 bits, which NumPy refuses,
// are computed in float32 and rounded. NaN in the operands gives NaN and no error, except in singular values and in eig. A matrix for which there is no result
// (singular, not positive definite) throws LinAlgError when the value is computed; the message has the line that recorded the call. If the device has no such
// library, the host computes: operands are copied to the host and the result is copied back. explain() shows this and counters().host_calls counts it.
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

/// Returns x with a @ x = b. a has shape (..., n, n); b is a vector (n,), or matrices (..., n, k). Leading axes broadcast. The method is elimination with
/// partial pivoting; it throws LinAlgError if a pivot is 0.
Tensor solve(const Arg& a, const Arg& b);
/// Does the same for triangular matrices, by substitution. The other triangle is not read; with `unit_diagonal` the diagonal is taken as 1 and is not read
/// either. Throws LinAlgError if an element of the diagonal is 0.
Tensor solve_triangular(const Arg& a, const Arg& b, Triangle triangle = Triangle::upper, bool unit_diagonal = false);
/// Returns x with a @ x = b, where `factor` is a Cholesky factor of a: the lower one L (a = L L^T), or the upper one U (a = U^T U). The other triangle is not
/// read. Shapes and errors are those of solve_triangular. cholesky(a) and cho_solve are the faster way to solve several systems of one positive definite
/// matrix.
Tensor cho_solve(const Arg& factor, const Arg& b, Triangle triangle = Triangle::lower);
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
/// Returns Q and R with x = Q @ R. For x of shape (m, n), Q has min(m, n) orthonormal columns; with QRMode::complete it has m.
QRResult qr(const Arg& x, QRMode mode = QRMode::reduced);

struct SVDResult {
  Tensor U, S, Vh;
};
/// Returns U, S and Vh with x = U[:, :k] * S @ Vh[:k], where k = min(m, n) and S descends. Without `full_matrices` U has only k columns and Vh only k rows.
SVDResult svd(const Arg& x, bool full_matrices = true);
/// Returns S only, in less than half the time.
Tensor svdvals(const Arg& x);

struct EighResult {
  Tensor eigenvalues, eigenvectors;
};
/// Decomposes symmetric matrices, of which it reads only one triangle. The eigenvalues ascend; the eigenvectors are columns.
EighResult eigh(const Arg& x, Triangle triangle = Triangle::lower);
Tensor eigvalsh(const Arg& x, Triangle triangle = Triangle::lower);

struct EigResult {
  Complex eigenvalues, eigenvectors;
};
/// Decomposes any square matrices. The results are complex numbers, as pairs of tensors. Eigenvalues come in the order in which the iteration finds them,
/// conjugates next to each other. Eigenvectors are columns of length 1 whose largest element is real. Real eigenvalues have imaginary parts of 0. A matrix with
/// infinities or NaN throws LinAlgError when the value is computed, as in NumPy.
EigResult eig(const Arg& x);
Complex eigvals(const Arg& x);

struct LstsqResult {
  Tensor x, residuals, rank, s;
};
/// Returns the x of least norm that minimises |a @ x - b|. a has shape (m, n), b has shape (m,) or (m, k). `s` holds the singular values of a; those up to
/// rcond * s[0] are taken as 0, and rcond is by default max(m, n) times the type's epsilon. `residuals` holds, for each column of b, the sum of the squares of
/// a @ x - b; it is empty for m <= n. (NumPy's residuals are also empty if the rank is below n. Here the shape cannot depend on the rank, which is known only
/// when it is computed.)
LstsqResult lstsq(const Arg& a, const Arg& b, std::optional<double> rcond = {});
/// Returns the Moore-Penrose pseudoinverse; singular values up to rtol * S[0] are taken as 0. rtol is by default max(m, n) times the type's epsilon, as in the
/// Array API; NumPy's default is 1e-15.
Tensor pinv(const Arg& x, std::optional<double> rtol = {});
/// Counts the singular values above `tol`, or else above rtol * S[0], where rtol has the same default as in pinv.
Tensor matrix_rank(const Arg& x, std::optional<double> rtol = {}, std::optional<double> tol = {});
/// Returns the condition number norm(x, p) * norm(inv(x), p). For p = 2 this is the largest singular value divided by the smallest one, for p = -2 the inverse
/// of that. A singular x gives infinity, or 0 for p = -2.
Tensor cond(const Arg& x, NormOrder p = 2);

// These are the same functions for complex matrices. The conjugate transpose replaces the transpose: cholesky and eigh take Hermitian matrices.
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

/// The functions of the namespace `linalg` of the Array API and NumPy.
namespace linalg {
using sinter::cholesky, sinter::cond, sinter::det, sinter::eig, sinter::eigh, sinter::eigvals, sinter::eigvalsh, sinter::inv, sinter::lstsq,
    sinter::matrix_norm, sinter::matrix_power, sinter::matrix_rank, sinter::matrix_transpose, sinter::norm, sinter::outer, sinter::pinv, sinter::qr,
    sinter::slogdet, sinter::solve, sinter::svd, sinter::svdvals, sinter::tensordot, sinter::vecdot, sinter::vector_norm, sinter::cross;
}

}  // namespace sinter
