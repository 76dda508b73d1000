// bench_gpu measures the ceilings of a GPU and the times of the patterns of a file on it, for bench/gpu_day.sh.
//
//   bench_gpu ceilings [--quick] --json FILE
//   bench_gpu patterns PATTERNS [--quick] [--dtypes f32,bf16,f16] [--only WORDS] [--seconds N] --json FILE
//   bench_gpu profile PATTERNS [--quick] [--dtypes f32,bf16,f16]      one evaluation of each between cuProfilerStart and cuProfilerStop, for ncu
//
// A pattern that FILE already holds is not timed again, and each pattern is written as soon as it is timed. The exit status is 4 if the seconds are over, and
// 3 if the device is unusable for this process; then the last row says why.
//
// A pattern is timed from the host: as many evaluations as fill the time are started, one after the other, and waited for together. Inputs rotate among
// buffers of more bytes than the GPU's caches hold. So the time includes the host's where that is longer, as in a program.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "bench.hpp"
#include "bindings.hpp"
#include "sinter/sinter.hpp"

namespace sn = sinter;

namespace {

struct Request {
  std::string command, patterns, json, only;
  std::vector<std::string> dtypes{"f32", "bf16", "f16"};
  double seconds = 1e9;
  bool quick = false;
};

// ---- ceilings: the driver's own copies and fills, a plain kernel that reads, launches and allocations

template <class F> F symbol(void* library, const char* name) { return reinterpret_cast<F>(dlsym(library, name)); }

void check(int result, const char* what) {
  if (result != 0) throw sn::DeviceError(fmt::format("{}: error {}", what, result));
}

const char* kRead = R"(
struct __align__(16) Four { unsigned x, y, z, w; };
extern "C" __global__ void read(const Four* from, unsigned* to, unsigned long long count) {
  unsigned all = 0;
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i + 3 * step < count; i += 4 * step) {
    const Four a = from[i], b = from[i + step], c = from[i + 2 * step], d = from[i + 3 * step];
    all ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w ^ c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
  }
  if (all == 0x12345678u) *to = all;
}
)";
const char* kNothing = R"(extern "C" __global__ void nothing() {}
)";

class Driver {
 public:
  Driver() {
    const char* set = std::getenv("SINTER_CUDA_DRIVER");
    library_ = dlopen(set ? set : "libcuda.so.1", RTLD_NOW);
    if (!library_) throw sn::DeviceError(dlerror());
    check(symbol<int (*)(unsigned)>(library_, "cuInit")(0), "cuInit");
    void* context = nullptr;
    check(symbol<int (*)(void**, int)>(library_, "cuDevicePrimaryCtxRetain")(&context, 0), "cuDevicePrimaryCtxRetain");
    check(symbol<int (*)(void*)>(library_, "cuCtxSetCurrent")(context), "cuCtxSetCurrent");
    check(symbol<int (*)(void**, unsigned)>(library_, "cuStreamCreate")(&stream_, 1), "cuStreamCreate");
    for (void*& event : events_) check(symbol<int (*)(void**, unsigned)>(library_, "cuEventCreate")(&event, 0), "cuEventCreate");
  }
  template <class... A> void call(const char* name, A... arguments) const { check(symbol<int (*)(A...)>(library_, name)(arguments...), name); }
  bool has(const char* name) const { return dlsym(library_, name) != nullptr; }
  int attribute(int which) const {
    int value = 0;
    call("cuDeviceGetAttribute", &value, which, 0);
    return value;
  }
  void* stream() const { return stream_; }

  /// Returns milliseconds of the device.
  template <class Work> double time(Work&& work) const {
    call("cuEventRecord", events_[0], stream_);
    work();
    call("cuEventRecord", events_[1], stream_);
    call("cuEventSynchronize", events_[1]);
    float ms = 0;
    call("cuEventElapsedTime", &ms, events_[0], events_[1]);
    return ms;
  }
  void wait() const { call("cuStreamSynchronize", stream_); }

