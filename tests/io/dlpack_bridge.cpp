// C functions over DLPack for dlpack_numpy.py: a formula over given tensors, and tensors to export.
#include <sinter/dlpack.hpp>
#include <sinter/sinter.hpp>

#include <cstdio>

namespace sn = sinter;

namespace {
/// The address of the last tensor's input, which shows whether it was copied.
const void* address = nullptr;

template <class Managed> sn::dlpack::Versioned* doubled(Managed* given, bool copy) try {
  const sn::Tensor x = sn::dlpack::from_dlpack(given);
  sn::dlpack::Versioned* same = sn::dlpack::to_versioned(x);
  address = same->tensor.data;
  same->deleter(same);
  return sn::dlpack::to_versioned(is_bool(x.dtype()) ? sn::logical_not(x) : x * 2, copy);
} catch (const sn::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return nullptr;
}
}  // namespace

extern "C" {
[[gnu::visibility("default")]] sn::dlpack::Versioned* bridge_doubled(sn::dlpack::Versioned* given, int copy) { return doubled(given, copy != 0); }
[[gnu::visibility("default")]] sn::dlpack::Versioned* bridge_doubled_unversioned(sn::dlpack::Unversioned* given) { return doubled(given, false); }
[[gnu::visibility("default")]] sn::dlpack::Unversioned* bridge_numbers() { return sn::dlpack::to_unversioned(sn::reshape(sn::arange(6.f), {2, 3})); }
[[gnu::visibility("default")]] const void* bridge_address() { return address; }
[[gnu::visibility("default")]] unsigned long long bridge_bytes() { return sn::counters().bytes_now; }
}
