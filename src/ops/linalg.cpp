#include "sinter/linalg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ops/recording.hpp"
#include "sinter/counted.hpp"
#include "sinter/decompositions.hpp"
#include "sinter/ops.hpp"
#include "sinter/shapes.hpp"

namespace sinter {
namespace {

using namespace ops;

/// Adds in the type of the elements, like products of matrices.
Tensor summed(const Tensor& x, const Axes& axes, bool keepdims = false) { return sum(x, axes, keepdims, x.dtype()); }

}  // namespace

Tensor vecdot(const Arg& a, const Arg& b, std::int64_t axis) {
  const Scope scope("vecdot", a.where());
  const Tensor x(as_node(scope.site(), a)), y(as_node(scope.site(), b));
  if (x.ndim() == 0 || y.ndim() == 0) fail<ShapeError>(scope.site(), "0-d operands have no axis to sum over; use *");
  const std::int64_t along = axis < 0 ? axis : checked_axis(scope.site(), axis, x.ndim()) - x.ndim();
  const auto size = [&](const Tensor& t) { return t.shape()[static_cast<std::size_t>(checked_axis(scope.site(), along, t.ndim()))]; };
  if (size(x) != size(y))
    fail<ShapeError>(scope.site(), fmt::format("shapes {} and {}: the sizes {} and {} of axis {} differ", to_string(x.shape()), to_string(y.shape()), size(x),
                                               size(y), axis));
  return summed(x * y, along);
}

Tensor outer(const Arg& a, const Arg& b) {
  const Scope scope("outer", a.where());
  return multiply(reshape(a, {-1, 1}), reshape(b, {1, -1}));
}

Tensor inner(const Arg& a, const Arg& b) {
  const Scope scope("inner", a.where());
  const Tensor x(as_node(scope.site(), a)), y(as_node(scope.site(), b));
  if (x.ndim() == 0 || y.ndim() == 0) return x * y;
  return tensordot(x, y, {x.ndim() - 1}, {y.ndim() - 1});
}

Tensor tensordot(const Arg& a, const Arg& b, std::int64_t axes) {
  const Scope scope("tensordot", a.where());
  const Tensor x(as_node(scope.site(), a)), y(as_node(scope.site(), b));
  if (axes < 0 || axes > x.ndim() || axes > y.ndim())
    fail<AxisError>(scope.site(), fmt::format("{} of shapes {} and {}", counted(axes, "axis", "axes"), to_string(x.shape()), to_string(y.shape())));
  std::vector<std::int64_t> last, first;
  for (std::int64_t k = 0; k < axes; ++k) last.push_back(x.ndim() - axes + k), first.push_back(k);
  return tensordot(x, y, last, first);
}
Tensor tensordot(const Arg& a, const Arg& b, const std::vector<std::int64_t>& axes_a, const std::vector<std::int64_t>& axes_b) {
  const Scope scope("tensordot", a.where());
  const Site& site = scope.site();
  const Tensor x(as_node(site, a)), y(as_node(site, b));
  if (axes_a.size() != axes_b.size())
    fail<AxisError>(site, fmt::format("axes_a names {} and axes_b {}", counted(axes_a.size(), "axis", "axes"), axes_b.size()));
  checked_axes(site, Axes(axes_a), x.ndim());
  checked_axes(site, Axes(axes_b), y.ndim());
  std::vector<std::int64_t> order_a, order_b;
  Shape result;
  std::int64_t summed_over = 1, rows = 1, columns = 1;
  for (std::size_t k = 0; k < axes_a.size(); ++k) {
    const std::int64_t i = checked_axis(site, axes_a[k], x.ndim()), j = checked_axis(site, axes_b[k], y.ndim());
    const std::int64_t size = x.shape()[static_cast<std::size_t>(i)], other = y.shape()[static_cast<std::size_t>(j)];
    if (size != other)
      fail<ShapeError>(site, fmt::format("shapes {} and {}: axis {} of size {} does not fit axis {} of size {}", to_string(x.shape()), to_string(y.shape()), i,
                                         size, j, other));
    order_a.push_back(i);
    order_b.push_back(j);
    summed_over *= size;
  }
  const auto kept = [&](const Tensor& t, std::vector<std::int64_t>& order, bool in_front, std::int64_t& count) {
    std::vector<std::int64_t> rest;
    for (std::int64_t k = 0; k < t.ndim(); ++k) {
      if (std::find(order.begin(), order.end(), k) != order.end()) continue;
      rest.push_back(k);
      result.push_back(t.shape()[static_cast<std::size_t>(k)]);
      count *= result.back();
    }
    order.insert(in_front ? order.begin() : order.end(), rest.begin(), rest.end());
  };
  kept(x, order_a, true, rows);
  kept(y, order_b, false, columns);
  const Tensor left = reshape(permute(x, order_a), {rows, summed_over}), right = reshape(permute(y, order_b), {summed_over, columns});
  return reshape(matmul(left, right), result);
}

namespace {

/// A tensor whose axes have distinct names.
struct Term {
  Tensor tensor;
  std::string labels;
};

class Einsum {
 public:
  Einsum(const Site& site, std::string_view subscripts, const std::vector<Tensor>& operands) : site_(site), subscripts_(subscripts) {
    std::string text;
    for (const char c : subscripts)
      if (c != ' ') text += c;
    const auto arrow = text.find("->");
    std::vector<std::string> names{""};
    for (const char c : text.substr(0, arrow)) {
      if (c == ',') names.emplace_back();
      else names.back() += c;
    }
    if (names.size() != operands.size()) refuse(fmt::format("names {}, {} given", counted(names.size(), "operand"), counted(operands.size(), "was", "were")));
    for (std::size_t k = 0; k < names.size(); ++k) spread_ = std::max(spread_, ellipsis_rank(names[k], node_of(site, operands[k])->shape));
    for (std::size_t k = 0; k < names.size(); ++k) terms_.push_back(term(operands[k], expanded(names[k], node_of(site, operands[k])->shape.size())));
    result_ = arrow == std::string::npos ? implied(text) : expanded(text.substr(arrow + 2), {});
    for (std::size_t k = 0; k < result_.size(); ++k)
      if (!sizes_.contains(result_[k]) || result_.find(result_[k], k + 1) != std::string::npos)
        refuse(fmt::format("the result's '{}' is {}", shown(result_[k]), sizes_.contains(result_[k]) ? "named twice" : "in no operand"));
    DType type = operands.front().dtype();
    for (const Tensor& operand : operands) type = promote(site_, type, operand.dtype());
    for (Term& t : terms_) t.tensor = astype(t.tensor, type);
  }

