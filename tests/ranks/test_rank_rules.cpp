// Every primitive and every library call with sharded operands: 1, 2, 4 and 8 ranks give the same bits, which are close to the result without shards. If an
// operation does not support a sharding, the error names the operands, the line and the call that helps. The columns of the tables say how to test a new row.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <sinter/random.hpp>
#include <sinter/ranks.hpp>
#include <string>
#include <vector>

#include "bytes_of.hpp"
#include "draws.hpp"
#include "program.hpp"
#include "trace/build.hpp"
#include "trace/library.hpp"

namespace ranks = sinter::ranks;
namespace trace = sinter::trace;
using namespace sinter::testing;
using trace::Op;

namespace {

using Names = std::vector<std::string>;
using Put = std::function<Tensor(const Tensor&, const Names&)>;
/// Records an operation with one sharding of its operands.
using Row = std::function<Tensor(const Put&)>;

trace::Site here() { return {"row", sn::Location::current()}; }

/// Returns evaluated random operands: floats from 0.1 to 0.9, integers from 1 to 6, or bools.
Tensor numbers(const Shape& shape, DType dtype = DType::float32) {
  static std::uint64_t key = 0;
  const Tensor uniform = sn::random::uniform(sn::random::Key(++key), shape);
  Tensor made = dtype == DType::bool_ ? uniform > 0.5f : sn::is_integer(dtype) ? (1 + uniform * 5.99f).astype(dtype) : (0.1f + 0.8f * uniform).astype(dtype);
  sn::eval(made);
  return made;
}

trace::Operands operands_of(const std::vector<Tensor>& all) {
  const auto node = [&](std::size_t k) { return trace::RecordedPtr(all[k].node()); };
  switch (all.size()) {
    case 1: return trace::Operands(node(0));
    case 2: return trace::Operands(node(0), node(1));
    case 3: return trace::Operands(node(0), node(1), node(2));
    default: return trace::Operands(node(0), node(1), node(2), node(3));
  }
}

struct Rows {
  std::map<std::string, std::vector<Row>> carried, refused;  // by the op's name
  std::set<std::string> made_by_passes;                      // passes record these in the parts of one place, so their operands are never sharded

  void elementwise(Op op, const std::string& name, std::size_t arity, const std::string& accepts) {
    std::vector<DType> dtypes;
    if (accepts.find('F') != std::string::npos) dtypes = {DType::float32, DType::float64};
    if (accepts.find('I') != std::string::npos) dtypes.push_back(op == Op::philox ? DType::uint32 : DType::int32);
    if (accepts == "I|B") dtypes.push_back(DType::bool_);
    for (const DType dtype : dtypes) {
      std::vector<Tensor> whole;
      for (std::size_t k = 0; k < arity; ++k) whole.push_back(numbers({21, 3}, op == Op::where && k == 0 ? DType::bool_ : dtype));
      const auto row = [=](const std::vector<Names>& names) {
        return [=](const Put& put) {
          std::vector<Tensor> operands;
          for (std::size_t k = 0; k < arity; ++k) operands.push_back(names[k].empty() ? whole[k] : put(whole[k], names[k]));
          if (op == Op::cast) return Tensor(trace::make_cast(here(), operands[0].node(), dtype == DType::int32 ? DType::float64 : DType::int32));
          return Tensor(trace::make_elementwise(here(), op, operands_of(operands)));
        };
      };
      const Names rows{"data", ""}, columns{"", "data"}, other{"model", ""};
      carried[name].push_back(row(std::vector<Names>(arity, rows)));
      carried[name].push_back(row(std::vector<Names>(arity, columns)));
      for (std::size_t k = 0; k < arity && arity > 1; ++k) {
        std::vector<Names> one(arity);
        one[k] = rows;
        carried[name].push_back(row(one));
        one[(k + 1) % arity] = other;
        refused[name].push_back(row(one));
      }
    }
  }

