// Results that come in pieces.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

namespace sinter::kernels {

/// Told when elements [begin, end) of a result, counted row-major, are there and stay as they are until it returns. On the thread that computed them, for each
/// element once; empty: nobody wants to know.
class Finished {
 public:
  /// `at`: where element `begin` lies; null: in the result's memory.
  using Tell = std::function<void(std::int64_t begin, std::int64_t end, const void* at)>;

  Finished() = default;
  Finished(std::nullptr_t) {}
  Finished(Tell tell, bool elsewhere) : tell_(std::move(tell)), elsewhere_(elsewhere) {}

  explicit operator bool() const { return static_cast<bool>(tell_); }
  void operator()(std::int64_t begin, std::int64_t end, const void* at = nullptr) const { tell_(begin, end, at); }
  /// Nobody reads the result but who is told: it has no memory, and pieces lie where they are.
  bool elsewhere() const { return elsewhere_; }

 private:
  Tell tell_;
  bool elsewhere_ = false;
};

}  // namespace sinter::kernels
