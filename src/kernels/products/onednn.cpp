#include "kernels/products/onednn.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "base/log.hpp"
#include "jit/library.hpp"
#include "kernels/products/matmul.hpp"

namespace sinter::kernels {
namespace {

// Declarations of those parts of dnnl.h and dnnl_types.h that sinter uses. They are the same in versions 2 and 3.
struct Version {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};
constexpr unsigned kSequential = 1, kOpenMp = 2;  // dnnl_config.h: the threading library with which it was built
using Sgemm = int (*)(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float* a, std::int64_t lda, const float* b,
                      std::int64_t ldb, float beta, float* c, std::int64_t ldc);

struct Api {
  Sgemm sgemm = nullptr;
  int (*threads_now)() = nullptr;  // OpenMP's functions, if it was built with OpenMP
  void (*set_threads)(int) = nullptr;
};
Api api;  // written once, before the first product

/// While this object exists, oneDNN uses only the calling thread, because sinter's threads compute the blocks. OpenMP has this setting for each thread.
class Alone {
 public:
  Alone() {
    if (!api.set_threads) return;
    before_ = api.threads_now();
    api.set_threads(1);
  }
  ~Alone() {
    if (api.set_threads) api.set_threads(before_);
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  int before_ = 1;
};

/// Held during calls of the library. Objects that existed when the library was opened are destroyed after the library's static objects, and their destructors
/// may still evaluate. Then sinter's own blocks multiply.
std::shared_mutex& in_use() {
  static auto& mutex = *new std::shared_mutex;
  return mutex;
}

bool multiply(DType dtype, const MatmulBlock& p) {
  const std::shared_lock inside(in_use(), std::try_to_lock);
  if (!inside) return host_blocks().multiply(dtype, p);
  const Alone alone;
  return api.sgemm(p.a_transposed ? 'T' : 'N', p.b_transposed ? 'T' : 'N', p.rows, p.columns, p.depth, 1.f, static_cast<const float*>(p.a), p.a_leading,
                   static_cast<const float*>(p.b), p.b_leading, p.accumulate ? 1.f : 0.f, static_cast<float*>(p.c), p.c_leading) == 0;
}

/// The first product of a process takes 30 to 60 ms, because the library generates its kernels then.
void prepare() {
  static const bool done = [] {
    constexpr std::int64_t side = 16;
    const std::vector<float> ones(side * side, 1);
    std::vector<float> product(side * side);
    return multiply(DType::float32, {ones.data(), ones.data(), product.data(), side, side, side, side, side, side, false, false});
  }();
  if (!done) log().warn("the matrix library failed to multiply a small matrix");
}

std::optional<OneDnn> open() {
  const std::string path = jit::find_library("SINTER_ONEDNN", {"libdnnl.so.*"}, {}, 2, 3);
  if (path.empty()) return std::nullopt;
  const auto refuse = [&](const std::string& why) {
    log().warn("{} is not used: {}", path, why);
    return std::nullopt;
  };
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!library) return refuse(dlerror());
  const auto version_of = reinterpret_cast<const Version* (*)()>(dlsym(library, "dnnl_version"));
  api.sgemm = reinterpret_cast<Sgemm>(dlsym(library, "dnnl_sgemm"));
  if (!version_of || !api.sgemm) return refuse("it has no dnnl_sgemm");
  const Version& version = *version_of();
  if (version.cpu_runtime == kOpenMp) {
    api.threads_now = reinterpret_cast<int (*)()>(dlsym(library, "omp_get_max_threads"));
    api.set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "omp_set_num_threads"));
  }
  if (version.cpu_runtime != kSequential && !(api.threads_now && api.set_threads)) return refuse("its number of threads cannot be set to one");
  std::atexit([] { in_use().lock(); });
  return OneDnn{fmt::format("oneDNN {}.{}.{}", version.major, version.minor, version.patch), &multiply, &prepare};
}

}  // namespace

const OneDnn* onednn() {
  static const std::optional<OneDnn>& found = *new std::optional<OneDnn>(open());
  return found ? &*found : nullptr;
}

}  // namespace sinter::kernels