  Tensor run() {
    while (terms_.size() > 1) contract_cheapest();
    Term last = without(terms_.front(), result_);
    Shape shape;
    std::vector<std::int64_t> order;
    for (const char label : result_) {
      order.push_back(static_cast<std::int64_t>(last.labels.find(label)));
      shape.push_back(sizes_.at(label));
    }
    return broadcast_to(permute(last.tensor, order), shape);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { fail<ValueError>(site_, fmt::format("'{}' {}", subscripts_, why)); }
  /// Writes a name; axes of an ellipsis have the names 1, 2, ... from the last one on.
  static std::string shown(char label) { return label < 32 ? "..." : std::string(1, label); }

  std::size_t ellipsis_rank(const std::string& names, const Shape& shape) const {
    const auto dots = names.find("...");
    if (dots == std::string::npos) return 0;
    const std::size_t named = names.size() - 3;
    if (named > shape.size()) refuse(fmt::format("names {} of shape {}", counted(named, "axis", "axes"), to_string(shape)));
    if (shape.size() - named > 31) refuse(fmt::format("leaves {} to an ellipsis", counted(shape.size() - named, "axis", "axes")));
    return shape.size() - named;
  }
  /// Expands the ellipsis to a name for each axis. The result has no known `rank`: its ellipsis stands for as many axes as the widest of the operands'.
  std::string expanded(const std::string& names, std::optional<std::size_t> rank) const {
    std::string labels = names;
    if (const auto dots = names.find("..."); dots != std::string::npos) {
      const std::size_t count = rank ? *rank - (names.size() - 3) : spread_;
      std::string axes;
      for (std::size_t k = count; k > 0; --k) axes += static_cast<char>(k);
      labels.replace(dots, 3, axes);
    }
    for (const char c : labels)
      if (c >= 32 && !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) refuse(fmt::format("has '{}' where a letter or an ellipsis is expected", c));
    if (rank && labels.size() != *rank) refuse(fmt::format("names {} of a tensor with {}", counted(labels.size(), "axis", "axes"), *rank));
    return labels;
  }
  /// Returns the result's axes without "->": the ellipsis, then the letters that appear once, in alphabetical order.
  std::string implied(const std::string& text) const {
    std::string labels;
    for (std::size_t k = spread_; k > 0; --k) labels += static_cast<char>(k);
    std::set<char> letters;
    for (const char c : text)
      if (c != ',' && c != '.' && std::count(text.begin(), text.end(), c) == 1) letters.insert(c);
    return labels + std::string(letters.begin(), letters.end());
  }

  /// Converts an operand to a term; an axis named twice becomes a diagonal.
  Term term(const Tensor& operand, std::string labels) {
    Tensor tensor = operand;
    for (std::size_t k = 0; k < labels.size(); ++k) {
      const std::int64_t size = tensor.shape()[k];
      std::int64_t& known = sizes_.emplace(labels[k], size).first->second;
      if (known == 1) known = size;
      if (size != known && size != 1) refuse(fmt::format("gives '{}' the sizes {} and {}", shown(labels[k]), known, size));
    }
    for (std::size_t k = 0; k < labels.size();) {
      const auto again = labels.find(labels[k], k + 1);
      if (again == std::string::npos) {
        ++k;
        continue;
      }
      const char label = labels[k];
      tensor = diagonal(tensor, 0, static_cast<std::int64_t>(k), static_cast<std::int64_t>(again));
      labels.erase(again, 1);
      labels.erase(k, 1);
      labels += label;
    }
    return {tensor, labels};
  }

  std::int64_t size_of(const Term& t, char label) const {
    const auto k = t.labels.find(label);
    return k == std::string::npos ? 1 : t.tensor.shape()[k];
  }
  /// Sums over all axes that are not needed.
  Term without(const Term& t, const std::string& needed) const {
    std::vector<std::int64_t> gone;
    std::string labels;
    for (std::size_t k = 0; k < t.labels.size(); ++k) {
      if (needed.find(t.labels[k]) == std::string::npos) gone.push_back(static_cast<std::int64_t>(k));
      else labels += t.labels[k];
    }
    return {gone.empty() ? t.tensor : summed(t.tensor, Axes(gone)), labels};
  }
  std::string needed_beside(std::size_t i, std::size_t j) const {
    std::string needed = result_;
    for (std::size_t k = 0; k < terms_.size(); ++k)
      if (k != i && k != j) needed += terms_[k].labels;
    return needed;
  }
  /// Returns how many elements a product adds to memory: its elements less those of its operands.
  double cost(std::size_t i, std::size_t j) const {
    const std::string needed = needed_beside(i, j);
    std::set<char> labels(terms_[i].labels.begin(), terms_[i].labels.end());
    labels.insert(terms_[j].labels.begin(), terms_[j].labels.end());
    double elements = 1;
    for (const char label : labels)
      if (needed.find(label) != std::string::npos) elements *= static_cast<double>(std::max(size_of(terms_[i], label), size_of(terms_[j], label)));
    return elements - static_cast<double>(terms_[i].tensor.size()) - static_cast<double>(terms_[j].tensor.size());
  }
  void contract_cheapest() {
    std::size_t first = 0, second = 1;
    double smallest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < terms_.size(); ++i)
      for (std::size_t j = i + 1; j < terms_.size(); ++j)
        if (const double c = cost(i, j); c < smallest) smallest = c, first = i, second = j;
    const std::string needed = needed_beside(first, second);
    Term product = contracted(without(terms_[first], needed + terms_[second].labels), without(terms_[second], needed + terms_[first].labels), needed);
    terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(second));
    terms_[first] = std::move(product);
  }

