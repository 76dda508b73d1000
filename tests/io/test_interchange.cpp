// Adopted memory, nested vectors, Eigen's matrices and tensors, mdspan if the standard library has it, and types in streams.
#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <sstream>

#include <sinter/adopt.hpp>
#include <sinter/eigen.hpp>
#include <sinter/eigen_tensor.hpp>
#include <sinter/fmt.hpp>
#include <sinter/mdspan.hpp>

#include "program.hpp"
#include "reference.hpp"
#include "says.hpp"
#include "seed.hpp"

using namespace sinter::testing;

namespace {
std::mt19937 rng{fresh_seed()};
}

TEST_CASE("adopted memory is used in place, at any alignment") {
  for (int d = 0; d < sn::kDTypeCount; ++d) {
    const auto type = static_cast<DType>(d);
    if (on_gpu() && d % 5 != 2) continue;
    CAPTURE(sn::name(type));
    sn::visit_storage(type, [&]<class T>() {
      for (const std::size_t first : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
        const std::size_t count = 41;
        auto owner = std::shared_ptr<T[]>(new T[first + count]);
        std::vector<double> want;
        for (std::size_t k = 0; k < first + count; ++k) owner[k] = static_cast<T>(is_bool(type) ? rng() % 2 : rng() % 8);
        for (std::size_t k = 0; k < count; ++k) want.push_back(static_cast<double>(owner[first + k]));
        const std::weak_ptr<T[]> watched = owner;
        const T* const data = owner.get() + first;
        Tensor x = sn::adopt_memory(std::move(owner), data, type, {static_cast<std::int64_t>(count)});
        CHECK(x.data<T>().data() == data);
        Tensor y = is_bool(type) ? sn::logical_not(x) : x + x;
        sn::eval(y);
        for (std::size_t k = 0; k < count; ++k) REQUIRE(values(y)[k] == (is_bool(type) ? 1 - want[k] : 2 * want[k]));
        CHECK(values(sn::sum(sn::astype(sn::flip(x), DType::float64)))[0] == values(sn::sum(sn::astype(x, DType::float64)))[0]);
        CHECK(!watched.expired());
        x = {};
        CHECK(watched.expired());
      }
    });
  }
  std::vector<float> numbers{1, 2, 3, 4, 5, 6};
  const float* const data = numbers.data();
  const Tensor x = sn::adopt(std::move(numbers), {2, 3});
  CHECK(x.shape() == Shape{2, 3});
  const Tensor flat = sn::reshape(x, {-1});
  CHECK(flat.data<float>().data() == data);
  CHECK(values(x.T()) == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK(sn::adopt(std::vector<int>{}).shape() == Shape{0});
  says<sn::ValueError>([&] { sn::adopt_memory(nullptr, nullptr, DType::float32, {1}); }, "adopt_memory: the pointer is null");
  const std::vector<float> other(2);
  says<sn::ValueError>([&] { sn::adopt_memory(nullptr, reinterpret_cast<const char*>(other.data()) + 1, DType::float32, {1}); },
                       "adopt_memory: the pointer is not aligned to float32");
}

TEST_CASE("nested vectors") {
  const std::vector<std::vector<double>> rows{{1, 2, 3}, {4, 5, 6}};
  const Tensor x = sn::from_nested(rows);
  CHECK(x.shape() == Shape{2, 3});
  CHECK(sn::to_nested<std::vector<std::vector<double>>>(x) == rows);
  CHECK(sn::to_nested<std::vector<std::vector<double>>>(x.T() * 2.) == std::vector<std::vector<double>>{{2, 8}, {4, 10}, {6, 12}});
  const std::vector<std::vector<std::vector<bool>>> deep{{{true}, {false}}, {{false}, {true}}};
  CHECK(sn::from_nested(deep).dtype() == DType::bool_);
  CHECK(sn::to_nested<std::vector<std::vector<std::vector<bool>>>>(sn::from_nested(deep)) == deep);
  CHECK(sn::from_nested(std::vector<std::vector<int>>{}).shape() == Shape{0, 0});
  CHECK(sn::from_nested(std::vector<std::vector<int>>(3)).shape() == Shape{3, 0});
  says<sn::ShapeError>([&] { sn::from_nested(std::vector<std::vector<int>>{{1, 2}, {3}}); },
                       "from_nested: shape (2, 2) is that of the first items, and others differ: the nested vectors are ragged");
  CHECK_THROWS_AS(sn::to_nested<std::vector<float>>(x), sn::ShapeError);
}

TEST_CASE("Eigen's matrices are moved into tensors, and tensors are viewed as Eigen's matrices") {
  Eigen::MatrixXd columns = Eigen::MatrixXd::Random(3, 4);
  const Eigen::MatrixXd copy = columns;
  const double* const data = columns.data();
  const Tensor x = sn::adopt_eigen(std::move(columns));
  CHECK(x.shape() == Shape{3, 4});
  const Tensor turned = x.T();
  CHECK(turned.data<double>().data() == data);
  CHECK(sn::to_eigen<Eigen::MatrixXd>(x) == copy);
  const Tensor product = sn::matmul(x, x.T());
  CHECK((sn::eigen_map<double>(product).matrix() - copy * copy.transpose()).norm() < 1e-12);
  Eigen::VectorXf vector = Eigen::VectorXf::LinSpaced(5, 0, 4);
  CHECK(values(sn::adopt_eigen(std::move(vector))) == std::vector<double>{0, 1, 2, 3, 4});
  Eigen::Array<int, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows(2, 3);
  rows << 1, 2, 3, 4, 5, 6;
  const Tensor y = sn::adopt_eigen(std::move(rows));
  CHECK(y.dtype() == DType::int32);
  CHECK(values(y) == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(y.data<int>().data() != nullptr);
}

TEST_CASE("Eigen's tensors") {
  Eigen::Tensor<float, 3> by_columns(2, 3, 4);
  by_columns.setRandom();
  const Eigen::Tensor<float, 3> copy = by_columns;
  const Tensor x = sn::adopt_eigen(std::move(by_columns));
  REQUIRE(x.shape() == Shape{2, 3, 4});
  const Tensor y = x * 2.f;
  const auto seen = sn::eigen_tensor_map<float, 3>(y);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) REQUIRE(seen(i, j, k) == 2 * copy(i, j, k));
  CHECK_THROWS_AS((sn::eigen_tensor_map<float, 2>(y)), sn::ShapeError);
}

#ifdef __cpp_lib_mdspan
TEST_CASE("mdspan") {
  const Tensor x = sn::reshape(sn::arange(6.f), {2, 3});
  const auto view = sn::to_mdspan<float, 2>(x);
  CHECK(view[1, 2] == 5);
  const std::mdspan<const float, std::dextents<int, 2>, std::layout_left> turned(view.data_handle(), 3, 2);
  CHECK(values(sn::from_mdspan(turned)) == values(x.T()));
}
#endif

TEST_CASE("printing rows and types with streams and fmt") {
  const Tensor x = sn::reshape(sn::arange(6.), {3, 2});
  double total = 0;
  for (const Tensor row : x) total = 10 * total + sn::sum(row).item<double>();
  CHECK(total == 100 + 50 + 9);
  std::ostringstream out;
  out << DType::bfloat16 << ' ' << Tensor{1, 2};
  CHECK(out.str() == "bfloat16 [1 2]");
  CHECK(fmt::format("{} {:>8} {}", DType::float32, DType::int8, Tensor{1.5, 2.}) == "float32     int8 [1.5 2. ]");
}
