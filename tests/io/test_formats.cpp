// Archives, tables and images: they are written and read, compared with each format's definition, and broken files are errors.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include <fmt/format.h>
#include <sinter/csv.hpp>
#include <sinter/image.hpp>
#include <sinter/npz.hpp>

#include "program.hpp"
#include "reference.hpp"
#include "seed.hpp"
#include "temporary_folder.hpp"

using namespace sinter::testing;
using File = TemporaryFile;

namespace {

std::mt19937 rng{fresh_seed()};

bool equal(const Tensor& a, const Tensor& b) { return a.dtype() == b.dtype() && a.shape() == b.shape() && values(a) == values(b); }

/// Returns the part of the message after the file's name and before the source line at its end.
template <class E> std::string refused(const File& file, const std::function<void()>& call) {
  try {
    call();
  } catch (const E& e) {
    std::string text = e.what();
    const auto at = text.find(file.path);
    if (at != std::string::npos) text = text.substr(at + file.path.size());
    return text.substr(0, text.rfind(" at "));
  }
  return "nothing was thrown";
}

/// Returns whether the build has the library that a format needs. Without it only the error can be tested.
bool has_npz() {
  try {
    sn::load_npz("/");
  } catch (const sn::ValueError&) {
    return false;
  } catch (const sn::IoError&) {
  }
  return true;
}

}  // namespace

TEST_CASE("npz: every type is written and read, stored and deflated") {
  if (!has_npz()) {
    CHECK_THROWS_WITH_AS(sn::save_npz("x.npz", {}), doctest::Contains("libminizip-dev"), sn::ValueError);
    MESSAGE("built without minizip: .npz archives are refused");
    return;
  }
  for (const bool compressed : {false, true}) {
    const File file("x.npz");
    sn::NamedTensors tensors;
    for (int d = 0; d < sn::kDTypeCount; ++d)
      if (sn::is_numpy(static_cast<DType>(d)))
        tensors.emplace_back(std::string(sn::name(static_cast<DType>(d))), random(rng, {3, 4}, static_cast<DType>(d), 0, 9).first);
    tensors.emplace_back("bfloat16", random(rng, {3, 4}, DType::bfloat16, 0, 9).first);
    tensors.emplace_back("empty", sn::zeros({0, 5}));
    tensors.emplace_back("scalar", Tensor(2.5));
    tensors.emplace_back("zeros", sn::zeros({400, 100}));
    sn::save_npz(file.path, tensors, compressed);
    const auto found = sn::load_npz(file.path);
    REQUIRE(found.size() == tensors.size());
    for (std::size_t k = 0; k < found.size(); ++k) {
      CHECK(found[k].first == tensors[k].first);
      CHECK(equal(found[k].second, tensors[k].second));
      CHECK(equal(sn::load_npz(file.path, tensors[k].first), tensors[k].second));
    }
    CHECK((std::filesystem::file_size(file.path) < 20000) == compressed);
    const std::string first = file.bytes();
    sn::save_npz(file.path, tensors, compressed);
    CHECK(file.bytes() == first);  // the same tensors give the same bytes
    CHECK(refused<sn::IoError>(file, [&] { sn::load_npz(file.path, "x"); }).starts_with(": the archive has no 'x'; it has bool, int8, uint8,"));
    // A changed byte is found, or it is one that readers ignore (dates, attributes).
    for (int round = 0; round < 60; ++round) {
      std::string bytes = first;
      char& at = bytes[rng() % std::min<std::size_t>(bytes.size(), 4000)];
      at = static_cast<char>(at ^ (1 << rng() % 8));
      file.write(bytes);
      try {
        for (const auto& [name, tensor] : sn::load_npz(file.path)) values(tensor);
      } catch (const sn::Error&) {
      }
    }
    file.write(first.substr(0, first.size() / 2));
    CHECK_THROWS_AS(sn::load_npz(file.path), sn::IoError);
  }
  const File file("x.npz");
  CHECK_THROWS_AS(sn::load_npz(file.path), sn::IoError);
  file.write("PK\3\4 no archive");
  CHECK(refused<sn::IoError>(file, [&] { sn::load_npz(file.path); }) == ": not a zip archive, or a damaged one");
  CHECK_THROWS_AS(sn::save_npz(file.path, {{"a", Tensor(1.)}, {"a", Tensor(2.)}}), sn::ValueError);
}

