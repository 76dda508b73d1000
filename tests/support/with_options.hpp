// Changes the engine's options for a scope.
#pragma once
#include "sinter/engine.hpp"

namespace sinter::testing {

/// While this object exists, the engine has the changed options.
class WithOptions {
 public:
  template <class Change> explicit WithOptions(Change change) {
    Options changed = before_;
    change(changed);
    configure(changed);
  }
  ~WithOptions() { configure(before_); }
  WithOptions(const WithOptions&) = delete;
  WithOptions& operator=(const WithOptions&) = delete;

 private:
  const Options before_ = options();
};

inline WithOptions with_threads(int threads) {
  return WithOptions([&](Options& changed) { changed.threads = threads; });
}
inline WithOptions without_passes(const std::string& names) {
  return WithOptions([&](Options& changed) { changed.without = names; });
}

}  // namespace sinter::testing
