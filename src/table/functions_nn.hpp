// The functions of sinter/nn.hpp for expressions, with PyTorch's names and parameters.
#pragma once
#include "table/value.hpp"

namespace sinter::table {

class Arguments;

Value conv_(const Arguments& a);
Value conv1d_(const Arguments& a);
Value conv2d_(const Arguments& a);
Value conv3d_(const Arguments& a);
Value conv_transpose_(const Arguments& a);
Value conv_transpose1d_(const Arguments& a);
Value conv_transpose2d_(const Arguments& a);
Value conv_transpose3d_(const Arguments& a);
Value unfold_(const Arguments& a);
Value linear_(const Arguments& a);
Value max_pool1d_(const Arguments& a);
Value max_pool2d_(const Arguments& a);
Value max_pool3d_(const Arguments& a);
Value avg_pool1d_(const Arguments& a);
Value avg_pool2d_(const Arguments& a);
Value avg_pool3d_(const Arguments& a);
Value lp_pool1d_(const Arguments& a);
Value lp_pool2d_(const Arguments& a);
Value adaptive_avg_pool1d_(const Arguments& a);
Value adaptive_avg_pool2d_(const Arguments& a);
Value adaptive_max_pool2d_(const Arguments& a);
Value batch_norm_(const Arguments& a);
Value group_norm_(const Arguments& a);
Value instance_norm_(const Arguments& a);
Value local_response_norm_(const Arguments& a);
Value attention_(const Arguments& a);
Value embedding_(const Arguments& a);
Value one_hot_(const Arguments& a);
Value interpolate_(const Arguments& a);
Value pixel_shuffle_(const Arguments& a);
Value pixel_unshuffle_(const Arguments& a);
Value prelu_(const Arguments& a);
Value hardtanh_(const Arguments& a);
Value threshold_(const Arguments& a);
Value hardshrink_(const Arguments& a);
Value softshrink_(const Arguments& a);

inline constexpr std::string_view kConv = "input weight bias? stride? padding? dilation? groups?",
                                  kConvTranspose = "input weight bias? stride? padding? output_padding? groups? dilation?",
                                  kMaxPool = "input kernel_size stride? padding? dilation? ceil_mode?",
                                  kAvgPool = "input kernel_size stride? padding? ceil_mode? count_include_pad? divisor_override?",
                                  kLpPool = "input norm_type kernel_size stride? ceil_mode?";

}  // namespace sinter::table
