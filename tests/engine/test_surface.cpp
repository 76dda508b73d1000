// The interface besides the functions: methods, iteration, reading elements, and the line that every error of an evaluation names.
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <sinter/eigen.hpp>
#include <sstream>
#include <string>

#include "program.hpp"
#include "reference.hpp"
#include "seed.hpp"

using namespace sinter::testing;

namespace {

/// Checks that the error names this function and ends with a line of the statement that needed the value.
template <class E, class Call> std::string says(Call call, const std::string& function, int line = __builtin_LINE()) {
  std::string text = "nothing was thrown";
  try {
    call();
  } catch (const E& e) {
    text = e.what();
  } catch (const sn::Error& e) {
    text = std::string("another exception: ") + e.what();
  }
  CAPTURE(text);
  const std::string place = std::string(" at ") + __FILE__ + ":";
  const auto end = text.rfind(place);
  REQUIRE(end != std::string::npos);
  CHECK(text.substr(0, function.size() + 2) == function + ": ");
  CHECK(std::abs(std::stoi(text.substr(end + place.size())) - line) <= 2);
  return text;
}

}  // namespace

TEST_CASE("errors of an evaluation name the function that needed the value, and its line") {
  const Tensor missing = sn::placeholder({3}, DType::float32) + 1;
  says<sn::ValueError>([&] { (void)missing.to_vector<float>(); }, "to_vector");
  says<sn::ValueError>([&] { (void)missing(0).item<float>(); }, "item");
  std::array<float, 3> out{};
  says<sn::ValueError>([&] { missing.copy_to(std::span<float>(out)); }, "copy_to");
  says<sn::ValueError>([&] { (void)missing.data<float>(); }, "data");
  says<sn::ValueError>([&] { sn::eval(missing); }, "eval");
  says<sn::ValueError>([&] { sn::eval(missing, missing * 2); }, "eval");
  says<sn::ValueError>([&] { sn::eval({missing, missing * 2}); }, "eval");
  says<sn::ValueError>([&] { sn::eval(Tensor()); }, "eval");
  says<sn::ValueError>([&] { (void)sn::to_string(missing); }, "to_string");
  says<sn::ValueError>([&] { sn::save_npy("never.npy", missing); }, "save_npy");
  CHECK(!std::filesystem::exists("never.npy"));
  const Tensor x = Tensor::ones({2, 3}, DType::float32);
  says<sn::DTypeError>([&] { (void)x.to_vector<int>(); }, "to_vector");
  says<sn::DTypeError>([&] { (void)x.data<double>(); }, "data");
  says<sn::ShapeError>([&] { (void)x.item<float>(); }, "item");
  says<sn::ShapeError>([&] { x.copy_to(std::span<float>(out)); }, "copy_to");
  says<sn::DTypeError>([&] { (void)sn::to_eigen<Eigen::MatrixXd>(x); }, "to_eigen");
  says<sn::ShapeError>([&] { (void)sn::to_eigen<Eigen::Matrix3f>(x); }, "to_eigen");
  const Tensor deep = Tensor::ones({1, 1, 1});
  says<sn::ShapeError>([&] { (void)sn::eigen_map<double>(deep); }, "eigen_map");
  CHECK(sn::to_eigen<Eigen::MatrixXf>(x).sum() == 6);
}

TEST_CASE("an out-of-memory error names the operation, its result and the line that recorded it") {
  const std::int64_t huge = std::int64_t{1} << 50;
  const int line = __LINE__ + 1;
  const Tensor x = sn::arange(huge) * 2.5;
  const std::string text = says<sn::DeviceError>([&] { sn::eval(x); }, "eval");
  CAPTURE(text);
  if (!sn::options().fuse) return;  // an earlier operation does not fit either
  CHECK(text.find("no room for the result of multiply, float64 (" + std::to_string(huge) + ",) (recorded at " + __FILE__ + ":" + std::to_string(line) + ")") !=
        std::string::npos);
  CHECK(Tensor::ones({2}).sum().item<double>() == 2);  // later evaluations work
}

