// Products of matrices of bytes from panels. Both operands are packed once, so that one instruction adds four products for each of 16 columns.
#pragma once
#include <cstdint>

namespace sinter::kernels {

/// The tile whose sums fit in registers: its rows, the columns of a block, its blocks. The last constant is the count of numbers along the depth that one
/// instruction multiplies.
inline constexpr int kPanelRows = 14, kPanelColumns = 16, kPanelBlocks = 2, kPanelDepth = 4;

/// A matrix of bytes as lines. Element (line, k) is at data + line * line_step + k * depth_step; one of the steps is 1.
struct ByteLines {
  const char* data;
  std::int64_t lines, depth, line_step, depth_step;
  bool is_signed;
};

/// Multiplies up to kPanelRows rows with up to kPanelBlocks blocks of columns, over `depth` groups of four numbers.
struct PanelTile {
  const std::uint8_t* left;  // (depth, rows, 4)
  const std::int8_t* right;  // (blocks, depth, 16, 4), with right_block between blocks
  std::int64_t depth, rows, columns, right_block;
  const std::int32_t* row;    // summand of each row, or null
  const std::int32_t* begin;  // summand of each column; null: the contents of c
  std::int32_t* c;
  std::int64_t c_step;
};

/// The panels' functions. Rows become unsigned and columns signed by flipping the highest bit, which changes numbers by 128; `row` and `begin` correct the
/// sums.
struct BytePanels {
  const char* name;
  /// Lays out groups of four numbers that cover the depth, (depth, lines, 4). `row` receives the sum of each line's original numbers.
  void (*lay_left)(const ByteLines& lines, std::uint8_t* panel, std::int32_t* row);
  /// Lays out up to kPanelColumns lines as (depth, 16, 4), with zeros for missing lines. `sums` (of each column, as laid out) may be null.
  void (*lay_right)(const ByteLines& lines, std::int8_t* panel, std::int32_t* sums);
  void (*multiply)(const PanelTile& tile);
};
extern const BytePanels kBytePanelsBaseline, kBytePanelsVnni;
/// Returns the functions for this processor.
const BytePanels& byte_panels();

}  // namespace sinter::kernels
