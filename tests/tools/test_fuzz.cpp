// Random programs with several results, of every element type and with every elementwise function of the command's table. Some results are views of others. The
// same graph runs fused on this executor, on the interpreter, and unfused. All must agree; the CPU's two executors must give the same bits if they fuse in the
// same way. If they do not, the seed is printed, and SINTER_TEST_SEED repeats the program.
#include <doctest/doctest.h>

#include <cstdlib>
#include <map>

#include "draws.hpp"
#include "program.hpp"
#include "reference.hpp"
#include "seed.hpp"
#include "sinter/arranging.hpp"
#include "sinter/decompositions.hpp"
#include "sinter/fft.hpp"
#include "table/functions.hpp"

namespace {

/// A recorded value. Exact ones have the same bits on every executor, so that they may decide (compare, round); others agree closely.
struct Entry {
  Tensor tensor;
  bool exact;
};

std::vector<Tensor> tensors_of(const sn::table::Value& value) {
  if (const auto* tensor = value.as<Tensor>()) return {*tensor};
  std::vector<Tensor> tensors;
  if (const auto* tuple = value.as<sn::table::Tuple>())
    for (const auto& item : *tuple) tensors.push_back(*item.as<Tensor>());
  return tensors;
}

/// Calls a function of the table on these operands; returns nothing if it does not take them.
std::vector<Tensor> called(const sn::table::Function& function, const std::vector<Tensor>& operands) {
  std::vector<sn::table::Argument> arguments;
  for (const Tensor& operand : operands) arguments.push_back({{}, sn::table::Value{operand}});
  try {
    return tensors_of(sn::table::call(function, std::move(arguments), 0));
  } catch (const sn::Error&) {
    return {};
  }
}

/// The elementwise functions of the table with one or two operands.
const std::vector<const sn::table::Function*>& elementwise() {
  static const std::vector<const sn::table::Function*> list = [] {
    std::vector<const sn::table::Function*> found;
    for (const sn::table::Function& function : sn::table::functions()) {
      const std::size_t count = function.parameters == "x" ? 1 : function.parameters == "x1 x2" ? 2 : 0;
      if (count == 0) continue;
      bool fits = false;
      for (const DType dtype : {DType::float64, DType::int64, DType::bool_}) {
        const auto results = called(function, std::vector<Tensor>(count, sn::ones({2, 3}, dtype)));
        fits |= !results.empty() && std::all_of(results.begin(), results.end(), [](const Tensor& t) { return t.shape() == Shape{2, 3}; });
      }
      if (fits) found.push_back(&function);
    }
    return found;
  }();
  return list;
}

/// The number of programs that took each operation, by name.
std::map<std::string, int, std::less<>>& drawn() {
  static std::map<std::string, int, std::less<>> counts;
  return counts;
}

class Program {
 public:
  Program(std::uint32_t seed, DType dtype) : rng_(seed + 1000003u * static_cast<std::uint32_t>(dtype)), dtype_(dtype) {}

  /// Records a random program over new leaves and returns its wanted results; the same seed records the same program.
  std::vector<Tensor> record() {
    const std::vector<Shape> shapes{{37}, {16, 24}, {5, 7, 11}, {2, 3, 4, 6}, {1, 130}, {65, 1}, {3, 2100},  // some programs exceed one kernel
                                    {},   {1},      {1, 1},     {0},          {0, 3},   {3, 0},  {1, 1, 5}, {2, 0, 3}, {4, 1, 3}};
    base_ = shapes[pick(2) ? pick(7) : pick(shapes.size())];
    for (int k = 0; k < 4; ++k) pool_.push_back(leaf(k == 0, k == 3));
    if (pick(12) == 0) loop();
    else if (pick(10) == 0) steps(100 + pick(200), 6);
    else steps(4 + pick(30), 24);
    return wanted();
  }

