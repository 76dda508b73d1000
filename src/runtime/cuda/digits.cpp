#include "runtime/cuda/digits.hpp"

#include <fmt/format.h>

#include <bit>
#include <string_view>
#include <utility>

#include "jit/identities.hpp"
#include "runtime/cuda/kernel.hpp"
#include "sinter/errors.hpp"

namespace sinter::runtime::cuda {
namespace {

using trace::Op;
using Number = unsigned long long;

constexpr unsigned kThreads = 256;
constexpr Number kTile = 2048;  // number of items of a block in a pass
constexpr int kDigit = 8;       // number of bits of a pass
constexpr Number kDigits = 1 << kDigit;
constexpr std::size_t kMaxAxes = 64;

/// The memory layout of an operand, in the form that the kernels use.
struct View {
  long long offset = 0, rank = 0;
  Number size[kMaxAxes] = {};
  long long stride[kMaxAxes] = {};
};

// The texts below are completed by definitions: KEY, PLACE and BITS are the unsigned types of a key, a position, and an element's bits.
constexpr char kView[] = R"(
struct View {
  long long offset, rank;
  unsigned long long size[64];
  long long stride[64];
};
__device__ long long place_of(const View& view, unsigned long long number) {
  long long at = view.offset;
  for (long long axis = view.rank - 1; axis >= 0; --axis) {
    at += (long long)(number % view.size[axis]) * view.stride[axis];
    number /= view.size[axis];
  }
  return at;
}
)";

// Keys have the order of their values: NaN last, both zeros equal. Signed numbers and floats have the sign in TOP; a float above LAST is NaN.
constexpr char kKeys[] = R"(
extern "C" __global__ void __launch_bounds__(256) ENTRY(const BITS* x, View view, KEY* keys, PLACE* places, unsigned long long n) {
  const unsigned long long i = blockIdx.x * 256ull + threadIdx.x;
  if (i >= n) return;
  KEY key = x[place_of(view, i)];
#if FLOATING
  const KEY magnitude = key & (KEY)(TOP - 1);
  if (magnitude > LAST) key = ALL;
  else if (magnitude == 0) key = TOP;
  else key ^= key & TOP ? ALL : TOP;
#elif SIGNED
  key ^= TOP;
#endif
  keys[i] = LARGEST ? ALL ^ key : key;
  places[i] = (PLACE)i;
}
)";

// An index out of range has a key after that of the last row.
constexpr char kIndices[] = R"(
extern "C" __global__ void __launch_bounds__(256) ENTRY(const long long* x, View view, KEY* keys, PLACE* places, unsigned long long n,
                                                                 unsigned long long rows) {
  const unsigned long long i = blockIdx.x * 256ull + threadIdx.x;
  if (i >= n) return;
  const unsigned long long index = (unsigned long long)x[place_of(view, i)];
  keys[i] = (KEY)(index < rows ? index : rows);
  places[i] = (PLACE)i;
}
)";

// A pass sorts by a digit of the key or, with `length`, of the number of the item's row, which has this length. The table has the number of items with each
// digit in each tile, tile by tile, and at the end the total number of items with each digit.
constexpr char kCount[] = R"(
extern "C" __global__ void __launch_bounds__(256) ENTRY(const KEY* keys, const PLACE* places, PLACE* table, unsigned long long n,
                                                               unsigned long long length, int shift) {
  __shared__ unsigned counts[8][256];
  const unsigned t = threadIdx.x;
  for (int warp = 0; warp < 8; ++warp) counts[warp][t] = 0;
  __syncthreads();
  for (unsigned k = t; k < 2048; k += 256) {
    const unsigned long long i = blockIdx.x * 2048ull + k;
    if (i >= n) break;
    const unsigned long long value = length ? places[i] / length : keys[i];
    atomicAdd(&counts[t / 32][(value >> shift) & 255], 1u);
  }
  __syncthreads();
  unsigned sum = 0;
  for (int warp = 0; warp < 8; ++warp) sum += counts[warp][t];
  table[(unsigned long long)t * gridDim.x + blockIdx.x] = sum;
}
)";

