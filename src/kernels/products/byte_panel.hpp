// Products of matrices of bytes from panels: both operands laid out once, so that one instruction adds up four products for each of 16 columns.
#pragma once
#include <cstdint>

namespace sinter::kernels {

/// Rows whose sums, for two blocks of columns, registers hold; columns of a block; numbers along the depth that one instruction takes.
inline constexpr int kPanelRows = 14, kPanelColumns = 16, kPanelBlocks = 2, kPanelDepth = 4;

/// Number (line, k) is at data + line * line_step + k * depth_step; one of the steps is 1.
struct ByteLines {
  const char* data;
  std::int64_t lines, depth, line_step, depth_step;
  bool is_signed;
};

/// `depth` fours of up to kPanelRows rows times those of up to kPanelBlocks blocks of columns.
struct PanelTile {
  const std::uint8_t* left;  // (depth, rows, 4)
  const std::int8_t* right;  // (blocks, depth, 16, 4), blocks right_block apart
  std::int64_t depth, rows, columns, right_block;
  const std::int32_t* row;    // what is added for each row, or null
  const std::int32_t* begin;  // what is added for each column; null: what c holds
  std::int32_t* c;
  std::int64_t c_step;
};

/// Rows become unsigned and columns signed: of other kinds the highest bit is turned, 128 more or less, and what that adds up to goes into `row` and `begin`.
struct BytePanels {
  const char* name;
  /// As many fours as hold the depth, (depth, lines, 4); `row` gets for each line the sum of its numbers, as they were given.
  void (*lay_left)(const ByteLines& lines, std::uint8_t* panel, std::int32_t* row);
  /// Up to kPanelColumns lines as (depth, 16, 4), zeros where there is none; `sums` (of each column, as laid out) may be null.
  void (*lay_right)(const ByteLines& lines, std::int8_t* panel, std::int32_t* sums);
  void (*multiply)(const PanelTile& tile);
};
extern const BytePanels kBytePanelsBaseline, kBytePanelsVnni;
/// Those of this processor.
const BytePanels& byte_panels();

}  // namespace sinter::kernels
