// NumPy's smaller functions as compositions of others: concatenation of blocks, index arithmetic, polynomials, properties of arrays.
#pragma once
#include "table/value.hpp"

namespace sinter::table {

class Arguments;

Value array_equiv_(const Arguments& a);
Value as_strided_(const Arguments& a);
Value block_(const Arguments& a);
Value broadcast_shapes_(const Arguments& a);
Value choose_(const Arguments& a);
Value common_type_(const Arguments& a);
Value copyto_(const Arguments& a);
Value delete_(const Arguments& a);
Value diag_indices_(const Arguments& a);
Value diag_indices_from_(const Arguments& a);
Value ediff1d_(const Arguments& a);
Value eig_(const Arguments& a);
Value eigvals_(const Arguments& a);
Value fromiter_(const Arguments& a);
Value fill_diagonal_(const Arguments& a);
Value iscomplex_(const Arguments& a);
Value iscomplexobj_(const Arguments& a);
Value isreal_(const Arguments& a);
Value isrealobj_(const Arguments& a);
Value isscalar_(const Arguments& a);
Value issubdtype_(const Arguments& a);
Value ix_(const Arguments& a);
Value linspace_(const Arguments& a);
Value min_scalar_type_(const Arguments& a);
Value packbits_(const Arguments& a);
Value poly_(const Arguments& a);
Value polyder_(const Arguments& a);
Value polydiv_(const Arguments& a);
Value polyfit_(const Arguments& a);
Value polyint_(const Arguments& a);
Value putmask_(const Arguments& a);
Value real_if_close_(const Arguments& a);
Value rollaxis_(const Arguments& a);
Value roots_(const Arguments& a);
Value sort_complex_(const Arguments& a);
Value tensorinv_(const Arguments& a);
Value tensorsolve_(const Arguments& a);
Value tril_indices_from_(const Arguments& a);
Value trim_zeros_(const Arguments& a);
Value triu_indices_from_(const Arguments& a);
Value unpackbits_(const Arguments& a);
Value view_(const Arguments& a);

/// Returns the number of bins that NumPy chooses for bins='auto', 'fd', 'sturges', ... Evaluates x.
std::int64_t bins_by_rule(const Arguments& a, int parameter, const Tensor& x, std::optional<std::pair<double, double>> range);

/// Returns the least element up to which the weights sum to a fraction q of the total, along one axis or over all elements. Returns NaN if an element is NaN.
Value weighted_quantile(const Arguments& a, bool percent, bool leave_nan_out);

/// Returns mean and variance of the elements where the condition is true.
Value mean_where(const Arguments& a, const Tensor& condition, const Axes& axes, bool keepdims);
Value var_where(const Arguments& a, const Tensor& condition, const Axes& axes, bool keepdims, std::int64_t ddof, bool root, const Tensor& mean);
/// Computes var and std in integers, as NumPy does with dtype=int: the fractions of the mean, the mean of squares and its root are dropped.
Value whole_spread(const Arguments& a, DType dtype, std::int64_t ddof, bool root);

}  // namespace sinter::table
