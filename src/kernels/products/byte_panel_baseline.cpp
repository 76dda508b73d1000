#include "kernels/products/byte_panel.hpp"

namespace sinter::kernels {
namespace {

std::int64_t fours(std::int64_t depth) { return (depth + kPanelDepth - 1) / kPanelDepth; }

/// Returns a number, with its highest bit flipped if `turned` is set, or 0 outside of the lines.
std::uint8_t number(const ByteLines& l, std::int64_t line, std::int64_t k, bool turned) {
  return line < l.lines && k < l.depth
             ? static_cast<std::uint8_t>(static_cast<unsigned char>(l.data[line * l.line_step + k * l.depth_step]) ^ (turned ? 0x80U : 0U))
             : std::uint8_t{0};
}

void lay_left(const ByteLines& l, std::uint8_t* panel, std::int32_t* row) {
  for (std::int64_t line = 0; line < l.lines; ++line) {
    std::uint32_t sum = 0;  // wraps around
    for (std::int64_t k = 0; k < fours(l.depth) * kPanelDepth; ++k) {
      const std::uint8_t x = number(l, line, k, l.is_signed);
      panel[(k / kPanelDepth * l.lines + line) * kPanelDepth + k % kPanelDepth] = x;
      sum += x - (l.is_signed && k < l.depth ? 128U : 0U);
    }
    if (row) row[line] = static_cast<std::int32_t>(sum);
  }
}

void lay_right(const ByteLines& l, std::int8_t* panel, std::int32_t* sums) {
  for (std::int64_t line = 0; line < kPanelColumns; ++line) {
    std::uint32_t sum = 0;
    for (std::int64_t k = 0; k < fours(l.depth) * kPanelDepth; ++k) {
      const auto x = static_cast<std::int8_t>(number(l, line, k, !l.is_signed));
      panel[(k / kPanelDepth * kPanelColumns + line) * kPanelDepth + k % kPanelDepth] = x;
      sum += static_cast<std::uint32_t>(std::int32_t{x});
    }
    if (sums) sums[line] = static_cast<std::int32_t>(sum);
  }
}

void multiply(const PanelTile& t) {
  for (std::int64_t row = 0; row < t.rows; ++row)
    for (std::int64_t first = 0; first < t.columns; first += kPanelColumns) {
      const std::int64_t columns = t.columns - first < kPanelColumns ? t.columns - first : kPanelColumns;
      std::int32_t* const c = t.c + row * t.c_step + first;
      std::uint32_t sums[kPanelColumns]{};  // wrap around
      for (std::int64_t k = 0; k < t.depth; ++k) {
        const std::uint8_t* const left = t.left + (k * t.rows + row) * kPanelDepth;
        const std::int8_t* const right = t.right + first / kPanelColumns * t.right_block + k * kPanelColumns * kPanelDepth;
        for (int column = 0; column < kPanelColumns; ++column)
          for (int i = 0; i < kPanelDepth; ++i)
            sums[column] += static_cast<std::uint32_t>(std::int32_t{left[i]} * std::int32_t{right[column * kPanelDepth + i]});
      }
      for (std::int64_t column = 0; column < columns; ++column) {
        const std::int32_t before = t.begin ? t.begin[first + column] : c[column], more = t.row ? t.row[row] : 0;
        c[column] = static_cast<std::int32_t>(sums[column] + static_cast<std::uint32_t>(before) + static_cast<std::uint32_t>(more));
      }
    }
}

}  // namespace

const BytePanels kBytePanelsBaseline{"baseline", lay_left, lay_right, multiply};

}  // namespace sinter::kernels
