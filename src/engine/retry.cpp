#include "engine/retry.hpp"

#include <fmt/format.h>

#include <mutex>
#include <set>
#include <string>

#include "base/log.hpp"
#include "base/own_fault.hpp"

namespace sinter::engine {
namespace {

bool first_time(const std::string& what) {
  static auto& mutex = *new std::mutex;
  static auto& said = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return said.insert(what).second;
}

}  // namespace

void warn_of_failed_plan(const InternalError& error) {
  if (first_time(error.what()))
    own_fault(
        fmt::format("planning failed inside sinter ({}) and is tried again with one kernel for each operation, which is slow. Please report this, "
                    "with the formula",
                    error.what()));
}

fuse::Limits without_what_lacks(const fuse::Limits& limits, const runtime::NoAlgorithm& lacking) {
  fuse::Limits less = limits;
  const bool more = lacking.of_more() && limits.product_epilogues;
  if (!more && !limits.products) throw lacking;
  (more ? less.product_epilogues : less.products) = false;
  const char* const instead = more ? "a kernel adds and rounds after the products" : "products are generated kernels";
  log().at(first_time(instead) ? spdlog::level::warn : spdlog::level::info, "{}: {} in this plan", lacking.what(), instead);
  return less;
}

}  // namespace sinter::engine
