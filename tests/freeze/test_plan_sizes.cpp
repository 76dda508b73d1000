// Loaded plans of formulas that branch on their sizes. At every tried size a loaded function gives the formula's result, or refuses with ShapeError.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <string>

#include "draws.hpp"
#include "program.hpp"
#include "sinter/freeze.hpp"

using namespace sinter;
using testing::pick;

namespace {

using List = std::vector<Tensor>;
using Sizes = std::vector<std::int64_t>;

Tensor counted(const Shape& shape) {
  std::vector<std::int64_t> list(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t k = 0; k < list.size(); ++k) list[k] = static_cast<std::int64_t>(k * 7 % 17) - 3;
  return from_span(list, shape);
}

Function saved_and_loaded(const Function& function) {
  const auto path = std::filesystem::temp_directory_path() / ("sinter_plan_sizes_" + std::to_string(::getpid()) + ".plan");
  function.save(path.string());
  Function loaded = Function::load(path.string());
  std::filesystem::remove(path);  // the deleted file stays mapped
  return loaded;
}

bool equal(const List& a, const List& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.dtype() == y.dtype() && x.shape() == y.shape() &&
           x.astype(DType::int64).to_vector<std::int64_t>() == y.astype(DType::int64).to_vector<std::int64_t>();
  });
}

enum class Answer { served, refused, wrong };

/// Compares the loaded function's result with the formula's.
Answer ask(const Function& loaded, const Function::Formula& formula, const List& in) {
  List got;
  try {
    got = loaded(in);
  } catch (const ShapeError&) {
    return Answer::refused;
  }
  try {
    return equal(got, formula(in)) ? Answer::served : Answer::wrong;
  } catch (const Error&) {  // the formula refuses sizes that the plan serves
    return Answer::wrong;
  }
}

// --- random formulas

/// A number that is computed from the sizes of the named axes.
struct Number {
  int kind;
  std::size_t a, b, c;
  std::int64_t by;
  std::int64_t at(const Sizes& sizes) const {
    const std::int64_t x = sizes[a], y = sizes[b], z = sizes[c];
    switch (kind) {
      case 0: return x;
      case 1: return x + y;
      case 2: return x * y;
      case 3: return x - y;
      case 4: return x * y + z;
      case 5: return x + y + z;
      case 6: return x * y * z;
      case 7: return x / std::max<std::int64_t>(y, 1);
      case 8: return x * y / by;
      case 9: return std::min(x, y);
      case 10: return std::max(x, y);
      case 11: return std::abs(x - y);
      case 12: return by * x - y;
      default: return x % std::max<std::int64_t>(y, 1);
    }
  }
  std::string text() const {
    const char* forms[] = {"a",     "a + b",     "a * b",     "a - b",     "a * b + c",  "a + b + c", "a * b * c",
                           "a / b", "a * b / k", "min(a, b)", "max(a, b)", "abs(a - b)", "k * a - b", "a % b"};
    return std::string(forms[std::min(kind, 13)]) + " of names " + std::to_string(a) + ", " + std::to_string(b) + ", " + std::to_string(c) +
           ", k = " + std::to_string(by);
  }
};

struct Decision {
  Number number;
  enum Kind { above, below, between, rest, meet } kind;
  std::int64_t from, to, by;
  int effect;
  bool at(const Sizes& sizes) const {
    const std::int64_t value = number.at(sizes);
    switch (kind) {
      case above: return value > from;
      case below: return value < from;
      case between: return from <= value && value <= to;
      case rest: return (value % by + by) % by == from % by;
      case meet: return sizes[number.a] == sizes[number.b];
    }
    return false;
  }
  std::string text() const {
    const std::string ends = std::to_string(from);
    switch (kind) {
      case above: return number.text() + " > " + ends;
      case below: return number.text() + " < " + ends;
      case between: return number.text() + " from " + ends + " to " + std::to_string(to);
      case rest: return number.text() + " % " + std::to_string(by) + " == " + std::to_string(from % by);
      case meet: return "names " + std::to_string(number.a) + " and " + std::to_string(number.b) + " are equal";
    }
    return {};
  }
};

