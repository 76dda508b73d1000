// Attention as one operator (opset 23), and rotary positions.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "onnx/call.hpp"
#include "onnx/types.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {
namespace {

/// Reshapes [batch, steps, heads * size] to [batch, heads, steps, size].
Tensor heads_apart(const Call& c, const Tensor& x, std::int64_t heads) {
  if (x.ndim() == 4) return x;
  if (x.ndim() != 3 || heads <= 0 || x.size(2) % heads != 0) c.refuse(fmt::format("an operand of shape {} in {} heads", to_string(x.shape()), heads));
  return transpose(reshape(c.at_node(x), {x.size(0), x.size(1), heads, x.size(2) / heads}), {0, 2, 1, 3});
}

/// Returns the summand of the scores: 0, or minus infinity where attention is not allowed.
Tensor additive(const Call& c, const Tensor& allowed, DType dtype) {
  const Tensor zero = full({}, Arg(0.0, c.where()), dtype), never = full({}, Arg(-std::numeric_limits<double>::infinity(), c.where()), dtype);
  return where(c.at_node(allowed), zero, never);
}

Results attention(const Call& c) {
  const Tensor& q_in = c.tensor(0);
  const DType dtype = q_in.dtype();
  const std::int64_t q_heads = q_in.ndim() == 4 ? q_in.size(1) : c.size("q_num_heads");
  const std::int64_t kv_heads = q_in.ndim() == 4 ? c.tensor(1).size(1) : c.size("kv_num_heads");
  const Tensor q = heads_apart(c, q_in, q_heads);
  Tensor k = heads_apart(c, c.tensor(1), kv_heads), v = heads_apart(c, c.tensor(2), kv_heads);
  const std::int64_t past = c.has(4) ? c.tensor(4).size(2) : 0;
  if (c.has(4)) k = concatenate({c.tensor(4), k}, 2, c.where());
  if (c.has(5)) v = concatenate({c.tensor(5), v}, 2, c.where());
  const Tensor present_key = k, present_value = v;
  if (q_heads != kv_heads) {
    if (kv_heads <= 0 || q_heads % kv_heads != 0) c.refuse(fmt::format("{} heads of queries over {} of keys", q_heads, kv_heads));
    k = repeat(c.at_node(k), q_heads / kv_heads, 1), v = repeat(c.at_node(v), q_heads / kv_heads, 1);
  }
  const std::int64_t rows = q.size(2), columns = k.size(2);
  const double scale = std::sqrt(c.number("scale", 1 / std::sqrt(static_cast<double>(q.size(3)))));

  const std::int64_t mode = c.integer("qk_matmul_output_mode", 0);
  const Tensor left = astype(multiply(c.at_node(q), scale), dtype), right = astype(multiply(c.at_node(matrix_transpose(c.at_node(k))), scale), dtype);
  Tensor scores = matmul(c.at_node(left), right);
  Tensor shown = scores;
  if (c.has(3)) {
    Tensor mask = c.tensor(3);
    if (is_bool(mask.dtype())) mask = additive(c, mask, dtype);
    if (const std::int64_t short_by = columns - mask.size(mask.ndim() - 1); short_by > 0) {
      std::vector<std::pair<std::int64_t, std::int64_t>> widths(static_cast<std::size_t>(mask.ndim()));
      widths.back() = {0, short_by};
      mask = pad(c.at_node(mask), widths, PadMode::constant, -std::numeric_limits<double>::infinity());
    }
    scores = add(c.at_node(scores), mask);
  }
  if (c.integer("is_causal", 0) != 0) {
    const Tensor row = reshape(arange(Arg(rows, c.where())), {-1, 1}), column = arange(Arg(columns, c.where()));
    scores = add(c.at_node(scores), additive(c, less_equal(column, add(row, past)), dtype));
  }
  if (c.has(6)) {  // number of places of each batch that are not padding
    const Tensor column = arange(Arg(columns, c.where())), count = reshape(c[6], {-1, 1, 1, 1});
    scores = add(c.at_node(scores), additive(c, less(column, count), dtype));
  }
  if (mode == 1) shown = scores;
  if (const double cap = c.number("softcap", 0); cap > 0) scores = astype(multiply(tanh(divide(c.at_node(scores), cap)), cap), dtype);
  if (mode == 2) shown = scores;
  if (c.given("softmax_precision")) scores = astype(c.at_node(scores), element_type(c, c.integer("softmax_precision")));
  const Tensor weights = softmax(c.at_node(scores), -1);
  if (mode == 3) shown = astype(c.at_node(weights), dtype);
  Tensor result = astype(matmul(c.at_node(weights), v), dtype);
  if (q_in.ndim() == 3) result = reshape(transpose(c.at_node(result), {0, 2, 1, 3}), {q_in.size(0), q_in.size(1), -1});
  return {result, present_key, present_value, shown};
}

Results rotary_embedding(const Call& c) {
  const Tensor& in = c.tensor(0);
  const std::int64_t heads = c.integer("num_heads", 0);
  const Tensor x = in.ndim() == 4 ? transpose(c[0], {0, 2, 1, 3}) : reshape(c[0], {in.size(0), in.size(1), heads, -1});  // batch, step, head, size
  const std::int64_t size = x.size(3),
                     rotated = c.given("rotary_embedding_dim") && c.integer("rotary_embedding_dim") != 0 ? c.size("rotary_embedding_dim") : size;
  const auto table = [&](std::size_t i) {
    const Tensor at = c.has(3) ? take(c[i], c[3], 0) : c.tensor(i);
    return expand_dims(c.at_node(at), 2);
  };
  const Tensor cosine = table(1), sine = table(2);
  const bool interleaved = c.integer("interleaved", 0) != 0;
  const std::int64_t half = rotated / 2;
  const Tensor first = interleaved ? x.at({ellipsis, Slice{0, rotated, 2}}, c.where()) : x.at({ellipsis, Slice{0, half}}, c.where());
  const Tensor second = interleaved ? x.at({ellipsis, Slice{1, rotated, 2}}, c.where()) : x.at({ellipsis, Slice{half, rotated}}, c.where());
  const Tensor real = subtract(multiply(c.at_node(cosine), first), multiply(c.at_node(sine), second));
  const Tensor imaginary = add(multiply(c.at_node(sine), first), multiply(c.at_node(cosine), second));
  Tensor turned = interleaved ? reshape(c.at_node(stack({real, imaginary}, -1, c.where())), {x.size(0), x.size(1), x.size(2), rotated})
                              : concatenate({real, imaginary}, -1, c.where());
  if (rotated < size) turned = concatenate({turned, x.at({ellipsis, Slice{rotated, size}}, c.where())}, -1, c.where());
  return {in.ndim() == 4 ? transpose(c.at_node(turned), {0, 2, 1, 3}) : reshape(c.at_node(turned), in.shape())};
}

const Operator kRows[] = {
    {"Attention", {3, 7}, attention},
    {"RotaryEmbedding", {3, 4}, rotary_embedding},
};

}  // namespace

std::span<const Operator> attention_operators() { return kRows; }

}  // namespace sinter::onnx
