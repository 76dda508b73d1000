// The loop language: the representation between a loop nest with its schedule and the source of a kernel. A form (jit/forms) writes a nest as statements of
// this language, with every loop, barrier and shuffle and the order of every reduction written out. A printer (jit/cuda, jit/llvm) knows only the statements,
// and no form.
//
// Numbers have the dtypes of tensors. Arithmetic is in the wider type of its two operands. If both have the same size, it is in the unsigned type. A literal
// has the type of its context. Operands of / and % are not negative. In a GPU's kernel, every thread of every block runs the body; a loop's binding says which
// threads share its iterations. In a CPU's kernel there is one thread, and values may be vectors: an operation on vectors is done lane by lane, and a single
// operand is the same for all lanes.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "sinter/dtype.hpp"
#include "trace/primitives.hpp"

namespace sinter::jit::loop {

using trace::Op;

/// The type of a value: an element, a vector of `width` neighbouring elements, or a divisor that was prepared for many quotients.
struct Type {
  DType dtype = DType::int32;
  int width = 1;
  bool divisor = false;
  Type(DType of, int elements = 1, bool prepared = false) : dtype(of), width(elements), divisor(prepared) {}
  friend bool operator==(const Type&, const Type&) = default;
};

struct Expr;
/// An expression: a shared tree that never changes, or no expression.
class E {
 public:
  E() = default;
  E(int literal);
  E(Expr expr);
  /// `!e` makes an expression, so the test for no expression is this function.
  bool empty() const { return tree_ == nullptr; }
  const Expr& operator*() const { return *tree_; }
  const Expr* operator->() const { return tree_.get(); }