TEST_CASE("csv: numbers are read back to the last bit") {
  const File file("x.csv");
  for (int d = 0; d < sn::kDTypeCount; ++d) {
    const auto type = static_cast<DType>(d);
    CAPTURE(sn::name(type));
    const Tensor x = random(rng, {7, 3}, type, 0, 100).first;
    sn::save_csv(file.path, x, {"a", "b, c", "d\"e"});
    const sn::Csv back = sn::load_csv(file.path, {.dtype = type});
    CHECK(equal(back.values, x));
    CHECK(back.names == std::vector<std::string>{"a", "b, c", "d\"e"});
    CHECK(equal(back.column("b, c"), x.at({sn::Slice{}, 1})));
  }
  const Tensor far = Tensor{{1e-310, -0., 1.7976931348623157e308}, {NAN, INFINITY, -INFINITY}};
  sn::save_csv(file.path, far);
  const auto got = values(sn::load_csv(file.path).values), want = values(far);
  for (std::size_t k = 0; k < 6; ++k) CHECK((got[k] == want[k] || (std::isnan(got[k]) && std::isnan(want[k]))));
  CHECK(std::signbit(got[1]));
  sn::save_csv(file.path, Tensor{1, 2, 3});
  CHECK(file.bytes() == "1\n2\n3\n");
  CHECK(sn::load_csv(file.path).values.shape() == Shape{3, 1});
  sn::save_csv(file.path, sn::full({2, 2}, std::numeric_limits<std::int64_t>::max()), {}, ';');
  CHECK(equal(sn::load_csv(file.path, {.dtype = DType::int64}).values, sn::full({2, 2}, std::numeric_limits<std::int64_t>::max())));
}

TEST_CASE("csv: files as people write them") {
  const File file("x.csv");
  const auto reads = [&](const std::string& text, const Tensor& want, const std::vector<std::string>& names = {}, const sn::CsvOptions& options = {}) {
    CAPTURE(text);
    file.write(text);
    const sn::Csv csv = sn::load_csv(file.path, options);
    REQUIRE(csv.values.shape() == want.shape());
    const auto got = values(csv.values), expected = values(want);
    for (std::size_t k = 0; k < got.size(); ++k) CHECK((got[k] == expected[k] || (std::isnan(got[k]) && std::isnan(expected[k]))));
    CHECK(csv.names == names);
  };
  reads("1,2\n3,4\n", Tensor{{1., 2.}, {3., 4.}});
  reads("\xef\xbb\xbfx,y\r\n1 , +2\r\n\r\n,4", Tensor{{1., 2.}, {NAN, 4.}}, {"x", "y"});
  reads("x;y\n1;2\n", Tensor{{1., 2.}}, {"x", "y"});
  reads("1\t2\t\n", Tensor{{1., 2., NAN}});
  reads("# u v\n  1   2\n3 4  \n", Tensor{{1., 2.}, {3., 4.}}, {"u", "v"});
  reads("# written today\n1,2\n# more\n3,4\n", Tensor{{1., 2.}, {3., 4.}});
  reads("\"1.5\",\"2\"\n", Tensor{{1.5, 2.}});
  reads("7\n8\n", Tensor{{7.}, {8.}});
  reads("10,20\n1,2\n", Tensor{{1., 2.}}, {"10", "20"}, {.header = sn::CsvOptions::Header::yes});
  reads("a,b\n", sn::zeros({0, 2}), {"a", "b"});
  reads("", sn::zeros({0, 0}));
  reads("nan,inf,-Infinity,1e400\n", Tensor{{NAN, INFINITY, -INFINITY, INFINITY}});
  const auto fails = [&](const std::string& text, const std::string& what, const sn::CsvOptions& options = {}) {
    file.write(text);
    CHECK(refused<sn::IoError>(file, [&] { sn::load_csv(file.path, options); }) == what);
  };
  fails("1,2\n3\n", ": line 2 has 1 fields; the lines before it have 2");
  fails("a,b\n1,x\n", ": line 2: 'x' is not a number");
  fails("1.0,n/a\n3,4\n", ": line 1: 'n/a' is not a number");  // no header: it has a number
  fails("1,2\n\n3,0x10\n", ": line 3: '0x10' is not a number");
  fails("1.5\n", ": line 1: '1.5' is not a 64-bit integer", {.dtype = DType::int32});
  fails("1,\n", ": line 1: '' is not a 64-bit integer", {.dtype = DType::int32});
  fails(std::string("1,2\0", 4), ": it is not a text: it contains bytes that are 0");
  file.write("a,b\n1,2\n");
  CHECK(refused<sn::ValueError>(file, [&] { sn::load_csv(file.path).column("c"); }) == "column: there is no column 'c'; the columns are a, b");
  CHECK_THROWS_AS(sn::save_csv(file.path, sn::zeros({2, 2, 2})), sn::ShapeError);
  CHECK_THROWS_AS(sn::save_csv(file.path, sn::zeros({2, 2}), {"one"}), sn::ValueError);
}

