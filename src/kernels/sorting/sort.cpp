// Sorts elements by unsigned keys of the same order, with Highway's quicksort. Keys are distinct (they contain the position), or equal keys are
// indistinguishable. So the result depends neither on quicksort's order nor on the number of threads. Keys of one byte are counted. Many short rows are sorted
// in vectors, one row in each lane; few short rows are sorted by comparisons.
#include "kernels/sorting/sort.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/threads.hpp"
#include "kernels/sorting/quicksort.hpp"
#include "kernels/sorting/sort_network.hpp"

namespace sinter::kernels {
namespace {

// The minimum number of elements of a task; several short rows share one task.
constexpr std::int64_t kTaskElements = 16384;
// The minimum length of a row for a quicksort, which takes about half a microsecond even for few elements.
constexpr std::int64_t kQuicksortFrom = 64;
// Rows of at most kLanesUpTo elements are sorted in lanes if there are at least kLanesFrom rows.
constexpr std::int64_t kLanesUpTo = 256, kLanesFrom = 4;
// The number of elements that are compared with the bound in one step.
constexpr std::int64_t kGlance = 64;
// The minimum number of elements of a piece of a row that is divided among threads.
constexpr std::int64_t kPiece = 65536;

template <std::size_t Bytes> struct Bits;
template <> struct Bits<1> {
  using type = std::uint8_t;
};
template <> struct Bits<2> {
  using type = std::uint16_t;
};
template <> struct Bits<4> {
  using type = std::uint32_t;
};
template <> struct Bits<8> {
  using type = std::uint64_t;
};
template <class T> using BitsOf = typename Bits<sizeof(T)>::type;
template <class T> constexpr BitsOf<T> kTopBit = BitsOf<T>(1) << (8 * sizeof(T) - 1);

template <class T> bool is_nan(T value) {
  if constexpr (std::integral<T>) return false;
  else if constexpr (std::floating_point<T>) return value != value;
  else {  // compares bits, because a conversion takes several times as long
    using limits = std::numeric_limits<T>;
    constexpr auto largest = std::bit_cast<BitsOf<T>>(limits::has_infinity ? limits::infinity() : limits::max());
    return static_cast<BitsOf<T>>(std::bit_cast<BitsOf<T>>(value) & ~kTopBit<T>) > largest;
  }
}

/// Returns an unsigned key whose order is the values' order. All NaN have one key, the last; -0 comes before 0.
template <class T> BitsOf<T> to_key(T value) {
  const auto bits = std::bit_cast<BitsOf<T>>(value);
  if constexpr (std::unsigned_integral<T>) return bits;  // also for bool
  else if constexpr (std::integral<T>) return static_cast<BitsOf<T>>(bits ^ kTopBit<T>);
  else {
    const auto negative = static_cast<BitsOf<T>>(-(bits >> (8 * sizeof(T) - 1)));  // all bits or none, because a branch on the sign could not be predicted
    return is_nan(value) ? static_cast<BitsOf<T>>(~BitsOf<T>(0)) : static_cast<BitsOf<T>>(bits ^ (negative | kTopBit<T>));
  }
}
template <class T> T from_key(BitsOf<T> key) {
  if constexpr (std::unsigned_integral<T>) return std::bit_cast<T>(key);
  else if constexpr (std::integral<T>) return std::bit_cast<T>(static_cast<BitsOf<T>>(key ^ kTopBit<T>));
  else return std::bit_cast<T>(static_cast<BitsOf<T>>(key & kTopBit<T> ? key ^ kTopBit<T> : ~key));
}
/// Returns a key that is the same for both zeros, which are equal.
template <class T> BitsOf<T> to_place_key(T value) {
  const BitsOf<T> key = to_key(value);
  if constexpr (std::integral<T>) return key;
  else return static_cast<BitsOf<T>>(key + (key == to_key(std::bit_cast<T>(kTopBit<T>))));  // the key after that of -0 is that of 0
}

template <class Item> std::unique_ptr<Item[]> uncleared(std::int64_t n) { return std::make_unique_for_overwrite<Item[]>(static_cast<std::size_t>(n)); }

template <class Work> void in_pieces(int threads, std::int64_t n, const Work& work) {
  const std::int64_t pieces = (n + kPiece - 1) / kPiece;
  run_tasks(threads, pieces, [&](std::int64_t piece) { work(piece * kPiece, std::min(n, (piece + 1) * kPiece)); });
}

/// Returns how many of the first `rank` numbers of two merged sorted rows come from the first row.
template <class Key> std::int64_t share_of_first(std::span<const Key> a, std::span<const Key> b, std::int64_t rank) {
  std::int64_t low = std::max<std::int64_t>(0, rank - std::ssize(b)), high = std::min(rank, std::ssize(a));
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (b[static_cast<std::size_t>(rank - middle - 1)] < a[static_cast<std::size_t>(middle)]) high = middle;
    else low = middle + 1;
  }
  return low;
}

/// Merges without branches, because a processor could not predict which number comes next.
template <class Key> void merge(const Key* a, const Key* a_end, const Key* b, const Key* b_end, Key* to) {
  while (a < a_end && b < b_end) {
    const bool second = *b < *a;
    *to++ = *(second ? b : a);
    b += second;
    a += !second;
  }
  std::copy(b, b_end, std::copy(a, a_end, to));
}

/// Sorts pieces, each on one thread, then merges them pairwise. A merge is divided at equal ranks, so that all threads take part.
template <class Key> void quicksort_in_pieces(Key* keys, std::int64_t n, int threads) {
  const auto pieces = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(n / kPiece, 1, thread_count(threads)))));
  if (pieces == 1) return quicksort(keys, n);
  const auto memory = uncleared<Key>(n);
  const auto first_of = [&](std::int64_t piece) { return n / pieces * piece + std::min(piece, n % pieces); };
  Key *from = keys, *to = memory.get();
  if (std::countr_zero(static_cast<std::uint64_t>(pieces)) % 2 != 0) std::swap(from, to);  // the last merge then writes to `keys`
  run_tasks(threads, pieces, [&](std::int64_t piece) {
    const std::int64_t begin = first_of(piece), end = first_of(piece + 1);
    if (from != keys) std::copy(keys + begin, keys + end, from + begin);
    quicksort(from + begin, end - begin);
  });
  for (std::int64_t run = 1; run < pieces; run *= 2) {
    run_tasks(threads, pieces, [&](std::int64_t task) {
      const std::int64_t left = task / (2 * run) * 2 * run, begin = first_of(left), middle = first_of(left + run), end = first_of(left + 2 * run);
      const std::span<const Key> a(from + begin, from + middle), b(from + middle, from + end);
      const auto rank = [&](std::int64_t section) { return (end - begin) * section / (2 * run); };
      const std::int64_t first = rank(task - left), last = rank(task - left + 1);
      const std::int64_t a_first = share_of_first(a, b, first), a_last = share_of_first(a, b, last);
      merge(a.data() + a_first, a.data() + a_last, b.data() + (first - a_first), b.data() + (last - a_last), to + begin + first);
    });
    std::swap(from, to);
  }
}

