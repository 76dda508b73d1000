#include "runtime/cuda/cublaslt.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "jit/library.hpp"
#include "sinter/errors.hpp"

// Declarations of those parts of cublasLt.h that sinter uses. They are the same in CUDA 12 and 13.
extern "C" {
struct cublasLtContext;
struct cublasLtMatmulDescOpaque_t;
struct cublasLtMatrixLayoutOpaque_t;
struct cublasLtMatmulPreferenceOpaque_t;
}

namespace sinter::runtime::cuda {
namespace {

using Handle = cublasLtContext*;
using Description = cublasLtMatmulDescOpaque_t*;
using Layout = cublasLtMatrixLayoutOpaque_t*;
using Preference = cublasLtMatmulPreferenceOpaque_t*;
struct Algorithm {
  std::uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
enum DataType { kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kBfloat16 = 14 };               // cudaDataType
enum ComputeType { kCompute32 = 68, kCompute64 = 70, kComputeTf32 = 77 };                 // cublasComputeType_t
enum DescriptionAttribute { kTransA = 3, kTransB = 4, kEpilogue = 7, kBiasPointer = 8 };  // cublasLtMatmulDescAttributes_t
enum Epilogue { kAddsBias = 4 };                                                          // cublasLtEpilogue_t
enum LayoutAttribute { kBatchCount = 5, kBatchStride = 6 };                               // cublasLtMatrixLayoutAttribute_t
enum PreferenceAttribute {
  kMaxWorkspace = 1,
  kReductions = 3,
  kAlignmentA = 5,
  kAlignmentB = 6,
  kAlignmentC = 7,
  kAlignmentD = 8
};  // cublasLtMatmulPreferenceAttributes_t
enum AlgorithmAttribute { kAlgorithmId = 0, kTile = 1, kSplits = 2 };  // cublasLtMatmulAlgoConfigAttributes_t

// clang-format off
#define SINTER_CUBLASLT_FUNCTIONS(row) \
  row(std::size_t, version, "cublasLtGetVersion", ()) \
  row(int, create, "cublasLtCreate", (Handle*)) \
  row(int, destroy, "cublasLtDestroy", (Handle)) \
  row(const char*, status_text, "cublasLtGetStatusString", (int)) \
  row(int, description_create, "cublasLtMatmulDescCreate", (Description*, int, int)) \
  row(int, description_destroy, "cublasLtMatmulDescDestroy", (Description)) \
  row(int, description_set, "cublasLtMatmulDescSetAttribute", (Description, int, const void*, std::size_t)) \
  row(int, layout_create, "cublasLtMatrixLayoutCreate", (Layout*, int, std::uint64_t, std::uint64_t, std::int64_t)) \
  row(int, layout_destroy, "cublasLtMatrixLayoutDestroy", (Layout)) \
  row(int, layout_set, "cublasLtMatrixLayoutSetAttribute", (Layout, int, const void*, std::size_t)) \
  row(int, preference_create, "cublasLtMatmulPreferenceCreate", (Preference*)) \
  row(int, preference_destroy, "cublasLtMatmulPreferenceDestroy", (Preference)) \
  row(int, preference_set, "cublasLtMatmulPreferenceSetAttribute", (Preference, int, const void*, std::size_t)) \
  row(int, heuristic, "cublasLtMatmulAlgoGetHeuristic", (Handle, Description, Layout, Layout, Layout, Layout, Preference, int, Heuristic*, int*)) \
  row(int, algorithm_get, "cublasLtMatmulAlgoConfigGetAttribute", (const Algorithm*, int, void*, std::size_t, std::size_t*)) \
  row(int, multiply, "cublasLtMatmul", (Handle, Description, const void*, const void*, Layout, const void*, Layout, const void*, const void*, Layout, void*, Layout, const Algorithm*, void*, std::size_t, Stream))
// clang-format on

struct Api {
#define SINTER_CUBLASLT_MEMBER(result, member, symbol, parameters) result(*member) parameters = nullptr;
  SINTER_CUBLASLT_FUNCTIONS(SINTER_CUBLASLT_MEMBER)
#undef SINTER_CUBLASLT_MEMBER
  std::string name;  // "cuBLASLt 13.1.0"
};

constexpr int kNotSupported = 15;  // CUBLAS_STATUS_NOT_SUPPORTED
constexpr const char* kAdvice = "SINTER_CUBLASLT names another file, or \"off\" for generated kernels";

Api open_api() {
  const std::string& file = cublaslt_file();
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw DeviceError(fmt::format("cannot open cuBLASLt: {}; {}", dlerror(), kAdvice));
  Api api;
#define SINTER_CUBLASLT_FIND(result, member, symbol, parameters)               \
  api.member = reinterpret_cast<decltype(api.member)>(dlsym(library, symbol)); \
  if (!api.member) throw DeviceError(fmt::format("{} has no {}; {}", file, symbol, kAdvice));
  SINTER_CUBLASLT_FUNCTIONS(SINTER_CUBLASLT_FIND)
#undef SINTER_CUBLASLT_FIND
  const std::size_t version = api.version();  // 130100 for 13.1.0; versions before CUDA 12 count otherwise: 110103
  api.name = fmt::format("cuBLASLt {}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
  return api;
}

/// Returns the library's functions. The library is opened once for the process, at the first product.
const Api& api() {
  static const Api& opened = *new Api(open_api());
  return opened;
}

void check(int status, const char* doing, const fuse::LibraryCall& call) {
  if (status == 0) return;
  throw DeviceError(fmt::format("{}: {} failed for {}: {} ({}); {}", api().name, doing, fuse::to_string(call), api().status_text(status), status, kAdvice));
}

int data_type(DType dtype) {
  switch (dtype) {
    case DType::float16: return kFloat16;
    case DType::bfloat16: return kBfloat16;
    case DType::float32: return kFloat32;
    case DType::float64: return kFloat64;
    default: throw InternalError(fmt::format("cuBLASLt: no product of {} matrices", name(dtype)));
  }
}

/// A matrix in the library's column-major form. `transposed`: its rows, and not its columns, are contiguous in memory.
struct Matrix {
  bool transposed = false;
  std::int64_t leading = 1;
  auto operator<=>(const Matrix&) const = default;
};

/// Describes an operand (rows, columns) with its axes exchanged, because the library's columns are its rows. The layout rule guarantees that one stride is 1.
Matrix turned(const fuse::LibraryOperand& operand) {
  const std::size_t rank = operand.shape.size();
  const std::int64_t rows = operand.shape[rank - 2], columns = operand.shape[rank - 1], row = operand.strides[rank - 2], column = operand.strides[rank - 1];
  if (column == 1 && (row >= columns || rows == 1)) return {false, std::max(row, columns)};
  return {true, std::max(column, rows)};
}

/// The axes of a batch: the inner axes, which one call of the library multiplies, and the outer ones. Each has its strides in a, b and c.
struct Batch {
  std::int64_t count = 1;
  std::array<std::int64_t, 3> strides{};
  struct Axis {
    std::int64_t size;
    std::array<std::int64_t, 3> strides;
  };
  std::vector<Axis> outer;  // the last axis first
};
Batch batch_of(const fuse::LibraryCall& call) {
  Batch batch;
  std::int64_t product = call.shape[call.shape.size() - 2] * call.shape.back();
  for (std::size_t axis = call.shape.size() - 2; axis-- > 0; product *= call.shape[axis]) {
    const std::int64_t size = call.shape[axis];
    if (size == 1) continue;
    const std::array strides{call.operands[0].strides[axis], call.operands[1].strides[axis], product};
    bool joins = batch.outer.empty();
    for (std::size_t k = 0; k < 3; ++k) joins = joins && (batch.count == 1 || strides[k] == batch.strides[k] * batch.count);
    if (!joins) {
      batch.outer.push_back({size, strides});
      continue;
    }
    if (batch.count == 1) batch.strides = strides;
    batch.count *= size;
  }
  return batch;
}

std::mutex reported_mutex;
std::map<std::string, std::string>& reported_algorithms() {
  static auto& reported = *new std::map<std::string, std::string>;
  return reported;
}
std::string reported_name(const fuse::LibraryCall& call) {
  return fmt::format("{} {} {}", name(call.operands[0].dtype), call.fast_math, fuse::to_string(call));
}

}  // namespace

const std::string& cublaslt_file() {
  static const std::string& file = *new std::string([]() -> std::string {
    const char* named = std::getenv("SINTER_CUBLASLT");
    const char* driver = std::getenv("SINTER_CUDA_DRIVER");
    if (driver && *driver && !(named && *named)) return {};
    return jit::find_library("SINTER_CUBLASLT", {"libcublasLt.so.*", "libcublaslt_*.so"},
                             {"/usr/local/cuda*/lib64", "/usr/local/cuda*/lib", "/opt/cuda/lib64", "/usr/local/cuda*/targets/*/lib"}, named && *named ? 0 : 12,
                             named && *named ? 0 : driver_version() / 1000);
  }());
  return file;
}

std::string who_multiplies(const fuse::LibraryCall& call) {
  const std::string types =
      call.operands[0].dtype == call.stored ? std::string(name(call.stored)) : fmt::format("{} into {}", name(call.operands[0].dtype), name(call.stored));
  std::string text = fmt::format("cuBLASLt ({}), {}{}", std::filesystem::path(cublaslt_file()).filename().string(), types,
                                 call.fast_math && call.operands[0].dtype == DType::float32 ? " as TF32" : "");
  const std::scoped_lock lock(reported_mutex);
  if (const auto found = reported_algorithms().find(reported_name(call)); found != reported_algorithms().end()) text += ", " + found->second;
  return text;
}

namespace {

/// All properties of a call that decide the choice of an algorithm.
struct Problem {
  int type = 0, result = 0, compute = 0;
  bool row = false;  // the product adds a row
  std::int64_t m = 0, n = 0, k = 0;
  Matrix a, b;
  std::int64_t count = 1;
  std::array<std::int64_t, 3> strides{};      // strides of the batch in a, b and c
  std::array<std::uint32_t, 3> alignments{};  // in bytes
  auto operator<=>(const Problem&) const = default;
};

template <class T> using Owned = std::unique_ptr<T, int (*)(T*)>;
struct Prepared {
  Owned<cublasLtMatmulDescOpaque_t> description{nullptr, nullptr};
  Owned<cublasLtMatrixLayoutOpaque_t> a{nullptr, nullptr}, b{nullptr, nullptr}, c{nullptr, nullptr};
  Algorithm algorithm{};
  std::size_t workspace = 0;
  std::shared_ptr<const std::string> name;  // for error messages that list the kernels that may have failed
};

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;  // recommended by NVIDIA for Hopper
constexpr std::int64_t kBestAlignment = 256;
constexpr Address kRowAlignment = 16;  // the alignment that kernels may assume when they read the row, because the library does not ask for it
/// Partial products are added in the type of the computation. By default the library may round them to the result's type first.
constexpr std::uint32_t kReduceWide = 2;  // CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE

std::uint32_t alignment_of(std::int64_t numbers) {
  const std::int64_t bits = numbers | kBestAlignment;
  return static_cast<std::uint32_t>(bits & -bits);
}

/// A call in the library's form, and the addresses of its matrices.
struct Posed {
  Problem problem;
  Batch batch;
  std::int64_t products = 0;            // number of matrix products
  std::array<std::int64_t, 3> sizes{};  // bytes of an element of a, b and c
  std::array<Address, 3> first{};
};
Posed pose(const fuse::LibraryCall& call, std::span<void* const> pointers) {
  const auto &left = call.operands[0], &right = call.operands[1];
  const std::size_t rank = call.shape.size();
  Posed posed;
  Problem& problem = posed.problem;
  problem.type = data_type(left.dtype);
  problem.result = data_type(call.stored);
  problem.row = call.row;
  problem.compute = left.dtype == DType::float64 ? kCompute64 : left.dtype == DType::float32 && call.fast_math ? kComputeTf32 : kCompute32;
  problem.m = call.shape[rank - 2];
  problem.n = call.shape[rank - 1];
  problem.k = left.shape[rank - 1];
  problem.a = turned(left);
  problem.b = turned(right);
  const Batch batch = posed.batch = batch_of(call);
  problem.count = batch.count;
  problem.strides = batch.strides;
  posed.products = problem.m == 0 || problem.n == 0 ? 0 : batch.count;
  for (const auto& axis : batch.outer) posed.products *= axis.size;

  const auto sizes = posed.sizes = {static_cast<std::int64_t>(itemsize(left.dtype)), static_cast<std::int64_t>(itemsize(right.dtype)),
                                    static_cast<std::int64_t>(itemsize(call.stored))};
  const std::array<std::int64_t, 3> offsets{left.offset, right.offset, 0};
  for (std::size_t k = 0; k < 3; ++k) {
    posed.first[k] = reinterpret_cast<Address>(k < 2 ? pointers[k] : pointers.back()) + static_cast<Address>(offsets[k] * sizes[k]);
    std::int64_t numbers = static_cast<std::int64_t>(posed.first[k]);
    for (const auto& axis : batch.outer) numbers |= axis.strides[k] * sizes[k];
    problem.alignments[k] = alignment_of(numbers);
  }
  return posed;
}

}  // namespace

struct Products::State {
  explicit State(Gpu& on) : gpu(on) {}
  Gpu& gpu;
  Handle handle = nullptr;
  std::mutex mutex, row_mutex;  // row_mutex is held from the time a description gets the row's address until the product is on the stream
  std::map<Problem, Prepared> known;

