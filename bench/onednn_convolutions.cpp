// Times oneDNN's convolutions for bench/models.py, one after the other, each in the layout that oneDNN prefers, with nothing between them. A network of them
// cannot be faster with that library. Standard input has one convolution a line:
//   batch channels rows columns  filters row_taps column_taps  row_stride column_stride  row_dilation column_dilation  top left bottom right  groups
// OMP_NUM_THREADS=1 onednn_convolutions TIMES prints the sum of each one's fastest run, in ms. (OpenMP reads its variable when it is loaded.)
#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "bench.hpp"

static_assert(DNNL_VERSION_MAJOR == 2, "written for oneDNN 2; version 3 makes primitive descriptors in one step");

namespace {

using Line = std::array<std::int64_t, 16>;

double fastest(const Line& line, int times) {
  using namespace dnnl;
  const auto [batch, channels, rows, columns, filters, row_taps, column_taps, row_stride, column_stride, row_dilation, column_dilation, top, left, bottom,
              right, groups] = line;
  engine cpu(engine::kind::cpu, 0);
  stream stream(cpu);
  const auto places = [](std::int64_t size, std::int64_t taps, std::int64_t stride, std::int64_t dilation, std::int64_t padding) {
    return (size + padding - (taps - 1) * dilation - 1) / stride + 1;
  };
  const memory::dims x{batch, channels, rows, columns};
  const memory::dims y{batch, filters, places(rows, row_taps, row_stride, row_dilation, top + bottom),
                       places(columns, column_taps, column_stride, column_dilation, left + right)};
  const memory::dims w =
      groups > 1 ? memory::dims{groups, filters / groups, channels / groups, row_taps, column_taps} : memory::dims{filters, channels, row_taps, column_taps};
  const auto f32 = memory::data_type::f32;
  const auto any = memory::format_tag::any;
  const convolution_forward::primitive_desc how({prop_kind::forward_inference,
                                                 algorithm::convolution_direct,
                                                 {x, f32, any},
                                                 {w, f32, any},
                                                 {y, f32, any},
                                                 {row_stride, column_stride},
                                                 {row_dilation - 1, column_dilation - 1},
                                                 {top, left},
                                                 {bottom, right}},
                                                cpu);
  memory source(how.src_desc(), cpu), weights(how.weights_desc(), cpu), result(how.dst_desc(), cpu);
  for (memory* m : {&source, &weights, &result}) std::fill_n(static_cast<float*>(m->get_data_handle()), m->get_desc().get_size() / sizeof(float), 0.01f);
  convolution_forward conv(how);
  std::vector<double> seconds;
  for (int time = 0; time < times; ++time)
    seconds.push_back(bench::seconds([&] {
      conv.execute(stream, {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, result}});
      stream.wait();
    }));
  return bench::minimum(seconds);
}

}  // namespace

int main(int argc, char** argv) {
  const int times = argc == 2 ? std::atoi(argv[1]) : 0;
  if (times < 1) {
    fmt::print(stderr, "usage: onednn_convolutions TIMES < convolutions\n");
    return 2;
  }
  std::map<Line, double> known;  // equal ones are timed once
  double all = 0;
  for (Line line; std::cin >> line[0];) {
    for (std::size_t k = 1; k < line.size(); ++k)
      if (!(std::cin >> line[k])) {
        fmt::print(stderr, "onednn_convolutions: a line has fewer than {} numbers\n", line.size());
        return 1;
      }
    const auto found = known.find(line);
    all += found != known.end() ? found->second : (known[line] = fastest(line, times));
  }
  fmt::print("{:.3f}\n", all * 1e3);
}