/// The range of zeros among sorted keys, and whether both signs are present.
struct Zeros {
  std::int64_t begin = 0;
  bool of_either_sign = false;
};
template <class T> Zeros zeros_among(const BitsOf<T>* keys, std::int64_t n) {
  const auto [negative, positive] = std::equal_range(keys, keys + n, to_key(std::bit_cast<T>(kTopBit<T>)));
  return {negative - keys, negative != positive && positive != keys + n && *positive == to_key(T{})};
}
/// Puts zeros of either sign, which are equal, in their original order.
template <class T> void order_zeros(const T* from, std::int64_t stride, T* to, Zeros zeros, std::int64_t n) {
  if (!zeros.of_either_sign) return;
  T* zero = to + zeros.begin;
  for (std::int64_t k = 0; k < n; ++k)
    if (to_place_key(from[k * stride]) == to_key(T{})) *zero++ = from[k * stride];
}

/// Sorts keys of one byte: writes each key as often as it occurs.
inline void sort_by_counting(std::uint8_t* keys, std::int64_t n) {
  std::array<std::int64_t, 256> counts{};
  for (std::int64_t k = 0; k < n; ++k) ++counts[keys[k]];
  for (std::size_t key = 0; key < counts.size(); ++key) keys = std::fill_n(keys, counts[key], static_cast<std::uint8_t>(key));
}

