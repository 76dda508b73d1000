#include "executor.hpp"

#include <fmt/format.h>
#include <tsl/robin_map.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "kernels/primitives/interpreter_kernels.hpp"
#include "shadow.hpp"

namespace sinter::test {
namespace {

using namespace jit::loop;
using Kind = Expr::Kind;

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kMaxStatements = 200'000'000;

/// One byte for each thread of the cluster: whether it takes part.
using Mask = std::vector<std::uint8_t>;

/// The values of all threads, thread by thread.
struct Values {
  Type type;
  std::vector<std::byte> bytes;
  template <class T> T* as() { return reinterpret_cast<T*>(bytes.data()); }
  template <class T> const T* as() const { return reinterpret_cast<const T*>(bytes.data()); }
};

/// A name of the kernel and its memory.
struct Name {
  enum class Place : std::uint8_t { number, global, own, shared } place = Place::own;
  Type type = DType::int32;
  std::vector<std::int64_t> extents;  // empty: one element
  std::int64_t share = 0;             // shared: the number of threads that share an array; 0: all threads of a block
  std::byte* pointer = nullptr;       // global
  std::span<std::byte> buffer{};      // global: the buffer that the accesses so far used
  bool stored = false;                // global: an output
  std::vector<std::byte> memory;      // number: one value; own: the elements of each thread; shared: the elements of each array
  std::vector<std::uint8_t> written;  // own: for each element
  std::vector<ShadowCell> shadow;     // shared: for each element

  std::int64_t count() const {  // the number of elements of an array; each lane of a vector counts as one
    std::int64_t n = type.width;
    for (const std::int64_t extent : extents) n *= extent;
    return n;
  }
};

template <class T> constexpr bool is_index =
    std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint64_t>;

class Executor {
 public:
  Executor(const Kernel& kernel, const LoopLaunch& launch) : kernel_(kernel), launch_(launch), threads_(kernel.threads), count_(threads_ * kernel.cluster) {
    moments_.resize(static_cast<std::size_t>(count_));
    std::size_t pointer = 0, number = 0;
    scopes_.emplace_back();
    for (const Parameter& p : kernel.parameters) {
      Name name;
      name.type = p.dtype;
      if (p.kind == Parameter::Kind::number) {
        name.place = Name::Place::number;
        name.memory.resize(itemsize(p.dtype));
        std::memcpy(name.memory.data(), &launch.numbers.at(number++), name.memory.size());
      } else {
        name.place = Name::Place::global;
        name.pointer = launch.pointers.at(pointer++);
        name.stored = p.kind == Parameter::Kind::output;
        if (name.stored) written_.push_back(buffer_at(name.pointer));
      }
      scopes_.back().emplace(p.name, std::move(name));
    }
  }

  void run() {
    for (std::int64_t block = 0; block < launch_.blocks; block += kernel_.cluster) {
      first_block_ = block;
      for (std::int64_t t = 0; t < count_; ++t) {
        const std::int64_t b = block + t / threads_;
        moments_[static_cast<std::size_t>(t)] = {.thread = b * threads_ + t % threads_,
                                                 .warp = b * ((threads_ + kWarp - 1) / kWarp) + t % threads_ / kWarp,
                                                 .block = b,
                                                 .cluster = b / kernel_.cluster};
      }
      Mask all(static_cast<std::size_t>(count_), 1);
      scopes_.emplace_back();
      run(kernel_.body, all);
      scopes_.pop_back();
    }
  }

 private:
  struct Loop {
    Mask skipped, left;  // the threads that continue with the next iteration, and the threads that have left the loop
  };

  template <class... Args> [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw LoopFault(fmt::format("kernel {} in loops: {}", kernel_.name, fmt::format(format, std::forward<Args>(args)...)));
  }
  std::string described(std::size_t thread) const {
    return fmt::format("thread {} of block {}", static_cast<std::int64_t>(thread) % threads_, first_block_ + static_cast<std::int64_t>(thread) / threads_);
  }
  std::size_t lanes() const { return static_cast<std::size_t>(count_); }

