// Recurrent layers whose steps are one library call, so that one plan serves sequences of any length. sinter.hpp does not include this header. Models record
// their RNN, GRU and LSTM nodes with it.
#pragma once
#include <cstdint>

#include "sinter/tensor.hpp"

namespace sinter {

/// The new state of a step, computed from its sums z, which have one part of the state's size for each gate, and from the old state h (s is the sigmoid):
/// - rnn_tanh, rnn_relu: tanh(z), max(z, 0)
/// - gru: gates (update, reset, fresh); (1 - s(update)) * tanh(fresh) + s(update) * h, where fresh is computed with s(reset) * h instead of h
/// - gru_reset_after: the same, but fresh is x's part + s(reset) * the sums of h
/// - lstm: gates (input, output, forget, fresh); a second state, the cell: s(forget) * cell + s(input) * tanh(fresh); the state: s(output) * tanh(cell)
/// The order of the gates is ONNX's.
enum class Cell : std::uint8_t { rnn_tanh, rnn_relu, gru, gru_reset_after, lstm };

/// Returns the states of float32 along a sequence: z = x[t] + h @ weights[:-1] + weights[-1] at each step t, from the last step on if `backwards`.
/// x is (steps, batch, gates * size), the inputs' share of z. weights is (size + 1, gates * size). start is (1, batch, size), for an LSTM (2, batch, size) with
/// the cell. The result is (steps + 1, batch, size), for an LSTM (steps + 2, batch, size): the state after each step, then the final states laid out as
/// `start`.
/// It is one library call on the CPU; a GPU computes the steps one after the other. Throws DTypeError for other types, ShapeError for shapes that do not fit.
Tensor recurrence(Cell cell, const Arg& x, const Tensor& weights, const Tensor& start, bool backwards = false);

}  // namespace sinter
