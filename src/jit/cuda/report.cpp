#include "jit/cuda/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <sstream>
#include <vector>

namespace sinter::jit::cuda {
namespace {

constexpr int kErrorsShown = 3;
constexpr int kLinesAround = 2;

/// Returns the number right before `words`, or -1.
int number_before(const std::string& line, const std::string& words) {
  const std::size_t at = line.find(words);
  if (at == std::string::npos) return -1;
  std::size_t begin = at;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1]))) --begin;
  return begin == at ? -1 : std::atoi(line.c_str() + begin);
}

/// Adds a figure, because the log may have one for each of several functions.
void add(int& sum, int figure) {
  if (figure >= 0) sum = std::max(sum, 0) + figure;
}

}  // namespace

ResourceReport parse_report(const std::string& log) {
  ResourceReport report;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    add(report.spill_bytes, number_before(line, " bytes spill stores"));
    add(report.spill_bytes, number_before(line, " bytes spill loads"));
    add(report.stack_bytes, number_before(line, " bytes stack frame"));
    add(report.shared_bytes, number_before(line, " bytes smem"));
    report.registers = std::max(report.registers, number_before(line, " registers"));
  }
  if (report.registers >= 0 && report.shared_bytes < 0) report.shared_bytes = 0;  // ptxas does not print a zero
  return report;
}

std::string source_around_errors(const std::string& text, const std::string& log) {
  std::vector<std::string> source;
  std::istringstream source_lines(text);
  for (std::string line; std::getline(source_lines, line);) source.push_back(line);

  std::set<int> wrong;
  std::istringstream log_lines(log);
  for (std::string line; std::getline(log_lines, line) && wrong.size() < kErrorsShown;) {
    const std::size_t error = line.find("): error");
    const std::size_t paren = error == std::string::npos ? error : line.rfind('(', error);
    if (paren != std::string::npos) wrong.insert(std::atoi(line.c_str() + paren + 1));
  }
  std::set<int> shown;
  for (int number : wrong)
    for (int n = number - kLinesAround; n <= number + kLinesAround; ++n)
      if (n >= 1 && n <= static_cast<int>(source.size())) shown.insert(n);
  std::string out;
  for (int n : shown) out += fmt::format("{}{:4} | {}\n", wrong.count(n) ? ">" : " ", n, source[n - 1]);
  return out;
}

}  // namespace sinter::jit::cuda
