// A kernel's text compiled for the host and loaded.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "container.hpp"
#include "hooks.hpp"

namespace cuda_emulator {

class HostModule {
 public:
  /// Returns null, with the reason, if the text does not compile.
  static std::unique_ptr<HostModule> load(const Container& container, Hooks* hooks, std::string* why_not);
  ~HostModule();
  HostModule(const HostModule&) = delete;
  HostModule& operator=(const HostModule&) = delete;

  const Container& container() const { return container_; }
  void call(void** parameters) const { call_(parameters); }
  const std::vector<unsigned>& parameter_sizes() const { return parameter_sizes_; }
  /// Returns whether the kernel's threads wait for each other; otherwise they can run one after the other.
  bool synchronises() const { return synchronises_; }
  /// Returns whether the kernel's blocks form clusters, or wait as if they did.
  bool clusters() const { return clusters_; }

  /// This host thread's copy of the kernel's shared memory: static arrays and, if the kernel has one, the dynamic array.
  struct Shared {
    unsigned char *begin = nullptr, *end = nullptr, *dynamic = nullptr;
  };
  Shared shared() const;
  /// Returns whether the address lies in the module's own constants and variables.
  bool owns(const void* address) const { return address >= image_begin_ && address < image_end_; }

 private:
  HostModule() = default;
  Container container_;
  void* library_ = nullptr;
  void (*call_)(void**) = nullptr;
  unsigned char* (*dynamic_)() = nullptr;
  std::vector<unsigned> parameter_sizes_;
  bool synchronises_ = false, clusters_ = false;
  const char *image_begin_ = nullptr, *image_end_ = nullptr;
  std::size_t tls_module_ = 0, tls_bytes_ = 0;
};

/// The largest dynamic shared memory that a kernel may get.
inline constexpr std::size_t kLargestDynamicShared = 232448;

}  // namespace cuda_emulator