TEST_CASE("elements are converted only if no value changes") {
  const Tensor f = Tensor{{1.5f, 2.25f}, {-3.f, 0.1f}};
  CHECK(sn::sum(f).item<double>() == doctest::Approx(0.85));
  CHECK(f.to_vector<double>() == std::vector<double>{1.5, 2.25, -3, 0.1f});
  const Tensor i = Tensor{std::int8_t{-3}, std::int8_t{7}};
  CHECK(i.to_vector<int>() == std::vector{-3, 7});
  CHECK(i.to_vector<double>() == std::vector{-3.0, 7.0});
  CHECK(i(1).item<long>() == 7);
  CHECK(static_cast<float>(i(0).item<sn::half>()) == -3);
  std::array<double, 2> out{};
  (i > 0).copy_to(std::span<double>(out));
  CHECK(out == std::array{0.0, 1.0});
  CHECK(static_cast<float>(f.astype(DType::bfloat16)(0, 1).item<float>()) == 2.25f);
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  const Tensor n = sn::arange(3);  // int64: by value
  CHECK(sn::argmax(n).item<int>() == 2);
  CHECK(sn::sum(n).item<double>() == 3);
  CHECK(n.to_vector<std::uint8_t>() == std::vector<std::uint8_t>{0, 1, 2});
  CHECK(static_cast<float>((n * 1000)(1).item<sn::half>()) == 1000);
  CHECK((sn::full({}, large) - 1).item<double>() == 9007199254740992.0);
  CHECK(says<sn::DTypeError>([&] { (void)sn::full({}, large).item<double>(); }, "item")
            .find("the tensor holds int64 9007199254740993, which float64 does not hold") != std::string::npos);
  says<sn::DTypeError>([&] { (void)(n - 1).to_vector<std::uint64_t>(); }, "to_vector");
  says<sn::DTypeError>([&] { (void)(n + 256).to_vector<std::uint8_t>(); }, "to_vector");
  says<sn::DTypeError>([&] { (void)(n * 1001 * 3).to_vector<sn::half>(); }, "to_vector");
  says<sn::DTypeError>([&] { (void)(n * 16777216 + 1).to_vector<float>(); }, "to_vector");
  says<sn::DTypeError>([&] { (void)Tensor{2.0}.item<int>(); }, "item");
  CHECK_THROWS_AS((void)f.astype(DType::float64).to_vector<float>(), sn::DTypeError);
  CHECK((f > 1).to_vector<bool>() == std::vector{true, true, false, false});
}

TEST_CASE("values and indices can be given in braces") {
  const Tensor x = sn::arange(12).reshape({4, 3});
  CHECK(values(sn::dot(x, {0.5, 2.0, -1.0})) == std::vector<double>{0, 4.5, 9, 13.5});
  CHECK(sn::dot(x, {0.5f, 2.0f, -1.0f}).dtype() == sn::result_type({DType::int64, DType::float32}));
  CHECK(sn::maximum(x, {{4}, {0}, {7}, {20}})(Slice{}, 0).to_vector<int>() == std::vector{4, 3, 7, 20});
  CHECK(sn::sum({1, 2.5, true}).item<double>() == 4.5);
  CHECK(sn::max({{1.0, NAN}, {2, 3}}).dtype() == DType::float64);
  CHECK(sn::take(x, {2, 0}, 1)(1).to_vector<int>() == std::vector{5, 3});
  CHECK(x({3, -3})(Slice{}, 1).to_vector<int>() == std::vector{10, 4});
  CHECK(x(Slice{1, 3}, {2, 2, 0})(1).to_vector<int>() == std::vector{8, 8, 6});
  CHECK(x({true, false, false, true}).sum().item<int>() == 33);
  Tensor y = x;
  y({0, 3}, Slice{1, {}}) = {{-1, -2}, {-3, -4}};
  y(1) += {10, 20, 30};
  CHECK(y.to_vector<int>() == std::vector{0, -1, -2, 13, 24, 35, 6, 7, 8, 9, -3, -4});
  CHECK(sn::add_at(sn::zeros({3}), {0, 2, 0}, {1., 2., 4.}).to_vector<double>() == std::vector<double>{5, 0, 2});
  CHECK(sn::add_at(sn::zeros({2, 2}), {Tensor{0, 1}, Tensor{1, 1}}, 1).to_vector<double>() == std::vector<double>{0, 1, 0, 1});
  const int line = __LINE__ + 1;
  CHECK_THROWS_WITH_AS(sn::dot(x, {1, 2}), doctest::Contains((std::string(__FILE__) + ":" + std::to_string(line)).c_str()), sn::ShapeError);
}

