// Printing, compared with strings from NumPy 2.4, and .npy files: round trips, other element orders, and malicious files.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <numeric>
#include <sstream>

#include <unistd.h>

#include "host_data_stub.hpp"
#include "sinter/sinter.hpp"
#include "temporary_folder.hpp"

namespace sn = sinter;
using sn::DType;
using sn::Shape;
using sn::Tensor;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

template <class T> Tensor tensor(const std::vector<double>& values, const Shape& shape) {
  const auto typed = std::make_unique<T[]>(values.size() + 1);
  for (std::size_t i = 0; i < values.size(); ++i) typed[i] = static_cast<T>(values[i]);
  return sn::from_pointer(typed.get(), shape);
}
template <class T> void check_print(const std::vector<double>& values, const Shape& shape, const std::string& expected) {
  CHECK(sn::to_string(tensor<T>(values, shape)) == expected);
}
template <class T> Tensor counting(const Shape& shape, double scale = 1) {
  std::vector<double> values(static_cast<std::size_t>(sn::element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) * scale;
  return tensor<T>(values, shape);
}

struct Folder : sn::testing::TemporaryFolder {
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return *this / name;
  }
};

std::string npy(const std::string& dict, const std::string& elements, int version = 1) {
  std::string text = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
  const std::size_t length = dict.size() + 1;
  for (int k = 0; k < (version == 1 ? 2 : 4); ++k) text += static_cast<char>(length >> (8 * k) & 255);
  return text + dict + '\n' + elements;
}
template <class T> std::string bytes_of(const std::vector<T>& values) { return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)}; }
std::string refusal(const std::string& path) {
  try {
    sn::load_npy(path);
  } catch (const sn::IoError& e) {
    return e.what();
  }
  return "it was loaded";
}

}  // namespace

