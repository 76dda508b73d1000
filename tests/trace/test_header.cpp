// A user's file that includes only sinter.hpp, and the guarantees of that header at compile time.
#include <sinter/sinter.hpp>

#if defined(EIGEN_CORE_H) || defined(FMT_VERSION) || defined(_GLIBCXX_IOSTREAM) || defined(_GLIBCXX_MAP) || defined(_GLIBCXX_FILESYSTEM) || \
    defined(_GLIBCXX_FUNCTIONAL)
#error "sinter/sinter.hpp must stay light"
#endif

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <sinter/eigen.hpp>

#include "host_data_stub.hpp"

namespace sn = sinter;

static_assert(std::is_nothrow_move_constructible_v<sn::Tensor>);
static_assert(sizeof(sn::Tensor) == sizeof(std::shared_ptr<int>));
static_assert(!std::is_convertible_v<sn::Tensor, bool>);
static_assert(!std::is_constructible_v<sn::Axes, bool>, "sum(x, true) must not mean axis 1");
static_assert(!std::is_convertible_v<const char*, sn::Arg>);

template <class T>
concept dangles = requires(T t) { std::move(t).template data<float>(); };
static_assert(!dangles<sn::Tensor>, "the elements of a temporary must not be viewed");

// A temporary cannot be assigned to, except the result of indexing a named handle: then that handle changes.
template <class X, class Y>
concept assigned = requires(X&& x, Y y) { static_cast<X&&>(x) = y; };
template <class X>
concept compounded = requires(X&& x) { static_cast<X&&>(x) += 5.f; } || requires(X&& x) { static_cast<X&&>(x) <<= 1; };
static_assert(assigned<sn::Tensor&, sn::Tensor> && compounded<sn::Tensor&>);
static_assert(!assigned<sn::Tensor, sn::Tensor> && !assigned<sn::Tensor, sn::Tensor&> && !compounded<sn::Tensor>);
template <class X> using Indexed = decltype(std::declval<X>()(sn::Slice{0, 2}));
static_assert(assigned<Indexed<sn::Tensor&>, sn::Tensor> && assigned<Indexed<sn::Tensor&>, float> && compounded<Indexed<sn::Tensor&>>);
static_assert(!assigned<Indexed<const sn::Tensor&>, sn::Tensor> && !assigned<Indexed<sn::Tensor>, sn::Tensor> && !compounded<Indexed<sn::Tensor>>);
static_assert(std::is_same_v<Indexed<const sn::Tensor&>, sn::Tensor> && std::is_convertible_v<sn::Part, sn::Tensor>);

template <class A, class B>
concept smallest = requires(A a, B b) { sn::max(a, b); };
static_assert(smallest<sn::Tensor, int> && !smallest<int, int> && !smallest<double, int>, "max(1, 2) must not mean axis 2");
static_assert(std::is_copy_assignable_v<sn::Tensor> && std::is_nothrow_move_assignable_v<sn::Tensor>);

TEST_CASE("nested lists give shape and type") {
  const sn::Tensor a = {1.f, 2.f};
  const sn::Tensor b = {{1, 2, 3}, {4, 5, 6}};
  const sn::Tensor c = {{{1.0}, {2.0}}, {{3.0}, {4.0}}, {{5.0}, {6.0}}};
  const sn::Tensor d = {{{{true, false}}}};
  CHECK(a.shape() == sn::Shape{2});
  CHECK(a.dtype() == sn::DType::float32);
  CHECK(b.shape() == sn::Shape{2, 3});
  CHECK(b.dtype() == sn::DType::int32);
  CHECK(b.to_vector<int>() == std::vector{1, 2, 3, 4, 5, 6});
  CHECK(c.shape() == sn::Shape{3, 2, 1});
  CHECK(c.to_vector<double>() == std::vector{1., 2., 3., 4., 5., 6.});
  CHECK(d.shape() == sn::Shape{1, 1, 1, 2});
  CHECK(d.to_vector<bool>() == std::vector{true, false});
  CHECK_THROWS_AS((sn::Tensor{{1, 2}, {3}}), sn::ShapeError);
  CHECK_THROWS_WITH_AS((sn::Tensor{{1, 2.5}, {3}}), doctest::Contains("test_header.cpp"), sn::ShapeError);
  const sn::Tensor mixed = {1, 2.5, 3}, missing = {{1.0, NAN}, {2.f, 3}}, number = 2.5f;
  CHECK(mixed.to_vector<double>() == std::vector<double>{1, 2.5, 3});
  CHECK(missing.shape() == sn::Shape{2, 2});
  CHECK(missing.dtype() == sn::DType::float64);
  CHECK(std::isnan(missing.to_vector<double>()[1]));
  CHECK((sn::Tensor{true, 2.f}).dtype() == sn::DType::float32);
  CHECK((sn::Tensor{1, 2.f}).dtype() == sn::DType::float64);  // as int32 with float32
  CHECK(number.shape() == sn::Shape{});
  CHECK(number.dtype() == sn::DType::float32);
}

