// What convolutions and pools say of their windows.
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

/// `kernel` are the window's sizes, `places` those of the tensor.
Windows windows(const Call& c, const std::vector<std::int64_t>& kernel, const std::vector<std::int64_t>& places);

/// What a ConvTranspose says, for a weight whose last sizes are `kernel`.
ConvTransposeOptions transposed_windows(const Call& c, const std::vector<std::int64_t>& kernel, const std::vector<std::int64_t>& places);

}  // namespace sinter::onnx
