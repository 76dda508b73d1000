// A transform of n real numbers x by one of n / 2 complex numbers z[k] = x[2k] + i x[2k + 1]. https://doi.org/10.1109/TASSP.1987.1165220
#pragma once
#include <cstdint>

namespace sinter::kernels {
namespace {

/// Makes the frequencies X[0 ... half] of x from the frequencies Z[0 ... half - 1] of z. roots[k] = exp(-2 pi i k / n). get(k) returns Z[k].
template <class Get, class Put, class Root> void split_halves(std::int64_t half, Get&& get, Put&& put, Root&& root) {
  for (std::int64_t k = 0; k <= half / 2; ++k) {
    const auto a = get(k), b = get(k == 0 ? 0 : half - k);
    // The transforms of the even and of the odd numbers, each twice as large.
    const auto even_re = a.real() + b.real(), even_im = a.imag() - b.imag(), odd_re = a.imag() + b.imag(), odd_im = b.real() - a.real();
    const auto turned_re = odd_re * root(k).real() - odd_im * root(k).imag(), turned_im = odd_re * root(k).imag() + odd_im * root(k).real();
    put(k, (even_re + turned_re) * 0.5, (even_im + turned_im) * 0.5);
    put(half - k, (even_re - turned_re) * 0.5, (turned_im - even_im) * 0.5);
  }
}

/// Makes i conj(Z)[0 ... half - 1] from X[0 ... half], so that the forward transform gives n x[2k + 1] + i n x[2k]. X[0] and X[half] count as real.
template <class Get, class Put, class Root> void join_halves(std::int64_t half, Get&& get, Put&& put, Root&& root) {
  for (std::int64_t k = 0; k <= half / 2; ++k) {
    const auto a = get(k), b = get(half - k);
    const auto even_re = a.real() + b.real(), even_im = a.imag() - b.imag(), turned_re = a.real() - b.real(), turned_im = a.imag() + b.imag();
    const auto odd_re = turned_re * root(k).real() + turned_im * root(k).imag(), odd_im = turned_im * root(k).real() - turned_re * root(k).imag();
    // Z = even + i odd, and of the mirrored frequency conj(even) + i conj(odd); the parts change places.
    put(k, even_im + odd_re, even_re - odd_im);
    if (k > 0) put(half - k, odd_re - even_im, even_re + odd_im);
  }
}

}  // namespace
}  // namespace sinter::kernels