TEST_CASE("tensors are printed as NumPy prints") {
  check_print<float>({1.5, 2.0, 3.0, -4.0}, {2, 2},
                     "[[ 1.5  2. ]\n"
                     " [ 3.  -4. ]]");
  check_print<double>({0.1, 0.25, 0.3333333333333333}, {3}, "[0.1        0.25       0.33333333]");
  check_print<float>({0.10000000149011612, 0.3333333432674408}, {2}, "[0.1        0.33333334]");
  check_print<double>({1e-05, 1234.56789, 0.1}, {3}, "[1.00000000e-05 1.23456789e+03 1.00000000e-01]");
  check_print<float>({1.1000000085914508e-05, 1234.5677490234375, 0.30000001192092896}, {3}, "[1.1000000e-05 1.2345677e+03 3.0000001e-01]");
  check_print<float>({1000000.0, 2.0}, {2}, "[1.e+06 2.e+00]");
  check_print<double>({999999.0, 2.0}, {2}, "[9.99999e+05 2.00000e+00]");
  check_print<double>({100000000.0, 2.0}, {2}, "[1.e+08 2.e+00]");
  check_print<double>({1e+100, 1e-300}, {2}, "[1.e+100 1.e-300]");
  check_print<double>({kNan, 1.0, -kInf}, {3}, "[ nan   1. -inf]");
  check_print<double>({kInf, kNan}, {2}, "[inf nan]");
  check_print<double>({-kInf, 0.0}, {2}, "[-inf   0.]");
  check_print<double>({-0.0, 0.0}, {2}, "[-0.  0.]");
  check_print<double>({1e-07, kNan, -1.0}, {3}, "[ 1.e-07     nan -1.e+00]");
  check_print<double>({0.001953125, 1.0}, {2}, "[0.00195312 1.        ]");
  check_print<std::int64_t>({1, -20, 300}, {3}, "[  1 -20 300]");
  check_print<bool>({true, false}, {1, 2}, "[[ True False]]");
  check_print<std::int8_t>({-128, 127}, {2}, "[-128  127]");
  check_print<std::int32_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}, {2, 3, 4},
                            "[[[ 0  1  2  3]\n"
                            "  [ 4  5  6  7]\n"
                            "  [ 8  9 10 11]]\n"
                            "\n"
                            " [[12 13 14 15]\n"
                            "  [16 17 18 19]\n"
                            "  [20 21 22 23]]]");
  check_print<double>({0.0, 0.28559933214452665, 0.5711986642890533, 0.8567979964335799, 1.1423973285781066, 1.4279966607226333, 1.7135959928671598,
                       1.9991953250116865, 2.284794657156213, 2.57039398930074, 2.8559933214452666, 3.141592653589793},
                      {12},
                      "[0.         0.28559933 0.57119866 0.856798   1.14239733 1.42799666\n"
                      " 1.71359599 1.99919533 2.28479466 2.57039399 2.85599332 3.14159265]");
  check_print<float>({123456.7890625, 0.5}, {2}, "[1.2345679e+05 5.0000000e-01]");
  check_print<std::int64_t>({0,     1000,  2000,  3000,  4000,  5000,  6000,  7000,  8000,  9000,  10000, 11000, 12000, 13000, 14000,
                             15000, 16000, 17000, 18000, 19000, 20000, 21000, 22000, 23000, 24000, 25000, 26000, 27000, 28000, 29000},
                            {30},
                            "[    0  1000  2000  3000  4000  5000  6000  7000  8000  9000 10000 11000\n"
                            " 12000 13000 14000 15000 16000 17000 18000 19000 20000 21000 22000 23000\n"
                            " 24000 25000 26000 27000 28000 29000]");
  check_print<double>({3.0}, {}, "3.0");
  check_print<float>({0.10000000149011612}, {}, "0.1");
  check_print<double>({1e-05}, {}, "1e-05");
  check_print<double>({1e+16}, {}, "1e+16");
  check_print<float>({123456.0}, {}, "123456.0");
  check_print<float>({1000000.0}, {}, "1e+06");
  check_print<bool>({true}, {}, "True");
  check_print<std::int32_t>({-7}, {}, "-7");
  check_print<double>({kNan}, {}, "nan");
  check_print<double>({0.3333333333333333}, {}, "0.3333333333333333");
  check_print<float>({}, {2, 0}, "[]");
  check_print<double>({1.0}, {1, 1, 1}, "[[[1.]]]");
}

TEST_CASE("more than 1000 elements are summarised as NumPy summarises") {
  CHECK(sn::to_string(counting<std::int64_t>({1001})) == "[   0    1    2 ...  998  999 1000]");
  CHECK(sn::to_string(counting<float>({20, 100})) ==
        "[[0.000e+00 1.000e+00 2.000e+00 ... 9.700e+01 9.800e+01 9.900e+01]\n"
        " [1.000e+02 1.010e+02 1.020e+02 ... 1.970e+02 1.980e+02 1.990e+02]\n"
        " [2.000e+02 2.010e+02 2.020e+02 ... 2.970e+02 2.980e+02 2.990e+02]\n"
        " ...\n"
        " [1.700e+03 1.701e+03 1.702e+03 ... 1.797e+03 1.798e+03 1.799e+03]\n"
        " [1.800e+03 1.801e+03 1.802e+03 ... 1.897e+03 1.898e+03 1.899e+03]\n"
        " [1.900e+03 1.901e+03 1.902e+03 ... 1.997e+03 1.998e+03 1.999e+03]]");
  CHECK(sn::to_string(counting<double>({1000, 4}, 0.125)) ==
        "[[0.00000e+00 1.25000e-01 2.50000e-01 3.75000e-01]\n"
        " [5.00000e-01 6.25000e-01 7.50000e-01 8.75000e-01]\n"
        " [1.00000e+00 1.12500e+00 1.25000e+00 1.37500e+00]\n"
        " ...\n"
        " [4.98500e+02 4.98625e+02 4.98750e+02 4.98875e+02]\n"
        " [4.99000e+02 4.99125e+02 4.99250e+02 4.99375e+02]\n"
        " [4.99500e+02 4.99625e+02 4.99750e+02 4.99875e+02]]");
  const std::string cube = sn::to_string(counting<std::int32_t>({12, 12, 12}));
  CHECK(cube.starts_with("[[[   0    1    2 ...    9   10   11]\n  [  12   13   14 ...   21   22   23]\n"));
  CHECK(cube.find("  [ 420  421  422 ...  429  430  431]]\n\n ...\n\n [[1296 1297 1298 ... 1305 1306 1307]\n") != std::string::npos);
  CHECK(cube.ends_with("  [1716 1717 1718 ... 1725 1726 1727]]]"));
}