 private:
  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(rng_() % n); }
  bool real(const Tensor& t) const { return sn::is_floating(t.dtype()); }
  const Entry& any() { return pool_[pool_.size() > 12 && pick(3) ? pool_.size() - 1 - pick(12) : pick(pool_.size())]; }

  Entry leaf(bool whole, bool other_type) {
    Shape shape = base_;
    for (auto& size : shape)
      if (!whole && pick(3) == 0) size = 1;
    DType type = other_type ? static_cast<DType>(pick(sn::kDTypeCount)) : dtype_;
    // In 16 bits a different order of a sum changes the result, so these types occur only in programs that compare executors with the same order.
    if (sn::is_storage_only(type) && !sn::is_storage_only(dtype_)) type = DType::float32;
    return {sinter::testing::random(rng_, shape, type, sn::is_floating(type) ? -2 : -9, sn::is_floating(type) ? 2 : 9).first, true};
  }

  /// Returns two shapes that broadcast to a small shape.
  static bool fits(const Tensor& a, const Tensor& b) {
    const auto &x = a.shape(), &y = b.shape();
    std::int64_t points = 1;
    for (std::size_t k = 1; k <= std::max(x.size(), y.size()); ++k) {
      const std::int64_t m = k <= x.size() ? x[x.size() - k] : 1, n = k <= y.size() ? y[y.size() - k] : 1;
      if (m != n && m != 1 && n != 1) return false;
      points *= m == 1 ? n : m;
    }
    return points < 50000;
  }

  /// Returns small values of the program's own type, in which other types are combined.
  Entry same_type(const Entry& x) {
    if (x.tensor.dtype() == dtype_) return x;
    if (real(x.tensor) && !sn::is_floating(dtype_)) return {sn::full(x.tensor.shape(), 2).astype(dtype_), true};  // rounding would decide the result
    const bool number = sn::is_integer(x.tensor.dtype());
    return {sn::astype(number ? x.tensor % 7 : x.tensor, dtype_), x.exact};
  }

  Entry view(const Entry& x) {
    const Tensor& a = x.tensor;
    const auto rank = static_cast<std::size_t>(a.ndim());
    const auto some = [&](std::int64_t low, std::int64_t high) { return low + static_cast<std::int64_t>(pick(static_cast<std::size_t>(high - low + 1))); };
    switch (pick(7)) {
      case 0: return {a.T(), x.exact};
      case 1: return {a.reshape({-1}), x.exact};
      case 2: return {sn::flip(a), x.exact};
      case 3: {
        std::vector<sn::Index> index;
        for (std::size_t k = 0; k < rank; ++k) {
          const std::int64_t n = a.shape()[k];
          if (n > 0 && pick(6) == 0) index.push_back(some(-n, n - 1));
          else if (pick(5) == 0) index.push_back(sn::Slice{some(-n - 1, n), some(-n - 1, n), some(1, 3) * (pick(2) ? 1 : -1)});
          else if (pick(2)) index.push_back(sn::Slice{some(0, n / 3), {}, some(1, 2)});
          else index.push_back(sn::Slice{});
        }
        return {a.at(index), x.exact};
      }
      case 4: {
        if (rank == 0 || a.size() > 5000) return {a.at({sn::newaxis, sn::ellipsis}), x.exact};
        Shape wide = a.shape();
        for (auto& size : wide)
          if (size == 1) size = some(0, 4);
        wide.insert(wide.begin(), some(1, 3));
        return {sn::broadcast_to(a, wide), x.exact};
      }
      case 5: {
        if (rank < 2) return {a.at({sn::ellipsis, sn::newaxis}), x.exact};
        Shape merged = a.shape();
        const std::size_t k = pick(rank - 1);
        merged[k] *= merged[k + 1];
        merged.erase(merged.begin() + static_cast<long>(k) + 1);
        return {a.reshape(merged), x.exact};
      }
      default: {
        std::vector<std::int64_t> axes(rank);
        for (std::size_t k = 0; k < rank; ++k) axes[k] = static_cast<std::int64_t>(k);
        std::shuffle(axes.begin(), axes.end(), rng_);
        return {sn::permute(a, axes), x.exact};
      }
    }
  }

