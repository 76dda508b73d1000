// The epilogue of a library call, in the form that the call uses.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

namespace sinter::kernels {

/// The function that a library call calls when elements [begin, end) of its result, counted row-major, are complete. They do not change until the function
/// returns. The thread that computed the elements makes the call. Each element is in exactly one call. The function is empty if there is no epilogue.
class Epilogue {
 public:
  /// `at`: the address of element `begin`; null: it is in the result's memory.
  using Call = std::function<void(std::int64_t begin, std::int64_t end, const void* at)>;

  Epilogue() = default;
  Epilogue(std::nullptr_t) {}
  Epilogue(Call call, bool elsewhere) : call_(std::move(call)), elsewhere_(elsewhere) {}

  explicit operator bool() const { return static_cast<bool>(call_); }
  void operator()(std::int64_t begin, std::int64_t end, const void* at = nullptr) const { call_(begin, end, at); }
  /// Returns whether only the epilogue reads the result. The result then has no memory, and each piece stays where it was computed.
  bool elsewhere() const { return elsewhere_; }

 private:
  Call call_;
  bool elsewhere_ = false;
};

}  // namespace sinter::kernels