TEST_CASE("16-bit floating types print as NumPy prints them") {
  check_print<sn::half>({1000, 2, 3}, {3}, "[1.e+03 2.e+00 3.e+00]");
  check_print<sn::half>({999., 2.}, {2}, "[999.   2.]");
  check_print<sn::half>({0.1, 0.2}, {2}, "[0.1 0.2]");
  check_print<sn::half>({65504., 1.}, {2}, "[6.55e+04 1.00e+00]");
  check_print<sn::half>({100., .15}, {2}, "[100.     0.15]");
  check_print<sn::half>({12345.}, {}, "1.2344e+04");
  check_print<sn::half>({0.00012}, {}, "0.00012");
  check_print<sn::bfloat16>({1.5, -0.1}, {2}, "[ 1.5 -0.1]");
}

TEST_CASE("a stream takes a tensor") {
  std::ostringstream out;
  out << tensor<float>({1, 2}, {2});
  CHECK(out.str() == "[1. 2.]");
}

TEST_CASE_TEMPLATE("files are read as they were written", T, bool, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, sn::half,
                   std::uint32_t, std::int64_t, std::uint64_t, float, double) {
  const Folder folder;
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{0, 4}, Shape{2, 1, 3}}) {
    const Tensor x = counting<T>(shape);
    sn::save_npy(folder / "x.npy", x);
    const Tensor y = sn::load_npy(folder / "x.npy");
    CHECK(y.shape() == shape);
    CHECK(y.dtype() == x.dtype());
    CHECK(y.template to_vector<T>() == x.template to_vector<T>());
    CHECK(std::distance(std::filesystem::directory_iterator(folder / ""), {}) == 1);  // no temporary is left
  }
}