 private:
  std::shared_ptr<const Expr> tree_;
};

struct Expr {
  enum class Kind : std::uint8_t {
    literal,       // number
    variable,      // name: a parameter, or a variable that a statement declares
    own,           // name: thread_x or thread_y (in the block), block, blocks; or the points of this call: outer_begin, outer_end, inner_begin, inner_end
    element,       // name[args..]; if there is a guard and it is false, nothing is read and the value is `fill`. A vector of indices gives a vector.
    vector,        // neighbouring elements, from name[args..] on
    lane,          // element args[1] of the vector args[0]
    binary,        // args[0] name args[1], of integers or conditions
    invert,        // not args[0]
    select,        // args[0] ? args[1] : args[2]
    cast,          // args[0] as the type
    primitive,     // op on args
    multiply_add,  // args[0] * args[1] + args[2], rounded once
    neutral,       // the neutral element of the reduction op
    rounded,       // the float args[0], rounded to the 16 bits of `dtype`
    divisor,       // args[0], prepared as a divisor
    quotient,      // args[0] / args[1], a prepared divisor
    shuffle_xor,   // args[0] of the lane whose number differs by args[1]
    shuffle_up,    // args[0] of the lane that is args[1] before this one; this lane's value if there is none
    shuffle,       // args[0] of lane args[1]
    remote,        // the shared variable `name` of block args[0] of the cluster
    // A CPU's kernels alone have the kinds below.
    strided,      // elements of `name`, args[1] apart, from args[0] on
    transposed,   // each square of as many lanes as there are vectors `name`, with lanes and vectors exchanged: the value of another such array
    apart,        // vector c of as many vectors `name`, say n, is element c of each n consecutive elements: the value of another such array
    together,     // the converse: the elements with number c of vectors `name`, one of each vector, are consecutive
    iota,         // 0, 1, 2, ...
    lanes_below,  // whether each lane's number is less than args[0]
    any,          // whether args[0] is true in any lane
    some,         // the mask args[0], which is known to be true in some lane
    tree,         // the lanes of args[0], combined by `op` until `type` has as many: lane i with lane i + width / 2, then i + width / 4, ...
    trees,        // lane k is all lanes of vector k of the square `name`, combined as a tree
    prefix,       // each lane of args[0] combined by `op` with the lane 1, then 2, then 4, ... before it
  };
  Kind kind = Kind::literal;
  Type type = DType::int32;
  std::string name{};
  std::int64_t number = 0;
  Op op{};
  DType dtype{};
  std::vector<E> args{};
  E guard{}, fill{};
};

E variable(std::string name, Type type);
E literal(std::int64_t number, DType dtype);
/// The numbers of the running thread, which are uint32.
E thread_x();
E thread_y();
E block();
E blocks();
/// Returns a bound of the points that a call of a CPU's kernel computes, which is int64.
E bound(const char* name);
E operator+(const E& a, const E& b);
E operator-(const E& a, const E& b);
E operator*(const E& a, const E& b);
E operator/(const E& a, const E& b);
E operator%(const E& a, const E& b);
E operator&(const E& a, const E& b);
E operator^(const E& a, const E& b);
E operator<(const E& a, const E& b);
E operator<=(const E& a, const E& b);
E operator>=(const E& a, const E& b);
E operator==(const E& a, const E& b);
E operator>(const E& a, const E& b);
E operator!(const E& a);
/// Conditions. An empty expression is no condition.
E operator&&(const E& a, const E& b);
E operator||(const E& a, const E& b);
E select(const E& condition, const E& yes, const E& no);
E cast(const E& a, DType to);
/// Returns the literal with the type, anything else unchanged.
E literal_as(const E& a, DType type);
E primitive(Op op, DType result, std::vector<E> args);
E neutral(Op reduction, DType dtype);
E lane_of(const E& vector, const E& lane);
/// Returns another kind of expression of these operands.
E make(Expr::Kind kind, Type type, std::vector<E> args);
/// Returns the element or elements, read only if the guard is true.
E guarded(const E& access, const E& guard, const E& fill);

/// A name under which elements are stored: a parameter or a declared array.
struct Memory {
  std::string name;
  Type type = DType::int32;
  E at(std::vector<E> index) const;
  /// Returns neighbouring elements; a single element if the width is 1.
  E vector_at(std::vector<E> index, int width) const;
  E strided_at(const E& first, const E& stride, int width) const;
};

enum class Binding : std::uint8_t {
  serial,    // one thread runs all iterations
  unrolled,  // one thread runs all iterations, which the compiler unrolls
  lanes,     // unrolled over the elements of a vector
  threads,   // iterations are shared by the threads of a row or column
  grid,      // iterations are shared by the blocks, warps or threads of the grid
};
enum class Change : std::uint8_t { add, twice, half };
enum class Scope : std::uint8_t { warp, block, cluster_arrive, cluster_wait };

struct Stmt {
  enum class Kind : std::uint8_t {
    let,        // `name` is `value` from here on
    var,        // a variable of the thread, with the initial value `value` if there is one
    registers,  // an array of the thread with extents[0] elements, each with the initial value `value` if there is one
    shared,     // an array in the block's shared memory; a variable if it has no extents
    dynamic,    // an array of `extent` elements in memory of the launch (a GPU's dynamic shared memory): one for each `number` threads, or one for all (0)
    store,      // target = value, if the guard is true or missing; past the cache, if `stream` has no bit of the address
    loop,       // for name = first; name < end; name changes by step
    branch,     // the body runs if the guard is true, `otherwise` if it is false; without a guard it is a scope
    next,
    last,     // if the guard is true: continue with the next iteration, or leave the loop
    barrier,  // `scope`
    check,    // if the guard is true: reports `value` as the failure `number`, unless one was reported before
  };
  Kind kind = Kind::let;
  Type type = DType::int32;
  std::string name{};
  E value{}, target{}, guard{};
  std::vector<int> extents{};
  E extent{};  // dynamic
  E stream{};  // store
  bool aligned = false;
  int number = 0;
  Binding binding = Binding::serial;
  Change change = Change::add;
  E first{}, end{}, step{};
  Scope scope = Scope::block;
  std::vector<Stmt> body{}, otherwise{};
  std::string note{};
};

struct Parameter {
  std::string name;
  DType dtype = DType::int32;
  enum class Kind : std::uint8_t { input, output, number, literal } kind = Kind::number;
  bool is_memory() const { return kind == Kind::input || kind == Kind::output; }
};

struct Kernel {
  std::string name;
  std::vector<std::string> notes;
  std::vector<Parameter> parameters;
  int threads = 256;  // threads of a block; 0: a CPU's kernel
  int across = 256;   // threads along the block's x; all threads of a warp have the same y
  int residents = 0;  // blocks whose registers must fit on a multiprocessor together; 0: no bound
  int cluster = 1;    // blocks of a cluster
  std::vector<Stmt> body;
};

/// Returns the kernel's text.
std::string to_string(const Kernel& kernel);
/// Throws InternalError unless every name is declared before its use, every operand has a type that its operation takes, and all threads that a barrier or a
/// shuffle needs reach it together.
void verify(const Kernel& kernel);

/// Lowers a kernel for devices whose threads can exchange values only through shared memory: a shuffle becomes a store to an array of the block, a read of
/// another thread's element, and a barrier of the block before and after the read. The result is verified.
Kernel without_warps(Kernel kernel);

/// Prints statements. Derived printers spell types, declarations and everything that is not an operator.
class Printer {
 public:
  virtual ~Printer() = default;

 protected:
  void print(const std::vector<Stmt>& statements, int depth);
  void line(int depth, const std::string& text) { text_ += std::string(2 * static_cast<std::size_t>(depth), ' ') + text + "\n"; }
  /// Returns the expression, in parentheses if it binds less tightly than `min_precedence`.
  std::string text(const E& e, int min_precedence = 0);
  static constexpr int kAtom = 12, kUnary = 11;
  std::string index_text(const std::vector<E>& index);

  virtual std::string type_text(const Type& type) = 0;
  /// Returns the text of an expression that is not an operator, and how tightly the text binds.
  virtual std::pair<std::string, int> special(const Expr& e) = 0;
  /// Returns the statements let, var, registers, shared, dynamic, barrier and check as one or several lines.
  virtual std::vector<std::string> simple(const Stmt& s) = 0;
  /// Returns the lines that end with a loop's first words, such as "for (".
  virtual std::vector<std::string> loop_head(const Stmt& s) = 0;

  std::string text_;
};

}  // namespace sinter::jit::loop