  /// Running products of values near 1, running sums of integers.
  Entry floating_scan(const Entry& x, std::optional<std::int64_t> axis) {
    if (!real(x.tensor)) return {sn::cumsum(x.tensor, axis), x.exact};
    return {sn::cumprod(1 + sn::tanh(x.tensor) * (1.0 / (1 + static_cast<double>(x.tensor.size()))), axis), false};
  }

  /// Operations that move elements: pad, concatenate, shift, gather, sort, assign to a part.
  Entry moved(const Entry& x, const Entry& y) {
    const Tensor &a = x.tensor, &b = y.tensor;
    const std::int64_t rank = a.ndim();
    if (rank == 0 || a.size() == 0 || a.size() > 20000) return view(x);
    const auto axis = static_cast<std::int64_t>(pick(static_cast<std::size_t>(rank)));
    const std::int64_t n = a.size(static_cast<int>(axis));
    const Tensor places = (sn::arange(1 + static_cast<std::int64_t>(pick(9))) * 5 + static_cast<std::int64_t>(pick(7))) % n;
    switch (pick(20)) {
      case 16: return arranged(x, axis);
      case 17: return real(a) ? transformed(x, axis) : Entry{sn::cumsum(a, axis) % 50, x.exact};
      case 18: return real(a) && rank == 2 && a.size() < 3000 ? decomposed(x) : view(x);
      case 12: {  // gathers at gathered indices
        const Tensor again = sn::take(places, sn::arange(1 + static_cast<std::int64_t>(pick(12))) % places.size());
        return {sn::take(a, pick(2) ? again - n : again, axis), x.exact};
      }
      case 13: {  // concatenates gathered elements, or gathers from a concatenation
        const Tensor found = sn::take(a, places - (pick(2) ? n : 0), axis);
        return {pick(2) ? sn::concatenate({found, a}, axis) : sn::take(sn::concatenate({a, found}, axis), places * 2 % (n + places.size()), axis), x.exact};
      }
      case 14: {
        const Tensor joined = sn::take(sn::concatenate({places, places - n}), sn::arange(1 + static_cast<std::int64_t>(pick(12))) % (2 * places.size()));
        return {sn::take(sn::take(a, places, axis), sn::abs(joined) % places.size(), axis), x.exact};
      }
      case 15: return {sn::searchsorted(sn::arange(1 + static_cast<std::int64_t>(pick(9))) * 3 - 9, x.exact ? sn::astype(a, DType::int64) : places), true};
      case 0: return {sn::pad(a, std::vector<std::pair<std::int64_t, std::int64_t>>(static_cast<std::size_t>(rank), {pick(3), pick(3)})), x.exact};
      case 1:
        return {sn::pad(a, std::vector<std::pair<std::int64_t, std::int64_t>>(static_cast<std::size_t>(rank), {pick(2), pick(2)}), sn::PadMode::edge), x.exact};
      case 2: return {sn::concatenate({a, sn::flip(a)}, axis), x.exact};
      case 3: return a.shape() == b.shape() ? Entry{sn::stack({a, b}, axis), x.exact && y.exact} : Entry{sn::repeat(a, 2, axis), x.exact};
      case 4: return {sn::roll(a, static_cast<std::int64_t>(pick(5)) - 2, axis), x.exact};
      case 5: return {sn::take(a, places, axis), x.exact};
      case 6: return {sn::sort(a, axis), x.exact};
      case 7:
        return rank < 2 ? Entry{sn::diff(sn::astype(a, real(a) ? a.dtype() : DType::int64)), x.exact && !real(a)}
                        : Entry{pick(2) ? sn::tril(a) : sn::triu(a, 1), x.exact};
      case 8: return {sn::sum(sn::sliding_window_view(a, {std::min<std::int64_t>(n, 3)}, axis), -1), x.exact && !real(a)};
      case 9: {
        Tensor whole = a;
        whole(sn::Slice{0, {}, 2}) = sn::ones({}, a.dtype());
        return {whole, x.exact};
      }
      case 10: {
        if (!x.exact) return {sn::tile(a, {2}), false};
        Tensor whole = a;
        whole(a > 0) = sn::zeros({}, a.dtype());
        return {whole, true};
      }
      default: {
        const Tensor words = sn::random::integers(sn::random::Key(rng_()), a.shape(), 0, 5);
        return {sn::where(words > 2, a, sn::astype(words, a.dtype())), x.exact};
      }
    }
  }

