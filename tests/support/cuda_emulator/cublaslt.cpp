// A stand-in for libcublasLt on the emulated device. It checks its arguments against the library's reference, and computes each element in float64, rounded
// once.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

struct CUstream_st;
EXPORT bool cuda_emulator_contains(unsigned long long address, std::size_t bytes);
EXPORT void cuda_emulator_run(CUstream_st* stream, const std::function<void()>& work, unsigned long long written, std::size_t bytes);

namespace {

enum Status { kSuccess = 0, kInvalidValue = 7, kNotSupported = 15 };
constexpr std::size_t kWorkspace = 4096;

struct Description {
  int compute, scale;
  std::int32_t trans_a = 0, trans_b = 0;
  std::uint32_t epilogue = 1;
  const void* bias = nullptr;
};
constexpr std::uint32_t kNoEpilogue = 1, kBias = 4;
struct Layout {
  int type;
  std::uint64_t rows, columns;
  std::int64_t leading;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};
struct Preference {
  std::size_t workspace = 0;
  std::uint32_t reductions = 7;
  std::uint32_t alignment[4] = {256, 256, 256, 256};
};
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

std::size_t size_of(int type) { return type == 1 ? 8 : type == 0 ? 4 : 2; }

double read(const void* memory, std::int64_t at, int type) {
  const auto* bytes = static_cast<const unsigned char*>(memory) + at * static_cast<std::int64_t>(size_of(type));
  if (type == 1) {
    double value;
    std::memcpy(&value, bytes, 8);
    return value;
  }
  if (type == 2) {
    _Float16 value;
    std::memcpy(&value, bytes, 2);
    return static_cast<double>(value);
  }
  std::uint32_t bits = 0;
  if (type == 14) {  // bfloat16: the upper half of a float32
    std::uint16_t half;
    std::memcpy(&half, bytes, 2);
    bits = std::uint32_t{half} << 16;
  } else {
    std::memcpy(&bits, bytes, 4);
  }
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
void write(void* memory, std::int64_t at, int type, double value) {
  auto* bytes = static_cast<unsigned char*>(memory) + at * static_cast<std::int64_t>(size_of(type));
  const auto narrow = static_cast<float>(value);
  if (type == 1) {
    std::memcpy(bytes, &value, 8);
  } else if (type == 0) {
    std::memcpy(bytes, &narrow, 4);
  } else if (type == 2) {  // computed in float32, then rounded
    const auto half = static_cast<_Float16>(narrow);
    std::memcpy(bytes, &half, 2);
  } else {
    std::uint32_t bits;
    std::memcpy(&bits, &narrow, 4);
    const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    const auto half = static_cast<std::uint16_t>(nan ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
    std::memcpy(bytes, &half, 2);
  }
}
/// Rounds a float32 to TF32, which has ten bits of fraction.
double shortened(double value) {
  auto narrow = static_cast<float>(value);
  std::uint32_t bits;
  std::memcpy(&bits, &narrow, 4);
  bits &= 0xffffe000u;
  std::memcpy(&narrow, &bits, 4);
  return narrow;
}

/// Returns the bytes from the first element to past the last.
std::size_t extent(const Layout& m) {
  const auto last = static_cast<std::int64_t>(m.columns - 1) * m.leading + static_cast<std::int64_t>(m.rows) + (m.batch - 1) * m.stride;
  return static_cast<std::size_t>(last) * size_of(m.type);
}
bool fit(const Description& how, const Layout& a, const Layout& b, const Layout& c) {
  const auto depth = how.trans_a ? a.rows : a.columns;
  const bool shapes =
      (how.trans_a ? a.columns : a.rows) == c.rows && (how.trans_b ? b.rows : b.columns) == c.columns && (how.trans_b ? b.columns : b.rows) == depth;
  const bool batches = a.batch == c.batch && b.batch == c.batch;
  bool leading = true;
  for (const Layout* m : {&a, &b, &c}) leading = leading && m->leading >= static_cast<std::int64_t>(m->rows);
  const bool wide = a.type == 1, result = wide ? c.type == 1 : c.type == 0 || c.type == a.type;
  const bool types =
      a.type == b.type && result && how.scale == (wide ? 1 : 0) && (wide ? how.compute == 70 : how.compute == 68 || (how.compute == 77 && a.type == 0));
  if (how.epilogue == kBias ? wide || how.bias == nullptr : how.epilogue != kNoEpilogue) return false;
  return shapes && batches && leading && types;
}

}  // namespace

EXPORT std::size_t cublasLtGetVersion() { return 130100; }
EXPORT int cublasLtCreate(void** handle) { return *handle = new int, kSuccess; }
EXPORT int cublasLtDestroy(void* handle) { return delete static_cast<int*>(handle), kSuccess; }
EXPORT const char* cublasLtGetStatusString(int status) { return status == kInvalidValue ? "CUBLAS_STATUS_INVALID_VALUE" : "CUBLAS_STATUS_NOT_SUPPORTED"; }

EXPORT int cublasLtMatmulDescCreate(Description** made, int compute, int scale) { return *made = new Description{compute, scale}, kSuccess; }
EXPORT int cublasLtMatmulDescDestroy(Description* how) { return delete how, kSuccess; }
EXPORT int cublasLtMatmulDescSetAttribute(Description* how, int attribute, const void* value, std::size_t bytes) {
  if (attribute == 3 && bytes == 4) std::memcpy(&how->trans_a, value, 4);
  else if (attribute == 4 && bytes == 4) std::memcpy(&how->trans_b, value, 4);
  else if (attribute == 7 && bytes == 4) std::memcpy(&how->epilogue, value, 4);
  else if (attribute == 8 && bytes == sizeof(void*)) std::memcpy(&how->bias, value, sizeof(void*));
  else return kInvalidValue;
  return kSuccess;
}
EXPORT int cublasLtMatrixLayoutCreate(Layout** made, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading) {
  return *made = new Layout{type, rows, columns, leading}, kSuccess;
}
EXPORT int cublasLtMatrixLayoutDestroy(Layout* layout) { return delete layout, kSuccess; }
EXPORT int cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute, const void* value, std::size_t bytes) {
  if (attribute == 5 && bytes == 4) std::memcpy(&layout->batch, value, 4);
  else if (attribute == 6 && bytes == 8) std::memcpy(&layout->stride, value, 8);
  else return kInvalidValue;
  return kSuccess;
}
EXPORT int cublasLtMatmulPreferenceCreate(Preference** made) { return *made = new Preference, kSuccess; }
EXPORT int cublasLtMatmulPreferenceDestroy(Preference* preference) { return delete preference, kSuccess; }
EXPORT int cublasLtMatmulPreferenceSetAttribute(Preference* preference, int attribute, const void* value, std::size_t bytes) {
  if (attribute == 1 && bytes == 8) std::memcpy(&preference->workspace, value, 8);
  else if (attribute == 3 && bytes == 4) std::memcpy(&preference->reductions, value, 4);
  else if (attribute >= 5 && attribute <= 8 && bytes == 4) std::memcpy(&preference->alignment[attribute - 5], value, 4);
  else return kInvalidValue;
  return kSuccess;
}
EXPORT int cublasLtMatmulAlgoGetHeuristic(void*, Description* how, Layout* a, Layout* b, Layout* c, Layout* d, Preference* preference, int wanted,
                                          Heuristic* results, int* found) {
  if (wanted < 1 || c != d) return kInvalidValue;
  *found = 0;
  if (const char* products = std::getenv("SINTER_EMULATOR_PRODUCTS"); products && *products == '0') return kSuccess;  // no algorithm was found
  if (!fit(*how, *a, *b, *c) || preference->workspace < kWorkspace) return kNotSupported;
  const char* epilogues = std::getenv("SINTER_EMULATOR_EPILOGUES");
  if (epilogues && *epilogues == '0' && (how->epilogue != kNoEpilogue || d->type != (a->type == 1 ? 1 : 0))) return kNotSupported;
  // If the call allowed this, the real library would add partial products in 16 bits, so the call must not allow it.
  if (d->type != 0 && d->type != 1 && (preference->reductions & ~2u) != 0) return kNotSupported;
  *found = 1;
  results[0] = {};
  for (int k = 0; k < 3; ++k) results[0].algorithm.data[k] = preference->alignment[k];  // the alignment on which the algorithm relies
  results[0].workspace = kWorkspace;
  return kSuccess;
}
EXPORT int cublasLtMatmulAlgoConfigGetAttribute(const Algorithm*, int attribute, void* value, std::size_t bytes, std::size_t* written) {
  const std::int32_t number = attribute == 2 ? 1 : 20 + attribute;
  if (bytes != 4) return kInvalidValue;
  std::memcpy(value, &number, 4);
  *written = 4;
  return kSuccess;
}
EXPORT int cublasLtMatmul(void*, Description* how, const void* alpha, const void* a, Layout* of_a, const void* b, Layout* of_b, const void* beta, const void* c,
                          Layout* of_c, void* d, Layout* of_d, const Algorithm* algorithm, void* workspace, std::size_t workspace_bytes, CUstream_st* stream) {
  if (!fit(*how, *of_a, *of_b, *of_c) || c != d || of_c != of_d || read(alpha, 0, how->scale) != 1 || read(beta, 0, how->scale) != 0) return kInvalidValue;
  const auto address = [](const void* pointer) { return reinterpret_cast<unsigned long long>(pointer); };
  const void* pointers[3] = {a, b, d};
  const Layout* layouts[3] = {of_a, of_b, of_d};
  for (int k = 0; k < 3; ++k)
    if (address(pointers[k]) % algorithm->data[k] != 0 || !cuda_emulator_contains(address(pointers[k]), extent(*layouts[k]))) return kInvalidValue;
  if (workspace_bytes < kWorkspace || !cuda_emulator_contains(address(workspace), workspace_bytes)) return kInvalidValue;
  if (how->epilogue == kBias && (address(how->bias) % 16 != 0 || !cuda_emulator_contains(address(how->bias), of_d->rows * size_of(of_d->type))))
    return kInvalidValue;
  const auto work = [how = *how, la = *of_a, lb = *of_b, ld = *of_d, a, b, d] {
    const auto depth = static_cast<std::int64_t>(how.trans_a ? la.rows : la.columns);
    for (std::int64_t element = 0; element < ld.batch; ++element)
      for (std::int64_t column = 0; column < static_cast<std::int64_t>(ld.columns); ++column)
        for (std::int64_t row = 0; row < static_cast<std::int64_t>(ld.rows); ++row) {
          double sum = 0;
          for (std::int64_t k = 0; k < depth; ++k) {
            const double x = read(a, element * la.stride + (how.trans_a ? row * la.leading + k : k * la.leading + row), la.type);
            const double y = read(b, element * lb.stride + (how.trans_b ? k * lb.leading + column : column * lb.leading + k), lb.type);
            sum += how.compute == 77 ? shortened(x) * shortened(y) : x * y;
          }
          // The library adds in float32 in an unspecified order, so here the sum is computed in float64. The row is added afterwards.
          if (how.epilogue == kBias) sum = static_cast<float>(sum) + static_cast<float>(read(how.bias, row, ld.type));
          write(d, element * ld.stride + column * ld.leading + row, ld.type, sum);
        }
  };
  cuda_emulator_run(stream, work, address(d), extent(*of_d));
  return kSuccess;
}