// Returns the sum of the numbers of all threads before this one. After the last barrier a thread reads only its own sum.
constexpr char kBefore[] = R"(
__device__ PLACE sum_before(PLACE number, PLACE (*sums)[256]) {
  const unsigned t = threadIdx.x;
  int from = 0;
  sums[0][t] = number;
  __syncthreads();
  for (unsigned step = 1; step < 256; step *= 2) {
    sums[1 - from][t] = sums[from][t] + (t >= step ? sums[from][t - step] : 0);
    from = 1 - from;
    __syncthreads();
  }
  return sums[from][t] - number;
}
)";

// There is one block for each digit. Each thread adds a range of the digit's numbers, the sums are scanned, and each thread then writes its range.
constexpr char kScan[] = R"(
extern "C" __global__ void __launch_bounds__(256) ENTRY(PLACE* table, unsigned long long tiles) {
  __shared__ PLACE sums[2][256];
  PLACE* const row = table + blockIdx.x * tiles;
  const unsigned long long each = (tiles + 255) / 256, first = threadIdx.x * each, last = first + each < tiles ? first + each : tiles;
  PLACE sum = 0;
  for (unsigned long long i = first; i < last; ++i) sum += row[i];
  PLACE before = sum_before(sum, sums);
  if (threadIdx.x == 255) table[256 * tiles + blockIdx.x] = before + sum;
  for (unsigned long long i = first; i < last; ++i) {
    const PLACE count = row[i];
    row[i] = before;
    before += count;
  }
}
)";

// The block sorts its tile in shared memory, half a digit at a time; a thread has eight consecutive items. Then the items with each digit are written
// contiguously, beginning where the items of this tile with that digit belong.
constexpr char kPlace[] = R"(
extern "C" __global__ void __launch_bounds__(256, 4) ENTRY(const KEY* keys, const PLACE* places, KEY* keys_to, PLACE* places_to, const PLACE* table,
                                                               unsigned long long n, unsigned long long length, int shift) {
  __shared__ KEY tile_keys[2048];
  __shared__ PLACE tile_places[2048];
  __shared__ unsigned short ranks[16][256];
  __shared__ PLACE sums[2][256];
  __shared__ PLACE begins[256];
  const unsigned t = threadIdx.x;
  const unsigned long long first = blockIdx.x * 2048ull;
  const unsigned count = n - first < 2048 ? (unsigned)(n - first) : 2048;
  begins[t] = 0;
  for (unsigned k = t; k < count; k += 256) {
    tile_keys[k] = keys[first + k];
    tile_places[k] = places[first + k];
  }
  for (int half = shift; half < shift + 8; half += 4) {
    for (int digit = 0; digit < 16; ++digit) ranks[digit][t] = 0;
    __syncthreads();
    KEY own_keys[8];
    PLACE own_places[8];
    unsigned digits = 0;  // four bits for each item
    for (int k = 0; k < 8; ++k) {
      if (t * 8 + k >= count) break;
      own_keys[k] = tile_keys[t * 8 + k];
      own_places[k] = tile_places[t * 8 + k];
      const unsigned long long value = length ? own_places[k] / length : own_keys[k];
      const unsigned digit = (unsigned)(value >> half) & 15;
      digits |= digit << (4 * k);
      ++ranks[digit][t];
    }
    __syncthreads();
    unsigned short* const mine = ranks[t / 16] + t % 16 * 16;
    unsigned sum = 0;
    for (unsigned k = 0; k < 16; ++k) sum += mine[k];
    unsigned before = sum_before(sum, sums);
    for (unsigned k = 0; k < 16; ++k) {
      const unsigned short here = mine[k];
      mine[k] = (unsigned short)before;
      before += here;
    }
    __syncthreads();
    for (int k = 0; k < 8; ++k) {
      if (t * 8 + k >= count) break;
      const unsigned to = ranks[(digits >> (4 * k)) & 15][t]++;
      tile_keys[to] = own_keys[k];
      tile_places[to] = own_places[k];
    }
  }
  const PLACE of_digit = sum_before(table[256ull * gridDim.x + t], sums);
  const auto digit_at = [&](unsigned k) {
    const unsigned long long value = length ? tile_places[k] / length : tile_keys[k];
    return (unsigned)((value >> shift) & 255);
  };
  for (unsigned k = t; k < count; k += 256)
    if (k == 0 || digit_at(k - 1) != digit_at(k)) begins[digit_at(k)] = k;
  __syncthreads();
  sums[0][t] = of_digit + table[(unsigned long long)t * gridDim.x + blockIdx.x] - begins[t];
  __syncthreads();
  for (unsigned k = t; k < count; k += 256) {
    const PLACE to = sums[0][digit_at(k)] + k;
    keys_to[to] = tile_keys[k];
    places_to[to] = tile_places[k];
  }
}
)";