Tensor decided(const Tensor& x, const Decision& decision, const Sizes& sizes) {
  const bool yes = decision.at(sizes);
  switch (decision.effect) {
    case 0: return yes ? x * 2 : x + 1;
    case 1: return x * (yes ? 2 : 3);  // only the literal differs
    case 2: return yes ? flip(x, {0}) : x;
    case 3: return yes ? concatenate({x, x + 1}, 0) : x;
    case 4: return yes ? x + sum(x, {0}, true) : x;
    case 5: return yes ? x - 1 : 1 - x;
    case 6: return x + (yes ? sizes[decision.number.a] : sizes[decision.number.b]);
    case 7: return yes ? x(Slice{0, x.size(0), 2}) : x * 2;  // halves are rounded, so sizes are served in steps
    default:
      if (yes) throw ValueError("the formula does not take these sizes");
      return x;
  }
}

struct RandomFormula {
  std::size_t names;
  std::vector<std::vector<int>> inputs;  // each axis: a name, or -1 for 3 elements
  std::vector<Decision> decisions;
  std::vector<Sizes> planned;

  List operator()(const List& in) const {
    Sizes sizes(names);
    for (std::size_t k = 0; k < in.size(); ++k)
      for (std::size_t axis = 0; axis < inputs[k].size(); ++axis)
        if (inputs[k][axis] >= 0) sizes[static_cast<std::size_t>(inputs[k][axis])] = in[k].size(static_cast<int>(axis));
    List results = in;
    for (Tensor& x : results) x = x + 5;
    for (std::size_t k = 0; k < decisions.size(); ++k) results[k % results.size()] = decided(results[k % results.size()], decisions[k], sizes);
    return results;
  }
  List given(const Sizes& sizes) const {
    List in;
    for (const auto& axes : inputs) {
      Shape shape;
      for (const int name : axes) shape.push_back(name < 0 ? 3 : sizes[static_cast<std::size_t>(name)]);
      in.push_back(counted(shape));
    }
    return in;
  }
  Function frozen() const {
    std::vector<InputSpec> specs;
    const auto name = [](std::size_t k) { return std::string(1, static_cast<char>('a' + k)); };
    for (const auto& axes : inputs) {
      InputSpec& spec = specs.emplace_back();
      spec.dtype = DType::int64;
      for (const int axis : axes)
        spec.shape.push_back(axis < 0 ? AxisSize(3) : AxisSize(name(static_cast<std::size_t>(axis)), planned[0][static_cast<std::size_t>(axis)]));
    }
    const Function made = freeze(Function::Formula(*this), specs);
    for (const Sizes& sizes : planned) {
      std::map<std::string, std::int64_t> by_name;
      for (std::size_t k = 0; k < names; ++k) by_name[name(k)] = sizes[k];
      made.prepare(by_name);
    }
    return made;
  }
  std::string text() const {
    std::string text;
    for (const Decision& decision : decisions) text += "  " + decision.text() + " (effect " + std::to_string(decision.effect) + ")\n";
    for (const Sizes& sizes : planned) text += "  planned at " + to_string(sizes) + "\n";
    return text;
  }
};

std::int64_t any_size(std::int64_t min_size, std::int64_t max_size) {  // small sizes are as frequent as large ones
  const double low = std::log(static_cast<double>(min_size)), high = std::log(static_cast<double>(max_size) + 1);
  return std::clamp(static_cast<std::int64_t>(std::exp(std::uniform_real_distribution<double>(low, high)(testing::numbers()))), min_size, max_size);
}
Sizes any_sizes(std::size_t names, std::int64_t max_size) {
  Sizes sizes(names);
  for (auto& size : sizes) size = any_size(2, max_size);
  return sizes;
}

