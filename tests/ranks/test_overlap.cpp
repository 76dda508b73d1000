// A kernel's core runs between the start and the finish of an exchange, and gives the same bits as without overlap.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <sinter/nn.hpp>
#include <sinter/profile.hpp>
#include <sinter/random.hpp>
#include <sinter/ranks.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bytes_of.hpp"
#include "jit/points.hpp"
#include "program.hpp"
#include "ranks/world.hpp"
#include "seed.hpp"
#include "temporary_folder.hpp"

namespace ranks = sinter::ranks;
using namespace sinter::testing;

namespace {

Tensor numbers(const sn::Shape& shape, std::uint64_t key) {
  const Tensor made = sn::random::normal(sn::random::Key(key), shape);
  sn::eval(made);
  return made;
}

/// A step of the heat equation along the first axes, with a border of zeros.
Tensor heat(const Tensor& u, std::size_t axes) {
  std::vector<std::pair<std::int64_t, std::int64_t>> border(u.shape().size(), {0, 0});
  for (std::size_t k = 0; k < axes; ++k) border[k] = {1, 1};
  const auto moved = [&](std::size_t axis, std::int64_t by) {
    const auto along = [&](std::size_t k) { return k != axis || by == 0 ? Slice{1, -1} : by < 0 ? Slice{0, -2} : Slice{2, {}}; };
    return axes == 1 ? u(along(0)) : u(along(0), along(1));
  };
  Tensor sum = moved(0, 0) * (-2.0 * static_cast<double>(axes));
  for (std::size_t axis = 0; axis < axes; ++axis) sum = sum + moved(axis, -1) + moved(axis, 1);
  return sn::pad(moved(0, 0) + 0.1 * sum, border);
}

/// A transport whose messages arrive late, and only while their receiver waits, so that the order of computation and transfer is visible.
class Slow final : public ranks::Transport {
 public:
  explicit Slow(std::shared_ptr<ranks::Transport> fast) : fast_(std::move(fast)) {}
  int rank() const override { return fast_->rank(); }
  int size() const override { return fast_->size(); }
  void send(int peer, int tag, std::vector<std::byte> bytes) override { fast_->send(peer, tag, std::move(bytes)); }
  bool receive(int peer, int tag, std::byte* to, std::size_t bytes, double seconds, void (*meanwhile)()) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return fast_->receive(peer, tag, to, bytes, seconds, meanwhile);
  }
  void abort(const char* message) override { fast_->abort(message); }

 private:
  const std::shared_ptr<ranks::Transport> fast_;
};

}  // namespace

TEST_CASE("points outside of a box") {
  std::mt19937 random(fresh_seed());
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 200; ++round) {
    sn::jit::Box all, box;
    for (std::int64_t axes = 1 + below(3); axes > 0; --axes) {
      all.emplace_back(0, 1 + below(6));
      const std::int64_t begin = below(all.back().second);
      box.emplace_back(begin, begin + 1 + below(all.back().second - begin));
    }
    std::map<std::vector<std::int64_t>, int> times;
    const auto count = [&](const sn::jit::Box& one) {
      std::vector<std::int64_t> at;
      const auto walk = [&](auto& self) -> void {
        if (at.size() == one.size()) return void(++times[at]);
        for (std::int64_t k = one[at.size()].first; k < one[at.size()].second; ++k) at.push_back(k), self(self), at.pop_back();
      };
      walk(walk);
    };
    count(box);
    for (const auto& other : sn::jit::outside(all, box)) count(other);
    std::size_t points = 1;
    for (const auto& [begin, end] : all) points *= static_cast<std::size_t>(end - begin);
    CHECK(times.size() == points);
    CHECK(std::all_of(times.begin(), times.end(), [](const auto& entry) { return entry.second == 1; }));
  }
}

TEST_CASE("results have the same bits with and without overlap") {
  std::mt19937 random(fresh_seed());
  const auto size = [&] { return static_cast<std::int64_t>(4 + random() % 60); };
  for (int round = 0; round < (sn::options().backend == "interpreter" ? 2 : 1); ++round) {
    const Tensor flat = numbers({size()}, random()), plate = numbers({size(), size()}, random()), cube = numbers({size() / 2 + 2, size() / 2 + 2, 5}, random());
    const Tensor weights = numbers({5, 7}, random());
    CAPTURE(flat.shape());
    CAPTURE(plate.shape());
    CAPTURE(cube.shape());
    std::vector<std::vector<std::byte>> bits;
    for (const char* without : {"overlap", ""}) {
      const auto passes = sn::testing::without_passes(without);
      for (const auto& [rows, columns] : {std::pair{1, 1}, {4, 1}, {1, 4}, {2, 2}}) {
        std::mutex mutex;
        ranks::run(rows * columns, [&, rows = rows, columns = columns](ranks::World world) {
          const ranks::Mesh mesh(world, {{"rows", rows}, {"columns", columns}});
          Tensor line = ranks::shard(flat, mesh, {"rows"}), u = ranks::shard(plate, mesh, {"rows", "columns"}), v = u;
          const Tensor c = ranks::shard(cube, mesh, {"columns", "rows", ""});
          for (int step = 0; step < 4; ++step) line = heat(line, 1) + sn::roll(line, 2, 0), v = heat(v, 2);
          const std::vector<Tensor> results{line,
                                            v,
                                            heat(ranks::shard(plate, mesh, {"", "rows"}), 2),
                                            heat(c, 2),
                                            sn::sum(heat(c, 2), 2),
                                            sn::softmax(heat(c, 2), 2),
                                            sn::matmul(c, weights) + sn::sum(u),
                                            sn::cumsum(heat(line, 1), 0) * 2,
                                            sn::sum(u, 0) + sn::mean(v),
                                            heat(u, 2).T() + 1};
          sn::eval(results);
          std::vector<std::vector<std::byte>> mine;
          for (const Tensor& result : results) mine.push_back(bytes_of(result));
          const std::lock_guard lock(mutex);
          if (bits.empty()) bits = mine;
          for (std::size_t k = 0; k < mine.size(); ++k)
            CHECK_MESSAGE(mine[k] == bits[k], "result " << k << " on " << rows << " x " << columns << ", without '" << without << "'");
        });
      }
    }
  }
}