/// Sorts a row; the keys are in the result's memory.
template <class T> void sort_row(const T* from, std::int64_t stride, T* to, std::int64_t n, int threads) {
  if (n < kQuicksortFrom) {
    for (std::int64_t k = 0; k < n; ++k) to[k] = from[k * stride];
    T* const numbers = std::stable_partition(to, to + n, [](T value) { return !is_nan(value); });
    std::stable_sort(to, numbers, [](T a, T b) { return a < b; });  // stable: zeros of either sign keep their order
    return;
  }
  auto* const keys = reinterpret_cast<BitsOf<T>*>(to);
  in_pieces(threads, n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) keys[k] = to_key(from[k * stride]);
  });
  if constexpr (sizeof(T) == 1) {
    sort_by_counting(keys, n);
  } else if constexpr (sizeof(T) == 2) {  // vectors of 32 bits are sorted several times faster than vectors of 16 bits
    const auto wide = uncleared<std::uint32_t>(n);
    in_pieces(threads, n, [&](std::int64_t begin, std::int64_t end) { std::copy(keys + begin, keys + end, wide.get() + begin); });
    quicksort_in_pieces(wide.get(), n, threads);
    in_pieces(threads, n, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) keys[k] = static_cast<BitsOf<T>>(wide[static_cast<std::size_t>(k)]);
    });
  } else {
    quicksort_in_pieces(keys, n, threads);
  }
  Zeros zeros;
  if constexpr (!std::integral<T>) zeros = zeros_among<T>(keys, n);
  in_pieces(threads, n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) to[k] = from_key<T>(keys[k]);
  });
  if constexpr (!std::integral<T>) order_zeros(from, stride, to, zeros, n);
}

/// Returns the least and the greatest key.
template <class T> std::pair<std::uint64_t, std::uint64_t> key_range(const T* from, std::int64_t stride, std::int64_t n, int threads) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges(static_cast<std::size_t>((n + kPiece - 1) / kPiece));
  in_pieces(threads, n, [&](std::int64_t begin, std::int64_t end) {
    std::uint64_t smallest = to_place_key(from[begin * stride]), largest = smallest;
    for (std::int64_t k = begin; k < end; ++k) {
      const std::uint64_t key = to_place_key(from[k * stride]);
      smallest = std::min(smallest, key);
      largest = std::max(largest, key);
    }
    ranges[static_cast<std::size_t>(begin / kPiece)] = {smallest, largest};
  });
  auto all = ranges[0];
  for (const auto& [smallest, largest] : ranges) all = {std::min(all.first, smallest), std::max(all.second, largest)};
  return all;
}