  /// NumPy's functions that split, join and transpose.
  Entry arranged(const Entry& x, std::int64_t axis) {
    const Tensor& a = x.tensor;
    const std::int64_t n = a.size(static_cast<int>(axis)), at = static_cast<std::int64_t>(pick(static_cast<std::size_t>(n)));
    switch (pick(8)) {
      case 0: return {sn::append(a, sn::flip(a, axis), axis), x.exact};
      case 1: return {sn::insert(a, at, sn::ones({}, a.dtype()), axis), x.exact};
      case 2: return {sn::erase(a, at, axis), x.exact};
      case 3: return {sn::cycle_to(a, {3, 1 + static_cast<std::int64_t>(pick(50))}), x.exact};
      case 4: return {a.ndim() < 2 ? sn::atleast_3d(a) : sn::rot90(a, static_cast<std::int64_t>(pick(4))), x.exact};
      case 5: return {sn::moveaxis(a, axis, 0), x.exact};
      case 6: return {sn::array_split(a, 2, axis)[pick(2)], x.exact};
      default: return {sn::vstack({a, a}), x.exact};
    }
  }

  /// Library calls between kernels.
  Entry transformed(const Entry& x, std::int64_t axis) {
    const Tensor a = sn::nan_to_num(sn::tanh(x.tensor));
    const std::int64_t n = a.size(static_cast<int>(axis));
    switch (pick(3)) {
      case 0: return {sn::fft::fft(a, {}, axis).re / static_cast<double>(n), false};
      case 1: return {sn::fft::rfft(a, {}, axis).im / static_cast<double>(n), false};
      default: return {sn::fft::irfft(sn::fft::rfft(a, {}, axis), n, axis), false};
    }
  }
  Entry decomposed(const Entry& x) {
    const Tensor a = sn::nan_to_num(sn::tanh(x.tensor));
    const std::int64_t n = a.shape()[0];
    const Tensor square = sn::matmul(a, a.T()) / static_cast<double>(a.size()) + 2 * sn::eye(n, {}, 0, a.dtype());
    switch (pick(6)) {
      case 0: return {sn::solve(square, a), false};
      case 1: return {sn::inv(square), false};
      case 2: return {sn::cholesky(square), false};
      case 3: return {sn::eigvalsh(square), false};
      case 4: return {sn::svdvals(a) / static_cast<double>(a.size()), false};
      default: return {sn::slogdet(square).logabsdet / static_cast<double>(n), false};
    }
  }

  /// Calls a function of the table. Its inexact operands are between 0.55 and 0.95 (the second operand between 1.55 and 1.95), where every function is
  /// continuous. Its result is scaled to values between -1 and 1 without NaN.
  Entry of_table(const Entry& x, const Entry& y) {
    const auto& list = elementwise();
    const sn::table::Function& function = *list[pick(list.size())];
    const auto tame = [](const Entry& e, double shift) { return e.exact ? e.tensor : 0.75 + shift + 0.2 * sn::tanh(e.tensor); };
    std::vector<Tensor> operands{tame(x, 0)};
    const bool two = function.parameters == "x1 x2";
    if (two) operands.push_back(tame(y, 1));
    const auto results = called(function, operands);
    if (results.empty()) return x;
    ++drawn()[std::string(function.name)];
    const Tensor& result = results[pick(results.size())];
    if (real(result)) return {sn::tanh(sn::nan_to_num(result)), false};
    return {result, x.exact && (!two || y.exact)};
  }

