// Files: writing and reading safetensors, and errors of broken files; .npy files that are used in place; print options, compared with NumPy 2.4.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <sinter/fmt.hpp>

#include "program.hpp"
#include "reference.hpp"
#include "seed.hpp"
#include "temporary_folder.hpp"

using namespace sinter::testing;
using File = TemporaryFile;

namespace {

std::string with_header(const std::string& json, const std::string& elements) {
  std::string bytes(8, '\0');
  const std::uint64_t length = json.size();
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + json + elements;
}

std::string refused(const std::string& path) {
  try {
    sn::load_safetensors(path);
  } catch (const sn::IoError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("safetensors: every type is written and read, and a file written by hand is read") {
  const File file("x");
  std::mt19937 rng(fresh_seed());
  sn::NamedTensors tensors;
  for (int i = 0; i < sn::kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (sn::traits(dtype).safetensors.empty()) {
      CHECK_THROWS_WITH_AS(sn::save_safetensors(file.path, {{"x", sn::ones({2}, dtype)}}), doctest::Contains("the safetensors format has no"), sn::DTypeError);
      continue;
    }
    tensors.emplace_back(std::string(name(dtype)),
                         random(rng, {3, 1 + i}, dtype, is_unsigned(dtype) || is_bool(dtype) ? 0 : -50, is_bool(dtype) ? 1 : 50).first);
  }
  tensors.emplace_back("computed \"x\"", tensors[0].second.astype(DType::float32).T() + 1);
  tensors.emplace_back("none", Tensor::zeros({0, 3}));
  tensors.emplace_back("one", Tensor(2.5));
  sn::save_safetensors(file.path, tensors);
  const auto back = sn::load_safetensors(file.path);
  REQUIRE(back.size() == tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const auto found = std::find_if(back.begin(), back.end(), [&name = name](const auto& b) { return b.first == name; });
    REQUIRE(found != back.end());
    CHECK(found->second.dtype() == tensor.dtype());
    CHECK(found->second.shape() == tensor.shape());
    CHECK(values(found->second) == values(tensor));
  }
  const float f[] = {1.5f, -2.f};
  const std::int16_t s[] = {7, -9, 11};
  file.write(with_header(
      R"({"__metadata__":{"by":"hand"},"b":{"dtype":"I16","shape":[3],"data_offsets":[8,14]},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})",
      std::string(reinterpret_cast<const char*>(f), sizeof f) + std::string(reinterpret_cast<const char*>(s), sizeof s)));
  const auto hand = sn::load_safetensors(file.path);
  REQUIRE(hand.size() == 2);
  CHECK(hand[0].first == "a");
  CHECK(hand[0].second.shape() == Shape{1, 2});
  CHECK(hand[0].second.to_vector<float>() == std::vector{1.5f, -2.f});
  CHECK(hand[1].second.to_vector<std::int16_t>() == std::vector<std::int16_t>{7, -9, 11});
  sn::save_safetensors(file.path, {{"a", Tensor{1.f, 2.f}}});
  CHECK(file.bytes() == with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  )", std::string("\0\0\x80\x3f\0\0\0\x40", 8)));
}

TEST_CASE("errors about broken safetensors files name the fault, the position and the line") {
  const File file("x");
  const auto says = [&](const std::string& bytes, const std::string& what) {
    file.write(bytes);
    const std::string text = refused(file.path);
    CAPTURE(text);
    CHECK(text.find("load_safetensors: " + file.path + ": " + what) == 0);
    CHECK(text.find(std::string(" at ") + __FILE__) != std::string::npos);
  };
  const auto one = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return with_header(R"({"x":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}", std::string(16, '\0'));
  };
  says("abc", "truncated: the header's length takes 8 bytes, but the file has only 3 bytes left");
  says(std::string(8, '\xff'), "not a safetensors file: its header would have 18446744073709551615 bytes, which is too many");
  says(with_header("{}", "").substr(0, 9), "truncated: the header takes 2 bytes, but the file has only 1 byte left");
  says(with_header("[1, 2", ""), "malformed header: not a JSON object");
  says(with_header(R"({"x": 3})", ""), "tensor 'x': dtype, shape or data_offsets is missing");
  says(one("F32", "[-4]", "[0,16]"), "tensor 'x': dtype, shape or data_offsets is malformed");
  says(one("F8_E8M0", "[16]", "[0,16]"), "tensor 'x': elements of type 'F8_E8M0' are not supported");
  says(one("F32", "[3]", "[0,16]"), "tensor 'x': shape (3,) of float32 takes 12 bytes, not 16");
  says(one("F32", "[8]", "[0,32]"), "tensor 'x': its elements would be bytes 0 to 32 of 16");
  says(one("F32", "[4611686018427387900, 8]", "[0,16]"), "tensor 'x': shape (4611686018427387900, 8) is too large");
  says(with_header(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"y":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", "abcd"),
       "tensor 'y' overlaps the one before");
  CHECK_THROWS_AS(sn::save_safetensors(file.path, {{"a", Tensor(1.f)}, {"a", Tensor(2.f)}}), sn::ValueError);
  CHECK_THROWS_AS(sn::save_safetensors(file.path, {{"a", Tensor()}}), sn::ValueError);
}

TEST_CASE(".npy files are used in place") {
  const File file("x");
  std::mt19937 rng(fresh_seed());
  const auto [x, ref] = random(rng, {30, 40}, DType::float32, -2, 2);
  sn::save_npy(file.path, x);
  {
    const auto before = sn::counters().bytes_now;
    const Tensor mapped = sn::map_npy(file.path);
    CHECK(sn::counters().bytes_now == before);  // the file's own memory
    CHECK(mapped.shape() == Shape{30, 40});
    CHECK(values(mapped) == ref.v);
    CHECK(values(sn::contiguous(mapped(Slice{5, 7}).T())) == values(sn::contiguous(x(Slice{5, 7}).T())));
    Tensor changed = mapped;
    changed(0) = 0.f;
    sn::eval(changed);
    CHECK(values(mapped) == ref.v);
  }
  std::string bytes = file.bytes();  // the same elements, declared as column by column
  const auto at = bytes.find("'fortran_order': False");
  REQUIRE(at != std::string::npos);
  bytes.replace(at, 22, "'fortran_order': True ");
  file.write(bytes);
  CHECK(values(sn::map_npy(file.path)) == values(sn::load_npy(file.path)));
  CHECK(sn::map_npy(file.path).shape() == Shape{30, 40});
  sn::save_npy(file.path, x > 0);
  CHECK_THROWS_WITH_AS(sn::map_npy(file.path), doctest::Contains("bool elements are not used in place"), sn::IoError);
  sn::save_npy(file.path, Tensor::zeros({0, 2}));
  CHECK(sn::map_npy(file.path).shape() == Shape{0, 2});
}

TEST_CASE("print options agree with NumPy") {
  const Tensor a = {{1.0 / 3, -2.0 / 3, 12.5}, {1e-5, 0.1, 3.0}}, b = sn::arange(60.0).reshape({6, 10}) / 7;
  CHECK(sn::to_string(a, {.precision = 3}) == "[[ 3.333e-01 -6.667e-01  1.250e+01]\n [ 1.000e-05  1.000e-01  3.000e+00]]");
  CHECK(sn::to_string(a, {.precision = 3, .suppress = true}) == "[[ 0.333 -0.667 12.5  ]\n [ 0.     0.1    3.   ]]");
  CHECK(sn::to_string(a, {.precision = 0, .suppress = true}) == "[[ 0. -1. 12.]\n [ 0.  0.  3.]]");
  CHECK(
      sn::to_string(b, {.precision = 4, .threshold = 20, .edgeitems = 2}) ==
      "[[0.     0.1429 ... 1.1429 1.2857]\n [1.4286 1.5714 ... 2.5714 2.7143]\n ...\n [5.7143 5.8571 ... 6.8571 7.    ]\n [7.1429 7.2857 ... 8.2857 8.4286]]");
  CHECK(sn::to_string(sn::arange(30), {.linewidth = 40}) == "[ 0  1  2  3  4  5  6  7  8  9 10 11 12\n 13 14 15 16 17 18 19 20 21 22 23 24 25\n 26 27 28 29]");
  CHECK(sn::to_string(sn::arange(12).reshape({3, 4}), {.threshold = 5, .edgeitems = 1}) == "[[ 0 ...  3]\n ...\n [ 8 ... 11]]");
  CHECK(sn::to_string(Tensor{1e10, 1.5}, {.suppress = true}) == "[1.0e+10 1.5e+00]");
  CHECK(sn::to_string(a(0).astype(DType::float32), {.precision = 2}) == "[ 0.33 -0.67 12.5 ]");
  CHECK(sn::to_string(Tensor{0.00012, 1.0}, {.precision = 2, .suppress = true}) == "[0. 1.]");
  CHECK(sn::to_string(a) == "[[ 3.33333333e-01 -6.66666667e-01  1.25000000e+01]\n [ 1.00000000e-05  1.00000000e-01  3.00000000e+00]]");
  sn::set_printoptions({.precision = 3, .suppress = true});
  CHECK(sn::printoptions().precision == 3);
  CHECK(fmt::format("{}", a) == sn::to_string(a, {.precision = 3, .suppress = true}));
  sn::set_printoptions({});
  CHECK(fmt::format("{:.2} {} {}", Tensor{1.0 / 3}, DType::bfloat16, a(1, 2)) == "[0.33] bfloat16 3.0");
  CHECK_THROWS_AS(sn::set_printoptions({.precision = -1}), sn::ValueError);
  CHECK_THROWS_AS((void)fmt::format(fmt::runtime("{:5}"), a), fmt::format_error);
}
