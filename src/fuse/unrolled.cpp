#include "fuse/unrolled.hpp"

#include <vector>

#include "sinter/sinter.hpp"
#include "trace/library.hpp"

namespace sinter::fuse {

trace::RecordedPtr unrolled(const trace::Recorded& call, const std::vector<trace::RecordedPtr>& operands) {
  constexpr std::int64_t kMaxSteps = 10'000;
  const auto how = trace::Recurrence::of(call.ints);
  const trace::RecordedPtr &x = operands[0], &start = operands[2];
  const std::int64_t steps = x->shape[0], size = start->shape[2];
  if (!how || steps > kMaxSteps) return nullptr;
  const trace::RecordedPtr lengths = call.op == trace::Op::ragged_recurrence ? operands[3] : nullptr;
  trace::RecordedPtr weights = operands[1];
  if (call.op == trace::Op::byte_recurrence) {  // the same weights as floats
    const Tensor terms(weights);
    weights = concatenate({(astype(Tensor(operands[3]), DType::float32) - terms.at({1})) * terms.at({0}), terms.at({Slice{2, {}}})}).node();
  }
  const auto part = [&](const Tensor& z, std::int64_t first, std::int64_t count = 1) { return z.at({ellipsis, Slice{first * size, (first + count) * size}}); };
  const std::int64_t of_inputs = trace::Recurrence::rows_of_inputs(weights->shape, start->shape);
  const Tensor all(weights), rows = all.at({Slice{of_inputs, {}}}), begin(start);
  const Tensor sums = of_inputs == 0 ? Tensor(x) : matmul(Tensor(x), all.at({Slice{0, of_inputs - 1}})) + all.at({of_inputs - 1});
  const Tensor by = rows.at({Slice{0, size}}), bias = rows.at({size});
  std::vector<Tensor> states, results(static_cast<std::size_t>(steps));
  for (std::int64_t k = 0; k < how->states(); ++k) states.push_back(begin.at({k}));
  for (std::int64_t k = 0; k < steps; ++k) {
    const std::int64_t t = how->backwards ? steps - 1 - k : k;
    const Tensor given = sums.at({t}), now = given + bias;
    const std::vector<Tensor> before = states;
    Tensor& h = states[0];
    switch (how->cell) {
      case Cell::rnn_tanh: h = tanh(now + matmul(h, by)); break;
      case Cell::rnn_relu: h = relu(now + matmul(h, by)); break;
      case Cell::gru:
      case Cell::gru_reset_after: {
        const Tensor gates = sigmoid(part(now, 0, 2) + matmul(h, part(by, 0, 2))), update = part(gates, 0), reset = part(gates, 1), of_fresh = part(by, 2);
        const Tensor fresh = how->cell == Cell::gru ? part(now, 2) + matmul(reset * h, of_fresh)  //
                                                    : part(given, 2) + reset * (matmul(h, of_fresh) + part(bias, 2));
        h = (1 - update) * tanh(fresh) + update * h;
        break;
      }
      case Cell::lstm: {
        const Tensor z = now + matmul(h, by);
        Tensor& cell = states[1];
        cell = sigmoid(part(z, 2)) * cell + sigmoid(part(z, 0)) * tanh(part(z, 3));
        h = sigmoid(part(z, 1)) * tanh(cell);
      }
    }
    Tensor& result = results[static_cast<std::size_t>(t)] = h;
    if (!lengths) continue;
    const Tensor runs = reshape(Tensor(lengths) > t, {-1, 1});
    result = where(runs, h, 0.f);
    for (std::size_t state = 0; state < states.size(); ++state) states[state] = where(runs, states[state], before[state]);
  }
  results.insert(results.end(), states.begin(), states.end());
  return stack(results).node();
}

}  // namespace sinter::fuse