  Entry reduced(const Entry& x) {
    const Tensor& a = x.tensor;
    sn::Axes axes{};
    std::optional<std::int64_t> one;
    if (a.ndim() > 0 && pick(4)) axes = *(one = static_cast<std::int64_t>(pick(static_cast<std::size_t>(a.ndim()))));
    const bool keep = pick(2), empty = a.size() == 0;
    switch (pick(11)) {
      case 8: return floating_scan(x, one);
      case 9: return real(a) ? Entry{sn::norm(a, {}, axes, keep), false} : Entry{sn::count_nonzero(a, axes, keep), x.exact};
      case 10: return real(a) || empty ? Entry{sn::nansum(a, axes, keep), false} : Entry{sn::ptp(sn::astype(a, DType::int32), axes, keep), x.exact};
      case 5: return empty || !x.exact ? Entry{sn::sum(a, axes, keep), false} : Entry{pick(2) ? sn::argmax(a, one, keep) : sn::argmin(a, one, keep), true};
      case 6: return real(a) ? Entry{sn::logsumexp(sn::minimum(a, 50), axes, keep), false} : Entry{sn::sum(a, axes, keep), x.exact};
      case 7:
        return real(a) ? Entry{sn::cumsum(a, one) / static_cast<double>(std::max<std::int64_t>(a.size(), 1)), false}
                       : Entry{pick(2) ? sn::cummax(a, one) : sn::cummin(a, one), x.exact};
      case 0: return empty ? Entry{sn::sum(a, axes, keep), x.exact} : Entry{sn::max(a, axes, keep), x.exact};
      case 1: return empty ? Entry{sn::prod(a, axes, keep), x.exact} : Entry{sn::min(a, axes, keep), x.exact};
      case 2: return x.exact ? Entry{pick(2) ? sn::any(a > 0, axes, keep) : sn::all(a > -5, axes, keep), true} : Entry{sn::abs(a), false};
      case 3: return real(a) && !empty ? Entry{sn::var(a, axes, keep), false} : Entry{sn::sum(a, axes, keep), x.exact && !real(a)};
      default: return real(a) && !empty ? Entry{sn::mean(a, axes, keep), false} : Entry{sn::sum(a, axes, keep), x.exact && !real(a)};
    }
  }

  Entry step(std::size_t kinds) {
    const Entry a = same_type(any());
    const Entry second = same_type(any());
    const Entry& b = fits(a.tensor, second.tensor) ? second : a;
    const Tensor &x = a.tensor, &y = b.tensor;
    const bool floating = real(x), boolean = sn::is_bool(x.dtype()), both = a.exact && b.exact;
    const bool exact = both && !floating;  // arithmetic rounds
    switch (pick(kinds)) {
      case 0: return {x + y, exact};
      case 1: return boolean ? Entry{x ^ y, both} : Entry{x - y, exact};
      case 2: return boolean ? Entry{x & y, both} : floating ? Entry{sn::tanh(x) * y, false} : Entry{(x * y) % 100, exact};
      case 3: return {sn::maximum(x, y), both};
      case 4: return boolean ? Entry{x | y, both} : Entry{x * 3 - 1, exact};
      case 5: return {floating ? sn::minimum(sn::abs(x), 2) : sn::abs(x), both && a.exact};
      case 6: return both ? Entry{sn::where(x < y, x, y), true} : Entry{sn::minimum(x, y), false};
      case 7:
      case 8:
      case 9: return view(a);
      case 10:
      case 11: return reduced(a);
      case 12: return floating ? Entry{sn::exp(sn::minimum(x, 1)) + y, false} : boolean ? Entry{!x, a.exact} : Entry{x & 0x3f, a.exact};
      case 13: return floating ? Entry{sn::sqrt(sn::abs(x) + 0.5) - y, false} : Entry{x == y, both};
      case 14:
        return floating && x.ndim() > 0 && x.size() > 0 ? Entry{sn::softmax(x, static_cast<std::int64_t>(pick(static_cast<std::size_t>(x.ndim())))), false}
                                                        : Entry{x * y, exact};
      case 15: return floating ? Entry{x / (sn::square(y) + 1.0), false} : Entry{sn::floor_divide(boolean ? x.astype(DType::int32) : x, 3), a.exact};
      case 18:
      case 19:
      case 20:
      case 21: return of_table(a, b);
      case 22:
      case 23: return moved(a, b);
      case 16: {
        if (x.ndim() != 2 || boolean || x.size() > 5000) return {sn::contiguous(x.T()), a.exact};
        const Tensor product = sn::matmul(x, x.T());
        return floating ? Entry{sn::tanh(product), false} : Entry{product % 100, exact};
      }
      default: return {sn::arange(x.size()).reshape(x.shape()) % 5, true};
    }
  }