  /// Returns the buffer with this byte, or an empty one.
  std::span<std::byte> buffer_at(const std::byte* at) const {
    const auto next =
        std::upper_bound(launch_.buffers.begin(), launch_.buffers.end(), at, [](const std::byte* a, const auto& buffer) { return a < buffer.data(); });
    return next != launch_.buffers.begin() && at < std::prev(next)->data() + std::prev(next)->size() ? *std::prev(next) : std::span<std::byte>();
  }
  Name& find(const std::string& name) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto at = scope->find(name); at != scope->end()) return at->second;
    fail("{} is used and not declared", name);
  }
  Values blank(Type type) const { return {type, std::vector<std::byte>(lanes() * static_cast<std::size_t>(type.width) * itemsize(type.dtype))}; }
  /// Returns the result of f(thread) for the threads of the mask, as values of this type.
  template <class Function> Values each(Type type, const Mask& mask, Function&& f) {
    Values out = blank(type);
    visit_storage(type.dtype, [&]<class T>() {
      if constexpr (std::is_arithmetic_v<T>)
        for (std::size_t t = 0; t < mask.size(); ++t)
          if (mask[t]) out.as<T>()[t] = static_cast<T>(f(t));
    });
    return out;
  }
  std::vector<std::int64_t> integers(const E& e, const Mask& mask) {
    const Values v = value(e, mask);
    std::vector<std::int64_t> out(lanes());
    visit_storage(v.type.dtype, [&]<class T>() {
      if constexpr (std::is_integral_v<T>)
        for (std::size_t t = 0; t < out.size(); ++t) out[t] = static_cast<std::int64_t>(v.as<T>()[t]);
    });
    return out;
  }
  Mask truths(const E& e, const Mask& mask) {
    Mask out = mask;
    if (e.empty()) return out;
    const Values v = value(e, mask);
    for (std::size_t t = 0; t < out.size(); ++t) out[t] = mask[t] && v.as<bool>()[t];
    return out;
  }

  // ---- accesses

