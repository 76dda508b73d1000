// The table of functions is complete; functions composed of others are one kernel where nothing forces more, and refuse what does not fit. Their values are
// golden ones (test_golden).
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "draws.hpp"
#include "expression.hpp"
#include "program.hpp"
#include "reference.hpp"
#include "says.hpp"
#include "table/arguments.hpp"
#include "table/descriptions.hpp"
#include "table/functions.hpp"

using namespace sinter::testing;

TEST_CASE("every function of the table has a description and an example that can be computed") {
  if (on_gpu()) return;  // only recording and the host
  std::vector<sn::table::Function> all(sn::table::functions().begin(), sn::table::functions().end());
  all.insert(all.end(), sn::table::members().begin(), sn::table::members().end());
  for (const sn::table::Function& function : sampled(all)) {
    CAPTURE(std::string(function.name));
    CHECK(!sn::table::parameters_of(function).empty());
    const sn::table::Description* description = sn::table::find_description(function);
    REQUIRE(description);
    CHECK(description->text.ends_with('.'));
    CHECK(description->example.find(description->name) != std::string_view::npos);
    CHECK_NOTHROW(sn::eval(sn::tools::evaluate(description->example, {}).results));
  }
}

TEST_CASE("functions are one kernel unless something forces more") {
  if (!sn::options().fuse) return;
  std::mt19937 rng(5);
  const Tensor x = random(rng, {60, 70}, DType::float32, -1, 1).first, y = random(rng, {60, 70}, DType::float32, -1, 1).first;
  CHECK(launches(sn::sum(sn::sliding_window_view(sn::from_span(std::vector<float>(500, 1.f)), {7}), -1)) == 1);
  CHECK(launches(sn::diff(x, 2) * 2) == 1);
  CHECK(launches(sn::rot90(x) + 1) == 1);
  CHECK(launches(sn::nanmean(x, 1)) == 1);
  CHECK(launches(sn::einsum("ij,ij->i", {x, y})) == 1);
  CHECK(launches(sn::outer(x(0), y(1))) == 1);
  CHECK(launches(sn::kron(x, Tensor{{1.f, 2.f}})) == 1);
  CHECK(launches(sn::norm(x, {}, 1)) == 1);
  CHECK(launches(sn::hstack({x, y}) * 2.f) == 1);
}

TEST_CASE("wrong shapes and types are errors") {
  const Tensor x = Tensor::ones({3, 4}), v = Tensor::ones({4});
  says<sn::ShapeError>([&] { sn::split(x, 2); }, "split: axis 0 of shape (3, 4) is not 2 equal parts; array_split() gives parts that differ by one");
  says<sn::ValueError>([&] { sn::array_split(x, 0); }, "array_split: 0 sections: at least one is needed");
  says<sn::AxisError>([&] { sn::moveaxis(x, {0, 1}, {0}); }, "moveaxis: 2 axes are moved to 1 place");
  says<sn::AxisError>([&] { sn::rot90(x, 1, {0, -2}); }, "rot90: axis 0 is given twice");
  says<sn::ShapeError>([&] { sn::broadcast_arrays({x, Tensor::ones({5})}); },
                       "broadcast_arrays: shapes (3, 4) and (5,) do not broadcast (axis -1: 4 against 5)");
  says<sn::ShapeError>([&] { sn::meshgrid({v, x}); }, "meshgrid: shape (3, 4) is not that of a vector");
  says<sn::ShapeError>([&] { sn::sliding_window_view(v, {5}); }, "sliding_window_view: a window of 5 does not fit into axis 0 of shape (4,)");
  says<sn::ShapeError>([&] { sn::hstack({x, v}); }, "hstack: shapes (3, 4) and (4,) do not fit: only axis 1 may differ");
  says<sn::ValueError>([&] { sn::diff(v, -1); }, "diff: a difference cannot be taken -1 times");
  says<sn::ShapeError>([&] { sn::average(x, 0, v); },
                       "average: weights of shape (4,) for shape (3, 4): give one for each element, or a vector along the one axis");
  says<sn::AxisError>([&] { sn::cumulative_sum(x); }, "cumulative_sum: name the axis for shape (3, 4)");
  says<sn::ShapeError>([&] { sn::vecdot(x, Tensor::ones({3})); }, "vecdot: shapes (3, 4) and (3,): the sizes 4 and 3 of axis -1 differ");
  says<sn::ShapeError>([&] { sn::tensordot(x, x, 1); }, "tensordot: shapes (3, 4) and (3, 4): axis 1 of size 4 does not fit axis 0 of size 3");
  says<sn::ValueError>([&] { sn::einsum("ij,j->k", {x, v}); }, "einsum: 'ij,j->k' the result's 'k' is in no operand");
  says<sn::ValueError>([&] { sn::einsum("ij,i", {x, v}); }, "einsum: 'ij,i' gives 'i' the sizes 3 and 4");
  says<sn::ValueError>([&] { sn::einsum("ij", {x, v}); }, "einsum: 'ij' names 1 operand, 2 were given");
  says<sn::ValueError>([&] { sn::einsum("ijk", {x}); }, "einsum: 'ijk' names 3 axes of a tensor with 2");
  says<sn::ValueError>([&] { sn::einsum("i1", {x}); }, "einsum: 'i1' has '1' where a letter or an ellipsis is expected");
  says<sn::ShapeError>([&] { sn::matrix_power(x, 2); }, "matrix_power: shape (3, 4) is not that of a square matrix");
  says<sn::ValueError>([&] { sn::norm(x, 3); }, "norm: a matrix's norm is of order 1, 2, infinity, their negatives, \"fro\" or \"nuc\", not 3");
}