  // The library's matrices are column-major. It computes c^T = b^T a^T, so its first operand is b and its second operand is a.
  const Prepared& prepared(const Problem& problem, const fuse::LibraryCall& call, Address row) {
    const std::scoped_lock lock(mutex);
    if (const auto found = known.find(problem); found != known.end()) return found->second;
    Prepared made;
    Description description = nullptr;
    check(api().description_create(&description, problem.compute, problem.compute == kCompute64 ? kFloat64 : kFloat32), "describing", call);
    made.description = {description, api().description_destroy};
    const auto transpose = [&](int attribute, bool transposed) {
      const std::int32_t value = transposed;
      check(api().description_set(description, attribute, &value, sizeof value), "describing", call);
    };
    transpose(kTransA, problem.b.transposed);
    transpose(kTransB, problem.a.transposed);
    if (problem.row) {  // a row of the call is a column of the library's matrix
      const std::uint32_t epilogue = kAddsBias;
      check(api().description_set(description, kEpilogue, &epilogue, sizeof epilogue), "describing", call);
      set_row(description, row, call);
    }
    const auto layout = [&](int type, std::int64_t rows, std::int64_t columns, std::int64_t leading, std::int64_t stride) {
      Layout raw = nullptr;
      check(api().layout_create(&raw, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), leading), "laying out", call);
      Owned<cublasLtMatrixLayoutOpaque_t> owned{raw, api().layout_destroy};
      const auto count = static_cast<std::int32_t>(problem.count);
      check(api().layout_set(raw, kBatchCount, &count, sizeof count), "laying out", call);
      check(api().layout_set(raw, kBatchStride, &stride, sizeof stride), "laying out", call);
      return owned;
    };
    const auto operand = [&](const Matrix& matrix, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
      return layout(problem.type, matrix.transposed ? columns : rows, matrix.transposed ? rows : columns, matrix.leading, stride);
    };
    made.a = operand(problem.b, problem.n, problem.k, problem.strides[1]);
    made.b = operand(problem.a, problem.k, problem.m, problem.strides[0]);
    made.c = layout(problem.result, problem.n, problem.m, problem.n, problem.strides[2]);