  void reduction(Op op, const std::string& name) {
    const Tensor x = numbers({21, 5, 2}), n = numbers({21, 5, 2}, DType::int64);
    for (const Tensor& whole : {x, n})
      for (const Names& names : {Names{"data", "", ""}, {"", "data", ""}})
        for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{0}, {1}, {0, 1, 2}})
          carried[name].push_back([=](const Put& put) { return Tensor(trace::make_reduction(here(), op, put(whole, names).node(), axes)); });
  }

  void structural(const std::string& name) {
    const Tensor x = numbers({24, 6}), places = sn::floor(numbers({10, 6}) * 9).astype(DType::int64);
    sn::eval(places);
    const Names rows{"data", ""}, columns{"", "data"};
    const auto both = [&](const std::function<Tensor(const Tensor&)>& op) {
      for (const Names& names : {rows, columns}) carried[name].push_back([=](const Put& put) { return op(put(x, names)); });
    };
    const auto refuses = [&](const Row& row) { refused[name].push_back(row); };
    if (name == "data") both([](const Tensor& t) { return t; });
    else if (name == "constant") carried[name].push_back([=](const Put& put) { return put(sn::full({24}, 3.5), {"data"}); });
    else if (name == "iota") carried[name].push_back([=](const Put& put) { return put(Tensor(trace::make_iota(here(), 21)), {"data"}); });
    else if (name == "reshape") {
      carried[name].push_back([=](const Put& put) { return sn::reshape(put(x, rows), {24, 2, 3}); });
      carried[name].push_back([=](const Put& put) { return sn::reshape(put(x, rows), {144}); });
      carried[name].push_back([=](const Put& put) { return sn::reshape(put(x, columns), {4, 6, 6}); });
      refuses([=](const Put& put) { return sn::reshape(put(x, columns), {144}); });
      refuses([=](const Put& put) { return sn::reshape(put(x, rows), {9, 16}); });
    } else if (name == "permute") both([](const Tensor& t) { return sn::transpose(t); });
    else if (name == "broadcast") both([](const Tensor& t) { return Tensor(trace::make_broadcast(here(), sn::expand_dims(t, 0).node(), Shape{3, 24, 6})); });
    else if (name == "contiguous") both([](const Tensor& t) { return Tensor(trace::make_contiguous(here(), sn::transpose(t).node())); });
    else if (name == "slice")
      for (const sn::Slice slice : {sn::Slice{3, -2}, sn::Slice{{}, {}, -1}, sn::Slice{1, 6, 2}, sn::Slice{4, 5}}) {
        both([=](const Tensor& t) { return t(slice); });
        both([=](const Tensor& t) { return t(sn::Slice{}, slice); });
      }
    else if (name == "windows") {
      both([](const Tensor& t) { return Tensor(trace::make_windows(here(), t.node(), 0, 9, 2, 4, 2)); });
      both([](const Tensor& t) { return Tensor(trace::make_windows(here(), t.node(), 1, 4, 1, 3, 1)); });
    } else if (name == "pad") {
      const Tensor fill = numbers({31, 8});
      both([](const Tensor& t) { return sn::pad(t, {{2, 0}, {0, 5}}); });
      carried[name].push_back([=](const Put& put) { return Tensor(trace::make_pad(here(), put(x, columns).node(), put(fill, columns).node(), {3, 4, 1, 1})); });
      carried[name].push_back([=](const Put& put) { return Tensor(trace::make_pad(here(), put(x, rows).node(), fill.node(), {3, 4, 1, 1})); });
      refuses([=](const Put& put) { return Tensor(trace::make_pad(here(), put(x, rows).node(), put(fill, {"model", ""}).node(), {3, 4, 1, 1})); });
    } else if (name == "gather") {
      const auto gather = [](const Tensor& table, const Tensor& index) { return Tensor(trace::make_gather(here(), table.node(), index.node(), 0)); };
      carried[name].push_back([=](const Put& put) { return gather(x, put(places, rows)); });
      carried[name].push_back([=](const Put& put) { return gather(put(x, columns), places); });
      carried[name].push_back([=](const Put& put) { return gather(put(x, columns), put(places, columns)); });
      refuses([=](const Put& put) { return gather(put(x, rows), places); });
      refuses([=](const Put& put) { return gather(put(x, columns), put(places, {"", "model"})); });
    } else if (name == "scan") {
      for (const Op op : {Op::reduce_sum, Op::reduce_prod, Op::reduce_min, Op::reduce_max})
        for (const std::int64_t axis : {0, 1}) both([=](const Tensor& t) { return Tensor(trace::make_scan(here(), op, t.node(), axis)); });
    } else CHECK_MESSAGE(false, "the row " << name << " has no example here");
  }

  void library(Op op, const std::string& name, const std::string& sharding, const std::string& takes) {
    const auto call = [=](const std::vector<Tensor>& whole, const std::vector<Names>& names, const std::vector<std::int64_t>& ints = {}) {
      return [=](const Put& put) {
        std::vector<Tensor> operands;
        for (std::size_t k = 0; k < whole.size(); ++k) operands.push_back(names[k].empty() ? whole[k] : put(whole[k], names[k]));
        return Tensor(trace::make_library(here(), op, operands_of(operands), ints));
      };
    };
    if (sharding == "all_whole") {
      made_by_passes.insert(name);
    } else if (sharding == "factors_of_product") {
      const Tensor a = numbers({9, 6, 5}), b = numbers({9, 5, 7}), m = numbers({21, 10}), n = numbers({10, 17});
      carried[name] = {call({a, b}, {{"data", "", ""}, {"data", "", ""}}),
                       call({a, b}, {{"data", "", ""}, {}}),
                       call({m, n}, {{"data", ""}, {}}),
                       call({m, n}, {{}, {"", "data"}}),
                       call({m, n}, {{"", "data"}, {"data", ""}}),
                       call({m, n}, {{}, {"data", ""}}),
                       call({m, n}, {{"data", ""}, {"", "model"}}),
                       call({m, n}, {{"model", "data"}, {"data", ""}})};
      refused[name] = {call({m, n}, {{"data", ""}, {"", "data"}}), call({m, n}, {{"", "data"}, {"model", ""}}),
                       call({a, b}, {{"data", "", ""}, {"model", "", ""}})};
    } else if (sharding == "rows") {
      const Tensor x = numbers({21, 6}), y = numbers({21, 6});
      const auto with = [&](const Names& of_x, const Names& of_y) { return takes == "two_parts" ? call({x, y}, {of_x, of_y}) : call({x}, {of_x}); };
      carried[name] = {with({"data", ""}, {"data", ""}), with({"data", ""}, {})};
      if (takes == "row_and_count") carried[name].push_back(call({x}, {{"data", ""}}, {3, 1}));
      refused[name] = {with({"", "data"}, {})};
    } else if (sharding == "columns") {
      const Tensor x = numbers({6, 21}), places = (numbers({4}) * 6).astype(DType::int64), more = numbers({4, 21});
      sn::eval(places);
      carried[name] = {call({x, places, more}, {{"", "data"}, {}, {"", "data"}}), call({x, places, more}, {{"", "data"}, {}, {}}),
                       call({x, places, more}, {{}, {}, {"", "data"}})};
      refused[name] = {call({x, places, more}, {{"data", ""}, {}, {}}), call({x, places, more}, {{}, {"data"}, {}}),
                       call({x, places, more}, {{}, {}, {"data", ""}})};
    } else if (sharding == "channels_and_halo") {
      const Tensor x = numbers({9, 3, 21, 8}), w = numbers({4, 3, 3, 2});
      const auto how = trace::Convolution{1, {2, 1}, {1, 2}, {1, 1}, {2, 0}}.ints();
      for (const Names& names : {Names{"data", "", "", ""}, {"", "data", "", ""}, {"", "", "data", ""}, {"", "", "", "data"}})
        carried[name].push_back(call({x, w}, {names, {}}, how));
      carried[name].push_back(call({x, w}, {{"", "", "data", ""}, {"model", "", "", ""}}, how));
      carried[name].push_back(call({x, w}, {{}, {"", "data", "", ""}}, how));
      refused[name] = {call({x, w}, {{}, {"", "", "data", ""}}, how), call({x, w}, {{"data", "", "", ""}, {"data", "", "", ""}}, how)};
    } else if (sharding == "matrices") {
      const bool complex = takes.find("complex") == 0, square = takes != "matrix" && takes != "complex_matrix";
      Tensor x = numbers({9, square ? 4 : 5, complex ? 8 : 4}, DType::float64);
      if (square)
        x = sn::concatenate(
            {sn::matmul(x(sn::Slice{}, sn::Slice{}, sn::Slice{0, 4}), sn::swapaxes(x(sn::Slice{}, sn::Slice{}, sn::Slice{0, 4}), 1, 2)) + 4 * sn::eye(4),
             x(sn::Slice{}, sn::Slice{}, sn::Slice{4, {}}) * 0},
            2);
      sn::eval(x);
      std::vector<Tensor> operands{x};
      if (takes == "system_of_equations") operands.push_back(numbers({9, 4, 2}, DType::float64));
      const auto with = [&](const Names& first) {
        std::vector<Names> names(operands.size());
        names[0] = first;
        return call(operands, names);
      };
      carried[name] = {with({"data", "", ""})};
      refused[name] = {with({"", "data", ""}), with({"", "", "data"})};
    } else CHECK_MESSAGE(false, "the rule " << sharding << " of " << name << " has no example here");
  }
};

