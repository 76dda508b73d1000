#include "fuse/byte_panels.hpp"

#include <utility>
#include <vector>

#include "fuse/bytes.hpp"
#include "ops/blocked.hpp"
#include "sinter/ops.hpp"
#include "trace/build.hpp"

namespace sinter::fuse {
namespace {

using trace::Op;
using trace::Operands;
using trace::RecordedPtr;
using trace::Site;

/// Returns the bytes that were converted to this int32 value, through views; null if the value is no such conversion.
RecordedPtr widened_bytes(RecordedPtr value) {
  std::vector<RecordedPtr> views;
  while (trace::is_view(value->op)) {
    const Operands below = value->inputs();
    if (below.empty()) return nullptr;  // it was evaluated
    views.push_back(std::exchange(value, below[0]));
  }
  const Operands operands = value->inputs();
  if (value->op != Op::cast || operands.empty() || (operands[0]->dtype != DType::int8 && operands[0]->dtype != DType::uint8)) return nullptr;
  RecordedPtr bytes = operands[0];
  for (; !views.empty(); views.pop_back()) bytes = trace::with_operands(*views.back(), {bytes});
  return bytes;
}

/// Returns the single matrix that a batch repeats; null if its matrices differ.
RecordedPtr matrix_of(const Site& site, RecordedPtr value) {
  if (value->op == Op::broadcast)
    if (const Operands operands = value->inputs(); !operands.empty()) value = operands[0];
  const Shape& shape = value->shape;
  if (shape.size() < 2 || element_count(shape) != shape[shape.size() - 2] * shape.back()) return nullptr;
  return trace::make_reshape(site, value, {shape[shape.size() - 2], shape.back()});
}

Tensor wide(const Tensor& bytes) { return astype(bytes, DType::int32); }
Tensor turned(const Tensor& x) {
  const Tensor same = astype(x, DType::uint8) ^ full({}, 128, DType::uint8);
  return x.dtype() == DType::int8 ? same : astype(same, DType::int8);
}

}  // namespace

Tensor as_unsigned(const Tensor& bytes) { return bytes.dtype() == DType::uint8 ? bytes : turned(bytes); }
Tensor as_signed(const Tensor& bytes) { return bytes.dtype() == DType::int8 ? bytes : turned(bytes); }

RecordedPtr multiplied_by_panels(const trace::Recorded& product, const RecordedPtr& left, const RecordedPtr& right, const Limits& limits,
                                 const RewriteOptions& options) {
  if (product.dtype != DType::int32) return nullptr;
  const Site site{product.called, product.where};
  const RecordedPtr rows = widened_bytes(left), matrix = matrix_of(site, right), given = matrix ? widened_bytes(matrix) : nullptr;
  if (!rows || !given || !is_lasting(given, options)) return nullptr;
  const auto once = [&](std::string_view name, auto make) { return Tensor(laid_out(given, name, [&] { return make().node(); }, options)); };
  const Tensor bytes(given);
  if (!limits.byte_panels) {
    const Tensor along_depth = once("along the depth", [&] { return contiguous(transpose(bytes)); });
    const RecordedPtr b = trace::make_broadcast(site, wide(transpose(along_depth)).node(), right->shape);
    return trace::make_library(site, Op::matmul, {left, b}, {});
  }
  const bool turn_left = rows->dtype == DType::int8, turn_right = bytes.dtype() == DType::uint8;
  const Tensor a = as_unsigned(Tensor(rows));
  const std::int64_t depth = bytes.shape()[0], columns = bytes.shape()[1];
  const Tensor panels = once("panels", [&] { return contiguous(byte_panels(as_signed(bytes))); });
  Tensor y(trace::make_library(site, Op::matmul_panels, {a.node(), panels.node()}, {columns}));
  if (turn_left) {  // (a - 128) b
    const Tensor less = once("128 times the sums of columns", [&] { return contiguous(sum(wide(as_signed(bytes)), {0}, false, DType::int32) * 128); });
    y = y - less;
  }
  if (turn_right) {  // a (b + 128)
    y = y + sum(wide(a), {-1}, true, DType::int32) * 128;
    if (turn_left) y = y - full({}, static_cast<std::int32_t>(128 * 128 * depth), DType::int32);
  }
  return y.node();
}

}  // namespace sinter::fuse