  /// Calls visit(thread, number of the first element, its address) for the elements that the threads access. Checks that the elements exist and belong to the
  /// array.
  template <class Visit> void access(const E& e, const Mask& mask, bool stores, Visit&& visit) {
    const bool lane = e->kind == Kind::lane;
    const Expr& base = lane ? *e->args[0] : *e;
    Name& name = find(base.name);
    const std::size_t item = itemsize(name.type.dtype);
    const std::int64_t width = base.kind == Kind::vector ? base.type.width : name.type.width;
    std::vector<std::vector<std::int64_t>> index;
    if (base.kind != Kind::variable)
      for (const E& i : base.args) index.push_back(integers(i, mask));
    std::vector<std::int64_t> in_vector(lanes(), 0);
    if (lane) in_vector = integers(e->args[1], mask);
    const std::int64_t run = lane ? 1 : width, elements = name.count();
    for (std::size_t t = 0; t < mask.size(); ++t) {
      if (!mask[t]) continue;
      std::int64_t first = 0;
      for (std::size_t k = 0; k < index.size(); ++k) {
        const std::int64_t i = index[k][t], extent = name.place == Name::Place::global ? 0 : name.extents[k];
        const std::int64_t last = k + 1 == index.size() && base.kind == Kind::vector ? extent - width : extent - 1;
        if (name.place != Name::Place::global && (i < 0 || i > last)) fail("{} accesses {}[{}] of {} elements", described(t), base.name, i, extent);
        first = k == 0 ? i : first * extent + i;
      }
      if (base.kind != Kind::vector) first *= name.type.width;
      if (in_vector[t] < 0 || in_vector[t] >= width) fail("{} accesses lane {} of a vector of {}", described(t), in_vector[t], width);
      first += in_vector[t];
      if (base.kind == Kind::vector && name.place == Name::Place::global) {
        const std::size_t whole = std::min<std::size_t>(16, static_cast<std::size_t>(width) * item);
        if ((reinterpret_cast<std::uintptr_t>(name.pointer) + static_cast<std::uintptr_t>(first) * item) % whole != 0)
          fail("{} accesses a vector of {} at {}[{}], which is not aligned", described(t), width, base.name, first);
      }
      visit(t, at(name, base.name, t, first, run, elements, stores));
    }
  }
  std::byte* at(Name& name, const std::string& shown_name, std::size_t t, std::int64_t first, std::int64_t run, std::int64_t elements, bool stores) {
    const std::size_t item = itemsize(name.type.dtype);
    const auto raced = [&](std::int64_t element) {
      fail("{} {} {}[{}], and another thread too, without a barrier between them", described(t), stores ? "writes" : "reads", shown_name, element);
    };
    switch (name.place) {
      case Name::Place::number: return name.memory.data();
      case Name::Place::own: {
        const std::int64_t from = static_cast<std::int64_t>(t) * elements + first;
        for (std::int64_t k = from; k < from + run; ++k) {
          std::uint8_t& written = name.written[static_cast<std::size_t>(k)];
          if (!stores && !written) fail("{} reads {}[{}], which it has not written", described(t), shown_name, k - from + first);
          written |= stores;
        }
        return name.memory.data() + static_cast<std::size_t>(from) * item;
      }
      case Name::Place::shared: {
        const std::int64_t thread = static_cast<std::int64_t>(t), each = name.share > 0 ? name.share : threads_;
        return shared(name, shown_name, t, thread / each * elements + first, run, stores);
      }
      case Name::Place::global: break;
    }
    std::byte* const address = name.pointer + first * static_cast<std::int64_t>(item);
    if (name.buffer.empty()) name.buffer = buffer_at(address);
    const std::span<std::byte> buffer = name.buffer;
    if (buffer.empty() || address < buffer.data() || address + run * static_cast<std::int64_t>(item) > buffer.data() + buffer.size())
      fail("{} {} {}[{}], which is outside of its buffer", described(t), stores ? "writes" : "reads", shown_name, first);
    // Elements that the launch only reads cannot race.
    const bool tracked = name.stored || std::any_of(written_.begin(), written_.end(), [&](const auto& w) { return !w.empty() && w.data() == buffer.data(); });
    for (std::int64_t k = 0; tracked && k < run; ++k) {
      ShadowCell& cell = global_[reinterpret_cast<std::uintptr_t>(address) + static_cast<std::uintptr_t>(k) * item];
      if (stores ? cell.write(moments_[t]) : cell.read(moments_[t])) raced(first + k);
    }
    return address;
  }
  std::byte* shared(Name& name, const std::string& shown_name, std::size_t t, std::int64_t from, std::int64_t run, bool stores) {
    for (std::int64_t k = from; k < from + run; ++k) {
      ShadowCell& cell = name.shadow[static_cast<std::size_t>(k)];
      if (!stores && !cell.written()) fail("{} reads an element of {} that no thread has written", described(t), shown_name);
      if (stores ? cell.write(moments_[t]) : cell.read(moments_[t]))
        fail("{} {} an element of {}, and another thread too, without a barrier between them", described(t), stores ? "writes" : "reads", shown_name);
    }
    return name.memory.data() + static_cast<std::size_t>(from) * itemsize(name.type.dtype);
  }