constexpr char kSorted[] = R"(
extern "C" __global__ void __launch_bounds__(256) ENTRY(const BITS* x, View view, const PLACE* places, BITS* result, unsigned long long n) {
  const unsigned long long i = blockIdx.x * 256ull + threadIdx.x;
  if (i < n) result[i] = x[place_of(view, places[i])];
}
)";

constexpr char kFirst[] = R"(
extern "C" __global__ void __launch_bounds__(256) ENTRY(const PLACE* places, long long* result, unsigned long long n, unsigned long long length,
                                                               unsigned long long count) {
  const unsigned long long i = blockIdx.x * 256ull + threadIdx.x;
  if (i < n) result[i] = (long long)(places[i / count * length + i % count] % length);
}
)";

// A row starts at the first key that is not less than its number.
constexpr char kStarts[] = R"(
extern "C" __global__ void __launch_bounds__(256) ENTRY(const KEY* keys, PLACE* starts, unsigned long long n, unsigned long long rows) {
  const unsigned long long row = blockIdx.x * 256ull + threadIdx.x;
  if (row > rows) return;
  unsigned long long first = 0, last = n;
  while (first < last) {
    const unsigned long long middle = first + (last - first) / 2;
    if (keys[middle] < row) first = middle + 1;
    else last = middle;
  }
  starts[row] = (PLACE)first;
}
)";

const char* unsigned_of(std::size_t bytes) {
  return bytes == 1 ? "unsigned char" : bytes == 2 ? "unsigned short" : bytes == 4 ? "unsigned int" : "unsigned long long";
}
/// Returns the bits of the largest value that is not NaN.
Number last_number(DType dtype) {
  switch (dtype) {
    case DType::float8_e4m3: return 0x78;
    case DType::float8_e4m3fn: return 0x7e;
    case DType::float8_e5m2: return 0x7c;
    case DType::float16: return 0x7c00;
    case DType::bfloat16: return 0x7f80;
    case DType::float32: return 0x7f800000;
    default: return 0x7ff0000000000000;
  }
}
View view_of(const fuse::LibraryOperand& operand) {
  View view;
  if (operand.shape.size() > kMaxAxes) throw InternalError(fmt::format("an operand of {} axes", operand.shape.size()));
  view.offset = operand.offset;
  view.rank = static_cast<long long>(operand.shape.size());
  for (std::size_t axis = 0; axis < operand.shape.size(); ++axis) {
    view.size[axis] = static_cast<Number>(operand.shape[axis]);
    view.stride[axis] = operand.strides[axis];
  }
  return view;
}