  /// Puts the axes in this order; missing axes get size 1.
  Tensor arranged(const Term& t, const std::string& labels) const {
    std::vector<std::int64_t> order;
    Shape shape;
    for (const char label : labels) {
      const auto k = t.labels.find(label);
      if (k != std::string::npos) order.push_back(static_cast<std::int64_t>(k));
      shape.push_back(size_of(t, label));
    }
    return reshape(permute(t.tensor, order), shape);
  }
  Term contracted(const Term& a, const Term& b, const std::string& needed) const {
    std::string batch, rows, columns, over;
    for (const char label : a.labels) {
      const bool shared = b.labels.find(label) != std::string::npos;
      (!shared ? rows : needed.find(label) != std::string::npos ? batch : over) += label;
    }
    for (const char label : b.labels)
      if (a.labels.find(label) == std::string::npos) columns += label;
    const auto count = [&](const Term& t, const std::string& labels) {
      std::int64_t n = 1;
      for (const char label : labels) n *= size_of(t, label);
      return n;
    };
    const bool broadcasts = std::any_of(over.begin(), over.end(), [&](char label) { return size_of(a, label) != size_of(b, label); });
    if (over.empty() || broadcasts || count(a, rows) == 1 || count(b, columns) == 1) {  // one fused product and sum
      const std::string all = batch + rows + columns + over;
      return without({arranged(a, all) * arranged(b, all), all}, batch + rows + columns);
    }
    const auto matrices = [&](const Term& t, const std::string& first, const std::string& second) {
      const Tensor ordered = arranged(t, batch + first + second);
      Shape shape(ordered.shape().begin(), ordered.shape().begin() + static_cast<std::ptrdiff_t>(batch.size()));
      shape.insert(shape.end(), {count(t, first), count(t, second)});
      return reshape(ordered, shape);
    };
    const Tensor product = matmul(matrices(a, rows, over), matrices(b, over, columns));
    Shape shape(product.shape().begin(), product.shape().end() - 2);
    for (const char label : rows) shape.push_back(size_of(a, label));
    for (const char label : columns) shape.push_back(size_of(b, label));
    return {reshape(product, shape), batch + rows + columns};
  }

