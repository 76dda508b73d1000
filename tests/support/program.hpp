// Functions for test programs that use the public library. Such a program runs its test cases on one device.
#pragma once
#include <doctest/doctest.h>

#include <sinter/sinter.hpp>
#include <vector>

#include "cases.hpp"
#include "draws.hpp"
#include "with_options.hpp"

namespace sn = sinter;
using sn::DType, sn::Shape, sn::Slice, sn::Tensor;

namespace sinter::testing {

/// Returns true for an emulated GPU and for an OpenCL device, too.
bool on_gpu();
bool on_cuda();

Tensor random_tensor(const Shape& shape, float low = -1, float high = 1);

/// A test sets this when it removes the compiler.
inline bool may_fall_back = false;

/// Returns the number of kernels that computing the tensors launches.
std::int64_t launches(const std::vector<Tensor>& tensors);
std::int64_t launches(const Tensor& tensor);

inline constexpr int kSkipped = 77;  // ctest's SKIP_RETURN_CODE

/// Runs the program's test cases (cases.hpp). With SINTER_TEST_GPU=1 a program needs a real GPU; without one,
/// it returns kSkipped.
int run_tests(int argc, char** argv);

}  // namespace sinter::testing