/// Sorts numbers that consist of the key and, in the low bits, the position. If the row's range of keys and the positions fit in 64 bits, the numbers are in
/// the result's memory; otherwise they have 128 bits.
template <class T> void argsort_row(const T* from, std::int64_t stride, std::int64_t* to, std::int64_t n, int threads) {
  if (n < kQuicksortFrom) {
    std::array<std::pair<BitsOf<T>, std::int64_t>, kQuicksortFrom> items;
    for (std::int64_t k = 0; k < n; ++k) items[static_cast<std::size_t>(k)] = {to_place_key(from[k * stride]), k};
    std::sort(items.data(), items.data() + n);
    for (std::int64_t k = 0; k < n; ++k) to[k] = items[static_cast<std::size_t>(k)].second;
    return;
  }
  if constexpr (sizeof(T) == 1) {  // counting sort: a key's first element goes to places[key]
    std::array<std::int64_t, 256> places{};
    for (std::int64_t k = 0; k < n; ++k) ++places[to_place_key(from[k * stride])];
    std::int64_t sum = 0;
    for (std::int64_t& place : places) sum += std::exchange(place, sum);
    for (std::int64_t k = 0; k < n; ++k) to[places[to_place_key(from[k * stride])]++] = k;
    return;
  }
  const auto [smallest, largest] = key_range(from, stride, n, threads);
  const int place_bits = std::bit_width(static_cast<std::uint64_t>(n - 1));
  if (std::bit_width(largest - smallest) + place_bits <= 64) {
    auto* const items = reinterpret_cast<std::uint64_t*>(to);
    in_pieces(threads, n, [&, first = smallest](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) items[k] = (to_place_key(from[k * stride]) - first) << place_bits | static_cast<std::uint64_t>(k);
    });
    quicksort_in_pieces(items, n, threads);
    const std::uint64_t places = (std::uint64_t{1} << place_bits) - 1;
    in_pieces(threads, n, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) to[k] = static_cast<std::int64_t>(items[k] & places);
    });
    return;
  }
  const auto items = uncleared<WideKey>(n);
  in_pieces(threads, n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) items[static_cast<std::size_t>(k)] = {static_cast<std::uint64_t>(k), to_place_key(from[k * stride])};
  });
  quicksort_in_pieces(items.get(), n, threads);
  in_pieces(threads, n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) to[k] = static_cast<std::int64_t>(items[static_cast<std::size_t>(k)].low);
  });
}

/// Writes the positions of the first `count` elements in ascending or descending order; of equal elements, the earlier ones come first. Most elements need only
/// one comparison, with the bound: the last of the `count` elements that the latest keep_first() selected.
template <class T> void select_row(const T* from, std::int64_t stride, std::int64_t* to, std::int64_t n, std::int64_t count, bool largest) {
  struct Item {
    BitsOf<T> key;
    std::int64_t place;
    bool operator<(const Item& other) const { return key != other.key ? key < other.key : place < other.place; }
  };
  const auto item = [&](std::int64_t k) {
    const BitsOf<T> key = to_place_key(from[k * stride]);
    return Item{static_cast<BitsOf<T>>(largest ? ~key : key), k};
  };
  std::vector<Item> met;
  const auto capacity = static_cast<std::size_t>(std::min(n, std::max<std::int64_t>(2 * count, kQuicksortFrom)));
  met.reserve(capacity);
  const auto keep_first = [&] {
    std::nth_element(met.begin(), met.begin() + (count - 1), met.end());
    met.resize(static_cast<std::size_t>(count));
  };
  std::int64_t k = 0;
  while (met.size() < capacity) met.push_back(item(k++));
  keep_first();
  while (k < n) {
    const std::int64_t end = std::min(n, k + kGlance);
    const Item& last = met[static_cast<std::size_t>(count - 1)];
    const T bound = from[last.place * stride];
    bool some = false;  // whether one of these elements may come before the bound, which is always possible for NaN
    if constexpr (!std::is_arithmetic_v<T>) some = true;
    else if (largest)
      for (std::int64_t i = k; i < end; ++i) some |= !(from[i * stride] <= bound);
    else
      for (std::int64_t i = k; i < end; ++i) some |= !(from[i * stride] >= bound);
    for (; some && k < end; ++k)
      if (const Item next = item(k); next < last) {
        met.push_back(next);  // fits the reserved memory
        if (met.size() == capacity) keep_first();
      }
    k = end;
  }
  if (std::ssize(met) > count) keep_first();
  std::sort(met.begin(), met.end());
  for (std::int64_t i = 0; i < count; ++i) to[i] = met[static_cast<std::size_t>(i)].place;
}