TEST_CASE("ranges can be operands, numbers can be shapes, and a few tensors need no braces") {
  const std::vector<float> list{1, 2, 3};
  const std::array<double, 3> three{10, 20, 30};
  const Tensor x = sn::zeros(3, sn::float32);
  CHECK(x.shape() == Shape{3});
  CHECK((x + list).dtype() == sn::float32);
  CHECK((list - x * 2.f).to_vector<float>() == list);
  CHECK(values(x + std::span(three)) == std::vector<double>{10, 20, 30});
  CHECK(sn::dot(list, three).item<double>() == 140);
  CHECK(sn::arange(4)(std::vector{3, 0}).to_vector<int>() == std::vector{3, 0});
  CHECK(sn::ones(2).shape() == Shape{2});
  CHECK(sn::full(2, 7)(1).item<int>() == 7);
  CHECK(sn::random::normal(5, 3).to_vector<double>() == sn::random::normal(sn::random::Key(5), {3}).to_vector<double>());
  const Tensor n = sn::arange(12);
  CHECK(n.reshape(2, 6).shape() == Shape{2, 6});
  CHECK(n.reshape(-1).shape() == Shape{12});
  CHECK(sn::reshape(n, 3, 2, -1).shape() == Shape{3, 2, 2});
  CHECK(sn::pad(n.reshape(3, 4), 1).shape() == Shape{5, 6});
  CHECK(sn::pad(n, 1, sn::PadMode::edge)(13).item<int>() == 11);
  CHECK(sn::concatenate(n, n, x).shape() == Shape{27});
  CHECK(sn::stack(n, -n).shape() == Shape{2, 12});
  CHECK(sn::einsum("ij,kj->ik", n.reshape(3, 4), n.reshape(3, 4)).shape() == Shape{3, 3});
  std::ostringstream shown;
  shown << n.reshape(3, 4).shape() << Shape{} << Shape(5);
  CHECK(shown.str() == "(3, 4)()(5,)");
  says<sn::IndexError>([&] { (void)n(12); }, "index");
  says<sn::ShapeError>([&] { (void)n.reshape(5, 3); }, "reshape");
  says<sn::ShapeError>([&] { (void)sn::concatenate(n, n.reshape(3, 4)); }, "concatenate");
  CHECK(says<sn::DTypeError>([&] { (void)Tensor{2.0}.item<float>(); }, "item").find("ask for float64") != std::string::npos);
}

