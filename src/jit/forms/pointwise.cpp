// Pointwise kernels: one thread for each point, or for each vector of neighbouring points.
#include "jit/forms/lowering.hpp"

namespace sinter::jit::forms {
namespace {

class Pointwise : public Lowering {
  using Lowering::Lowering;

  void body() override {
    count_points();
    if (width_ > 1) name_literal_divisors(true);
    const Stage all = all_stages();
    const E points = counted("points"), thread = loop::cast(loop::block(), count_) * schedule_.threads + loop::thread_x(),
            step = loop::cast(loop::blocks(), count_) * schedule_.threads;
    const auto point = [&](const E&) {
      unflatten_point();
      name_point_indices(all);
      stage_body(all, {});
    };
    if (width_ == 1) return each(Binding::grid, count_, "point", thread, points, step, point);
    each(Binding::grid, count_, "vector", thread, points / width_, step, [&](const E& vector) { point(let("point", count_, vector * width_)); });
    if (!schedule_.as<PointwiseForm>().tail) return;
    by_lanes_ = false;
    forget_indices();
    each(Binding::grid, count_, "point", points / width_ * width_ + thread, points, step, point);
  }
};

}  // namespace

loop::Kernel lower(const LoopNest& nest, const PointwiseForm&, int sm) { return Pointwise(nest, sm).write("a thread per point"); }

}  // namespace sinter::jit::forms
