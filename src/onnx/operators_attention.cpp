// Attention as one operator (opset 23), and rotary positions.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "onnx/call.hpp"
#include "onnx/types.hpp"
#include "sinter/counted.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {
namespace {

/// Reshapes [batch, steps, heads * size] to [batch, heads, steps, size].
Tensor heads_apart(const Call& c, const Tensor& x, std::int64_t heads) {
  if (x.ndim() == 4) return x;
  if (x.ndim() != 3 || heads <= 0 || x.size(2) % heads != 0)
    c.refuse(fmt::format("shape {} does not split into {}", to_string(x.shape()), sinter::counted(heads, "head")));
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
    if (kv_heads <= 0 || q_heads % kv_heads != 0)
      c.refuse(fmt::format("{} query heads are not a multiple of {}", q_heads, sinter::counted(kv_heads, "key head")));
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
  if (c.has(6)) {  // number of positions of each sequence that are not padding
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

/// Masks the keys that a query must not use, by numbers that are added to the scores: ONNX Runtime's masks by lengths, by ends and starts, by keys, or by
/// pairs.
Tensor runtime_mask(const Call& c, const Tensor& mask, std::int64_t batch, std::int64_t rows, std::int64_t columns, DType dtype) {
  const Tensor column = arange(Arg(columns, c.where()));
  Tensor seen;
  if (mask.shape() == Shape{batch}) {
    seen = reshape(less(column, reshape(c.at_node(mask), {-1, 1})), {batch, 1, 1, columns});
  } else if (mask.shape() == Shape{2 * batch}) {
    const Tensor end = reshape(mask.at({Slice{0, batch}}, c.where()), {-1, 1}), start = reshape(mask.at({Slice{batch, {}}}, c.where()), {-1, 1});
    seen = reshape(logical_and(greater_equal(column, start), less(column, end)), {batch, 1, 1, columns});
  } else if (mask.shape() == Shape{batch, columns}) {
    seen = reshape(greater(c.at_node(mask), 0), {batch, 1, 1, columns});
  } else if (mask.shape() == Shape{batch, rows, columns}) {
    seen = reshape(greater(c.at_node(mask), 0), {batch, 1, rows, columns});
  } else {
    c.refuse(fmt::format("a mask of shape {} does not fit {} sequences of {} queries and {} keys", to_string(mask.shape()), batch, rows, columns));
  }
  return where(c.at_node(seen), full({}, Arg(0.0, c.where()), dtype), full({}, Arg(c.number("mask_filter_value", -10000), c.where()), dtype));
}

/// Returns the result with its heads side by side, from queries, keys and values by heads, and the terms that are added to the scores (empty handles: none).
Tensor attended(const Call& c, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const Tensor& bias) {
  const DType dtype = q.dtype();
  const double given = c.number("scale", 0), scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(q.size(3)));
  Tensor scores = multiply(c.at_node(matmul(c.at_node(q), matrix_transpose(c.at_node(k)))), scale);
  if (c.integer("unidirectional", 0) != 0) {
    const Tensor row = reshape(arange(Arg(q.size(2), c.where())), {-1, 1}), column = arange(Arg(k.size(2), c.where()));
    scores = add(c.at_node(scores), additive(c, less_equal(column, add(row, k.size(2) - q.size(2))), dtype));
  }
  for (const Tensor& more : {mask, bias})
    if (!more.empty_handle()) scores = add(c.at_node(scores), more);
  const Tensor result = matmul(c.at_node(softmax(c.at_node(scores), -1)), v);
  return reshape(transpose(c.at_node(result), {0, 2, 1, 3}), {q.size(0), q.size(2), -1});
}

/// ONNX Runtime's Attention: (x, weights of queries, keys and values side by side, bias, mask, earlier keys and values, numbers to add to the scores).
Results runtime_attention(const Call& c) {
  const Tensor& x = c.tensor(0);
  if (x.ndim() != 3 || c.tensor(1).ndim() != 2)
    c.refuse(fmt::format("an input of shape {} does not fit weights of shape {}", to_string(x.shape()), to_string(c.tensor(1).shape())));
  if (c.integer("do_rotary", 0) != 0 || c.integer("past_present_share_buffer", 0) != 0) c.refuse("do_rotary and past_present_share_buffer are not supported");
  const std::int64_t third = c.tensor(1).size(1) / 3, heads = c.size("num_heads");
  const std::vector<std::int64_t> sizes = c.integers("qkv_hidden_sizes", std::vector<std::int64_t>{third, third, third});
  if (sizes.size() != 3) c.refuse(fmt::format("{} qkv_hidden_sizes", sizes.size()));
  Tensor all = matmul(c.at_node(x), c.tensor(1));
  if (c.has(2)) all = add(c.at_node(all), c.tensor(2));
  const auto part = [&](std::int64_t from, std::int64_t size) { return heads_apart(c, all.at({ellipsis, Slice{from, from + size}}, c.where()), heads); };
  const Tensor q = part(0, sizes[0]);
  Tensor k = part(sizes[0], sizes[1]), v = part(sizes[0] + sizes[1], sizes[2]);
  if (c.has(4)) {
    k = concatenate({std::as_const(c.tensor(4))(0), k}, 2, c.where());
    v = concatenate({std::as_const(c.tensor(4))(1), v}, 2, c.where());
  }
  const Tensor mask = c.has(3) ? runtime_mask(c, c.tensor(3), x.size(0), x.size(1), k.size(2), x.dtype()) : Tensor();
  return {attended(c, q, k, v, mask, c.tensor_or_none(5)), c.wants(1) ? stack({k, v}, 0, c.where()) : Tensor()};
}

/// The same operator for 8-bit numbers: (x, weights, bias, their scales, mask, their zero points, earlier keys and values).
Results q_attention(const Call& c) {
  const auto floats = [&](std::size_t i, std::size_t scale, std::size_t zero) {
    Tensor numbers = astype(c[i], DType::int32);
    if (c.has(zero))
      numbers = subtract(c.at_node(numbers), astype(c.at_node(c.tensor(zero).size() == 1 ? reshape(c[zero], {}) : c.tensor(zero)), DType::int32));
    return multiply(c.at_node(astype(c.at_node(numbers), DType::float32)), c.tensor(scale).size() == 1 ? reshape(c[scale], {}) : c.tensor(scale));
  };
  return runtime_attention(c.with({floats(0, 3, 6), floats(1, 4, 7), c.tensor(2), c.tensor_or_none(5), c.tensor_or_none(8)}));
}

/// ONNX Runtime's MultiHeadAttention: (queries, keys, values, bias of the three, mask, numbers to add to the scores, earlier keys, earlier values). If they are
/// packed in one tensor, queries, keys and values are side by side for each head.
Results multi_head_attention(const Call& c) {
  const std::int64_t heads = c.size("num_heads");
  Tensor q = c.tensor(0), k = c.tensor_or_none(1), v = c.tensor_or_none(2);
  const auto one_of = [&](const Tensor& packed, std::int64_t which) {  // [batch, steps, heads, 2 or 3, size] -> [batch, steps, heads * size]
    return reshape(c.at_node(packed.at({ellipsis, which, Slice{}}, c.where())), {packed.size(0), packed.size(1), -1});
  };
  if (q.ndim() == 5) {
    const Tensor packed = q;
    q = one_of(packed, 0), k = one_of(packed, 1), v = one_of(packed, 2);
  } else if (k.ndim() == 5) {
    const Tensor packed = k;
    k = one_of(packed, 0), v = one_of(packed, 1);
  } else if (k.empty_handle() || v.empty_handle()) {
    c.refuse("the keys or the values are missing");
  }
  if (c.has(3)) {
    std::int64_t from = 0;
    for (Tensor* one : {&q, &k, &v}) {
      const std::int64_t size = one->ndim() == 4 ? one->size(1) * one->size(3) : one->size(2);
      const Tensor row = c.tensor(3).at({Slice{from, from + size}}, c.where());
      if (one->ndim() == 3) *one = add(c.at_node(*one), row);  // keys and values with an axis of heads already have their bias
      from += size;
    }
  }
  q = heads_apart(c, q, heads), k = heads_apart(c, k, heads), v = heads_apart(c, v, heads);
  if (c.has(6)) k = concatenate({c.tensor(6), k}, 2, c.where());
  if (c.has(7)) v = concatenate({c.tensor(7), v}, 2, c.where());
  const Tensor mask = c.has(4) ? runtime_mask(c, c.tensor(4), q.size(0), q.size(2), k.size(2), q.dtype()) : Tensor();
  return {attended(c, q, k, v, mask, c.tensor_or_none(5)), k, v};
}

Results rotary_embedding(const Call& c) {
  const Tensor& in = c.tensor(0);
  std::int64_t heads = c.integer("num_heads", 0);
  if (heads == 0 && in.ndim() == 3) heads = in.size(2) / std::max<std::int64_t>(2 * c.tensor(1).size(-1, c.where()), 1);
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

/// In ONNX Runtime's operator the positions come before the tables. A single position is that of the first step of every sequence.
Results runtime_rotary_embedding(const Call& c) {
  if (c.integer("is_packed_batching", 0) != 0 || c.number("scale", 1) != 1) c.refuse("is_packed_batching and scale are not supported");
  const Tensor& x = c.tensor(0);
  Tensor positions = c.tensor(1);
  if (positions.ndim() == 1) {
    const std::int64_t steps = x.size(x.ndim() - 2);
    positions = broadcast_to(add(c.at_node(positions), arange(Arg(steps, c.where()))), {x.size(0), steps});
  }
  return rotary_embedding(c.with({x, c.tensor(2), c.tensor(3), positions}));
}

const Operator kAttentionRows[] = {
    {"Attention", {3, 7}, attention},
    {"RotaryEmbedding", {3, 4}, rotary_embedding},
    {"com.microsoft.Attention", {2, 7}, runtime_attention},
    {"com.microsoft.MultiHeadAttention", {1, 8}, multi_head_attention},
    {"com.microsoft.QAttention", {5, 9}, q_attention},
    {"com.microsoft.RotaryEmbedding", {4, 4}, runtime_rotary_embedding},
};

}  // namespace

std::span<const Operator> attention_operators() { return kAttentionRows; }

}  // namespace sinter::onnx