/// The numbers of a call.
struct Posed {
  explicit Posed(const fuse::LibraryCall& of) : call(of) {
    for (const std::int64_t size : call.operands[0].shape) items *= static_cast<Number>(size);
    for (const std::int64_t size : call.shape) results *= static_cast<Number>(size);
    length = static_cast<Number>(call.operands[0].shape.back());
    if (inverts()) rows = static_cast<Number>(call.operands[1].shape[0]);
  }
  bool inverts() const { return call.op == Op::invert_index; }

  const fuse::LibraryCall& call;
  Number items = 1, results = 1;
  Number length = 0;  // sorts: length of a row
  Number rows = 0;    // inverted indices: number of rows
};

constexpr std::size_t key_bytes(const fuse::LibraryCall& call) { return call.op != Op::invert_index && itemsize(call.operands[0].dtype) > 4 ? 8 : 4; }
constexpr std::size_t kPlaceBytes = 4;

/// Returns the definitions that complete the texts of a call's kernels.
std::string definitions(const fuse::LibraryCall& call) {
  const DType dtype = call.operands[0].dtype;
  const std::size_t bytes = itemsize(dtype);
  const Number top = Number{1} << (8 * bytes - 1), all = top | (top - 1);
  const bool largest = call.op == Op::argsort && !call.ints.empty() && call.ints[1] != 0;
  return fmt::format(
      "#define KEY {}\n#define PLACE unsigned int\n#define BITS {}\n#define FLOATING {:d}\n#define SIGNED {:d}\n#define LARGEST {:d}\n"
      "#define TOP ((KEY){:#x}ull)\n#define ALL ((KEY){:#x}ull)\n#define LAST ((KEY){:#x}ull)\n",
      unsigned_of(key_bytes(call)), unsigned_of(bytes), is_floating(dtype), traits(dtype).kind == DTypeKind::signed_integer, largest, top, all,
      is_floating(dtype) ? last_number(dtype) : 0);
}

constexpr Number blocks_for(Number items, Number each) { return (items + each - 1) / each; }