  Values read(const E& e, const Mask& mask) {
    Values out = blank(e->type);
    const std::size_t bytes = out.bytes.size() / lanes();
    const Mask reads = e->kind == Kind::element ? truths(e->guard, mask) : mask;
    access(e, reads, false, [&](std::size_t t, const std::byte* from) { std::memcpy(out.bytes.data() + t * bytes, from, bytes); });
    if (e->kind != Kind::element || e->guard.empty()) return out;
    Mask others = mask;
    for (std::size_t t = 0; t < others.size(); ++t) others[t] = mask[t] && !reads[t];
    const Values fill = cast(value(e->fill, others), e->type.dtype);
    for (std::size_t t = 0; t < others.size(); ++t)
      if (others[t]) std::memcpy(out.bytes.data() + t * bytes, fill.bytes.data() + t * bytes, bytes);
    return out;
  }

  // ---- expressions

  Values cast(Values v, DType to) const {
    if (v.type.dtype == to) return v;
    Values out = blank(Type(to, v.type.width));
    tiles(kernels::elementwise_kernel(Op::cast, v.type.dtype, to), {&v}, out);
    return out;
  }
  void tiles(kernels::TileFn function, const std::vector<const Values*>& args, Values& out) const {
    if (function == nullptr) fail("no primitive takes {}", sinter::name(args.back()->type.dtype));
    const std::size_t count = lanes() * static_cast<std::size_t>(out.type.width);
    for (std::size_t from = 0; from < count; from += kernels::kTile) {
      const void* pointers[trace::kMaxArity] = {};
      for (std::size_t k = 0; k < args.size(); ++k) pointers[k] = args[k]->bytes.data() + from * itemsize(args[k]->type.dtype);
      function(static_cast<std::int64_t>(std::min<std::size_t>(kernels::kTile, count - from)), pointers, out.bytes.data() + from * itemsize(out.type.dtype));
    }
  }

  Values binary(const Expr& e, const Mask& mask) {
    if (e.name == "&&" || e.name == "||") {
      const bool both = e.name == "&&";
      const Mask left = truths(e.args[0], mask);
      Mask asked = mask;
      for (std::size_t t = 0; t < asked.size(); ++t) asked[t] = mask[t] && (left[t] != 0) == both;
      const Mask right = truths(e.args[1], asked);
      return each(DType::bool_, mask, [&](std::size_t t) { return asked[t] ? right[t] : left[t]; });
    }
    Values a = value(e.args[0], mask), b = value(e.args[1], mask);
    const auto rank = [](DType t) { return is_bool(t) ? std::size_t{1} : itemsize(t); };
    DType common = a.type.dtype == b.type.dtype ? a.type.dtype : rank(a.type.dtype) > rank(b.type.dtype) ? a.type.dtype : b.type.dtype;
    if (rank(a.type.dtype) == rank(b.type.dtype) && is_unsigned(a.type.dtype)) common = a.type.dtype;
    if (is_integer(common) && itemsize(common) < 4) common = DType::int32;
    a = cast(std::move(a), common), b = cast(std::move(b), common);
    const bool compares = is_bool(e.type.dtype);
    Values out = blank(compares ? Type(DType::bool_) : Type(common));
    const char c = e.name[0];
    const bool equal = e.name.size() > 1;
    visit_storage(common, [&]<class T>() {
      if constexpr (std::is_arithmetic_v<T>) {
        const T *x = a.as<T>(), *y = b.as<T>();
        for (std::size_t t = 0; t < mask.size(); ++t) {
          if (!mask[t]) continue;
          if (compares)
            out.as<bool>()[t] = c == '<'   ? (equal ? x[t] <= y[t] : x[t] < y[t])
                                : c == '>' ? (equal ? x[t] >= y[t] : x[t] > y[t])
                                : c == '=' ? x[t] == y[t]
                                           : logic(c, x[t], y[t], t) != 0;
          else out.as<T>()[t] = logic(c, x[t], y[t], t);
        }
      }
    });
    return cast(std::move(out), e.type.dtype);
  }
  template <class T> T logic(char op, T x, T y, std::size_t t) const {
    if constexpr (is_index<T>) {
      using U = std::make_unsigned_t<T>;
      if ((op == '/' || op == '%') && y == 0) fail("{} divides {} by zero", described(t), x);
      switch (op) {
        case '+': return static_cast<T>(static_cast<U>(x) + static_cast<U>(y));
        case '-': return static_cast<T>(static_cast<U>(x) - static_cast<U>(y));
        case '*': return static_cast<T>(static_cast<U>(x) * static_cast<U>(y));
        case '/': return x / y;
        case '%': return x % y;
        case '&': return x & y;
        default: return x ^ y;
      }
    } else if constexpr (std::is_same_v<T, bool>) {
      return op == '&' ? x && y : x != y;
    } else {
      fail("arithmetic of {} by an operator", sinter::name(dtype_of<T>));
    }
  }