  void* compiled(const std::string& text) const {
    const char* set = std::getenv("SINTER_NVRTC");
    void* const nvrtc = dlopen(set ? set : "libnvrtc.so", RTLD_NOW);
    if (!nvrtc) throw sn::DeviceError(dlerror());
    void* program = nullptr;
    check(symbol<int (*)(void**, const char*, const char*, int, const char**, const char**)>(nvrtc, "nvrtcCreateProgram")(&program, text.c_str(), "ceilings.cu",
                                                                                                                          0, nullptr, nullptr),
          "nvrtcCreateProgram");
    const std::string target = fmt::format("--gpu-architecture=sm_{}{}", attribute(75), attribute(76));
    const char* option = target.c_str();
    check(symbol<int (*)(void*, int, const char**)>(nvrtc, "nvrtcCompileProgram")(program, 1, &option), "nvrtcCompileProgram");
    std::size_t size = 0;
    check(symbol<int (*)(void*, std::size_t*)>(nvrtc, "nvrtcGetCUBINSize")(program, &size), "nvrtcGetCUBINSize");
    std::vector<char> binary(size);
    check(symbol<int (*)(void*, char*)>(nvrtc, "nvrtcGetCUBIN")(program, binary.data()), "nvrtcGetCUBIN");
    void* module = nullptr;
    call("cuModuleLoadData", &module, static_cast<const void*>(binary.data()));
    return module;
  }
  void* function(void* module, const char* name) const {
    void* found = nullptr;
    call("cuModuleGetFunction", &found, module, name);
    return found;
  }
  void launch(void* function, unsigned blocks, unsigned threads, void** arguments) const {
    call("cuLaunchKernel", function, blocks, 1u, 1u, threads, 1u, 1u, 0u, stream_, arguments, static_cast<void**>(nullptr));
  }

 private:
  void* library_ = nullptr;
  void* stream_ = nullptr;
  void* events_[2] = {};
};

nlohmann::json ceilings(bool quick) {
  const Driver driver;
  nlohmann::json found;
  char name[128] = {};
  driver.call("cuDeviceGetName", static_cast<char*>(name), 127, 0);
  int version = 0;
  driver.call("cuDriverGetVersion", &version);
  found["device"] = name;
  found["driver"] = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  found["capability"] = fmt::format("{}.{}", driver.attribute(75), driver.attribute(76));
  found["multiprocessors"] = driver.attribute(16);

  const std::size_t bytes = quick ? 1 << 20 : std::size_t{1} << 30;
  const int rounds = quick ? 2 : 10;
  using Address = unsigned long long;
  Address from = 0, to = 0;
  driver.call("cuMemAlloc_v2", &from, bytes);
  driver.call("cuMemAlloc_v2", &to, bytes);
  const auto best = [&](auto&& work) {
    double smallest = 1e30;
    for (int k = 0; k < rounds; ++k) smallest = std::min(smallest, driver.time(work));
    return smallest;
  };
  if (driver.has("cuMemsetD32Async"))
    found["write GB/s"] = static_cast<double>(bytes) / 1e6 / best([&] { driver.call("cuMemsetD32Async", from, 0u, bytes / 4, driver.stream()); });
  found["copy GB/s"] = 2 * static_cast<double>(bytes) / 1e6 / best([&] { driver.call("cuMemcpyDtoDAsync_v2", to, from, bytes, driver.stream()); });
  void* const read = driver.function(driver.compiled(kRead), "read");
  void* const nothing = driver.function(driver.compiled(kNothing), "nothing");
  unsigned long long count = bytes / 16;
  void* arguments[] = {&from, &to, &count};
  const unsigned blocks = static_cast<unsigned>(driver.attribute(16)) * (quick ? 1 : 8);
  found["read GB/s"] = static_cast<double>(bytes) / 1e6 / best([&] { driver.launch(read, blocks, quick ? 32 : 256, arguments); });
  const int launches = quick ? 20 : 2000;
  const auto many = [&] {
    for (int k = 0; k < launches; ++k) driver.launch(nothing, 1, 32, nullptr);
  };
  found["launch us"] = best(many) * 1e3 / launches;
  driver.wait();
  found["launch and wait us"] = 1e6 / launches * bench::seconds([&] {
                                  for (int k = 0; k < launches; ++k) driver.launch(nothing, 1, 32, nullptr), driver.wait();
                                });
  if (driver.has("cuStreamBeginCapture_v2") && driver.has("cuGraphInstantiateWithFlags")) {
    void *graph = nullptr, *ready = nullptr;
    driver.call("cuStreamBeginCapture_v2", driver.stream(), 1);  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    for (int k = 0; k < 10; ++k) driver.launch(nothing, 1, 32, nullptr);
    driver.call("cuStreamEndCapture", driver.stream(), &graph);
    driver.call("cuGraphInstantiateWithFlags", &ready, graph, 0ull);
    found["graph of ten, us"] = best([&] {
                                  for (int k = 0; k < launches / 10; ++k) driver.call("cuGraphLaunch", ready, driver.stream());
                                }) *
                                1e4 / launches;
  }
  if (driver.has("cuMemAllocAsync")) {
    found["allocate and free us"] = 1e6 / launches * bench::seconds([&] {
                                      for (int k = 0; k < launches; ++k) {
                                        Address some = 0;
                                        driver.call("cuMemAllocAsync", &some, std::size_t{1} << 20, driver.stream());
                                        driver.call("cuMemFreeAsync", some, driver.stream());
                                      }
                                      driver.wait();
                                    });
  }
  return found;
}

