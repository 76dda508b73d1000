#include "kernels/primitives/interpreter_kernels.hpp"

#include <algorithm>
#include <cstring>

#include "jit/reduction_order.hpp"
#include "kernels/primitives/interpreter_functions.hpp"
#include "kernels/primitives/interpreter_math.hpp"
#include "sinter/errors.hpp"

namespace sinter::kernels {
namespace {

using namespace trace::accepts;

// Each row of the table becomes a struct; `of` is the row's expression. Math functions have separate loops (interpreter_functions.hpp).
#define SINTER_FUNCTION(...)
#define SINTER_ELEMENTWISE(id, arity_, accepts_, result_, rule, cost, identity, cuda_float, cuda_int, llvm, interpreter)      \
  struct Row_##id {                                                                                                           \
    static constexpr Op op = Op::id;                                                                                          \
    static constexpr int arity = arity_, accepts = op == Op::power ? I : accepts_;                                            \
    static constexpr trace::Result result = trace::Result::result_;                                                           \
    template <class T, class R, class A> static R of(A a, [[maybe_unused]] T b, [[maybe_unused]] T c) { return interpreter; } \
  };
#include "trace/primitives.def"

/// Computes a tile. The result's memory may be that of an argument.
template <class Row, class T, class R> void compute(std::int64_t n, const void* const* args, void* out) {
  using A = std::conditional_t<Row::arity == 3, bool, T>;
  const A* const a = static_cast<const A*>(args[0]);
  const T* const b = Row::arity < 2 ? nullptr : static_cast<const T*>(args[1]);
  const T* const c = Row::arity < 3 ? nullptr : static_cast<const T*>(args[2]);
  R* const results = static_cast<R*>(out);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (Row::arity == 1) results[i] = Row::template of<T, R>(a[i], T(), T());
    else if constexpr (Row::arity == 2) results[i] = Row::template of<T, R>(a[i], b[i], T());
    else results[i] = Row::template of<T, R>(a[i], b[i], c[i]);
  }
}

/// Returns f.operator()<T>() for the C++ type of the computation where the row accepts its class, else null.
template <int mask, class Function> TileFn for_type(DType dtype, Function&& f) {
  return visit_compute(dtype, [&]<class T>() -> TileFn {
    if constexpr ((mask & trace::dtype_class(dtype_of<T>)) != 0) return f.template operator()<T>();
    else return nullptr;
  });
}

template <class Row> TileFn kernel_of_row(DType operand, DType result) {
  if constexpr (Row::op == Op::cast) {
    return visit_storage(operand, [&]<class T>() { return visit_storage(result, [&]<class R>() { return &compute<Row, T, R>; }); });
  } else {
    return for_type<Row::accepts>(operand, [&]<class T>() -> TileFn {
      if constexpr (Row::result == trace::Result::boolean) return &compute<Row, T, bool>;
      else return &compute<Row, T, T>;
    });
  }
}

// ---- reductions

template <class T, Op op> struct Reduce {
  static constexpr T neutral() {
    using limits = std::numeric_limits<T>;
    if constexpr (op == Op::reduce_sum) return T(0);
    else if constexpr (op == Op::reduce_prod) return T(1);
    else if constexpr (op == Op::reduce_min) return limits::has_infinity ? limits::infinity() : limits::max();
    else return limits::has_infinity ? -limits::infinity() : limits::lowest();
  }
  static T combined(T x, T y) {
    if constexpr (op == Op::reduce_min) return math::minimum(x, y);
    else if constexpr (op == Op::reduce_max) return math::maximum(x, y);
    else return op == Op::reduce_sum ? math::add(x, y) : math::multiply(x, y);
  }

  static void start(std::int64_t n, void* parts) { std::fill_n(static_cast<T*>(parts), n, neutral()); }
  static void combine(std::int64_t n, std::int64_t lanes, const void* values, void* parts) {
    const T* v = static_cast<const T*>(values);
    T* part = static_cast<T*>(parts);
    for (; n > 0; n -= lanes, v += lanes) {
      const std::int64_t m = std::min(n, lanes);
#pragma GCC ivdep
      for (std::int64_t i = 0; i < m; ++i) part[i] = combined(part[i], v[i]);
    }
  }
  static constexpr ReductionKernels kernels() { return {&start, &combine}; }
};