Rows all_rows() {
  Rows rows;
#define SINTER_ELEMENTWISE(id, arity, accepts, ...) rows.elementwise(Op::id, #id, arity, #accepts);
#define SINTER_REDUCTION(id, ...) rows.reduction(Op::id, #id);
#define SINTER_STRUCTURAL(id, ...) rows.structural(#id);
#define SINTER_LIBRARY(id, arity, sharding, takes, ...) rows.library(Op::id, #id, #sharding, #takes);
#include "trace/primitives.def"
  return rows;
}

}  // namespace

TEST_CASE("every primitive gives the same bits on any number of ranks") {
  const Rows rows = all_rows();
  CHECK(rows.made_by_passes == std::set<std::string>{"byte_recurrence", "conv_blocked", "conv_bytes", "conv_bytes_scaled", "invert_index", "matmul_panels",
                                                     "ragged_recurrence", "recurrence", "send_part", "receive_part"});
  std::map<std::string, std::vector<std::byte>> bits;
  for (const int count : is_sample() ? std::vector{1, 1 << pick(1, 3)} : std::vector{1, 2, 4, 8}) {
    std::mutex mutex;
    ranks::run(count, [&](ranks::World world) {
      const ranks::Mesh mesh(world, {{"data", count, 8}, {"model", 1, 2}});
      for (const auto& [name, examples] : rows.carried) {
        std::vector<Tensor> results;
        for (const Row& example : examples) results.push_back(example([&](const Tensor& x, const Names& names) { return ranks::shard(x, mesh, names); }));
        sn::eval(results);
        for (std::size_t k = 0; k < results.size(); ++k) {
          const std::string which = name + " " + std::to_string(k);
          const std::vector<std::byte> mine = bytes_of(results[k]);
          const std::lock_guard lock(mutex);
          const auto [known, first] = bits.emplace(which, mine);
          if (known->second != mine) CHECK_MESSAGE(false, which << ", " << ranks::describe(results[k]) << ", on rank " << world.rank() << " of " << count);
          if (!first) continue;
          const Tensor whole = examples[k]([](const Tensor& x, const Names&) { return x; });
          CHECK_MESSAGE(sn::all(sn::isclose(results[k].astype(DType::float64), whole.astype(DType::float64), 1e-5, 1e-5, true)).item<bool>(), which);
        }
      }
    });
  }
  MESSAGE(bits.size() << " examples of " << rows.carried.size() << " rows");
}

TEST_CASE("a sharding that an operation does not support is an error with a remedy") {
  const Rows rows = all_rows();
  ranks::run(1, [&](ranks::World world) {
    const ranks::Mesh mesh(world, {{"data", 1}, {"model", 1}});
    for (const auto& [name, examples] : rows.refused)
      for (std::size_t k = 0; k < examples.size(); ++k) {
        std::string text = "nothing was thrown";
        try {
          examples[k]([&](const Tensor& x, const Names& names) { return ranks::shard(x, mesh, names); });
        } catch (const sn::ShardingError& error) {
          text = error.what();
        }
        CAPTURE(name);
        CAPTURE(k);
        CAPTURE(text);
        CHECK(text.find(name) < text.find(':'));
        CHECK(text.find("@") != std::string::npos);
        CHECK((text.find("call ranks::unshard on ") != std::string::npos || text.find("call ranks::shard") != std::string::npos));
        CHECK(text.find(std::string(" at ") + __FILE__) != std::string::npos);
      }
  });
}