/// The rows of an operand.
template <class T> class Rows {
 public:
  Rows(const fuse::LibraryOperand& operand, const void* buffer)
      : length(operand.shape.back()), stride(operand.strides.back()), operand_(operand), elements_(static_cast<const T*>(buffer) + operand.offset) {
    for (std::size_t axis = 0; axis + 1 < operand.shape.size(); ++axis) count *= operand.shape[axis];
  }
  const T* operator[](std::int64_t row) const {
    std::int64_t at = 0;
    for (std::size_t axis = operand_.shape.size() - 1; axis-- > 0; row /= operand_.shape[axis]) at += row % operand_.shape[axis] * operand_.strides[axis];
    return elements_ + at;
  }
  std::int64_t length, stride, count = 1;

 private:
  const fuse::LibraryOperand& operand_;
  const T* elements_;
};

/// Calls sort(elements of a row, its number, threads for it) for each row.
template <class T, class Sort> void each_row(const Rows<T>& rows, int threads, const Sort& sort) {
  if (rows.length == 0) return;
  if (rows.count < thread_count(threads)) {
    for (std::int64_t row = 0; row < rows.count; ++row) sort(rows[row], row, threads);
    return;
  }
  const std::int64_t rows_a_task = std::max<std::int64_t>(1, kTaskElements / rows.length);
  run_tasks(threads, (rows.count + rows_a_task - 1) / rows_a_task, [&](std::int64_t task) {
    for (std::int64_t row = task * rows_a_task; row < std::min(rows.count, (task + 1) * rows_a_task); ++row) sort(rows[row], row, 1);
  });
}

const SortNetworks& sort_networks() {
  static const SortNetworks chosen = [] {
#if defined(SINTER_SORT_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
      return sort_networks_avx512();
    if (__builtin_cpu_supports("avx2")) return sort_networks_avx2();
#endif
    return sort_networks_baseline();
  }();
  return chosen;
}

template <class T> bool suit_lanes(const Rows<T>& rows) { return rows.length > 0 && rows.length <= kLanesUpTo && rows.count >= kLanesFrom; }

/// Calls sort(first row, number of rows) for each block of rows. A block has as many rows as there are keys in 64 bytes.
template <class Key, class T, class Sort> void each_block(const Rows<T>& rows, int threads, const Sort& sort) {
  constexpr std::int64_t kLanes = 64 / static_cast<std::int64_t>(sizeof(Key));
  const std::int64_t rows_a_task = std::max<std::int64_t>(1, kTaskElements / (rows.length * kLanes)) * kLanes;
  run_tasks(threads, (rows.count + rows_a_task - 1) / rows_a_task, [&](std::int64_t task) {
    const std::int64_t end = std::min(rows.count, (task + 1) * rows_a_task);
    for (std::int64_t row = task * rows_a_task; row < end; row += kLanes) sort(row, std::min(kLanes, end - row));
  });
}

/// Memory for a block of rows of up to kLanesUpTo keys, transposed: each lane has one row.
template <class Key> struct alignas(64) Columns {
  static constexpr std::int64_t kLanes = 64 / static_cast<std::int64_t>(sizeof(Key));
  Key& at(std::int64_t k, std::int64_t lane) { return keys[static_cast<std::size_t>(k * kLanes + lane)]; }
  std::array<Key, kLanesUpTo * kLanes> keys;
};

