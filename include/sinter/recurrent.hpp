// Recurrent layers whose steps are one call, so that a plan of one serves sequences of any length. Not part of sinter.hpp; models record their RNN, GRU and
// LSTM so.
#pragma once
#include <cstdint>

#include "sinter/tensor.hpp"

namespace sinter {

/// What a step makes of its sums z, which have a part of the state's size for each gate, and of the state h before it (s is the sigmoid):
/// - rnn_tanh, rnn_relu: tanh(z), max(z, 0)
/// - gru: gates (update, reset, fresh); (1 - s(update)) * tanh(fresh) + s(update) * h, where fresh sums s(reset) * h in h's place
/// - gru_reset_after: the same, but that fresh is x's part + s(reset) * the sums of h
/// - lstm: gates (input, output, forget, fresh); a second state, the cell: s(forget) * cell + s(input) * tanh(fresh); the state: s(output) * tanh(cell)
/// The order of the gates is ONNX's.
enum class Cell : std::uint8_t { rnn_tanh, rnn_relu, gru, gru_reset_after, lstm };

/// The states of float32 along a sequence: z = x[t] + h @ weights[:-1] + weights[-1] at each step t, from the last one on if `backwards`.
/// x: (steps, batch, gates * size), what the inputs add; weights: (size + 1, gates * size); start: (1, batch, size), of an LSTM (2, batch, size) with the cell.
/// Gives (steps + 1, batch, size), of an LSTM (steps + 2, batch, size): the state after each step, then those at the end, as `start` has them.
/// One library call, of the CPU; for a GPU the host computes it. Throws DTypeError for other types, ShapeError for what does not fit.
Tensor recurrence(Cell cell, const Arg& x, const Tensor& weights, const Tensor& start, bool backwards = false);

/// True where the present device computes it itself: a CPU.
bool recurs_in_one_call();

}  // namespace sinter