  void steps(std::size_t count, std::size_t kinds) {
    for (std::size_t k = 0; k < count; ++k) {
      Entry result = step(kinds);
      // Values stay small, so that differences stay comparable.
      if (real(result.tensor) && pick(3) == 0) result = {sn::tanh(result.tensor), false};
      pool_.push_back(result);
    }
  }

  /// A long loop over two coupled values without an evaluation.
  void loop() {
    Entry a = pool_[0], b = pool_[1];
    if (sn::is_bool(dtype_)) a = {a.tensor.astype(DType::int32), true}, b = {b.tensor.astype(DType::int32), true};
    const bool floating = sn::is_floating(dtype_);
    for (std::size_t k = 50 + pick(500); k-- > 0;) {
      const Tensor next = floating ? a.tensor * 0.5 + b.tensor : (a.tensor * 3 + b.tensor) % 100;
      b = {floating ? sn::minimum(b.tensor, a.tensor) * 0.75 : b.tensor - (a.tensor & 3), !floating};
      a = {next, !floating};
    }
    pool_.push_back(a);
    pool_.push_back(b);
    steps(pick(6), 24);
  }

  /// Returns the last value and some others, including views of requested values and operations on such views.
  std::vector<Tensor> wanted() {
    std::vector<Entry> list{pool_.back()};
    for (std::size_t k = pick(4); k-- > 0;) list.push_back(any());
    for (std::size_t k = pick(4); k-- > 0;) {
      Entry seen = view(list[pick(list.size())]);
      if (pick(3) == 0) seen = view(seen);
      if (pick(4) == 0) seen = {seen.tensor + seen.tensor, seen.exact};
      if (pick(5) == 0) seen = reduced(seen);
      list.push_back(seen);
    }
    std::shuffle(list.begin(), list.end(), rng_);
    std::vector<Tensor> tensors;
    for (const Entry& entry : list) tensors.push_back(entry.tensor);
    return tensors;
  }

  std::mt19937 rng_;
  DType dtype_;
  Shape base_;
  std::vector<Entry> pool_;
};

struct Result {
  DType dtype;
  Shape shape;
  std::vector<double> values;
};

std::vector<Result> run(std::uint32_t seed, DType dtype, const sn::Options& options) {
  sn::configure(options);
  const auto outputs = Program(seed, dtype).record();
  // Evaluates all values at once, or a few before the others.
  const auto first = static_cast<long>(seed % 3 == 0 ? outputs.size() / 2 : outputs.size());
  sn::eval(std::vector<Tensor>(outputs.begin(), outputs.begin() + first));
  sn::eval(outputs);
  std::vector<Result> all;
  for (const auto& t : outputs) all.push_back({t.dtype(), t.shape(), sinter::testing::values(t)});
  return all;
}