TEST_CASE("images: every shape and depth is written and read") {
  for (const std::string ending : {".png", ".ppm", ".pgm"})
    for (const DType type : {DType::uint8, DType::uint16})
      for (const Shape& shape : {Shape{5, 7}, Shape{1, 1}, Shape{4, 3, 2}, Shape{6, 5, 3}, Shape{3, 9, 4}}) {
        const std::int64_t channels = shape.size() == 3 ? shape[2] : 1;
        const File file(ending);
        const Tensor x = random(rng, shape, type, 0, type == DType::uint8 ? 256 : 65536).first;
        if ((ending == ".ppm" && channels != 3) || (ending == ".pgm" && channels != 1)) {
          CHECK_THROWS_AS(sn::save_image(file.path, x), sn::ShapeError);
          continue;
        }
        try {
          sn::save_image(file.path, x);
        } catch (const sn::ValueError& error) {
          CHECK(std::string(error.what()).find("libpng-dev") != std::string::npos);
          MESSAGE("built without libpng: PNG files are refused");
          continue;
        }
        CHECK(equal(sn::load_image(file.path), x));
        // A view is written in the order of its elements.
        const Tensor turned = sn::flip(sn::swapaxes(x, 0, 1), 0);
        sn::save_image(file.path, turned);
        CHECK(equal(sn::load_image(file.path), turned));
        const std::string whole = file.bytes();
        file.write(whole.substr(0, whole.size() - 1 - (ending == ".png" ? 12 : 0)));
        CHECK_THROWS_AS(sn::load_image(file.path), sn::IoError);
        if (ending == ".png") {
          std::string damaged = whole;
          damaged[8 + rng() % (damaged.size() - 8)] ^= 0x40;
          file.write(damaged);
          CHECK_THROWS_AS(sn::load_image(file.path), sn::IoError);
        }
      }
  const File file("x.ppm");
  file.write("P6 # by hand\n2\t1 # and\n255\nabcdef");
  CHECK(equal(sn::load_image(file.path),
              sn::reshape(Tensor{std::uint8_t{97}, std::uint8_t{98}, std::uint8_t{99}, std::uint8_t{100}, std::uint8_t{101}, std::uint8_t{102}}, {1, 2, 3})));
  file.write("P5 2 2 65535\n\1\2\3\4\5\6\7\10");
  CHECK(values(sn::load_image(file.path)) == std::vector<double>{258, 772, 1286, 1800});
  file.write("P6\n999999999 999999999\n255\n");
  CHECK_THROWS_AS(sn::load_image(file.path), sn::IoError);
  file.write("P3\n1 1\n255\n1 2 3\n");
  CHECK(refused<sn::IoError>(file, [&] { sn::load_image(file.path); }) == ": neither a PNG file nor a binary PPM or PGM file (P6, P5)");
  CHECK_THROWS_AS(sn::save_image(file.path, sn::zeros({2, 2})), sn::DTypeError);
  CHECK_THROWS_AS(sn::save_image(file.path, sn::zeros({2, 2, 5}, DType::uint8)), sn::ShapeError);
  CHECK_THROWS_AS(sn::save_image("x.jpg", sn::zeros({2, 2}, DType::uint8)), sn::ValueError);
}
