// Accesses to memory as IR: vectors, masks, strides, lanes one by one. A bool is one byte in memory.
#pragma once
#include <string>
#include <vector>

#include "jit/llvm/ir_writer.hpp"

namespace sinter::jit::llvm {

class Accesses {
 public:
  explicit Accesses(Ir& ir) : ir_(ir), module_(ir.module()) {}

  Value element_pointer(const Value& base, DType dtype, const Value& index);
  Value load(const Value& pointer, DType dtype, int lanes);
  void store(const Value& pointer, const Value& value);
  /// Returns the address, or each lane's, if the guard holds, else an address that any access may use.
  Value or_nowhere(const Value& pointer, const Value& guard);
  /// Loads a contiguous vector. Lanes without their mask bit are not accessed.
  Value load_masked(const Value& pointer, const Value& mask, const Value& fill);
  void store_masked(const Value& pointer, const Value& value, const Value& mask);
  /// Stores past the cache if the address has none of these bits.
  void store_streamed(const Value& pointer, const Value& value, const Value& bits, int aligned);

  // Separate lanes: one element at a time, because processors' gathers and scatters are no faster, and some much slower.
  /// Loads elements a stride apart. Stride 2 selects from neighbours, stride -1 reverses neighbours.
  Value load_strided(const Value& first, DType dtype, const Value& stride, int lanes);
  Value load_lanes(const Value& pointers, DType dtype);
  /// Stores in the order of the lanes: if two lanes write to one address, the later value stays.
  void store_lanes(const Value& pointers, const Value& value);

  /// Returns the columns of a square of vectors.
  std::vector<Value> transposed(std::vector<Value> rows);
  /// Returns element c of each n consecutive elements of n vectors as vector c, and the converse.
  std::vector<Value> apart(const std::vector<Value>& vectors);
  std::vector<Value> together(const std::vector<Value>& vectors);

 private:
  std::vector<Value> picked(const std::vector<Value>& vectors, const std::function<std::pair<int, int>(int, int)>& from);
  std::string in_memory(const Value& value);
  Value as_value(const Value& loaded);

  Ir& ir_;
  Module& module_;
  std::string nowhere_;  // see or_nowhere
};

}  // namespace sinter::jit::llvm