  const Site& site_;
  std::string_view subscripts_;
  std::vector<Term> terms_;
  std::map<char, std::int64_t> sizes_;
  std::string result_;
  std::size_t spread_ = 0;  // axes of the widest ellipsis
};

}  // namespace

Tensor einsum(std::string_view subscripts, const std::vector<Tensor>& operands, Location where) {
  const Scope scope("einsum", where);
  if (operands.empty()) fail<ValueError>(scope.site(), "there are no operands");
  check_parts(scope.site(), static_cast<std::int64_t>(operands.size()), "operands",
              64);  // as in NumPy; the search for the cheapest pairs takes time proportional to the fourth power of their number
  return Einsum(scope.site(), subscripts, operands).run();
}

Tensor kron(const Arg& a, const Arg& b) {
  const Scope scope("kron", a.where());
  const Tensor x(as_node(scope.site(), a)), y(as_node(scope.site(), b));
  const std::size_t rank = std::max(x.shape().size(), y.shape().size());
  Shape coarse, fine, result;
  for (std::size_t k = 0; k < rank; ++k) {
    const auto size = [&](const Tensor& t) { return k + t.shape().size() < rank ? 1 : t.shape()[k + t.shape().size() - rank]; };
    coarse.insert(coarse.end(), {size(x), 1});
    fine.insert(fine.end(), {1, size(y)});
    result.push_back(size(x) * size(y));
  }
  return reshape(multiply(reshape(x, coarse), reshape(y, fine)), result);
}

Tensor matrix_trace(const Arg& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  const Scope scope("matrix_trace", x.where());
  return sum(diagonal(x, offset, axis1, axis2), -1);
}

Tensor matrix_transpose(const Arg& x) {
  const Scope scope("matrix_transpose", x.where());
  const RecordedPtr node = as_node(scope.site(), x);
  if (node->shape.size() < 2) fail<ShapeError>(scope.site(), fmt::format("shape {} is not that of a matrix", to_string(node->shape)));
  return swapaxes(Tensor(node), -1, -2);
}

Tensor matrix_power(const Arg& x, std::int64_t n) {
  const Scope scope("matrix_power", x.where());
  Tensor square(as_node(scope.site(), x));
  const Shape& shape = square.shape();
  if (shape.size() < 2 || shape.back() != shape[shape.size() - 2])
    fail<MatrixShapeError>(scope.site(), fmt::format("shape {} is not that of a square matrix", to_string(shape)));
  if (n == 0) return broadcast_to(eye(shape.back(), {}, 0, square.dtype()), shape);
  if (n < 0) square = inv(square);
  Tensor product;
  for (std::uint64_t left = n < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n); left > 0; left /= 2) {
    if (left % 2 != 0) product = product.empty_handle() ? square : matmul(product, square);
    if (left > 1) square = matmul(square, square);
  }
  return product;
}

Tensor cross(const Arg& a, const Arg& b, std::int64_t axis) {
  const Scope scope("cross", a.where());
  const Site& site = scope.site();
  const Tensor given(as_node(site, a)), other(as_node(site, b));
  const std::array shapes{&given.shape(), &other.shape()};
  const Shape wide = broadcast_shape(site, shapes);
  const auto last = [&](const Tensor& t) { return moveaxis(broadcast_to(t, wide), axis, -1); };
  const std::int64_t along = checked_axis(site, axis, static_cast<std::int64_t>(wide.size()));
  if (wide[static_cast<std::size_t>(along)] != 3)
    fail<ShapeError>(site, fmt::format("shapes {} and {}: axis {} is not of 3 numbers", to_string(given.shape()), to_string(other.shape()), axis));
  const Tensor x = last(given), y = last(other);
  return moveaxis(roll(x, {-1}, -1) * roll(y, {1}, -1) - roll(x, {1}, -1) * roll(y, {-1}, -1), -1, axis);
}

