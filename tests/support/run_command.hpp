// Runs a command in a separate process.
#pragma once
#include <cstdio>
#include <filesystem>
#include <regex>
#include <stdexcept>
#include <string>

namespace sinter::testing {

/// Returns the first number 1 with a plural behind it in a command's output, such as "1 kernels"; empty if there is none.
inline std::string false_plural(const std::string& text) {
  static const std::regex plural(
      "(^|[^\\w.,/=+-])1 ((library|further|other|more|compute) )?(kernels|calls|steps|plans|nodes|operations|results|files|entries|hits|models|sets|sizes|"
      "schedules|inputs|outputs|tensors|blocks|values|cores|threads|units|structures|registers|axes|elements|"
      "dimensions|indices|shifts|numbers|items|places|channels|groups|operands|matrices|rows|columns|widths|parts|bytes|slices|scales|bins|spacings)\\b");
  std::smatch found;
  return std::regex_search(text, found, plural) ? found.str() : "";
}

struct Ran {
  int status;       // the status that pclose() returned
  std::string out;  // the command's output to stdout and stderr
  bool says(const std::string& text) const { return out.find(text) != std::string::npos; }
};

/// Runs a shell command.
inline Ran run_command(const std::string& line) {
  FILE* const pipe = popen((line + " 2>&1").c_str(), "r");
  if (!pipe) throw std::runtime_error("popen");
  std::string out;
  char part[4096];
  while (const std::size_t got = fread(part, 1, sizeof part, pipe)) out.append(part, got);
  return {pclose(pipe), out};
}

/// Runs one skipped test case of this program.
inline Ran run_test_case(const std::string& name, const std::string& environment) {
  return run_command(environment + " '" + std::filesystem::read_symlink("/proc/self/exe").string() + "' --no-skip --test-case='" + name + "'");
}

}  // namespace sinter::testing