TEST_CASE("distances between rows, and transforms of segments") {
  const Tensor a = sn::random::normal(1, {4, 5, 3}), b = sn::random::normal(2, {4, 6, 3});
  const Tensor found = sn::cdist(a, b), by_hand = sn::sqrt(sn::sum(sn::square(a(Slice{}, Slice{}, sn::newaxis) - b(Slice{}, sn::newaxis)), -1));
  CHECK(found.shape() == Shape{4, 5, 6});
  CHECK(sn::allclose(found, by_hand, 1e-14, 0).item<bool>());
  CHECK(sn::allclose(sn::cdist(a, b, 1), sn::sum(sn::abs(a(Slice{}, Slice{}, sn::newaxis) - b(Slice{}, sn::newaxis)), -1), 1e-14, 0).item<bool>());
  CHECK_THROWS_AS(sn::cdist(a, b(0, 0)), sn::ShapeError);
  const Tensor signal = sn::random::normal(3, {2, 37}), window = sn::hanning(8);
  const sn::Complex got = sn::stft(signal, 8, 3, window);
  CHECK(got.re.shape() == Shape{2, 10, 5});
  for (const int piece : {0, 4, 9}) {
    const sn::Complex want = sn::fft::rfft(signal(Slice{}, Slice{3 * piece, 3 * piece + 8}) * window);
    CHECK(sn::allclose(got.re(Slice{}, piece), want.re, 1e-13, 1e-13).item<bool>());
    CHECK(sn::allclose(got.im(Slice{}, piece), want.im, 1e-13, 1e-13).item<bool>());
  }
  CHECK(sn::stft(signal, 37, 1).re.shape() == Shape{2, 1, 19});
  CHECK_THROWS_AS(sn::stft(signal, 38, 1), sn::ShapeError);
  CHECK_THROWS_AS(sn::stft(signal, 8, 3, sn::hanning(7)), sn::ShapeError);
}

TEST_CASE("methods and functions give the same results") {
  std::mt19937 rng(fresh_seed());
  const Tensor x = random(rng, {3, 4, 5}, DType::float32, -2, 2).first;
  const auto same = [](const Tensor& a, const Tensor& b) {
    CHECK(a.dtype() == b.dtype());
    CHECK(a.shape() == b.shape());
    CHECK(values(a) == values(b));
  };
  same(x.sum(), sn::sum(x));
  same(x.sum({0, 2}, true, DType::float64), sn::sum(x, {0, 2}, true, DType::float64));
  same(x.prod(1), sn::prod(x, 1));
  same(x.min(-1, true), sn::min(x, -1, true));
  same(x.max(0), sn::max(x, 0));
  same(x.mean(0), sn::mean(x, 0));
  same(x.var({}, false, 1), sn::var(x, {}, false, 1));
  same(x.stddev(1), sn::stddev(x, 1));
  same((x > 0).any(0), sn::any(x > 0, 0));
  same((x > -2).all(), sn::all(x > -2));
  same(x.argmax(1), sn::argmax(x, 1));
  same(x.argmin(), sn::argmin(x));
  same(x.cumsum(1), sn::cumsum(x, 1));
  same(x.cumprod(), sn::cumprod(x));
  same(x.ravel(), sn::reshape(x, {-1}));
  same(x.flatten(), sn::reshape(x, {-1}));
  same(x(Slice{0, 1}).squeeze(0), sn::squeeze(x(Slice{0, 1}), 0));
  same(x.transpose(), x.T());
  same(x.transpose({1, 2, 0}), sn::permute(x, {1, 2, 0}));
  same(x.swapaxes(0, -1), sn::permute(x, {2, 1, 0}));
  same(x.diagonal(1, 0, 2), sn::diagonal(x, 1, 0, 2));
  same(x.repeat(2, 1), sn::repeat(x, 2, 1));
  same(x.take(Tensor{1, 0}, 2), sn::take(x, Tensor{1, 0}, 2));
  same(x.astype(DType::int32), sn::astype(x, DType::int32));
  same(x.copy(), x);
  same(x.clip(-1, 1.f), sn::clip(x, -1, 1.f));
  same(x.round(), sn::round(x));
  same(+x, x);
  same(x[1], x(1));
  same(Tensor::full({2}, 3.f), sn::full({2}, 3.f));
  same(x.T().sum(0).max(), sn::max(sn::sum(x.T(), 0)));
  same(x.mT(), sn::matrix_transpose(x));
  same(x.trace(1, 0, 2), sn::matrix_trace(x, 1, 0, 2));
  same(x.round(1), sn::round(x, 1));
  same(x.argsort(1), sn::argsort(x, 1));
  same(x.argpartition(2), sn::argpartition(x, 2));
  same(x.compress({true, false, true}, 0), sn::compress({true, false, true}, x, 0));
  same((x > 0).nonzero()[1], sn::nonzero(x > 0)[1]);
  same(sn::arange(5).searchsorted({1, 7}), sn::searchsorted(sn::arange(5), {1, 7}));
  same(x.view(DType::int32), sn::view(x, DType::int32));
  CHECK(x.itemsize() == 4);
  CHECK(x.nbytes() == 240);
}