RandomFormula random_formula() {
  RandomFormula made;
  made.names = static_cast<std::size_t>(pick(1, 10) <= 7 ? 2 : 3);
  const std::vector<std::vector<std::vector<int>>> two{{{0, 1}}, {{0, 1}, {1}}, {{0}, {1}}, {{1, -1, 0}}, {{0, 1}, {1, 0}}};
  const std::vector<std::vector<std::vector<int>>> three{{{0, 1, 2}}, {{0, 1}, {1, 2}}, {{0}, {1}, {2}}, {{2, 0}, {-1, 1}}};
  const auto& shapes = made.names == 2 ? two : three;
  made.inputs = shapes[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(shapes.size()) - 1))];
  const auto max_planned = [&] { return made.names == 2 ? 150 : 40; };
  for (std::int64_t count = pick(1, 3); count > 0; --count) made.planned.push_back(any_sizes(made.names, max_planned()));
  if (pick(1, 12) == 1) made.planned.back().back() = pick(0, 1);
  for (std::int64_t count = pick(1, 3); count > 0; --count) {
    Decision decision{};
    std::vector<std::size_t> order(made.names);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), testing::numbers());
    decision.number = {static_cast<int>(pick(0, 13)), order[0], order[1], order.back(), pick(2, 7)};
    const std::int64_t kind = pick(0, 19);
    decision.kind = kind < 8 ? Decision::above : kind < 14 ? Decision::below : kind < 16 ? Decision::between : kind < 19 ? Decision::rest : Decision::meet;
    decision.by = pick(2, 12);
    decision.from = decision.number.at(any_sizes(made.names, made.names == 2 ? 200 : 50));
    decision.to = 2 * std::abs(decision.from) + 8;
    decision.effect = static_cast<int>(pick(0, 8));
    made.decisions.push_back(decision);
  }
  return made;
}

/// Returns sizes to try: the corners of a plan's ranges, both sides of each branch, equal sizes, and random ones.
std::vector<Sizes> sizes_to_ask(const RandomFormula& formula) {
  std::vector<Sizes> all = formula.planned;
  const std::size_t names = formula.names;
  const auto with = [&](Sizes sizes, std::size_t name, std::int64_t size) {
    sizes[name] = size;
    return sizes;
  };
  const auto name = [&] { return static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(names) - 1)); };
  for (const std::int64_t low : {2, 3, 5}) {
    all.emplace_back(names, low);
    all.push_back(with(Sizes(names, 2), name(), low));
  }
  for (const std::int64_t few : {0, 1}) all.push_back(with(formula.planned[0], name(), few));
  for (const Sizes& sizes : formula.planned)
    for (const std::int64_t more : {-1, 1}) all.push_back(with(sizes, 0, std::max<std::int64_t>(sizes[0] + more, 2)));
  all.push_back(with(Sizes(names, 2), name(), pick(60000, 65536)));
  all.emplace_back(names, any_size(2, 100));
  for (int k = 0; k < 6; ++k) all.push_back(any_sizes(names, names == 2 ? 250 : 60));
  for (const Decision& decision : formula.decisions)
    for (int tries = 0; tries < 4; ++tries) {  // finds the threshold of the branch between two sizes
      Sizes here = any_sizes(names, names == 2 ? 250 : 60), there = tries % 2 ? formula.planned[0] : any_sizes(names, names == 2 ? 250 : 60);
      if (decision.at(here) == decision.at(there)) continue;
      for (bool nearer = true; nearer;) {
        Sizes middle = here;
        for (std::size_t k = 0; k < names; ++k) middle[k] = here[k] + (there[k] - here[k]) / 2;
        nearer = middle != here && middle != there;
        if (nearer) (decision.at(middle) == decision.at(here) ? here : there) = middle;
      }
      all.push_back(here);
      all.push_back(there);
      for (std::size_t k = 0; k < names; ++k)
        for (const std::int64_t more : {-1, 1}) all.push_back(with(here, k, std::max<std::int64_t>(here[k] + more, 2)));
    }
  return all;
}

struct Counts {
  long formulas = 0, unsaved = 0, asked = 0, served = 0, refused = 0, wrong = 0, planned_refused = 0;
};

void try_formula(Counts& counts) {
  const RandomFormula formula = random_formula();
  Function loaded;
  try {
    loaded = saved_and_loaded(formula.frozen());
  } catch (const ValueError&) {  // it refuses even the sizes for which it was planned
    ++counts.unsaved;
    return;
  }
  ++counts.formulas;
  const auto asked = sizes_to_ask(formula);
  for (std::size_t k = 0; k < asked.size(); ++k) {
    const List in = formula.given(asked[k]);
    const Answer answer = ask(loaded, formula, in);
    ++counts.asked;
    ++(answer == Answer::served ? counts.served : answer == Answer::refused ? counts.refused : counts.wrong);
    const bool lost = answer == Answer::refused && k < formula.planned.size();
    counts.planned_refused += lost;
    if (!(lost || answer == Answer::wrong) || counts.wrong + counts.planned_refused > 20) continue;
    std::string serves;
    for (const std::string& one : loaded.serves()) serves += "  serves " + one + "\n";
    FAIL_CHECK((lost ? "refused, though prepared, at " : "wrong at ") << to_string(asked[k]) << ":\n" << formula.text() << serves);
  }
}

}  // namespace

