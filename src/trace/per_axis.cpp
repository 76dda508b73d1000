#include "trace/per_axis.hpp"

#include <fmt/format.h>

namespace sinter::trace {

std::vector<std::int64_t> per_axis(const Site& site, std::string_view what, const PerAxis& given, std::size_t axes, std::int64_t least) {
  std::vector<std::int64_t> list = given.list();
  if (list.size() == 1) list.resize(axes, list.front());
  if (list.size() != axes) fail<ValueError>(site, fmt::format("{} numbers for {} where there are {} axes; give one, or one for each", list.size(), what, axes));
  for (const std::int64_t number : list)
    if (number < least || number > (std::int64_t{1} << 31)) fail<ValueError>(site, fmt::format("{} of {}; it is at least {}", what, number, least));
  return list;
}

std::vector<std::pair<std::int64_t, std::int64_t>> per_axis(const Site& site, const Padding& given, std::size_t axes) {
  auto widths = given.widths();
  if (widths.size() == 1) widths.resize(axes, widths.front());
  if (widths.size() != axes) fail<ValueError>(site, fmt::format("{} widths of padding where there are {} axes; give one, or one for each", widths.size(), axes));
  for (const auto& [before, after] : widths)
    if (before < 0 || after < 0 || before > (std::int64_t{1} << 31) || after > (std::int64_t{1} << 31))
      fail<ValueError>(site, fmt::format("padding of {} and {}; it is at least 0", before, after));
  return widths;
}

}  // namespace sinter::trace