// ---- patterns

struct Pattern {
  std::string name, expression;
  std::vector<std::string> bindings;
};

std::vector<Pattern> read_patterns(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw sn::IoError(path + ": cannot be opened");
  std::vector<Pattern> patterns;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    if (second == std::string::npos) throw sn::ValueError(fmt::format("{}: no three fields between tabs: {}", path, line));
    Pattern pattern{line.substr(0, first), line.substr(first + 1, second - first - 1), {}};
    std::istringstream words(line.substr(second + 1));
    for (std::string word; words >> word;) pattern.bindings.push_back(word);
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

/// Replaces f32 by another float type. `quick` reduces each size over 64 to a fraction that is nearly the same kind of number.
std::string other_type(const std::string& binding, const std::string& dtype, bool quick) {
  std::string text = std::regex_replace(binding, std::regex("f32"), dtype);
  if (!quick) return text;
  const std::size_t open = text.find('[');
  std::string sizes;
  for (std::size_t at = open + 1; at < text.size();) {
    const std::size_t end = text.find_first_of(",]", at);
    std::int64_t size = std::stoll(text.substr(at, end - at));
    if (size > 64) size = 48 + size % 64 % 16;
    sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
    at = end + 1;
  }
  return text.substr(0, open + 1) + sizes + "]";
}

sn::Tensor contents(const sn::Tensor& like, std::uint64_t key) {
  const sn::random::Key seed(key);
  sn::Tensor x = like.dtype() == sn::DType::bool_ ? sn::random::uniform(seed, like.shape()) > 0.5
                 : sn::is_floating(like.dtype())  ? sn::astype(sn::random::uniform(seed, like.shape(), 0, 1, sn::DType::float32), like.dtype())
                                                  : sn::astype(sn::random::integers(seed, like.shape(), 0, 32), like.dtype());
  sn::eval(x);
  return x;
}

/// A pattern with several sets of inputs.
class Evaluated {
 public:
  Evaluated(const Pattern& pattern, bool quick) : expression_(pattern.expression) {
    const auto types = sn::tools::bind_types(pattern.bindings);
    for (const auto& [name, value] : types.names)
      if (const auto* tensor = value.as<sn::Tensor>())
        bytes_ += static_cast<double>(sn::element_count(tensor->shape())) * static_cast<double>(sn::itemsize(tensor->dtype()));
    const double rotating = quick ? 1 : 256e6;  // more than any GPU's caches
    inputs_.assign(static_cast<std::size_t>(std::clamp(rotating / bytes_, 1.0, 64.0)) + 1, types.names);
    std::uint64_t key = 0;
    for (auto& names : inputs_)
      for (auto& [name, value] : names)
        if (const auto* tensor = value.as<sn::Tensor>()) value.is = contents(*tensor, ++key);
    results_.resize(sets());
  }
  std::size_t sets() const { return inputs_.size(); }
  /// Returns the bytes of one set's inputs and results.
  double bytes() const { return bytes_; }

  void once() {
    results_[0] = record(0);
    sn::eval(results_[0]);
    sn::synchronize();
    if (counted_) return;
    counted_ = true;
    for (const sn::Tensor& result : results_[0])
      bytes_ += static_cast<double>(sn::element_count(result.shape())) * static_cast<double>(sn::itemsize(result.dtype()));
  }
  /// Returns the seconds of one evaluation, when `count` of them run one after the other. The expression is recorded once for each set of inputs, outside the
  /// measured time: it is parsed from text here, which no program does.
  double timed(std::size_t count) {
    std::vector<std::vector<sn::Tensor>> recorded;
    for (std::size_t k = 0; k < count; ++k) recorded.push_back(record(k));
    return bench::seconds([&] {
             for (std::size_t k = 0; k < count; ++k) {
               sn::eval(recorded[k]);
               results_[k % sets()] = std::move(recorded[k]);
             }
             sn::synchronize();
           }) /
           static_cast<double>(count);
  }

 private:
  std::vector<sn::Tensor> record(std::size_t k) const { return sn::tools::evaluate(expression_, inputs_[k % sets()]).results; }

  std::string expression_;
  std::vector<sn::tools::Bindings> inputs_;
  std::vector<std::vector<sn::Tensor>> results_;
  double bytes_ = 0;
  bool counted_ = false;
};

nlohmann::json time_pattern(const Pattern& pattern, bool quick) {
  Evaluated evaluated(pattern, quick);
  const sn::Counters before = sn::counters();
  evaluated.once();
  const sn::Counters after = sn::counters();
  const double first = evaluated.timed(evaluated.sets());
  const auto count = quick ? evaluated.sets() : static_cast<std::size_t>(std::clamp(0.05 / first, 2.0, 2000.0));
  std::vector<double> times;
  for (int round = 0; round < (quick ? 1 : 5); ++round) times.push_back(evaluated.timed(count));
  return {{"us", 1e6 * bench::minimum(times)},
          {"median us", 1e6 * bench::median(times)},
          {"bytes", evaluated.bytes()},
          {"kernels", after.kernels_launched - before.kernels_launched},
          {"library calls", after.library_calls - before.library_calls},
          {"fallbacks", after.fallbacks - before.fallbacks}};
}

/// Calls work(pattern, type) for each selected pattern and each of its types, until it returns that this is enough.
template <class Work> void for_each_pattern(const Request& request, Work work) {
  for (const Pattern& pattern : read_patterns(request.patterns)) {
    if (pattern.name.find(request.only) == std::string::npos) continue;
    for (const std::string& dtype : request.dtypes) {
      Pattern typed = pattern;
      std::string all;
      for (std::string& binding : typed.bindings) all += binding, binding = other_type(binding, dtype, request.quick);
      if (dtype != "f32" && all.find("f32") == std::string::npos) continue;
      if (!work(typed, dtype)) return;
    }
  }
}

/// Returns whether the GPU still works for this process: after some faults it does not.
bool device_works() {
  try {
    const sn::Tensor x = sn::full({1}, 1.f) + 1.f;
    sn::eval(x);
    sn::synchronize();
    return true;
  } catch (const sn::Error&) {
    return false;
  }
}

int patterns(const Request& request) {
  nlohmann::json found = nlohmann::json::array();
  if (std::ifstream before(request.json); before) before >> found;
  const auto known = [&](const std::string& name, const std::string& dtype) {
    return std::any_of(found.begin(), found.end(), [&](const auto& row) { return row["name"] == name && row["dtype"] == dtype; });
  };
  int status = 0;
  const auto start = std::chrono::steady_clock::now();
  for_each_pattern(request, [&](const Pattern& pattern, const std::string& dtype) {
    if (known(pattern.name, dtype)) return true;
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > request.seconds) return status = 4, false;
    nlohmann::json row = {{"name", pattern.name}, {"dtype", dtype}};
    try {
      row.update(time_pattern(pattern, request.quick));
    } catch (const sn::Error& error) {
      row["error"] = error.what();
    }
    fmt::print(stderr, "{} {}: {}\n", pattern.name, dtype,
               row.contains("error") ? row["error"].get<std::string>() : fmt::format("{:.1f} us", row["us"].get<double>()));
    if (row.contains("error") && !device_works()) status = 3;
    found.push_back(std::move(row));
    const std::string part = request.json + ".part";  // an interrupted write would lose all
    std::ofstream(part) << found.dump(1) << '\n';
    std::filesystem::rename(part, request.json);
    return status == 0;
  });
  return status;
}