/// Returns a description of the difference, or an empty text. Sums of many float32 values depend on their order.
std::string difference(const std::vector<Result>& got, const std::vector<Result>& want) {
  for (std::size_t o = 0; o < want.size(); ++o) {
    if (got[o].shape != want[o].shape || got[o].dtype != want[o].dtype) return "result " + std::to_string(o) + " has another shape or type";
    const double slack = want[o].dtype == DType::float64 ? 1e-9 : want[o].dtype == DType::float32 ? 2e-3 : 0;
    for (std::size_t i = 0; i < want[o].values.size(); ++i) {
      const double g = got[o].values[i], w = want[o].values[i];
      if ((std::isnan(w) && std::isnan(g)) || g == w || std::abs(g - w) <= slack * (1 + std::abs(w))) continue;
      return "result " + std::to_string(o) + " of shape " + sn::to_string(want[o].shape) + " is " + std::to_string(g) + " at " + std::to_string(i) + ", not " +
             std::to_string(w);
    }
  }
  return {};
}

}  // namespace

TEST_CASE("random programs give the same results on all executors and without fusion") {
  const sn::Options mine = sn::options();
  const bool on_gpu = sinter::testing::on_gpu();  // asked before the reference executor is configured
  sn::Options oracle = mine, unfused = mine;
  oracle.device = "cpu";
  oracle.backend = "interpreter";
  oracle.fuse = false;
  unfused.fuse = false;
  sn::Options twin = mine;  // the CPU's other executor
  twin.backend = mine.backend == "llvm" ? "interpreter" : "llvm";
  const bool fixed = std::getenv("SINTER_TEST_SEED");
  const char* rounds = std::getenv("SINTER_FUZZ_ROUNDS");
  const std::uint32_t first = sinter::testing::test_seed();
  const int count = fixed ? 1 : rounds ? std::atoi(rounds) : on_gpu && mine.backend == "llvm" ? 1 : 25;
  const std::uint64_t compiled = sn::counters().kernels_launched, interpreted = sn::counters().fallbacks;
  sn::eval(sn::ones({3}) + sn::arange(3));
  const bool has_compiler = sn::counters().fallbacks == interpreted;
  for (const auto& [k, type] : sinter::testing::sampled(sinter::testing::integers(0, count - 1), sinter::testing::integers(0, sn::kDTypeCount - 1))) {
    const std::uint32_t seed = first + static_cast<std::uint32_t>(k);
    const auto dtype = static_cast<DType>(type);
    INFO("SINTER_TEST_SEED=" << seed << " dtype " << std::string(sn::name(dtype)));
    const auto got = run(seed, dtype, mine);
    if (!sn::is_storage_only(dtype)) {
      const auto want = run(seed, dtype, oracle);
      REQUIRE(difference(got, want) == "");
      // The unfused run compiles one kernel per op: every fourth program.
      if (k % 4 == 0) REQUIRE(difference(run(seed, dtype, unfused), want) == "");
    }
    if (!on_gpu) {
      // A second run: a held value that was computed twice is stored from then on, so the first run may be fused otherwise than the next ones.
      const auto again = run(seed, dtype, mine), same_bits = run(seed, dtype, twin);
      REQUIRE(same_bits.size() == again.size());
      for (std::size_t o = 0; o < again.size(); ++o)
        for (std::size_t i = 0; i < again[o].values.size(); ++i) {
          const double x = again[o].values[i], y = same_bits[o].values[i];
          const bool equal = std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
          if (!equal) {
            INFO("output ", o, " element ", i, ": ", x, " on ", mine.backend, ", ", y, " on ", twin.backend);
            REQUIRE(equal);
          }
        }
    }
    sn::configure(mine);
    if (has_compiler) REQUIRE(sn::counters().fallbacks == interpreted);
  }
  CHECK(sn::counters().kernels_launched > compiled);
  MESSAGE(drawn().size() << " of the table's " << elementwise().size() << " elementwise functions were drawn");
  CHECK(elementwise().size() > 110);
  if (count >= 25 && !sinter::testing::is_sample()) CHECK(drawn().size() * 10 > elementwise().size() * 9);
}
