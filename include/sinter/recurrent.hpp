// Recurrent layers whose steps are one library call, so that one plan serves sequences of any length. sinter.hpp does not include this header. Trained models
// record their RNN, GRU and LSTM nodes with it.
#pragma once
#include <cstdint>

#include "sinter/tensor.hpp"

namespace sinter {

/// The formula of a step's new state. h is the old state, s the sigmoid, and z the sums of the step: one part for each gate, and each part has the size of the
/// state.
/// - rnn_tanh, rnn_relu: tanh(z), max(z, 0)
/// - gru: gates (update, reset, fresh); (1 - s(update)) * tanh(fresh) + s(update) * h, where fresh is computed with s(reset) * h instead of h
/// - gru_reset_after: the same, but fresh is the inputs' part of its sums + s(reset) * the state's part
/// - lstm: gates (input, output, forget, fresh); a second state, the cell: s(forget) * cell + s(input) * tanh(fresh); the state: s(output) * tanh(cell)
/// The order of the gates is ONNX's.
enum class Cell : std::uint8_t { rnn_tanh, rnn_relu, gru, gru_reset_after, lstm };

/// Returns the float32 states along a sequence. At each step t, z = x[t] + h @ weights[:-1] + weights[-1]. If `backwards`, the steps run from the last one to
/// the first. x is the inputs' part of z, of shape (steps, batch, gates * size). weights has shape (size + 1, gates * size). start has shape (1, batch, size);
/// for an LSTM (2, batch, size), the second part being the cell. The result holds the state after each step, then the final states laid out as `start`: its
/// shape is (steps + 1, batch, size), for an LSTM (steps + 2, batch, size). `lengths`, int64 (batch,), says how many steps each sequence has, from 0 to
/// `steps`; numbers outside are clipped, and empty means all steps. The states after a sequence's last step are 0, its final states are those of its last step,
/// and a backward sequence begins there. With lengths, the weights may begin with those of the inputs and their bias, of shape (inputs + 1, gates * size). x is
/// then of shape (steps, batch, inputs), and is multiplied by them only as far as the longest sequence goes.
/// The recurrence is one library call on a CPU, which ends with the longest sequence; a GPU computes the steps one after the other. Throws DTypeError for other
/// types, ShapeError for shapes that do not fit.
Tensor recurrence(Cell cell, const Arg& x, const Tensor& weights, const Tensor& start, bool backwards = false, const Tensor& lengths = {});

/// Weights of 8 bits: (numbers - zero) * factor, and the bias. `numbers` is int8 or uint8, of shape (size, gates * size); the others are float32, of shape
/// (gates * size,).
struct ByteWeights {
  Tensor numbers, factor, zero, bias;
};
/// The same with such weights, without lengths. For a small batch, a CPU reads the weights as bytes; for a large one, it converts them to floats once in each
/// call.
Tensor recurrence(Cell cell, const Arg& x, const ByteWeights& weights, const Tensor& start, bool backwards = false);

}  // namespace sinter