TEST_CASE("random formulas that branch on sums, products, quotients and remainders of sizes: a loaded plan is right or refuses") {
  const char* asked = std::getenv("SINTER_TEST_FORMULAS");
  const long formulas = asked ? std::atol(asked) : 60;
  Counts counts;
  for (long k = 0; k < formulas; ++k) try_formula(counts);
  MESSAGE(counts.formulas, " formulas (", counts.unsaved, " more refuse the sizes that they are planned for), ", counts.asked, " sizes asked: ", counts.served,
          " served, ", counts.refused, " refused, ", counts.wrong, " wrong; ", counts.planned_refused, " of the sizes that were prepared refused");
  CHECK(counts.wrong == 0);
  CHECK(counts.planned_refused == 0);
  CHECK(counts.served > counts.asked / 8);  // refusing all sizes is an error, too
}

namespace {

InputSpec two_names(std::int64_t a, std::int64_t b) { return {DType::int64, {{"a", a}, {"b", b}}}; }

struct Asked {
  int served = 0, refused = 0, wrong = 0;
};

Asked ask_all(const Function& loaded, const Function::Formula& formula, std::int64_t first, std::int64_t last) {
  Asked counts;
  for (std::int64_t a = first; a <= last; ++a)
    for (std::int64_t b = first; b <= last; ++b) {
      const Answer answer = ask(loaded, formula, {counted({a, b})});
      ++(answer == Answer::served ? counts.served : answer == Answer::refused ? counts.refused : counts.wrong);
    }
  return counts;
}

}  // namespace

TEST_CASE("a formula that branches on the product of two sizes: the plan's range ends at the threshold") {
  const auto formula = [](const List& in) { return List{in[0].size(0) * in[0].size(1) > 10 ? in[0] * 2 : in[0] + 1}; };
  for (const auto& [a, b] : {std::pair<std::int64_t, std::int64_t>{40, 128}, {128, 40}, {2, 7}, {2, 3}}) {
    const Function loaded = saved_and_loaded(freeze(Function::Formula(formula), {two_names(a, b)}));
    INFO("planned at ", a, " x ", b, ", serves ", loaded.serves()[0]);
    const Asked counts = ask_all(loaded, formula, 2, 20);
    CHECK(counts.wrong == 0);
    CHECK(counts.served >= (a * b > 10 ? 15 * 19 : 1));
    CHECK(ask(loaded, formula, {counted({a, b})}) == Answer::served);
  }
}

TEST_CASE("prepared sizes are in the file if no other plan in it serves them") {
  const auto formula = [](const List& in) { return List{in[0].size(0) * in[0].size(1) % 5 == 3 ? in[0] * 2 : in[0] * 3}; };
  const Function made = freeze(Function::Formula(formula), {two_names(40, 128)});
  for (const auto& [a, b] : {std::pair<std::int64_t, std::int64_t>{2, 2}, {9, 7}, {90, 81}}) made.prepare({{"a", a}, {"b", b}});
  CHECK(made.plans() < 4);  // some sizes share a plan
  const Function loaded = saved_and_loaded(made);
  for (const auto& [a, b] : {std::pair<std::int64_t, std::int64_t>{40, 128}, {2, 2}, {9, 7}, {90, 81}})
    CHECK(ask(loaded, formula, {counted({a, b})}) == Answer::served);
  CHECK(ask_all(loaded, formula, 2, 40).wrong == 0);
}

TEST_CASE("equal sizes of two axes are served if the recording does not change, and refused if the formula branches on them") {
  const auto decides = [](const List& in) { return List{in[0].size(0) == in[0].size(1) ? in[0] * 2 : in[0] + 1}; };
  const auto literal = [](const List& in) { return List{in[0] * (in[0].size(0) == in[0].size(1) ? 2 : 3)}; };
  // At equal sizes, two literals become one, and two size symbols become one.
  const auto harmless = [](const List& in) { return List{(in[0] + in[0].size(0)) * (in[0] + in[0].size(1)), sum(in[0], {0}), sum(in[0], {1})}; };
  for (const Function::Formula& formula : {Function::Formula(decides), Function::Formula(literal), Function::Formula(harmless)}) {
    const Function loaded = saved_and_loaded(freeze(formula, {two_names(12, 31)}));
    const Asked counts = ask_all(loaded, formula, 2, 40);
    CHECK(counts.wrong == 0);
    CHECK(counts.served >= 39 * 38);
    CHECK((ask(loaded, formula, {counted({9, 9})}) == Answer::served) == (counts.refused == 0));
  }
  CHECK(ask(saved_and_loaded(freeze(Function::Formula(harmless), {two_names(12, 31)})), harmless, {counted({9, 9})}) == Answer::served);
}