  std::int64_t quotient(const Values& a, const Values& b, std::size_t t) const {
    return visit_storage(a.type.dtype, [&]<class T>() -> std::int64_t {
      if constexpr (is_index<T>) return static_cast<std::int64_t>(logic('/', a.as<T>()[t], b.as<T>()[t], t));
      else fail("a quotient of {}", sinter::name(a.type.dtype));
    });
  }
  Values shuffled(const Expr& e, const Mask& mask) {
    meet(mask, kWarp, "a shuffle");
    const Values v = value(e.args[0], mask);
    const std::vector<std::int64_t> by = integers(e.args[1], mask);
    Values out = v;
    const std::size_t bytes = v.bytes.size() / lanes();
    for (std::size_t t = 0; t < mask.size(); ++t) {
      if (!mask[t]) continue;
      const std::int64_t lane = static_cast<std::int64_t>(t) % kWarp, warp = static_cast<std::int64_t>(t) - lane;
      const std::int64_t from = e.kind == Kind::shuffle_xor ? lane ^ by[t] : e.kind == Kind::shuffle_up ? (lane >= by[t] ? lane - by[t] : lane) : by[t];
      if (from < 0 || from >= kWarp) fail("{} asks for lane {} of its warp", described(t), from);
      std::memcpy(out.bytes.data() + t * bytes, v.bytes.data() + static_cast<std::size_t>(warp + from) * bytes, bytes);
    }
    return out;
  }