/// Scratch memory of a call, released in the order of the stream.
class Scratch {
 public:
  Scratch(Gpu& gpu, Number bytes) : gpu_(gpu), bytes_(static_cast<std::size_t>(bytes)), address_(gpu.allocate(bytes_)) {}
  ~Scratch() { gpu_.release(address_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  Address take(Number bytes) { return std::exchange(next_, next_ + padded(bytes)) + address_; }
  static constexpr Number padded(Number bytes) { return (bytes + 255) / 256 * 256; }

 private:
  Gpu& gpu_;
  const std::size_t bytes_;
  const Address address_;
  Number next_ = 0;
};

constexpr std::string_view kEntry = "ENTRY";  // name in the sources

/// The kernels of a call, in the order of sources_by_digits().
enum Role : std::size_t { fills, counts, scans, places, ends, kRoles };

}  // namespace

std::vector<jit::Source> sources_by_digits(const fuse::LibraryCall& call, int sm) {
  const bool inverts = call.op == Op::invert_index;
  const std::pair<const char*, const char*> texts[kRoles] = {
      inverts ? std::pair{"digits_rows", kIndices} : std::pair{"digits_keys", kKeys},
      {"digits_count", kCount},
      {"digits_scan", kScan},
      {"digits_place", kPlace},
      inverts               ? std::pair{"digits_starts", kStarts}
      : call.op == Op::sort ? std::pair{"digits_sorted", kSorted}
                            : std::pair{"digits_order", kFirst},
  };
  std::vector<jit::Source> sources;
  for (const auto& [name, text] : texts) {
    jit::Source& source = sources.emplace_back();
    source.target = fmt::format("sm_{}", sm);
    source.options = fmt::format("--gpu-architecture=sm_{} --std=c++17 --fmad=false", sm);
    const std::string body = definitions(call) + kView + kBefore + text;
    std::uint32_t hash = 2166136261u;  // FNV-1a, so that kernels with other definitions have other names
    for (const unsigned char c : body) hash = (hash ^ c) * 16777619u;
    source.entry = fmt::format("{}_{:08x}", name, hash);
    source.text = fmt::format("// {}: a part of a sort by digits of 8 bits\n{}", trace::name(call.op), body);
    source.text.replace(source.text.find(kEntry), kEntry.size(), source.entry);
  }
  return sources;
}

std::string who_sorts_by_digits(const fuse::LibraryCall& call) {
  return fmt::format("sinter's kernels: {} passes over digits of 8 bits, each of which counts, scans and places", fuse::passes_by_digits(call));
}

std::size_t call_by_digits(Gpu& gpu, const fuse::LibraryCall& call, std::span<Kernel* const> kernels, std::span<void* const> pointers) {
  const Posed posed(call);
  if (posed.results == 0) return 0;
  if (kernels.size() != kRoles) throw InternalError(fmt::format("{}: {} kernels for {}", gpu.name(), kernels.size(), fuse::to_string(call)));
  gpu.use();
  std::size_t launches = 0;
  const auto launch = [&](Role role, Number blocks, auto... parameters) {
    if (blocks == 0) return;
    const auto& kernel = static_cast<const CudaKernel&>(*kernels[role]);
    if (blocks > 0x7fffffff) throw DeviceError(fmt::format("{}: {} of {} items is too large for one launch", gpu.name(), *kernel.name(), posed.items));
    void* all[] = {&parameters...};
    gpu.note_launches({&kernel.name(), 1});
    gpu.check(gpu.api().launch(kernel.function(), static_cast<unsigned>(blocks), 1, 1, kThreads, 1, 1, 0, gpu.stream(), all, nullptr),
              [&] { return fmt::format("launching kernel {}", *kernel.name()); });
    ++launches;
  };
  const Number n = posed.items, tiles = blocks_for(n, kTile);
  const Number key_size = Scratch::padded(n * key_bytes(call)), place_size = Scratch::padded(n * kPlaceBytes),
               table_size = Scratch::padded(kDigits * (tiles + 1) * kPlaceBytes);
  Scratch scratch(gpu, 2 * key_size + 2 * place_size + table_size);
  Address keys = scratch.take(key_size), other_keys = scratch.take(key_size), order = scratch.take(place_size), other_order = scratch.take(place_size);
  const Address table = scratch.take(table_size), result = reinterpret_cast<Address>(pointers.back());
  const auto start = [&](std::size_t operand) { return reinterpret_cast<Address>(pointers[operand]); };
  const auto each = [](Number items) { return blocks_for(items, kThreads); };
  const View x = view_of(call.operands[0]);

  if (posed.inverts()) launch(fills, each(n), start(0), x, keys, order, n, posed.rows);
  else launch(fills, each(n), start(0), x, keys, order, n);
  const int of_keys = fuse::passes_by_digits(call) - fuse::passes_over_rows(call), all = fuse::passes_by_digits(call);
  for (int pass = 0; pass < all; ++pass) {
    const Number length = pass < of_keys ? 0 : posed.length;
    const int shift = kDigit * (pass < of_keys ? pass : pass - of_keys);
    if (posed.inverts() && pass + 1 == all) other_order = result + (posed.rows + 1) * kPlaceBytes;
    launch(counts, tiles, keys, order, table, n, length, shift);
    launch(scans, kDigits, table, tiles);
    launch(places, tiles, keys, order, other_keys, other_order, table, n, length, shift);
    std::swap(keys, other_keys);
    std::swap(order, other_order);
  }

  if (posed.inverts()) launch(ends, each(posed.rows + 1), keys, result, n, posed.rows);
  else if (call.op == Op::sort) launch(ends, each(posed.results), start(0), x, order, result, posed.results);
  else launch(ends, each(posed.results), order, result, posed.results, posed.length, static_cast<Number>(call.shape.back()));
  return launches;
}

}  // namespace sinter::runtime::cuda
