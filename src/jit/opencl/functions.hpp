// sinter's math functions (jit/math) as OpenCL C, so that they have the same accuracy and the same bits as on the CPU.
#pragma once
#include <string>
#include <string_view>

#include "sinter/dtype.hpp"

namespace sinter::jit::opencl {

/// Returns the type of an element in memory. A bool is a uchar.
std::string_view type_name(DType dtype);
/// Returns the helper sn_NAME for a row of SINTER_FUNCTION, "pow" or "rsqrt" on float32 or float64, or an empty text.
std::string function_text(std::string_view helper, DType dtype);

}  // namespace sinter::jit::opencl