  Values value(const E& e, const Mask& mask) {
    switch (e->kind) {
      case Kind::literal: {
        Values one = each(DType::int64, mask, [&](std::size_t) { return e->number; });
        return cast(std::move(one), e->type.dtype);
      }
      case Kind::variable: {
        const Name& name = find(e->name);
        if (name.place != Name::Place::number) return read(e, mask);
        Values out = blank(e->type);
        for (std::size_t t = 0; t < mask.size(); ++t) std::memcpy(out.bytes.data() + t * name.memory.size(), name.memory.data(), name.memory.size());
        return out;
      }
      case Kind::own:
        return each(DType::uint32, mask, [&](std::size_t t) {
          const std::int64_t thread = static_cast<std::int64_t>(t) % threads_;
          return e->name == "thread_x"   ? thread % kernel_.across
                 : e->name == "thread_y" ? thread / kernel_.across
                 : e->name == "block"    ? first_block_ + static_cast<std::int64_t>(t) / threads_
                                         : launch_.blocks;
        });
      case Kind::element:
      case Kind::vector: return read(e, mask);
      case Kind::lane: {
        const Kind base = e->args[0]->kind;
        if (base == Kind::variable || base == Kind::element || base == Kind::vector) return read(e, mask);
        const Values v = value(e->args[0], mask);
        const std::vector<std::int64_t> lane = integers(e->args[1], mask);
        Values out = blank(e->type);
        const std::size_t bytes = out.bytes.size() / lanes();
        for (std::size_t t = 0; t < mask.size(); ++t)
          if (mask[t])
            std::memcpy(out.bytes.data() + t * bytes, v.bytes.data() + (t * static_cast<std::size_t>(v.type.width) + static_cast<std::size_t>(lane[t])) * bytes,
                        bytes);
        return out;
      }
      case Kind::binary: return binary(*e, mask);
      case Kind::invert: {
        const Mask truth = truths(e->args[0], mask);
        return each(DType::bool_, mask, [&](std::size_t t) { return !truth[t]; });
      }
      case Kind::select: {
        const Mask yes = truths(e->args[0], mask);
        Mask no = mask;
        for (std::size_t t = 0; t < no.size(); ++t) no[t] = mask[t] && !yes[t];
        Values out = cast(value(e->args[1], yes), e->type.dtype);
        const Values other = cast(value(e->args[2], no), e->type.dtype);
        const std::size_t bytes = out.bytes.size() / lanes();
        for (std::size_t t = 0; t < no.size(); ++t)
          if (no[t]) std::memcpy(out.bytes.data() + t * bytes, other.bytes.data() + t * bytes, bytes);
        return out;
      }
      case Kind::cast: return cast(value(e->args[0], mask), e->type.dtype);
      case Kind::primitive: {
        std::vector<Values> args;
        for (const E& a : e->args) args.push_back(value(a, mask));
        const DType operand = args.back().type.dtype;
        Values out = blank(e->type);
        std::vector<const Values*> pointers;
        for (Values& v : args) {
          if (!(e->op == Op::where && &v == &args.front())) v = cast(std::move(v), operand);
          pointers.push_back(&v);
        }
        tiles(kernels::elementwise_kernel(e->op, operand, e->type.dtype), pointers, out);
        return out;
      }
      case Kind::multiply_add: {
        const Values a = value(e->args[0], mask), b = value(e->args[1], mask), c = value(e->args[2], mask);
        Values out = blank(e->type);
        for (std::size_t t = 0; t < mask.size(); ++t)
          if (e->type.dtype == DType::float32) out.as<float>()[t] = std::fma(a.as<float>()[t], b.as<float>()[t], c.as<float>()[t]);
          else out.as<double>()[t] = std::fma(a.as<double>()[t], b.as<double>()[t], c.as<double>()[t]);
        return out;
      }
      case Kind::neutral: {
        Values out = blank(e->type);
        kernels::reduction_kernels(e->op, e->type.dtype).start(count_, out.bytes.data());
        return out;
      }
      case Kind::rounded: return cast(cast(value(e->args[0], mask), e->dtype), e->type.dtype);
      case Kind::divisor: {
        Values v = cast(value(e->args[0], mask), e->type.dtype);
        v.type = e->type;
        return v;
      }
      case Kind::quotient: {
        const Values a = value(e->args[0], mask);
        Values b = value(e->args[1], mask), out = blank(e->type);
        b.type.divisor = false;
        if (!is_floating(e->type.dtype)) return each(e->type, mask, [&](std::size_t t) { return quotient(a, b, t); });
        tiles(kernels::elementwise_kernel(Op::divide, e->type.dtype, e->type.dtype), {&a, &b}, out);
        return out;
      }
      case Kind::shuffle_xor:
      case Kind::shuffle_up:
      case Kind::shuffle: return shuffled(*e, mask);
      case Kind::remote: {
        Name& name = find(e->name);
        const std::vector<std::int64_t> block = integers(e->args[0], mask);
        Values out = blank(e->type);
        const std::size_t bytes = out.bytes.size() / lanes();
        for (std::size_t t = 0; t < mask.size(); ++t) {
          if (!mask[t]) continue;
          if (block[t] < 0 || block[t] >= kernel_.cluster) fail("{} reads {} of block {} of its cluster", described(t), e->name, block[t]);
          std::memcpy(out.bytes.data() + t * bytes, shared(name, e->name, t, block[t] * name.count(), 1, false), bytes);
        }
        return out;
      }
      default: fail("only a CPU's kernels have this expression");
    }
  }

  // ---- statements

