// Prints the loop language in a C-like language: one self-contained kernel and the helper functions that it calls. A printer of CUDA C++ or OpenCL C adds the
// kernel's first line, the numbers of threads, shared memory, barriers and shuffles. Printers know no forms.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "jit/c_like/helpers.hpp"
#include "jit/loop/language.hpp"

namespace sinter::jit::c_like {

class Printer : public loop::Printer {
 public:
  Printer(const loop::Kernel& kernel, Helpers& helpers) : kernel_(kernel), helpers_(helpers) {}
  std::string kernel();

 protected:
  /// Returns the kernel's first lines, up to the brace.
  virtual std::string signature() = 0;
  /// Returns an expression whose spelling is not common; `args` are its operands.
  virtual std::pair<std::string, int> own(const loop::Expr& e, const std::vector<std::string>& args) = 0;
  /// Returns the text of the statements shared, dynamic, barrier and check.
  virtual std::vector<std::string> own(const loop::Stmt& s) = 0;
  /// Returns the type by which a vector of this memory is read or written.
  virtual std::string pointed(const loop::Expr& e) = 0;
  bool is_input(const std::string& name) const;
  static std::string extents_text(const loop::Stmt& s);
  /// Returns the bytes of a dynamic array, rounded up to 16.
  std::string dynamic_bytes(const loop::Stmt& array);
  /// Returns a declaration of a dynamic array at `dynamic_end_`, and advances dynamic_end_. `pointer` and `bytes` are the types of pointers to elements and to
  /// bytes.
  std::string dynamic_array(const loop::Stmt& s, const std::string& pointer, const std::string& bytes);
  /// Returns the address of the first dynamic array: those of one group of threads follow those of the group before.
  std::string first_dynamic(const loop::Stmt& s, const std::string& thread);

  std::string type_text(const loop::Type& type) override;
  std::pair<std::string, int> special(const loop::Expr& e) override;
  std::vector<std::string> simple(const loop::Stmt& s) override;
  std::vector<std::string> loop_head(const loop::Stmt& s) override;

  const loop::Kernel& kernel_;
  std::string dynamic_end_;  // the address after the last dynamic array

 private:
  Helpers& helpers_;
};

}  // namespace sinter::jit::c_like
