// The body of winograd_input_* and winograd_output_*, in the files matmul_{baseline,avx2,avx512}.cpp, which define SINTER_WINOGRAD_INPUT and
// SINTER_WINOGRAD_OUTPUT.
#include "kernels/convolutions/winograd.hpp"
#include "kernels/lanes.inl"

namespace sinter::kernels {
namespace {
namespace winograd {

using Word = Lanes<float>::Word;
using Unaligned = Lanes<float>::Unaligned;

// Returns a reference, because the way to pass a vector by value depends on the instruction set.
const Unaligned& at(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }
Unaligned& at(float* to) { return *reinterpret_cast<Unaligned*>(to); }

/// Multiplies four elements by B'.
void spread(const Word d[4], Word to[4]) {
  to[0] = d[0] - d[2];
  to[1] = d[1] + d[2];
  to[2] = d[2] - d[1];
  to[3] = d[1] - d[3];
}

}  // namespace winograd
}  // namespace

void SINTER_WINOGRAD_INPUT(const WinogradInput& row) {
  using namespace winograd;
  Word columns[4][4];  // transformed columns; neighbouring tiles share two
  const auto column = [&](std::int64_t number, Word to[4]) {
    const float* const from = row.x + number * 16;
    const Word d[4] = {at(from), at(from + row.x_row), at(from + 2 * row.x_row), at(from + 3 * row.x_row)};
    spread(d, to);
  };
  column(0, columns[0]);
  column(1, columns[1]);
  for (std::int64_t tile = 0; tile < row.tiles; ++tile) {
    column(2 * tile + 2, columns[2]);
    column(2 * tile + 3, columns[3]);
    float* const to = row.result + tile * 16;
    for (int i = 0; i < 4; ++i) {
      const Word line[4] = {columns[0][i], columns[1][i], columns[2][i], columns[3][i]};
      Word all[4];
      spread(line, all);
      for (int j = 0; j < 4; ++j) at(to + (i * 4 + j) * row.position) = all[j];
    }
    for (int i = 0; i < 4; ++i) columns[0][i] = columns[2][i], columns[1][i] = columns[3][i];
  }
}

void SINTER_WINOGRAD_OUTPUT(const WinogradOutput& row) {
  using namespace winograd;
  const Word bias = at(row.bias);
  for (std::int64_t place = 0; place < row.places; place += 2) {
    const float* const from = row.sums + place / 2 * 16;
    Word upper[4], lower[4];
    for (int j = 0; j < 4; ++j) {
      const Word a = at(from + j * row.position), b = at(from + (4 + j) * row.position), c = at(from + (8 + j) * row.position),
                 d = at(from + (12 + j) * row.position);
      upper[j] = a + b + c;
      lower[j] = b - c - d;
    }
    float* const to = row.result + place * 16;
    const bool both = place + 1 < row.places;
    at(to) = upper[0] + upper[1] + upper[2] + bias;
    if (both) at(to + 16) = upper[1] - upper[2] - upper[3] + bias;
    if (row.rows < 2) continue;
    at(to + row.result_row) = lower[0] + lower[1] + lower[2] + bias;
    if (both) at(to + row.result_row + 16) = lower[1] - lower[2] - lower[3] + bias;
  }
}

}  // namespace sinter::kernels
