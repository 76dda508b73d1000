// Converts plain values to bytes and back: a struct is written as its members in order, a list as its length and its elements. Reading checks everything:
// lengths against the remaining bytes, enumerators against their range.
#pragma once
#include <array>
#include <boost/pfr.hpp>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/planned.hpp"

namespace sinter::engine {

/// Thrown for bytes that are not an archive, or an archive of something else; `what()` says where.
struct Damaged {
  std::string_view what;
};

/// The number of enumerators.
struct Enumerators {
  static int of(DType) { return kDTypeCount; }
  static int of(trace::Op) { return trace::primitive_count(); }
  static int of(jit::Instr::Kind) { return static_cast<int>(jit::Instr::Kind::scan) + 1; }
  static int of(fuse::Backend) { return static_cast<int>(fuse::Backend::opencl) + 1; }
  static int of(fuse::SplitReason) { return static_cast<int>(fuse::SplitReason::not_tried) + 1; }
  static int of(PlannedStep::From) { return static_cast<int>(PlannedStep::From::tuned) + 1; }
  static int of(fuse::Guard::Kind) { return static_cast<int>(fuse::Guard::Kind::not_positive) + 1; }
};

/// A class with private members returns them itself.
template <class T>
concept HasTied = requires(T& x) { x.tied(); };

/// The common part of writing and reading: `Derived` moves raw bytes.
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
    } else if constexpr (HasTied<T>) {
      std::apply([this](auto&... members) { (one(members), ...); }, x.tied());
    } else {
      boost::pfr::for_each_field(x, [this](auto& member) { one(member); });
    }
  }
  /// Kernels are made or loaded separately from the plan that runs them.
  void one(Made&) {}
  template <class T, std::size_t count> void one(std::array<T, count>& x) {
    for (T& element : x) one(element);
  }
  void one(std::string& x) {
    self().list(x, [this](std::string& text) { self().raw(text.data(), text.size()); });
  }
  void one(Shape& x) { one(static_cast<std::vector<std::int64_t>&>(x)); }
  template <class T> void one(std::vector<T>& x) {
    self().list(x, [this](T& element) { one(element); });
  }
  /// The number of the alternative, then the alternative.
  template <class... T> void one(std::variant<T...>& x) {
    auto number = static_cast<std::uint32_t>(x.index());
    self().raw(&number, sizeof number);
    if (number >= sizeof...(T)) throw Damaged{"an alternative"};
    if (number != x.index()) x = std::array<std::variant<T...>, sizeof...(T)>{T()...}[number];
    std::visit([this](auto& alternative) { one(alternative); }, x);
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
  /// Every element takes at least one byte, which bounds a valid length.
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
  /// Memory for elements is allocated only as elements arrive.
  template <class T, class Each> void list(std::vector<T>& elements, Each each) {
    elements.clear();
    for (std::size_t count = length(); count > 0; --count) each(elements.emplace_back());
  }

  std::string_view left_;
};

}  // namespace sinter::engine
