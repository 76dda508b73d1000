// The body of lay_out_*, in the files matmul_{baseline,avx2,avx512}.cpp, which define SINTER_LAY_OUT.
#include <cstring>

#include "kernels/convolutions/windows.hpp"

namespace sinter::kernels {
namespace {

std::int64_t within(std::int64_t x, std::int64_t low, std::int64_t high) { return x < low ? low : x > high ? high : x; }

template <class Word> void zeros(Word* to, std::int64_t count) { std::memset(to, 0, static_cast<std::size_t>(count) * sizeof(Word)); }

/// Copies a row of the matrix where all lines keep their length and are adjacent. The row is x moved by `shift`, except at the ends of lines, which windows
/// cross.
template <class Word> void shifted_lines(const Windows& w, const Word* x, std::int64_t shift, std::int64_t first, Word* to) {
  const std::int64_t width = w.size[2], from = within(-shift, w.begin, w.end), until = within(w.size[1] * width - shift, from, w.end);
  zeros(to, from - w.begin);
  std::memcpy(to + (from - w.begin), x + from + shift, static_cast<std::size_t>(until - from) * sizeof(Word));
  zeros(to + (until - w.begin), w.end - until);
  if (first == 0) return;
  // Clears, in each line, the positions below -first, or from width - first on.
  const std::int64_t reach = first < 0 ? -first : first, over = reach < width ? reach : width, column = first < 0 ? 0 : width - over;
  for (std::int64_t at = w.begin / width * width + column; at < w.end; at += width)
    for (std::int64_t k = at < w.begin ? w.begin : at; k < (at + over < w.end ? at + over : w.end); ++k) to[k - w.begin] = 0;
}

/// Writes one line: `count` positions from ox on, of which [from, until) read within the line.
template <class Word> void one_line(const Word* line, std::int64_t step, std::int64_t ox, std::int64_t from, std::int64_t until, std::int64_t count, Word* to) {
  for (std::int64_t k = ox; k < from; ++k) *to++ = 0;
  const std::int64_t there = until - from;
  if (step == 1)
    for (std::int64_t k = 0; k < there; ++k) to[k] = line[k];
  else if (step == 2)
    for (std::int64_t k = 0; k < there; ++k) to[k] = line[2 * k];
  else
    for (std::int64_t k = 0; k < there; ++k) to[k] = line[k * step];
  to += there;
  for (std::int64_t k = until; k < ox + count; ++k) *to++ = 0;
}

template <class Word> void lay_out(const Windows& w) {
  const bool keeps_lines = w.places[0] == 1 && w.size[0] == 1 && w.taps[0] == 1 && w.before[0] == 0 && w.stride[1] == 1 && w.stride[2] == 1 &&
                           w.places[2] == w.size[2] && w.x_stride[2] == 1 && w.x_stride[1] == w.size[2];
  const std::int64_t all_taps = w.taps[0] * w.taps[1] * w.taps[2], s = w.stride[2], step = s * w.x_stride[2];
  Word* to = static_cast<Word*>(w.to);
  const Word* channel = static_cast<const Word*>(w.x) + w.row_begin / all_taps * w.x_channel;
  std::int64_t kx = w.row_begin % w.taps[2], ky = w.row_begin / w.taps[2] % w.taps[1], kz = w.row_begin / w.taps[2] / w.taps[1] % w.taps[0];
  const auto next = [&] {
    if (++kx < w.taps[2]) return;
    kx = 0;
    if (++ky < w.taps[1]) return;
    ky = 0;
    if (++kz < w.taps[0]) return;
    kz = 0;
    channel += w.x_channel;
  };
  const std::int64_t first_x = w.begin % w.places[2], first_y = w.begin / w.places[2] % w.places[1], first_z = w.begin / w.places[2] / w.places[1];
  for (std::int64_t row = w.row_begin; row < w.row_end; ++row, next()) {
    const std::int64_t first = kx * w.dilation[2] - w.before[2];  // the element that position 0 of a line reads
    if (keeps_lines) {
      shifted_lines(w, channel, (ky * w.dilation[1] - w.before[1]) * w.size[2] + first, first, to);
      to += w.end - w.begin;
      continue;
    }
    // Finds the positions of a line that read within x's line.
    const std::int64_t last = w.size[2] - 1 - first;
    const std::int64_t low = first < 0 ? (-first + s - 1) / s : 0, high = last < 0 ? 0 : last / s + 1;
    std::int64_t ox = first_x, oy = first_y, oz = first_z;
    for (std::int64_t place = w.begin; place < w.end;) {
      const std::int64_t rest = w.places[2] - ox, count = rest < w.end - place ? rest : w.end - place;
      const std::int64_t y = oy * w.stride[1] + ky * w.dilation[1] - w.before[1], z = oz * w.stride[0] + kz * w.dilation[0] - w.before[0];
      if (y < 0 || y >= w.size[1] || z < 0 || z >= w.size[0]) {
        zeros(to, count);
      } else {
        const std::int64_t from = within(low, ox, ox + count), until = within(high, from, ox + count);
        one_line(channel + z * w.x_stride[0] + y * w.x_stride[1] + (first + from * s) * w.x_stride[2], step, ox, from, until, count, to);
      }
      to += count;
      place += count;
      ox = 0;
      if (++oy == w.places[1]) oy = 0, ++oz;
    }
  }
}

}  // namespace

void SINTER_LAY_OUT(const Windows& windows, std::int64_t bytes) {
  if (bytes == 4) lay_out<std::uint32_t>(windows);
  else lay_out<std::uint64_t>(windows);
}

}  // namespace sinter::kernels
