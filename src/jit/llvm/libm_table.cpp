#include "jit/llvm/libm_table.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace sinter::jit::llvm {
namespace {

template <class T, T (*F)(T)> void each(T* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = F(x[i]);
}
template <class T, T (*F)(T, T)> void each2(T* x, const T* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = F(x[i], y[i]);
}

/// Computes float32 functions in double, like the inlined functions.
template <double (*F)(double)> float narrow(float x) { return static_cast<float>(F(x)); }

template <class T, T (*F)(T)> const void* one() { return reinterpret_cast<const void*>(&each<T, F>); }
template <class T, T (*F)(T, T)> const void* two() { return reinterpret_cast<const void*>(&each2<T, F>); }
template <class R, class... A> const void* plain(R (*f)(A...)) { return reinterpret_cast<const void*>(f); }

std::unordered_map<std::string_view, const void*> make_table() {
  return {
      {"sinter_libm_sin_f64", one<double, ::sin>()},
      {"sinter_libm_cos_f64", one<double, ::cos>()},
      {"sinter_libm_tan_f64", one<double, ::tan>()},
      {"sinter_libm_fmod_f64", two<double, ::fmod>()},
      {"sinter_libm_fmod_f32", two<float, ::fmodf>()},
      {"sinter_libm_sin_f32", one<float, narrow<::sin>>()},
      {"sinter_libm_cos_f32", one<float, narrow<::cos>>()},
      {"sinter_libm_tan_f32", one<float, narrow<::tan>>()},
      // LLVM calls these for its rounding intrinsics on a processor without SSE4.1.
      {"floor", plain<double, double>(::floor)},
      {"floorf", plain<float, float>(::floorf)},
      {"ceil", plain<double, double>(::ceil)},
      {"ceilf", plain<float, float>(::ceilf)},
      {"rint", plain<double, double>(::rint)},
      {"rintf", plain<float, float>(::rintf)},
      {"trunc", plain<double, double>(::trunc)},
      {"truncf", plain<float, float>(::truncf)},
  };
}

}  // namespace

const void* library_function(std::string_view symbol) {
  static const auto& table = *new std::unordered_map(make_table());  // never destroyed, because evaluation may use it until the process ends
  const auto found = table.find(symbol);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace sinter::jit::llvm