TEST_CASE("the core runs between start and finish") {
  const Tensor u0 = numbers({64, 48}, 3);
  const auto parts = [&](const std::string& path) {
    std::ifstream file(path);
    // Returns for each line of the timeline the exchanges and the kernels in the order of their ends.
    std::map<std::int64_t, std::vector<std::pair<double, std::string>>> lines;
    const nlohmann::json report = nlohmann::json::parse(file);
    for (const nlohmann::json& event : report.at("traceEvents")) {
      if (event.at("ph") != "X") continue;
      const std::string kind = event.at("cat"), name = event.at("name"), part = event.at("args").value("part", "");
      if (kind != "exchange" && kind != "kernel" && kind != "interpret") continue;
      const std::string word = kind != "exchange" ? (part.empty() ? "kernel" : part) : name.starts_with("send") ? "start" : "finish";
      lines[event.at("tid")].emplace_back(event.at("ts").get<double>() + event.at("dur").get<double>(), word);
    }
    std::vector<std::string> all;
    for (auto& [line, events] : lines) {
      std::sort(events.begin(), events.end());
      std::string words;
      for (const auto& event : events) words += (words.empty() ? "" : " ") + event.second;
      if (words.find("finish") != std::string::npos) all.push_back(words);
    }
    return all;
  };
  const TemporaryFolder folder;
  for (const bool overlaps : {true, false}) {
    const auto passes = sn::testing::without_passes(overlaps ? "" : "overlap");
    const std::string path = folder.path / (overlaps ? "with.json" : "without.json");
    std::string text;
    ranks::run(2, [&](ranks::World world) {
      const auto slow = std::make_shared<ranks::WorldState>(std::make_shared<Slow>(world.state()->transport));
      const ranks::Mesh mesh(ranks::World(slow), {{"data", 2, 2}});
      const Tensor u = ranks::shard(u0, mesh, {"data", ""}) * 1;
      sn::eval(u);
      const Tensor w = heat(u, 2);
      if (world.rank() == 0) text = sn::explain(w);
      sn::eval(w);  // compiled
      slow->gather("", "the others");
      std::unique_ptr<sn::Timeline> timeline;
      if (world.rank() == 0) timeline = std::make_unique<sn::Timeline>(path);
      slow->gather("", "the others");
      sn::eval(heat(u, 2));
      slow->gather("", "the others");
      if (timeline) timeline->write();
    });
    INFO(text);
    CHECK((text.find("overlap the points [0:31, 0:48] run before step 3 waits for other ranks") != std::string::npos) == overlaps);
    const std::vector<std::string> lines = parts(path);
    CHECK(lines.size() == 2);
    for (const std::string& words : lines) {
      if (overlaps) CHECK(words == "start start core finish rims");
      else CHECK(words.find("core") == std::string::npos);
    }
  }
}

TEST_CASE("exchanges start early and finish late") {
  ranks::run(2, [&](ranks::World world) {
    const ranks::Mesh mesh(world, {{"data", 2, 2}});
    const Tensor x = ranks::shard(numbers({40, 30}, 5), mesh, {"data", ""}), other = ranks::shard(numbers({40, 30}, 6), mesh, {"data", ""});
    sn::eval(x, other);
    // The sums do not need the product, and the product does not need the sums.
    const Tensor product = sn::exp(sn::matmul(other.T(), ranks::unshard(x))), sums = sn::tanh(sn::sum(x, 0));
    const std::string text = sn::explain(sums, sn::softmax(other * 2, 1), product);
    CAPTURE(text);
    if (world.rank() != 0) return;
    std::size_t last_start = 0, first_finish = std::string::npos;
    for (std::size_t at = text.find("send_part"); at != std::string::npos; at = text.find("send_part", at + 1)) last_start = at;
    first_finish = text.find(". receive_part");
    CHECK(text.find("reduce_max") < first_finish);
    CHECK(last_start != 0);
  });
}