TEST_CASE("methods that change an array assign a new value to the handle") {
  const Tensor before = {3., 1., 2.};
  Tensor x = before;
  x.sort();
  CHECK(values(x) == std::vector<double>{1, 2, 3});
  CHECK(values(before) == std::vector<double>{3, 1, 2});
  x.put({0, 2}, 7.);
  CHECK(values(x) == std::vector<double>{7, 2, 7});
  x.partition(0);
  CHECK(values(x)[0] == 2);
  x.fill(4);
  CHECK(values(x) == std::vector<double>{4, 4, 4});
  Tensor counts = sn::zeros({2}, DType::int32);
  CHECK_THROWS_AS(counts.fill(1.5), sn::DTypeError);
}

TEST_CASE("view reads the same bytes as another type") {
  std::mt19937 rng(fresh_seed());
  const auto [x, rx] = random(rng, {3, 4}, DType::float32, -2, 2);
  const auto bits = x.view(DType::int32).to_vector<std::int32_t>();
  for (std::size_t k = 0; k < bits.size(); ++k) CHECK(std::bit_cast<float>(bits[k]) == static_cast<float>(rx.v[k]));
  CHECK(values(x.view(DType::int32).view(DType::float32)) == rx.v);
  const Tensor bytes = x.T().view(DType::uint8);  // of the transposed elements, row after row
  CHECK(bytes.shape() == Shape{4, 12});
  CHECK(values(bytes.view(DType::float32)) == values(x.T()));
  CHECK(values(sn::arange(4, DType::uint8).view(DType::bool_)) == std::vector<double>{0, 1, 1, 1});
  CHECK(Tensor(1.0).view(DType::int64).item<std::int64_t>() == 0x3ff0000000000000);
  CHECK(sn::zeros({2, 0}).view(DType::int32).shape() == Shape{2, 0});
  CHECK(sn::sum((x * 2 + 1).view(DType::int32) >> 31).item<std::int64_t>() == -sn::sum(x * 2 + 1 < 0).item<std::int64_t>());
  CHECK_THROWS_WITH_AS(sn::view(sn::zeros({2, 3}, DType::uint8), DType::int16),
                       doctest::Contains("view: a row of shape (2, 3) of uint8 has 3 bytes, which is not a whole number of int16"), sn::ShapeError);
  CHECK_THROWS_WITH_AS(sn::view(Tensor(1.0), DType::int8), doctest::Contains("a 0-d tensor of float64"), sn::ShapeError);
}

TEST_CASE("axis 0 of a 0-d tensor is accepted where NumPy accepts it") {
  const Tensor z(3.5);
  for (const std::int64_t axis : {0, -1}) {
    for (const Tensor& y : {z.sum(axis), z.prod(axis), z.min(axis), z.max(axis, true), sn::nansum(z, axis)}) {
      CHECK(y.shape().empty());
      CHECK(y.item<double>() == 3.5);
    }
    CHECK((z > 0).all(axis).item<bool>());
    CHECK((z > 0).any(axis).item<bool>());
    CHECK(z.cumsum(axis).shape() == Shape{1});
    CHECK_THROWS_AS(z.mean(axis), sn::AxisError);
  }
  CHECK_THROWS_AS(z.sum(1), sn::AxisError);
  CHECK_THROWS_AS(z.sum({0, -1}), sn::AxisError);
}

