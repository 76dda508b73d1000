// Plain values to bytes and back: a struct is its members in order, a list its length and its elements. Whoever reads believes nothing: lengths are
// compared with what is left, enumerators with their range.
#pragma once
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "fuse/library_call.hpp"
#include "fuse/limits.hpp"
#include "jit/loop_nest.hpp"
#include "jit/source.hpp"

namespace sinter::freezing {

/// Bytes that are no archive, or of something else; `what()` says where.
struct Damaged {
  std::string_view what;
};

/// The members of the structs that plans are made of. A member that is added to one of them does not compile before it is here.
struct Members {
  static auto of(jit::Index::Term& x) {
    auto& [a, b, c, d, e, f] = x;
    return std::tie(a, b, c, d, e, f);
  }
  static auto of(jit::Index& x) {
    auto& [a, b] = x;
    return std::tie(a, b);
  }
  static auto of(jit::Access& x) {
    auto& [a, b, c, d, e] = x;
    return std::tie(a, b, c, d, e);
  }
  static auto of(jit::Instr& x) {
    auto& [a, b, c, d, e, f, g, h, i, j] = x;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  }
  static auto of(jit::Reduction& x) {
    auto& [a, b, c] = x;
    return std::tie(a, b, c);
  }
  static auto of(jit::PersistentStore& x) {
    auto& [a, b] = x;
    return std::tie(a, b);
  }
  static auto of(jit::Store& x) {
    auto& [a, b, c] = x;
    return std::tie(a, b, c);
  }
  static auto of(jit::Check& x) {
    auto& [a, b, c] = x;
    return std::tie(a, b, c);
  }
  static auto of(jit::Stage& x) {
    auto& [a, b, c, d, e, f, g] = x;
    return std::tie(a, b, c, d, e, f, g);
  }
  static auto of(jit::Scalar& x) {
    auto& [a, b] = x;
    return std::tie(a, b);
  }
  static auto of(jit::Schedule& x) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z] = x;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, y, z);
  }
  static auto of(jit::LoopNest& x) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = x;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
  }
  static auto of(jit::ResourceReport& x) {
    auto& [a, b, c, d, e] = x;
    return std::tie(a, b, c, d, e);
  }
  static auto of(trace::Scalar& x) {
    auto& [a, b, c] = x;
    return std::tie(a, b, c);
  }
  static auto of(fuse::LibraryOperand& x) {
    auto& [a, b, c, d, e] = x;
    return std::tie(a, b, c, d, e);
  }
  static auto of(fuse::LibraryCall& x) {
    auto& [a, b, c, d, e, f, g, h, i, j] = x;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  }
};

/// How many enumerators there are.
struct Enumerators {
  static int of(DType) { return kDTypeCount; }
  static int of(trace::Op) { return trace::primitive_count(); }
  static int of(jit::Form) { return static_cast<int>(jit::Form::panels) + 1; }
  static int of(jit::Instr::Kind) { return static_cast<int>(jit::Instr::Kind::scan) + 1; }
  static int of(fuse::Guard::Kind) { return static_cast<int>(fuse::Guard::Kind::not_positive) + 1; }
};

template <class T>
concept HasMembers = requires(T& x) { Members::of(x); };
template <class T>
concept HasTied = requires(T& x) { x.tied(); };

/// What writing and reading have in common: `Derived` moves raw bytes.
template <class Derived> class Archive {
 public:
  template <class... T> void operator()(T&... values) { (one(values), ...); }

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
  template <class T> void one(T& x) {
    if constexpr (std::is_same_v<T, bool>) {
      auto byte = static_cast<std::uint8_t>(x);
      self().raw(&byte, 1);
      x = byte != 0;
    } else if constexpr (std::is_enum_v<T>) {
      auto number = static_cast<std::int32_t>(x);
      self().raw(&number, sizeof number);
      if (number < 0 || number >= Enumerators::of(T{})) throw Damaged{"an enumerator"};
      x = static_cast<T>(number);
    } else if constexpr (std::is_arithmetic_v<T>) {
      self().raw(&x, sizeof x);
    } else if constexpr (std::is_array_v<T>) {
      for (auto& element : x) one(element);
    } else if constexpr (HasTied<T>) {
      std::apply([this](auto&... members) { (one(members), ...); }, x.tied());
    } else {
      std::apply([this](auto&... members) { (one(members), ...); }, Members::of(x));
    }
  }
  void one(std::string& x) {
    self().list(x, [this](std::string& text) { self().raw(text.data(), text.size()); });
  }
  template <class T> void one(std::vector<T>& x) {
    self().list(x, [this](T& element) { one(element); });
  }
  template <class A, class B> void one(std::pair<A, B>& x) {
    one(x.first);
    one(x.second);
  }
};

class ArchiveWriter : public Archive<ArchiveWriter> {
 public:
  std::string bytes;

 private:
  friend Archive<ArchiveWriter>;
  void raw(const void* from, std::size_t count) { bytes.append(static_cast<const char*>(from), count); }
  void length(std::uint64_t count) { raw(&count, sizeof count); }
  template <class All> void list(std::string& text, All all) {
    length(text.size());
    all(text);
  }
  template <class T, class Each> void list(std::vector<T>& elements, Each each) {
    length(elements.size());
    for (T& element : elements) each(element);
  }
};

class ArchiveReader : public Archive<ArchiveReader> {
 public:
  explicit ArchiveReader(std::string_view bytes) : left_(bytes) {}
  bool at_end() const { return left_.empty(); }

 private:
  friend Archive<ArchiveReader>;
  void raw(void* to, std::size_t count) {
    if (count > left_.size()) throw Damaged{"it ends too soon"};
    if (count > 0) std::memcpy(to, left_.data(), count);
    left_.remove_prefix(count);
  }
  /// Every element takes a byte at least: a length that is more is none.
  std::size_t length() {
    std::uint64_t count = 0;
    raw(&count, sizeof count);
    if (count > left_.size()) throw Damaged{"a length"};
    return static_cast<std::size_t>(count);
  }
  template <class All> void list(std::string& text, All all) {
    text.resize(length());
    all(text);
  }
  /// No memory is taken for elements before they are there.
  template <class T, class Each> void list(std::vector<T>& elements, Each each) {
    elements.clear();
    for (std::size_t count = length(); count > 0; --count) each(elements.emplace_back());
  }

  std::string_view left_;
};

}  // namespace sinter::freezing