template <class T, Op op> struct Scan {
  static constexpr bool sums = op == Op::reduce_sum || op == Op::reduce_prod;
  using Acc = std::conditional_t<std::is_same_v<T, float> && sums, double, T>;

  static void start(std::int64_t n, void* so_far) { std::fill_n(static_cast<Acc*>(so_far), n, Reduce<Acc, op>::neutral()); }
  static void row(std::int64_t n, std::int64_t lanes, const void* values, void* so_far, void* results) {
    const T* v = static_cast<const T*>(values);
    T* out = static_cast<T*>(results);
    Acc& total = *static_cast<Acc*>(so_far);
    Acc step[jit::kMaxLanes];
    for (; n > 0; n -= lanes, v += lanes, out += lanes) {
      const std::int64_t m = std::min(n, lanes);
      for (std::int64_t i = 0; i < m; ++i) step[i] = static_cast<Acc>(v[i]);
      std::fill_n(step + m, lanes - m, Reduce<Acc, op>::neutral());
      for (std::int64_t distance = 1; distance < lanes; distance *= 2)
        for (std::int64_t i = lanes - 1; i >= distance; --i) step[i] = Reduce<Acc, op>::combined(step[i - distance], step[i]);
      for (std::int64_t i = 0; i < m; ++i) out[i] = static_cast<T>(Reduce<Acc, op>::combined(total, step[i]));
      total = Reduce<Acc, op>::combined(total, step[lanes - 1]);
    }
  }
  static void lanes(std::int64_t n, const void* values, void* so_far, void* results) {
    const T* v = static_cast<const T*>(values);
    T* out = static_cast<T*>(results);
    Acc* total = static_cast<Acc*>(so_far);
    for (std::int64_t i = 0; i < n; ++i) {
      total[i] = Reduce<Acc, op>::combined(total[i], static_cast<Acc>(v[i]));
      out[i] = static_cast<T>(total[i]);
    }
  }
  static constexpr ScanKernels kernels() { return {&start, &row, &lanes}; }
};

/// Returns Kind<T, op>::kernels() for the reduction.
template <template <class, Op> class Kind, class T> auto kernels_of(Op op) {
  switch (op) {
    case Op::reduce_sum: return Kind<T, Op::reduce_sum>::kernels();
    case Op::reduce_prod: return Kind<T, Op::reduce_prod>::kernels();
    case Op::reduce_min: return Kind<T, Op::reduce_min>::kernels();
    case Op::reduce_max: return Kind<T, Op::reduce_max>::kernels();
    default: throw InternalError("interpreter: " + std::string(trace::name(op)) + " is not a reduction");
  }
}
template <template <class, Op> class Kind> auto kernels_of(Op reduction, DType dtype) {
  return visit_compute(dtype, [&]<class T>() { return kernels_of<Kind, T>(reduction); });
}

/// Calls f with the size as a constant, so that each move is one instruction.
template <class Function> void for_size(int bytes, Function&& f) {
  switch (bytes) {
    case 1: return f(std::integral_constant<int, 1>{});
    case 2: return f(std::integral_constant<int, 2>{});
    case 4: return f(std::integral_constant<int, 4>{});
    default: return f(std::integral_constant<int, 8>{});
  }
}

}  // namespace

TileFn elementwise_kernel(Op op, DType operand, DType result) {
  if (const TileFn function = function_kernel(op, operand)) return function;
  switch (op) {
#define SINTER_FUNCTION(...)
#define SINTER_ELEMENTWISE(id, ...) \
  case Op::id: return kernel_of_row<Row_##id>(operand, result);
#include "trace/primitives.def"
    default: return nullptr;
  }
}

ReductionKernels reduction_kernels(Op reduction, DType dtype) { return kernels_of<Reduce>(reduction, dtype); }
ScanKernels scan_kernels(Op reduction, DType dtype) { return kernels_of<Scan>(reduction, dtype); }

void fill(int bytes, std::int64_t n, const void* value, void* out) {
  for_size(bytes, [&](auto size) {
    char element[size];  // a copy, which the compiler can keep in a register, because the value might be within the tile
    std::memcpy(element, value, size);
    char* to = static_cast<char*>(out);
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * size, element, size);
  });
}
void gather(int bytes, std::int64_t n, const void* from, std::int64_t start, std::int64_t stride, void* out) {
  for_size(bytes, [&](auto size) {
    const char* source = static_cast<const char*>(from) + start * size;
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(static_cast<char*>(out) + i * size, source + i * stride * size, size);
  });
}
void gather(int bytes, std::int64_t n, const void* from, const std::int64_t* indices, void* out) {
  for_size(bytes, [&](auto size) {
    const char* source = static_cast<const char*>(from);
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(static_cast<char*>(out) + i * size, source + indices[i] * size, size);
  });
}
void scatter(int bytes, std::int64_t n, const void* values, void* to, std::int64_t start, std::int64_t stride) {
  for_size(bytes, [&](auto size) {
    char* target = static_cast<char*>(to) + start * size;
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(target + i * stride * size, static_cast<const char*>(values) + i * size, size);
  });
}
void scatter(int bytes, std::int64_t n, const void* values, void* to, const std::int64_t* indices) {
  for_size(bytes, [&](auto size) {
    char* target = static_cast<char*>(to);
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(target + indices[i] * size, static_cast<const char*>(values) + i * size, size);
  });
}

void gather(int bytes, std::int64_t n, const void* from, const std::int64_t* indices, const std::uint8_t* mask, void* out) {
  for_size(bytes, [&](auto size) {
    const char* source = static_cast<const char*>(from);
    for (std::int64_t i = 0; i < n; ++i)
      if (mask[i]) std::memcpy(static_cast<char*>(out) + i * size, source + indices[i] * size, size);
  });
}
void scatter(int bytes, std::int64_t n, const void* values, void* to, const std::int64_t* indices, const std::uint8_t* mask) {
  for_size(bytes, [&](auto size) {
    char* target = static_cast<char*>(to);
    for (std::int64_t i = 0; i < n; ++i)
      if (mask[i]) std::memcpy(target + indices[i] * size, static_cast<const char*>(values) + i * size, size);
  });
}

}  // namespace sinter::kernels