Tensor cdist(const Arg& a, const Arg& b, double ord) {
  const Scope scope("cdist", a.where());
  const Tensor x(as_node(scope.site(), a)), y(as_node(scope.site(), b));
  if (x.ndim() < 2 || y.ndim() < 2 || x.shape().back() != y.shape().back())
    fail<ShapeError>(scope.site(), fmt::format("the rows must have one length; the shapes are {} and {}", to_string(x.shape()), to_string(y.shape())));
  return vector_norm((is_floating(x.dtype()) ? x : x.astype(DType::float64)).at({ellipsis, newaxis, Slice{}}) - expand_dims(y, -3), -1, false, ord);
}
Tensor vector_norm(const Arg& arg, const Axes& axes, bool keepdims, double ord) {
  const Scope scope("vector_norm", arg.where());
  const Tensor given(as_node(scope.site(), arg));
  const DType type = is_floating(given.dtype()) ? given.dtype() : DType::float64;
  const Tensor x = astype(given, traits(type).compute);
  const auto result = [&](const Tensor& norm) { return astype(norm, type); };
  if (ord == 2) return result(sqrt(sum(square(x), axes, keepdims)));
  if (ord == std::numeric_limits<double>::infinity())
    return result(x.size() == 0 ? sum(x, axes, keepdims) : max(abs(x), axes, keepdims));  // 0 for an empty tensor
  if (ord == -std::numeric_limits<double>::infinity()) return result(min(abs(x), axes, keepdims));
  if (ord == 0) return result(sum(astype(not_equal(x, 0), x.dtype()), axes, keepdims));
  if (ord == 1) return result(sum(abs(x), axes, keepdims));
  return result(power(sum(power(abs(x), ord), axes, keepdims), 1 / ord));
}

Tensor matrix_norm(const Arg& arg, bool keepdims, NormOrder ord) {
  const Scope scope("matrix_norm", arg.where());
  const Site& site = scope.site();
  const Tensor x(as_node(site, arg));
  if (x.ndim() < 2) fail<ShapeError>(site, fmt::format("shape {} is not that of a matrix", to_string(x.shape())));
  if (!ord.number() && ord.name() == "fro") return vector_norm(x, {-2, -1}, keepdims);
  const double number = ord.number().value_or(0), magnitude = std::fabs(number);
  const bool nuclear = !ord.number() && ord.name() == "nuc", by_values = nuclear || magnitude == 2;
  if (!by_values && magnitude != 1 && magnitude != std::numeric_limits<double>::infinity())
    fail<ValueError>(site, fmt::format("a matrix's norm is of order 1, 2, infinity, their negatives, \"fro\" or \"nuc\", not {}",
                                       ord.number() ? fmt::format("{}", number) : fmt::format("\"{}\"", ord.name())));
  const Tensor sums = by_values ? svdvals(x) : vector_norm(x, magnitude == 1 ? -2 : -1, false, 1);
  if (sums.shape().back() == 0 && number < 0) fail<ValueError>(site, fmt::format("shape {} has no elements to choose from", to_string(x.shape())));
  const bool none = sums.shape().back() == 0;
  const Tensor found = nuclear || none ? sum(sums, -1) : number > 0 ? max(sums, -1) : min(sums, -1);
  return keepdims ? expand_dims(found, {-2, -1}) : found;
}

Tensor norm(const Arg& arg, std::optional<NormOrder> ord, const Axes& axes, bool keepdims) {
  const Scope scope("norm", arg.where());
  const Site& site = scope.site();
  const Tensor x(as_node(site, arg));
  if (!ord) return vector_norm(x, axes, keepdims);
  std::vector<std::int64_t> list;
  for (std::int64_t k = 0; axes.all() && k < x.ndim(); ++k) list.push_back(k);
  for (const std::int64_t axis : axes.list()) list.push_back(checked_axis(site, axis, x.ndim()));
  if (list.size() == 1) {
    if (!ord->number()) fail<ValueError>(site, fmt::format("\"{}\" is a norm of matrices; it needs two axes", ord->name()));
    return vector_norm(x, axes, keepdims, *ord->number());
  }
  if (list.size() != 2)
    fail<ShapeError>(site, fmt::format("with an order, one axis is a vector and two are a matrix; shape {} has {}", to_string(x.shape()), list.size()));
  const Tensor found = matrix_norm(moveaxis(x, list, {-2, -1}), false, *ord);
  if (!keepdims) return found;
  Shape kept = x.shape();
  for (const std::int64_t axis : list) kept[static_cast<std::size_t>(axis)] = 1;
  return reshape(found, kept);
}

}  // namespace sinter