    Preference raw = nullptr;
    check(api().preference_create(&raw), "choosing an algorithm", call);
    const Owned<cublasLtMatmulPreferenceOpaque_t> preference{raw, api().preference_destroy};
    const auto prefer = [&](int attribute, const auto& value) {
      check(api().preference_set(raw, attribute, &value, sizeof value), "choosing an algorithm", call);
    };
    prefer(kMaxWorkspace, kWorkspaceBytes);
    if (call.stored != call.dtype) prefer(kReductions, kReduceWide);
    prefer(kAlignmentA, problem.alignments[1]);
    prefer(kAlignmentB, problem.alignments[0]);
    prefer(kAlignmentC, problem.alignments[2]);
    prefer(kAlignmentD, problem.alignments[2]);
    Heuristic best{};
    int found = 0;
    const int status = api().heuristic(handle, description, made.a.get(), made.b.get(), made.c.get(), made.c.get(), raw, 1, &best, &found);
    // Some versions and GPUs lack an epilogue or a type for some shapes. The plan is then made again without that feature.
    if (status == kNotSupported || (status == 0 && found == 0))
      throw NoAlgorithm(fmt::format("{}: no algorithm for {}", api().name, fuse::to_string(call)), call.row || call.stored != call.dtype);
    check(status, "choosing an algorithm", call);
    check(best.state, "choosing an algorithm", call);
    made.algorithm = best.algorithm;
    made.workspace = best.workspace;
    made.name = std::make_shared<std::string>(fmt::format("{} of {}", api().name, fuse::to_string(call)));
    report_algorithm(call, best.algorithm, best.workspace);
    return known.emplace(problem, std::move(made)).first->second;
  }

