// The attributes of convolutions and pools that describe their windows.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "onnx/call.hpp"
#include "sinter/nn.hpp"

namespace sinter::onnx {

struct Windows {
  std::vector<std::int64_t> stride, dilation;
  std::vector<std::pair<std::int64_t, std::int64_t>> padding;
};

/// Returns the windows. `kernel`: the window's sizes; `places`: the tensor's sizes.
Windows windows(const Call& c, const std::vector<std::int64_t>& kernel, const std::vector<std::int64_t>& places);

/// Returns the options of a ConvTranspose for a weight whose last sizes are `kernel`.
ConvTransposeOptions transposed_windows(const Call& c, const std::vector<std::int64_t>& kernel, const std::vector<std::int64_t>& places);

}  // namespace sinter::onnx
