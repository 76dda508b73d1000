#include "ranks/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "sinter/counted.hpp"

namespace sinter::ranks {
namespace {

thread_local Exchanges* now_running = nullptr;

constexpr std::array<const char*, 4> kKinds{"all_gather", "all_to_all", "halo", "broadcast_from"};

/// The kind's number, to which a finish adds kFinish, then up to 6 letters of the mesh axis.
constexpr std::int64_t kFinish = 0x80;
std::int64_t label(const Exchange& exchange) {
  const auto kind = std::find(kKinds.begin(), kKinds.end(), exchange.kind) - kKinds.begin();
  auto packed = static_cast<std::uint64_t>(kind);
  for (std::size_t axis = 0; axis < exchange.from.mesh->count(); ++axis) {
    if (exchange.from.along(axis) < 0) continue;
    const std::string& name = exchange.from.mesh->axes[axis].name;
    for (std::size_t k = 0; k < std::min<std::size_t>(name.size(), 6); ++k)
      packed |= static_cast<std::uint64_t>(static_cast<unsigned char>(name[k])) << (8 * (k + 1));
    break;
  }
  return static_cast<std::int64_t>(packed);
}

/// Copies the elements of `which` from one block's memory to another's, both contiguous.
void copy(const Block& which, const Block& from_block, const std::byte* from, const Block& to_block, std::byte* to, std::size_t item) {
  for_each_run(which, from_block, to_block, item,
               [&](std::size_t source, std::size_t target, std::size_t bytes) { std::memcpy(to + target, from + source, bytes); });
}

std::size_t bytes_of(const Block& block, std::size_t item) {
  for (const Range& range : block) item *= static_cast<std::size_t>(range.size());
  return item;
}

/// An attribute is a number in a plan, which has fewer than 64 bits there.
std::int64_t of_hash(std::uint64_t hash) { return static_cast<std::int64_t>(hash >> 16); }

/// A tag for each pair of places of two ranks.
int tag_of(const MeshState& mesh, const Place& from, const Place& to) {
  int each = 1;
  for (const MeshAxis& axis : mesh.axes) each *= axis.pieces / axis.size;
  return (mesh.number_of(from) * each + mesh.number_of(to)) % 32767;
}

}  // namespace

void for_each_run(const Block& which, const Block& a, const Block& b, std::size_t item,
                  const std::function<void(std::size_t, std::size_t, std::size_t)>& visit) {
  std::size_t run = item, outer = which.size();
  while (outer > 0) {
    const std::size_t k = --outer;
    run *= static_cast<std::size_t>(which[k].size());
    if (which[k] != a[k] || which[k] != b[k]) break;
  }
  std::vector<std::int64_t> at(outer, 0);
  for (;;) {
    std::int64_t in_a = 0, in_b = 0;
    for (std::size_t k = 0; k < which.size(); ++k) {
      const std::int64_t element = which[k].begin + (k < outer ? at[k] : 0);
      in_a = in_a * a[k].size() + element - a[k].begin;
      in_b = in_b * b[k].size() + element - b[k].begin;
    }
    visit(static_cast<std::size_t>(in_a) * item, static_cast<std::size_t>(in_b) * item, run);
    std::size_t k = outer;
    while (k > 0 && ++at[k - 1] == which[k - 1].size()) at[--k] = 0;
    if (k == 0) return;
  }
}

Place Exchange::sender(const Part& part, const Place& receiver) const {
  Place result = part;
  for (std::size_t axis = 0; axis < result.size(); ++axis)
    if (result[axis] == kWhole) result[axis] = from_first ? 0 : receiver[axis];
  return result;
}

std::vector<std::pair<Place, Block>> Exchange::received(const Place& place) const {
  std::vector<std::pair<Place, Block>> all;
  const Block mine = wanted(part_of(to, place));
  for (const Part& part : all_parts(from))
    if (Block both = intersection(block_of(shape, from, part), mine); !is_empty(both)) all.emplace_back(sender(part, place), std::move(both));
  return all;
}

std::vector<std::pair<Place, Block>> Exchange::sent(const Place& place) const {
  std::vector<std::pair<Place, Block>> all;
  const Part part = part_of(from, place);
  const Block mine = block_of(shape, from, part);
  for (const Place& receiver : from.mesh->all_places()) {
    if (sender(part, receiver) != place) continue;
    if (Block both = intersection(mine, wanted(part_of(to, receiver))); !is_empty(both)) all.emplace_back(receiver, std::move(both));
  }
  return all;
}

std::string Exchange::description() const {
  return fmt::format("{} of {} for {}{}", kind, to_string(DType::uint8, shape, from).substr(6), site.op,
                     *site.where.file ? fmt::format(" at {}:{}", site.where.file, site.where.line) : "");
}

std::size_t Exchanges::add(const Exchange& exchange) {
  added_.push_back({exchange.item, block_of(exchange.shape, exchange.from, part_of(exchange.from, place_)), exchange.wanted(part_of(exchange.to, place_)),
                    exchange.sent(place_), exchange.received(place_), label(exchange), exchange.description()});
  return added_.size() - 1;
}

const Exchanges::Known& Exchanges::known() {
  if (!known_) known_ = std::make_shared<const std::vector<Moves>>(std::move(added_));
  return known_;
}

std::vector<std::int64_t> Exchanges::attributes(std::size_t number, Call call, std::int64_t elements, std::uint64_t sizes) const {
  const Moves& moves = all()[number];
  const bool finish = call == Call::finish;
  std::int64_t bytes = 0, places = 0;
  for (const auto& [other, block] : finish ? moves.received : moves.sent) {
    if (mesh_->rank_of(other) == mesh_->world->rank) continue;
    bytes += static_cast<std::int64_t>(bytes_of(block, moves.item));
    ++places;
  }
  return {static_cast<std::int64_t>(number), elements, bytes, places, moves.label | (finish ? kFinish : 0), of_hash(sizes)};
}

std::vector<std::int64_t> Exchanges::no_exchange(std::uint64_t sizes) { return {-1, 1, 0, 0, -1, of_hash(sizes)}; }

void Exchanges::send(std::span<const std::int64_t> ints, const std::byte* elements) {
  if (ints[0] < 0) return;
  const auto number = static_cast<std::size_t>(ints[0]);
  const Moves& moves = all()[number];
  for (const auto& [receiver, block] : moves.sent) {
    std::vector<std::byte> message(bytes_of(block, moves.item));
    copy(block, moves.own, elements, block, message.data(), moves.item);
    const int rank = mesh_->rank_of(receiver);
    if (rank == mesh_->world->rank) others_->give(mesh_->number_of(receiver), {number, mesh_->number_of(place_)}, std::move(message));
    else mesh_->world->transport->send(rank, tag_of(*mesh_, place_, receiver), std::move(message));
  }
}

void Exchanges::receive(std::span<const std::int64_t> ints, std::byte* elements) {
  const auto number = static_cast<std::size_t>(ints[0]);
  const Moves& moves = all()[number];
  for (const auto& [from, block] : moves.received) {
    std::vector<std::byte> message;
    if (const int rank = mesh_->rank_of(from); rank == mesh_->world->rank) {
      message = others_->take(mesh_->number_of(place_), {number, mesh_->number_of(from)});
    } else {
      message.resize(bytes_of(block, moves.item));
      mesh_->world->receive(rank, tag_of(*mesh_, from, place_), message, moves.description);
    }
    copy(block, block, message.data(), moves.wanted, elements, moves.item);
  }
}

void Handover::give(int receiver, Key key, std::vector<std::byte> bytes) {
  Box& box = boxes_[static_cast<std::size_t>(receiver)];
  {
    const std::lock_guard lock(box.mutex);
    box.waiting.emplace(key, std::move(bytes));
  }
  box.news.notify_all();
}

// There is no time limit here, because the sender is another place of this rank, whose waits for other ranks have one.
std::vector<std::byte> Handover::take(int receiver, Key key) {
  Box& box = boxes_[static_cast<std::size_t>(receiver)];
  std::unique_lock lock(box.mutex);
  auto found = box.waiting.end();
  box.news.wait(lock, [&] { return box.failed || (found = box.waiting.find(key)) != box.waiting.end(); });
  if (found == box.waiting.end()) throw RankError("another part of this rank has failed");
  std::vector<std::byte> bytes = std::move(found->second);
  box.waiting.erase(found);
  return bytes;
}

void Handover::fail() {
  for (Box& box : boxes_) {
    {
      const std::lock_guard lock(box.mutex);
      box.failed = true;
    }
    box.news.notify_all();
  }
}

bool Exchanges::are_running() { return now_running != nullptr; }

Exchanges& Exchanges::running() {
  if (now_running == nullptr) throw InternalError("an exchange between ranks outside of an evaluation of sharded values");
  return *now_running;
}

Exchanges::Running::Running(Exchanges* now) : before_(now_running) { now_running = now; }
Exchanges::Running::~Running() { now_running = before_; }

bool is_far(std::span<const std::int64_t> ints) { return ints[3] > 0; }

std::string description(std::span<const std::int64_t> ints) {
  const auto packed = static_cast<std::uint64_t>(ints[4]);
  if (ints[0] < 0) return "nothing: it names the sizes of the parts";
  std::string over;
  for (int k = 1; k < 7; ++k)
    if (const auto letter = static_cast<char>(packed >> (8 * k) & 0xff); letter != 0) over += letter;
  const std::uint64_t number = packed & 0x7f;
  const char* kind = number < kKinds.size() ? kKinds[number] : "exchange";
  if (!is_far(ints)) return fmt::format("{} over {}: within this rank", kind, over);
  const double bytes = static_cast<double>(ints[2]) / static_cast<double>(ints[3]);
  const bool large = bytes >= 1e5;
  return fmt::format("{} over {}: {:.1f} {} {} each of {} of other ranks", kind, over, large ? bytes / 1e6 : bytes / 1e3, large ? "MB" : "kB",
                     (ints[4] & kFinish) != 0 ? "from" : "to", counted(ints[3], "place"));
}

}  // namespace sinter::ranks