  /// Fails unless all or no threads of each group of `group` threads take part.
  void meet(const Mask& mask, std::int64_t group, const char* what) const {
    for (std::int64_t first = 0; first < count_;) {
      const std::int64_t end_of_block = first - first % threads_ + threads_;
      const std::int64_t last = group > threads_ ? count_ : std::min(first + group, end_of_block);
      const auto begin = mask.begin() + first, end = mask.begin() + last;
      const auto here = std::count(begin, end, 1);
      if (here != 0 && here != last - first)
        fail("{} of the {} threads from {} on reach {}", here, last - first, described(static_cast<std::size_t>(first)), what);
      first = last;
    }
  }

  Name& declare(const Stmt& s, Name::Place place, std::int64_t arrays) {
    Name name;
    name.place = place;
    name.type = s.type;
    name.extents.assign(s.extents.begin(), s.extents.end());
    return scopes_.back()[s.name] = sized(std::move(name), arrays);
  }
  static Name sized(Name name, std::int64_t arrays) {
    const auto elements = static_cast<std::size_t>(arrays * name.count());
    name.memory.assign(elements * itemsize(name.type.dtype), std::byte{0xa5});
    if (name.place == Name::Place::own) name.written.assign(elements, 0);
    if (name.place == Name::Place::shared) name.shadow.assign(elements, {});
    return name;
  }

  void run(const std::vector<Stmt>& body, Mask& mask) {
    for (const Stmt& s : body) {
      if (std::find(mask.begin(), mask.end(), 1) == mask.end()) return;
      if (++statements_ > kMaxStatements) fail("it does not end");
      statement(s, mask);
      if (loop_ == nullptr) continue;
      for (std::size_t t = 0; t < mask.size(); ++t) mask[t] &= !loop_->skipped[t] && !loop_->left[t];
    }
  }
  void inner(const std::vector<Stmt>& body, Mask mask) {
    scopes_.emplace_back();
    run(body, mask);
    scopes_.pop_back();
  }
  void initial(const Stmt& s, const Mask& mask) {
    if (s.value.empty()) return;
    const Values v = cast(value(s.value, mask), s.type.dtype);
    Name& name = find(s.name);
    const std::size_t bytes = v.bytes.size() / lanes(), each = name.memory.size() / lanes();
    for (std::size_t t = 0; t < mask.size(); ++t) {
      if (!mask[t]) continue;
      for (std::size_t at = 0; at < each; at += bytes) std::memcpy(name.memory.data() + t * each + at, v.bytes.data() + t * bytes, bytes);
      std::fill_n(name.written.begin() + static_cast<std::ptrdiff_t>(t * name.written.size() / lanes()), name.written.size() / lanes(), 1);
    }
  }

  void statement(const Stmt& s, Mask& mask) {
    using S = Stmt::Kind;
    switch (s.kind) {
      case S::let:
      case S::var:
      case S::registers:
        declare(s, Name::Place::own, count_);
        initial(s, mask);
        break;
      case S::shared: declare(s, Name::Place::shared, kernel_.cluster); break;
      case S::dynamic: {
        Name name;
        name.place = Name::Place::shared;
        name.type = s.type;
        name.share = s.number;
        name.extents = {integers(s.extent, mask)[0]};
        scopes_.back()[s.name] = sized(std::move(name), s.number > 0 ? count_ / s.number : kernel_.cluster);
        break;
      }
      case S::store: {
        const Mask stores = truths(s.guard, mask);
        const Values v = cast(value(s.value, stores), s.target->type.dtype);
        const std::size_t bytes = v.bytes.size() / lanes();
        access(s.target, stores, true, [&](std::size_t t, std::byte* to) { std::memcpy(to, v.bytes.data() + t * bytes, bytes); });
        break;
      }
      case S::loop: loop(s, mask); break;
      case S::branch: inner(s.body, truths(s.guard, mask)); break;
      case S::next:
      case S::last: {
        const Mask leave = truths(s.guard, mask);
        Mask& which = s.kind == S::next ? loop_->skipped : loop_->left;
        for (std::size_t t = 0; t < mask.size(); ++t) which[t] |= leave[t];
        break;
      }
      case S::barrier: barrier(s, mask); break;
      case S::check: {
        const Mask failed = truths(s.guard, mask);
        const std::vector<std::int64_t> values = integers(s.value, failed);
        const Name& flags = find("flags");
        auto* const at = reinterpret_cast<std::int64_t*>(flags.pointer) + 2 * s.number;
        for (std::size_t t = 0; t < mask.size(); ++t)
          if (failed[t] && std::exchange(at[0], 1) == 0) at[1] = values[t];
      }
    }
  }