TEST_CASE("dot agrees with NumPy") {
  std::mt19937 rng(fresh_seed());
  for (const auto& [sa, sb] : std::vector<std::pair<Shape, Shape>>{
           {{4}, {4}}, {{3, 4}, {4}}, {{3, 4}, {4, 5}}, {{2, 3, 4}, {4, 5}}, {{4}, {2, 4, 3}}, {{2, 3, 4}, {5, 4, 6}}, {{2, 0}, {3, 0, 2}}}) {
    const auto [a, ra] = random(rng, sa, DType::float64, -2, 2);
    const auto [b, rb] = random(rng, sb, DType::float64, -2, 2);
    Shape shape(sa.begin(), sa.end() - 1);
    const std::size_t lead = shape.size();
    if (sb.size() > 1) shape.insert(shape.end(), sb.begin(), sb.end() - 2), shape.push_back(sb.back());
    const Ref want = make(shape, [&, &ra = ra, &rb = rb](const Coords& at) {
      double s = 0;
      for (std::int64_t k = 0; k < sa.back(); ++k) {
        Coords ia(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(lead)), ib(at.begin() + static_cast<std::ptrdiff_t>(lead), at.end());
        ia.push_back(k);
        ib.insert(sb.size() > 1 ? ib.end() - 1 : ib.end(), k);
        s += ra.v[static_cast<std::size_t>(flat(sa, ia))] * rb.v[static_cast<std::size_t>(flat(sb, ib))];
      }
      return s;
    });
    const Tensor got = sn::dot(a, b);
    REQUIRE(got.shape() == shape);
    const auto v = values(got);
    for (std::size_t k = 0; k < v.size(); ++k) CHECK(v[k] == doctest::Approx(want.v[k]).epsilon(1e-12));
  }
  CHECK(sn::dot(Tensor{1., 2.}, 3).to_vector<double>() == std::vector<double>{3, 6});
}

TEST_CASE("a loop over a tensor visits its first axis") {
  const Tensor x = sn::arange(6).reshape({3, 2});
  std::vector<double> sums;
  for (const Tensor& row : x) sums.push_back(static_cast<double>(row.sum().item<std::int64_t>()));
  CHECK(sums == std::vector<double>{1, 5, 9});
  CHECK(std::distance(x.begin(), x.end()) == 3);
  CHECK_THROWS_AS(Tensor(1.0).begin() == Tensor(1.0).end(), sn::ShapeError);
  std::ostringstream text;
  text << x;
  CHECK(text.str() == "[[0 1]\n [2 3]\n [4 5]]");
}

TEST_CASE("a view is explained with its own shape") {
  if (!sn::options().fuse) return;
  const Tensor x = sn::from_span(std::vector<float>(240, 1.f), {12, 20});
  CHECK(sn::explain(x(Slice{2, 5}) * 2.f).find("float32 (3, 20) of (12, 20) to ") != std::string::npos);
  CHECK(sn::explain(x(Slice{}, Slice{1, 4}) * 2.f).find("float32 (12, 3) of (12, 20) to ") != std::string::npos);
  CHECK(sn::explain(x.T() * 2.f).find("float32 (12, 20) to float32 (20, 12)") != std::string::npos);
}

TEST_CASE("several results are explained together") {
  const Tensor x = sn::from_span(std::vector<float>(100, 1.f)), a = x * 2.f, b = x + 1.f;
  sn::eval(a, b);
  CHECK(sn::explain(a, b) == sn::explain({a, b}));
  CHECK(sn::explain(a, b).find(sn::options().fuse ? "1 kernel on" : "2 kernels on") == 0);
}