template <class T> void sort_in_lanes(const Rows<T>& rows, T* to, int threads) {
  using Key = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;
  const std::int64_t n = rows.length;
  const SortNetworks& networks = sort_networks();
  each_block<Key>(rows, threads, [&](std::int64_t first, std::int64_t count) {
    Columns<Key> columns;
    [[maybe_unused]] bool negative_zero = false;
    for (std::int64_t lane = 0; lane < columns.kLanes; ++lane) {
      const T* const from = rows[first + std::min(lane, count - 1)];  // lanes without a row sort the last row again
      for (std::int64_t k = 0; k < n; ++k) {
        const BitsOf<T> key = to_key(from[k * rows.stride]);
        if constexpr (!std::integral<T>) negative_zero |= key == to_key(std::bit_cast<T>(kTopBit<T>));
        columns.at(k, lane) = key;
      }
    }
    if constexpr (sizeof(Key) == 4) networks.keys32(columns.keys.data(), n);
    else networks.keys64(columns.keys.data(), n);
    for (std::int64_t lane = 0; lane < count; ++lane) {
      T* const row = to + (first + lane) * n;
      for (std::int64_t k = 0; k < n; ++k) row[k] = from_key<T>(static_cast<BitsOf<T>>(columns.at(k, lane)));
      if constexpr (!std::integral<T>) {
        if (!negative_zero) continue;
        std::array<BitsOf<T>, kLanesUpTo> keys;
        for (std::int64_t k = 0; k < n; ++k) keys[static_cast<std::size_t>(k)] = static_cast<BitsOf<T>>(columns.at(k, lane));
        order_zeros(rows[first + lane], rows.stride, row, zeros_among<T>(keys.data(), n), n);
      }
    }
  });
}

/// Sorts in lanes. A key of at most 32 bits and its position are the halves of a 64-bit number; for longer keys the positions have a separate array.
template <class T> void argsort_in_lanes(const Rows<T>& rows, std::int64_t* to, int threads) {
  constexpr bool kBeside = sizeof(T) == 8;
  const std::int64_t n = rows.length;
  const SortNetworks& networks = sort_networks();
  each_block<std::uint64_t>(rows, threads, [&](std::int64_t first, std::int64_t count) {
    Columns<std::uint64_t> columns, places;
    for (std::int64_t lane = 0; lane < columns.kLanes; ++lane) {
      const T* const from = rows[first + std::min(lane, count - 1)];
      for (std::int64_t k = 0; k < n; ++k) {
        const std::uint64_t key = to_place_key(from[k * rows.stride]), place = static_cast<std::uint64_t>(k);
        columns.at(k, lane) = kBeside ? key : key << 32 | place;
        if constexpr (kBeside) places.at(k, lane) = place;
      }
    }
    if constexpr (kBeside) networks.places(columns.keys.data(), places.keys.data(), n);
    else networks.keys64(columns.keys.data(), n);
    for (std::int64_t lane = 0; lane < count; ++lane)
      for (std::int64_t k = 0; k < n; ++k)
        to[(first + lane) * n + k] = static_cast<std::int64_t>(kBeside ? places.at(k, lane) : columns.at(k, lane) & 0xffffffff);
  });
}

}  // namespace

void sort_rows(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads) {
  visit_storage(call.dtype, [&]<class T>() {
    const Rows<T> rows(call.operands[0], pointers[0]);
    T* const to = static_cast<T*>(pointers[1]);
    if (suit_lanes(rows)) return sort_in_lanes(rows, to, threads);
    each_row(rows, threads, [&](const T* from, std::int64_t row, int inside) { sort_row(from, rows.stride, to + row * rows.length, rows.length, inside); });
  });
}

void argsort_rows(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads) {
  auto* const to = static_cast<std::int64_t*>(pointers[1]);
  visit_storage(call.operands[0].dtype, [&]<class T>() {
    const Rows<T> rows(call.operands[0], pointers[0]);
    if (!call.ints.empty())  // topk: only the first elements
      return each_row(rows, threads, [&, count = call.shape.back()](const T* from, std::int64_t row, int) {
        select_row(from, rows.stride, to + row * count, rows.length, count, call.ints[1] != 0);
      });
    if (suit_lanes(rows) && (sizeof(T) <= 4 || sort_networks().places)) return argsort_in_lanes(rows, to, threads);
    each_row(rows, threads, [&](const T* from, std::int64_t row, int inside) { argsort_row(from, rows.stride, to + row * rows.length, rows.length, inside); });
  });
}

}  // namespace sinter::kernels