  void loop(const Stmt& s, const Mask& mask) {
    std::vector<std::int64_t> i = integers(s.first, mask);
    Mask active = mask;
    Loop now{Mask(lanes(), 0), Mask(lanes(), 0)};
    Loop* const outer = std::exchange(loop_, &now);
    for (;;) {
      scopes_.emplace_back();
      declare(Stmt{.kind = Stmt::Kind::let, .type = s.type, .name = s.name}, Name::Place::own, count_);
      {
        const Values v = each(s.type, active, [&](std::size_t t) { return i[t]; });
        Name& name = find(s.name);
        name.memory = v.bytes;
        std::fill(name.written.begin(), name.written.end(), 1);
      }
      // The condition is that of C: the variable has its type, and the comparison the wider one.
      if (s.change == Change::half)
        for (std::size_t t = 0; t < active.size(); ++t) active[t] = active[t] && i[t] > 0;
      else active = truths(variable(s.name, s.type) < s.end, active);
      const bool over = std::find(active.begin(), active.end(), 1) == active.end();
      if (!over) {
        std::fill(now.skipped.begin(), now.skipped.end(), 0);
        Mask iteration = active;
        run(s.body, iteration);
        for (std::size_t t = 0; t < active.size(); ++t) active[t] &= !now.left[t];
        const std::vector<std::int64_t> step = s.change == Change::add ? integers(s.step, active) : std::vector<std::int64_t>(lanes(), 0);
        for (std::size_t t = 0; t < active.size(); ++t)
          if (active[t]) i[t] = s.change == Change::add ? i[t] + step[t] : s.change == Change::twice ? i[t] * 2 : i[t] / 2;
      }
      scopes_.pop_back();
      if (over) break;
    }
    loop_ = outer;
  }

  void barrier(const Stmt& s, const Mask& mask) {
    meet(mask, s.scope == Scope::warp ? kWarp : s.scope == Scope::block ? threads_ : count_, "a barrier");
    if (s.scope == Scope::cluster_arrive) return;
    for (std::size_t t = 0; t < mask.size(); ++t) {
      if (!mask[t]) continue;
      Moment& moment = moments_[t];
      ++moment.after_warp;
      if (s.scope != Scope::warp) ++moment.after_block;
      if (s.scope == Scope::cluster_wait) ++moment.after_cluster;
    }
  }

  const Kernel& kernel_;
  const LoopLaunch& launch_;
  const std::int64_t threads_, count_;  // numbers of threads of a block, and of a cluster
  std::vector<std::map<std::string, Name>> scopes_;
  std::vector<Moment> moments_;  // one for each thread of the cluster
  std::int64_t first_block_ = 0;
  Loop* loop_ = nullptr;
  std::vector<std::span<std::byte>> written_;          // the buffers that the launch writes
  tsl::robin_map<std::uintptr_t, ShadowCell> global_;  // their elements, by address
  std::int64_t statements_ = 0;                        // number of statements so far
};

}  // namespace

void execute(const Kernel& kernel, const LoopLaunch& launch) { Executor(kernel, launch).run(); }

}  // namespace sinter::test