TEST_CASE("memory with any strides is copied into a tensor") {
  float values[] = {0, 1, 2, 3, 4, 5};
  const sn::Tensor rows = sn::from_pointer(values, {2, 3});
  const sn::Tensor columns = sn::from_pointer(values, {3, 2}, {1, 3});
  const sn::Tensor backwards = sn::from_pointer(values + 5, {6}, {-1});
  const sn::Tensor repeated = sn::from_pointer(values + 1, {2, 2}, {0, 1});
  const sn::Tensor spanned = sn::from_span(values, sn::Shape{3, 2});
  values[0] = 100;
  CHECK(rows.to_vector<float>() == std::vector<float>{0, 1, 2, 3, 4, 5});
  CHECK(columns.to_vector<float>() == std::vector<float>{0, 3, 1, 4, 2, 5});
  CHECK(backwards.to_vector<float>() == std::vector<float>{5, 4, 3, 2, 1, 0});
  CHECK(repeated.to_vector<float>() == std::vector<float>{1, 2, 1, 2});
  CHECK(spanned.shape() == sn::Shape{3, 2});
  CHECK_THROWS_AS(sn::from_span(values, sn::Shape{4}), sn::ShapeError);
  CHECK_THROWS_AS(sn::from_pointer(values, {2, 3}, {1}), sn::ShapeError);
  CHECK_THROWS_AS(sn::from_pointer(static_cast<float*>(nullptr), {2}), sn::ValueError);
}

TEST_CASE("elements can be read as their own type, or as a type that represents all its values") {
  const sn::Tensor x = {1.5f};
  CHECK(x.item<float>() == 1.5f);
  CHECK(x.data<float>().size() == 1);
  float out[1] = {};
  x.copy_to(std::span<float>(out));
  CHECK(out[0] == 1.5f);
  CHECK(x.item<double>() == 1.5);
  CHECK_THROWS_AS(x.item<int>(), sn::DTypeError);
  CHECK_THROWS_AS(x.data<double>(), sn::DTypeError);
  CHECK_THROWS_AS(x.copy_to(std::span<float>()), sn::ShapeError);
  CHECK_THROWS_AS((sn::Tensor{1, 2}.item<int>()), sn::ShapeError);
  CHECK_THROWS_WITH_AS(sn::Tensor().item<float>(), doctest::Contains("item: an empty Tensor handle was passed; assign it a value first at"), sn::ValueError);
  CHECK_THROWS_AS(sn::Tensor().to_vector<float>(), sn::ValueError);
}

TEST_CASE("Eigen's matrices become tensors and tensors become Eigen's matrices") {
  Eigen::MatrixXf m(2, 3);
  m << 1, 2, 3, 4, 5, 6;
  const sn::Tensor t = sn::from_eigen(m);
  CHECK(t.shape() == sn::Shape{2, 3});
  CHECK(t.to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(sn::to_eigen<Eigen::MatrixXf>(t) == m);
  CHECK(sn::eigen_map<float>(t)(1, 0) == 4);
  const sn::Tensor v = sn::from_eigen(Eigen::VectorXd(Eigen::Vector3d(1, 2, 3)));
  CHECK(v.shape() == sn::Shape{3});
  CHECK(sn::to_eigen<Eigen::VectorXd>(v) == Eigen::Vector3d(1, 2, 3));
  CHECK(sn::to_eigen<Eigen::RowVectorXd>(v) == Eigen::RowVector3d(1, 2, 3));
  CHECK_THROWS_AS(sn::to_eigen<Eigen::Matrix2f>(t), sn::ShapeError);
}