void profile(const Request& request) {
  const Driver driver;
  const auto tell = [&](const char* name) {
    if (driver.has(name)) driver.call(name);
  };
  for_each_pattern(request, [&](const Pattern& pattern, const std::string&) {
    Evaluated evaluated(pattern, request.quick);
    evaluated.once();
    tell("cuProfilerStart");
    evaluated.once();
    tell("cuProfilerStop");
    return true;
  });
}

Request read_request(int argc, char** argv) {
  Request request;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const auto next = [&]() -> std::string { return k + 1 < argc ? argv[++k] : throw sn::ValueError(word + " needs a value"); };
    if (word == "--quick") request.quick = true;
    else if (word == "--seconds") request.seconds = std::stod(next());
    else if (word == "--json") request.json = next();
    else if (word == "--only") request.only = next();
    else if (word == "--dtypes") {
      request.dtypes.clear();
      std::istringstream words(next());
      for (std::string dtype; std::getline(words, dtype, ',');) request.dtypes.push_back(dtype);
    } else if (request.command.empty()) request.command = word;
    else request.patterns = word;
  }
  const bool over_patterns = request.command == "patterns" || request.command == "profile";
  if ((request.json.empty() && request.command != "profile") || (request.command != "ceilings" && (!over_patterns || request.patterns.empty())))
    throw sn::ValueError("usage: bench_gpu ceilings|patterns|profile [PATTERNS] [--quick] [--dtypes f32,bf16,f16] [--only WORDS] [--seconds N] [--json FILE]");
  return request;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Request request = read_request(argc, argv);
    if (request.command == "patterns") return patterns(request);
    if (request.command == "profile") return profile(request), 0;
    const nlohmann::json found = ceilings(request.quick);
    std::ofstream(request.json) << found.dump(1) << '\n';
    fmt::print("{}\n", found.dump(1));
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_gpu: {}\n", error.what());
    return 1;
  }
}
