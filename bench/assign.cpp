// Times a loop that assigns to one row of a tensor after another: the cost of recording and computing a row as the number of rows grows. The rows come from
// memory, are computed, are computed from the row before, take a number for each of 100 elements, or are computed and put
// into an array that is evaluated already. If the time is linear, the columns are equal; the first column is the first run, with its planning.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <sinter/sinter.hpp>
#include <vector>

namespace sn = sinter;
using sn::Tensor;

int main() {
  using Clock = std::chrono::steady_clock;
  const auto microseconds = [](Clock::duration t) { return std::chrono::duration<double, std::micro>(t).count(); };
  fmt::print("{:>16} {:>8} {:>12} {:>14} {:>14} {:>8}\n", "rows", "number", "first us/row", "record us/row", "compute us/row", "kernels");
  constexpr const char* kNames[] = {"from memory", "computed", "from the last", "numbers", "into evaluated"};
  enum Kind { from_memory, computed, from_the_last, numbers, into_evaluated };
  for (const Kind kind : {from_memory, computed, from_the_last, numbers, into_evaluated})
    for (const int n : {250, 500, 1000, 2000, 4000}) {
      std::vector<Tensor> rows;
      for (int i = 0; i < n; ++i) rows.push_back(sn::from_span(std::vector<float>(100, static_cast<float>(i))));
      double first = 0, record = 1e300, compute = 1e300;
      std::uint64_t kernels = 0;
      for (int repeat = 0; repeat < 3; ++repeat) {
        const auto launched = sn::counters().kernels_launched;
        Tensor x = Tensor::zeros({n, 100}, sn::DType::float32);
        if (kind == into_evaluated) sn::eval(x = x + 1.f);
        const auto start = Clock::now();
        for (int i = 0; i < n; ++i) {
          const Tensor& row = rows[static_cast<std::size_t>(i)];
          if (kind == numbers)
            for (int j = 0; j < 100; ++j) x(i, j) = static_cast<float>(i * j);
          else if (kind == computed || kind == into_evaluated) x(i) = row * 2.f;
          else if (kind == from_the_last && i > 0) x(i) = x(i - 1) * 0.5f + row;
          else x(i) = row;
        }
        const auto recorded = Clock::now();
        sn::eval(x);
        record = std::min(record, microseconds(recorded - start) / n);
        compute = std::min(compute, microseconds(Clock::now() - recorded) / n);
        if (repeat == 0) first = microseconds(Clock::now() - start) / n;
        kernels = sn::counters().kernels_launched - launched;
      }
      fmt::print("{:>16} {:>8} {:>12.2f} {:>14.2f} {:>14.2f} {:>8}\n", kNames[kind], n, first, record, compute, kernels);
    }
}