TEST_CASE("serves() gives the first and the last valid size of each named axis") {
  const auto formula = [](const List& in) {
    const std::int64_t a = in[0].size(0), b = in[0].size(1);
    return List{a + b > 19 && a < 500 ? in[0] * 2 : in[0] + 1, b % 2 == 0 ? flip(in[0], {0}) : in[0]};
  };
  for (const auto& [a, b] : {std::pair<std::int64_t, std::int64_t>{40, 128}, {7, 9}, {600, 30}, {1, 30}, {0, 8}}) {
    const Function loaded = saved_and_loaded(freeze(Function::Formula(formula), {two_names(a, b)}));
    const std::string serves = loaded.serves().back();
    long first[2], last[2], step[2] = {1, 1};
    std::size_t at = 0;
    for (int k = 0; k < 2; ++k) {  // "a 2 to 30, b = 4"; "b 2 to 64 by 2"
      const std::string text = serves.substr(at, serves.find(", ", at) - at);
      INFO(serves);
      if (std::sscanf(text.c_str() + 1, " = %ld", &first[k]) == 1) last[k] = first[k];
      else REQUIRE(std::sscanf(text.c_str() + 1, " %ld to %ld by %ld", &first[k], &last[k], &step[k]) >= 2);
      at += text.size() + 2;
    }
    const auto answer = [&](std::int64_t rows, std::int64_t columns) { return ask(loaded, formula, {counted({rows, columns})}); };
    INFO("planned at ", a, " x ", b, ": ", serves);
    for (const long rows : {first[0], last[0]})
      for (const long columns : {first[1], last[1]}) {
        if (rows * columns > 1 << 22) continue;
        CHECK(answer(rows, columns) == Answer::served);
      }
    if (first[0] >= step[0]) CHECK(answer(first[0] - step[0], b) == Answer::refused);
    if (first[1] >= step[1]) CHECK(answer(a, first[1] - step[1]) == Answer::refused);
    CHECK(answer(last[0] + step[0], b) == Answer::refused);
    CHECK(answer(a, last[1] + step[1]) == Answer::refused);
  }
}

TEST_CASE("a formula that branches at round numbers far from the planned sizes, and one that throws") {
  const auto blocks = [](const List& in) { return List{in[0].size(1) % 128 == 0 ? in[0] * 2 : in[0] + 1}; };
  const auto throws = [](const List& in) {
    if (in[0].size(0) + in[0].size(1) > 90) throw ValueError("too large");
    return List{in[0] * 2};
  };
  const Function by_blocks = saved_and_loaded(freeze(Function::Formula(blocks), {two_names(40, 41)})),
                 throwing = saved_and_loaded(freeze(Function::Formula(throws), {two_names(40, 41)}));
  for (const std::int64_t columns : {64, 100, 127, 128, 256, 512, 1024, 4096}) CHECK(ask(by_blocks, blocks, {counted({3, columns})}) != Answer::wrong);
  CHECK(ask(by_blocks, blocks, {counted({3, 127})}) == Answer::served);
  const Asked counts = ask_all(throwing, throws, 30, 60);
  CHECK(counts.wrong == 0);
  CHECK(counts.served > 0);
}

TEST_CASE("saving records the formula a bounded number of times") {
  int recorded = 0;
  const auto formula = [&](const List& in) {
    ++recorded;
    Tensor x = in[0];
    for (int k = 0; k < 100; ++k) x = x * 3 + in[0];
    return List{x};
  };
  const Function made = freeze(Function::Formula(formula), {two_names(40, 128)});
  recorded = 0;
  (void)saved_and_loaded(made);
  MESSAGE(recorded, " recordings");
  CHECK(recorded < 2500);
}
