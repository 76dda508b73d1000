#include "sinter/types.hpp"
#include "sinter/counted.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "ops/recording.hpp"
#include "sinter/adopt.hpp"
#include "sinter/ops.hpp"
#include "trace/host_access.hpp"

namespace sinter {

using namespace ops;

DType promote_types(DType a, DType b, Location where) { return promote(site_of("promote_types", where), a, b); }

DType result_type(const TypeOperand* first, std::size_t count, Location where) {
  const Site site = site_of("result_type", where);
  if (count == 0) fail<ValueError>(site, "there is no operand");
  std::vector<Tensor> tensors;  // only their types are read
  std::vector<Arg> operands;
  std::vector<const Arg*> pointers;
  tensors.reserve(count);
  operands.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    if (first[k].is_dtype()) tensors.push_back(placeholder({}, first[k].dtype(), where));
    operands.push_back(first[k].is_dtype() ? Arg(tensors.back(), where) : first[k].number());
    pointers.push_back(&operands.back());
  }
  return common_type(site, pointers);
}
DType result_type(std::initializer_list<TypeOperand> operands, Location where) { return result_type(operands.begin(), operands.size(), where); }

bool can_cast(DType from, DType to, Casting casting) {
  switch (casting) {
    case Casting::no: return from == to;
    case Casting::safe: return is_numpy(to) || is_floating(from) ? promotion(from, to) == to : itemsize(from) == 1;
    case Casting::same_kind: return same_kind(from, to);
    case Casting::unsafe: return true;
  }
  return false;
}

Tensor view(const Arg& arg, DType dtype) {
  const Scope scope("view", arg.where());
  const Site& site = scope.site();
  const Tensor x(as_node(site, arg));
  if (x.dtype() == dtype) return x;
  if (is_bool(dtype)) return astype(view(x, DType::uint8), dtype);
  const auto from = static_cast<std::int64_t>(itemsize(x.dtype())), to = static_cast<std::int64_t>(itemsize(dtype));
  Shape shape = x.shape();
  if (from != to) {
    if (shape.empty())
      fail<ShapeError>(site, fmt::format("a 0-d tensor of {} has no last axis to become longer or shorter as {}", name(x.dtype()), name(dtype)));
    if (shape.back() * from % to != 0)
      fail<ShapeError>(site, fmt::format("a row of shape {} of {} has {}, which is not a whole number of {}", to_string(x.shape()), name(x.dtype()),
                                         counted(shape.back() * from, "byte"), name(dtype)));
    shape.back() = shape.back() * from / to;
  }
  if (x.size() == 0) return zeros(shape, dtype, site.where);
  const void* const bytes = host_data(x.node(), site);
  if (reinterpret_cast<std::uintptr_t>(bytes) % itemsize(dtype) != 0) return from_pointer(bytes, dtype, shape, {}, site.where);  // an unaligned file
  return adopt_memory(std::make_shared<Tensor>(x), bytes, dtype, shape, site.where);
}

bool isdtype(DType dtype, std::string_view kind, Location where) {
  if (kind == "bool") return is_bool(dtype);
  if (kind == "signed integer") return is_integer(dtype) && !is_unsigned(dtype);
  if (kind == "unsigned integer") return is_unsigned(dtype);
  if (kind == "integral") return is_integer(dtype);
  if (kind == "real floating") return is_floating(dtype);
  if (kind == "complex floating") return false;
  if (kind == "numeric") return !is_bool(dtype);
  fail<ValueError>(
      site_of("isdtype", where),
      fmt::format("unknown kind '{}'; the kinds are bool, signed integer, unsigned integer, integral, real floating, complex floating, numeric", kind));
}

FloatInfo finfo(DType dtype, Location where) {
  if (!is_floating(dtype)) fail<DTypeError>(site_of("finfo", where), fmt::format("{} is not a floating type", name(dtype)));
  return visit_storage(dtype, [&]<class T>() -> FloatInfo {
    using L = std::numeric_limits<T>;
    return {dtype,
            static_cast<int>(8 * sizeof(T)),
            static_cast<double>(L::epsilon()),
            static_cast<double>(L::lowest()),
            static_cast<double>(L::max()),
            static_cast<double>(L::min()),
            static_cast<double>(L::denorm_min())};
  });
}

IntegerInfo iinfo(DType dtype, Location where) {
  if (!is_integer(dtype)) fail<DTypeError>(site_of("iinfo", where), fmt::format("{} is not an integer type", name(dtype)));
  return visit_storage(dtype, [&]<class T>() -> IntegerInfo {
    if constexpr (std::is_integral_v<T>)
      return {dtype, static_cast<int>(8 * sizeof(T)), static_cast<std::int64_t>(std::numeric_limits<T>::min()),
              static_cast<std::uint64_t>(std::numeric_limits<T>::max())};
    else return {};
  });
}

}  // namespace sinter
