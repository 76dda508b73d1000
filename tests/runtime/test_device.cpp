// A GPU from a user's view: rows around the limit of a block's shared memory, indices past 32 bits, pooled memory that is returned, and a device that is lost
// in the middle.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "program.hpp"
#include "sinter/sinter.hpp"

namespace {

std::vector<float> numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>((seed = seed * 1664525u + 1013904223u) >> 8) / (1 << 24) * 4.f - 2.f;
  return values;
}

std::string text_of(const sn::Tensor& tensor, std::string_view target) {
  const auto folder = std::filesystem::temp_directory_path() / ("sinter_device_" + std::to_string(getpid()));
  std::ostringstream text;
  for (const std::string& path : sn::dump_kernels(tensor, folder.string(), target)) text << std::ifstream(path).rdbuf();
  std::filesystem::remove_all(folder);
  return text.str();
}

/// SINTER_EMULATOR_LOSE names the kernel that loses the device; then the run tests this loss.
const bool losing = std::getenv("SINTER_EMULATOR_LOSE") != nullptr;

}  // namespace

TEST_CASE("softmax of rows of 12,272 to 12,289 elements, near the 48 KiB that a block may use by default" * doctest::skip(losing)) {
  for (const std::int64_t columns : {12272, 12273, 12280, 12287, 12288, 12289}) {
    CAPTURE(columns);
    const std::vector<float> x = numbers(2 * columns, static_cast<std::uint32_t>(columns));
    const std::vector<float> y = sn::softmax(sn::from_span(x, sn::Shape{2, columns}), -1).to_vector<float>();
    double worst = 0;
    for (std::int64_t row = 0; row < 2; ++row) {
      double sum = 0;
      for (std::int64_t i = 0; i < columns; ++i) sum += std::exp(double{x[row * columns + i]});
      for (std::int64_t i = 0; i < columns; ++i) {
        const double want = std::exp(double{x[row * columns + i]}) / sum;
        worst = std::max(worst, std::abs(y[row * columns + i] - want) / want);
      }
    }
    CHECK(worst < 2e-6);
  }
}

TEST_CASE("indices are as wide as the array requires, even if a kernel visits few points" * doctest::skip(losing)) {
  for (const char* target : {"sm_75", "sm_90", "sm_120"}) {
    CAPTURE(target);
    const std::int64_t many = std::int64_t{3} << 30;
    const sn::Tensor small = sn::placeholder({1 << 20}, sn::DType::float32), large = sn::placeholder({many}, sn::DType::float32);
    CHECK(text_of(small + 1.f, target).find("const int s") != std::string::npos);
    CHECK(text_of(large + 1.f, target).find("const long long s") != std::string::npos);
    // Reads every millionth element: few points that are far apart.
    CHECK(text_of(sn::slice(large, {sn::Slice{0, many, 1 << 20}}) * 2.f, target).find("const long long s") != std::string::npos);
    const sn::Tensor wide = sn::placeholder({1 << 16, 1 << 16}, sn::DType::float32);
    CHECK(text_of(sn::sum(wide, 1), target).find("const long long s") != std::string::npos);
    CHECK(text_of(sn::softmax(sn::slice(wide, {sn::Slice{0, 4}}), -1), target).find("const long long s") != std::string::npos);
  }
}

TEST_CASE("memory is released, and trim and synchronize may be called at any time" * doctest::skip(losing)) {
  sn::synchronize();
  sn::trim();
  const std::uint64_t before = sn::counters().bytes_now;
  {
    const sn::Tensor x = sn::from_span(numbers(1 << 18, 1)), y = sn::exp(x) + x;
    sn::eval(y);
    CHECK(sn::counters().bytes_now >= before + (1 << 20));
    sn::synchronize();
  }
  sn::trim();
  CHECK(sn::counters().bytes_now == before);
}

TEST_CASE("after a lost device the error names the kernel, and the process continues on the CPU" * doctest::skip(!losing)) {
  sn::testing::may_fall_back = true;  // this kernel cannot be loaded any more
  const std::vector<float> values = numbers(1000, 7);
  const sn::Tensor x = sn::from_span(values), kept = sn::sqrt(sn::abs(x));
  const std::vector<float> roots = kept.to_vector<float>();
  const sn::Tensor only_there = sn::cos(x), y = sn::tanh(x);
  std::string report;
  try {
    sn::eval(only_there);
    sn::synchronize();
    for (int k = 0; k < 100; ++k) (y + static_cast<float>(k)).to_vector<float>();
  } catch (const sn::DeviceError& error) {
    report = error.what();
  }
  CAPTURE(report);
  CHECK(report.find("CUDA_ERROR_ILLEGAL_ADDRESS") != std::string::npos);
  CHECK(report.find("the kernel at fault is map_") != std::string::npos);
  CHECK_THROWS_WITH_AS((x * 3.f).to_vector<float>(), doctest::Contains("the device was lost earlier"), sn::DeviceError);

  sn::Options options = sn::options();
  options.device = "cpu";
  sn::configure(options);
  const std::vector<float> doubled = (x * 2.f).to_vector<float>(), again = (kept + x).to_vector<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(doubled[i] == values[i] * 2.f);
    CHECK(again[i] == roots[i] + values[i]);
  }
  // A value that only the device held is lost, with an error that says so.
  CHECK_THROWS_AS((only_there + 1.f).to_vector<float>(), sn::DeviceError);
  CHECK_NOTHROW(sn::synchronize());
  CHECK_NOTHROW(sn::trim());
}