TEST_CASE("written files have the same bytes as NumPy's") {
  const Folder folder;
  sn::save_npy(folder / "x.npy", tensor<float>({1, 2}, {2}));
  std::ifstream in(folder / "x.npy", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  REQUIRE(bytes.size() == 128 + 8);
  CHECK(bytes.substr(0, 10) == std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  CHECK(bytes.substr(10, 59) == "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }  ");
  CHECK(bytes[127] == '\n');
}

TEST_CASE("versions, byte orders and column order") {
  const Folder folder;
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  const std::vector<float> values = {0, 1, 2, 3, 4, 5};
  for (const int version : {1, 2, 3}) {
    CHECK(sn::load_npy(folder.write("v.npy", npy(dict, bytes_of(values), version))).to_vector<float>() == values);
  }
  const auto columns = folder.write("f.npy", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", bytes_of(values)));
  CHECK(sn::load_npy(columns).to_vector<float>() == std::vector<float>{0, 2, 4, 1, 3, 5});
  const auto big = folder.write("b.npy", npy("{'descr':'>i4','fortran_order':False,'shape':(2,)}", std::string("\0\0\0\1\0\0\1\0", 8)));
  CHECK(sn::load_npy(big).to_vector<std::int32_t>() == std::vector<std::int32_t>{1, 256});
  const auto flags = folder.write("t.npy", npy("{\"descr\": \"|b1\", \"fortran_order\": False, \"shape\": (3,)}", std::string("\0\1\x7f", 3)));
  CHECK(sn::load_npy(flags).to_vector<bool>() == std::vector{false, true, true});
  const auto old = folder.write("o.npy", npy("{'descr': '<i4', 'fortran_order': False, 'shape': (1L,), }", std::string("\7\0\0\0", 4)));
  CHECK(sn::load_npy(old).item<std::int32_t>() == 7);
}

TEST_CASE("malformed files are refused with the reason") {
  const Folder folder;
  const auto says = [&](const std::string& bytes, const std::string& reason) {
    const std::string text = refusal(folder.write("bad.npy", bytes));
    CAPTURE(text);
    CAPTURE(reason);
    CHECK(text.find("bad.npy: ") != std::string::npos);
    CHECK(text.find(reason) != std::string::npos);
  };
  const auto with = [](const std::string& descr, const std::string& shape) {
    return "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }";
  };
  const std::string good = npy(with("'<f4'", "(2,)"), std::string(8, '\0'));
  REQUIRE_NOTHROW(sn::load_npy(folder.write("good.npy", good)));
  for (std::size_t length = 0; length < good.size(); ++length) {  // every truncation
    CHECK(refusal(folder.write("cut.npy", good.substr(0, length))).find("cut.npy: ") != std::string::npos);
  }
  says("", "shorter than its magic");
  says("PK\3\4 a zip archive, not an array", "an archive (.npz)");
  says("neither an array nor an archive", "the magic is missing");
  says("\x93NUMPY\x09" + good.substr(7), "version 9.0 is unknown");
  says(npy(with("'<f4'", "(3,)"), std::string(8, '\0')), "truncated: shape (3,) of float32 takes 12 bytes, but the file has only 8 bytes left");
  says(npy(with("'<f8'", "(4611686018427387904, 4611686018427387904)"), ""), "is too large");
  says(npy(with("'<f8'", "(1000000000000,)"), ""), "truncated");  // refused before anything is allocated
  says(npy(with("'<f8'", "(99999999999999999999,)"), ""), "too large");
  says(npy(with("'<f4'", "(-1,)"), ""), "negative");
  says(npy(with("'<f4'", "(1.5,)"), ""), "missing");
  says(npy(with("'<f4'", "[2]"), ""), "'(' is missing");
  says(npy(with("'|O'", "(1,)"), "\x80\x04."), "pickled Python objects");
  says(npy(with("[('a', '<f4')]", "(1,)"), ""), "structured");
  says(npy(with("'<c16'", "(1,)"), ""), "type '<c16' are not supported");
  says(npy(with("'<U3'", "(1,)"), ""), "not supported");
  says(npy("{'descr': '<f4', 'shape': (2,)}", std::string(8, '\0')), "is missing");
  says(npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", ""), "repeated key 'descr'");
  says(npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}", ""), "neither True nor False");
  says(npy(with("'<f4'", "(2,)") + " + evil()", ""), "text after the dict");
  says(npy("__import__('os')", ""), "'{' is missing");
  says(npy(with("'\x1b]0;owned\x07\x1b[2J'", "(1,)"), ""), "type '\\x1b]0;owned\\x07\\x1b[2J' are");  // a terminal would obey them
  says(npy("{'\n\xff\\key': '<f4'}", ""), "key '\\x0a\\xff\\x5ckey'");
  says(npy("{'" + std::string(5000, 'k') + "': '<f4'}", ""), "key '" + std::string(40, 'k') + "...'");
  std::string deep = "(";
  for (int k = 0; k < 100; ++k) deep += "1, ";
  says(npy(with("'<f4'", deep + ")"), ""), "more than 64 axes");
  says(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12), "which is too many");
  CHECK(refusal(folder / "missing.npy").find("missing.npy: No such file or directory") != std::string::npos);
  CHECK(refusal(folder / "").find("not a regular file") != std::string::npos);
  CHECK_THROWS_AS(sn::save_npy(folder / "no/such/folder.npy", tensor<float>({1}, {1})), sn::IoError);
  CHECK_THROWS_AS(sn::save_npy(folder / "b.npy", sn::placeholder({1}, DType::float8_e4m3)), sn::DTypeError);
}