  static void set_row(Description description, Address row, const fuse::LibraryCall& call) {
    const auto* pointer = reinterpret_cast<const void*>(row);
    check(api().description_set(description, kBiasPointer, &pointer, sizeof pointer), "describing", call);
  }

  static void report_algorithm(const fuse::LibraryCall& call, const Algorithm& algorithm, std::size_t workspace) {
    const auto number = [&](int attribute) {
      std::int32_t value = 0;
      std::size_t written = 0;
      return api().algorithm_get(&algorithm, attribute, &value, sizeof value, &written) == 0 ? value : -1;
    };
    const std::scoped_lock lock(reported_mutex);
    reported_algorithms()[reported_name(call)] = fmt::format("algorithm {}, tile {}, {} splits, {} bytes of workspace ({})", number(kAlgorithmId),
                                                             number(kTile), std::max(number(kSplits), 1), workspace, api().name);
  }
};

Products::Products(Gpu& gpu) : state_(std::make_unique<State>(gpu)) {
  gpu.use();
  if (const int status = api().create(&state_->handle))
    throw DeviceError(fmt::format("{} does not start: {}; {}", api().name, api().status_text(status), kAdvice));
}
Products::~Products() {
  if (state_->handle && state_->gpu.enter()) api().destroy(state_->handle);
}

void Products::expect(const fuse::LibraryCall& call) {
  void* const aligned = reinterpret_cast<void*>(kBestAlignment);
  const std::array pointers{aligned, aligned, aligned};
  const Posed posed = pose(call, pointers);
  if (posed.products == 0) return;
  state_->gpu.use();
  state_->prepared(posed.problem, call, static_cast<Address>(kBestAlignment));
}

void Products::multiply(const fuse::LibraryCall& call, std::span<void* const> pointers) {
  const auto [problem, batch, products, sizes, first] = pose(call, pointers);
  if (products == 0) return;
  Gpu& gpu = state_->gpu;
  gpu.use();
  struct Workspace {
    Gpu& gpu;
    std::size_t bytes;
    Address address;
    Workspace(Gpu& on, std::size_t size, Address at) : gpu(on), bytes(size), address(at) {}
    Workspace(const Workspace&) = delete;
    ~Workspace() {
      if (bytes > 0) gpu.release(address, bytes);
    }
  };
  Address row = 0;
  std::optional<Workspace> moved;
  if (call.row) {
    const auto& operand = call.operands.back();
    row = reinterpret_cast<Address>(pointers[2]) + static_cast<Address>(operand.offset) * itemsize(operand.dtype);
    if (row % kRowAlignment != 0) {
      const std::size_t bytes = static_cast<std::size_t>(problem.n) * itemsize(operand.dtype);
      moved.emplace(gpu, bytes, gpu.allocate(bytes));
      gpu.check(gpu.api().copy_on_device(moved->address, row, bytes, gpu.stream()), "moving a row that is added to a product");
      row = moved->address;
    }
  }
  const Prepared& how = state_->prepared(problem, call, row);
  const Workspace workspace{gpu, how.workspace, how.workspace > 0 ? gpu.allocate(how.workspace) : 0};
  std::unique_lock<std::mutex> telling(state_->row_mutex, std::defer_lock);
  if (call.row) {
    telling.lock();
    State::set_row(how.description.get(), row, call);
  }
  const float one = 1, zero = 0;
  const double wide_one = 1, wide_zero = 0;
  const bool wide = problem.compute == kCompute64;
  gpu.note_launches({&how.name, 1});
  for (std::int64_t number = 0; number < products / batch.count; ++number) {
    std::array<Address, 3> at = first;
    std::int64_t rest = number;
    for (const auto& axis : batch.outer) {
      for (std::size_t k = 0; k < 3; ++k) at[k] += static_cast<Address>(rest % axis.size * axis.strides[k] * sizes[k]);
      rest /= axis.size;
    }
    const auto pointer = [](Address address) { return reinterpret_cast<void*>(address); };
    check(api().multiply(state_->handle, how.description.get(), wide ? static_cast<const void*>(&wide_one) : &one, pointer(at[1]), how.a.get(), pointer(at[0]),
                         how.b.get(), wide ? static_cast<const void*>(&wide_zero) : &zero, pointer(at[2]), how.c.get(), pointer(at[2]), how.c.get(),
                         &how.algorithm, pointer(workspace.address), workspace.bytes, gpu.stream()),
          "multiplying", call);
  }
}

}  // namespace sinter::runtime::cuda
