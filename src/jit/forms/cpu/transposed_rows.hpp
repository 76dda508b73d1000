// Rows of some lengths fill their vectors badly: of 17 points, 15 of 32 lanes are idle. As many such rows as a vector has lanes are transposed in registers, so
// that each lane has a row and no lane is idle. The results have the bits that vectors along the rows give.
#pragma once
#include "jit/forms/cpu/lowering.hpp"

namespace sinter::jit::forms::cpu {

class TransposedRows : public Lowering {
 protected:
  using Lowering::Lowering;

  /// Returns the most points of rows that may be transposed. 0: the nest's rows cannot be transposed, or it does not pay.
  int longest_transposed() const;
  /// Returns whether rows of this length fill their vectors badly.
  E fill_badly() const;
  /// Computes tree_lanes_ rows, from the present one on.
  void transposed_rows();

  void store_lanes(const Store& s, int lanes) override;
  E persistent_place(int buffer, int lanes) override;

 private:
  int row_axis() const { return nest_.parallel; }
  int next_row() const { return nest_.parallel - 1; }  // the axis along which rows are neighbours
  int wide() const;
  bool is_dear() const;
  bool stores_rows() const;
  bool computes_half_vectors() const;
  bool is_transposed(const Access& access) const;
  bool transposable(const Stage& stage) const;
  template <class Inside> void blocks(Inside inside);
  template <class At> void each_row(const Access& access, int width, At at);
  void row_stage_across(const Stage& stage);
  E tree_across(const Reduction& reduction, const Memory& values);

  std::map<int, Memory> inputs_, outputs_;  // columns: element k is row point k of each row
  E column_;                                // the present row point; empty: lanes are not rows
};

}  // namespace sinter::jit::forms::cpu
