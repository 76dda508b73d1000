#include "trace/site.hpp"

#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <set>

#include "sinter/caller.hpp"
#include "sinter/engine.hpp"
#include "sinter/errors.hpp"
#include "trace/record.hpp"

namespace sinter::trace {
namespace {
thread_local const Site* current = nullptr;
}

std::string to_string(const Location& where) { return where.line == 0 ? where.file : fmt::format("{}:{}", where.file, where.line); }

std::string message(const Site& site, const std::string& what) {
  std::string text = site.op;
  if (*site.part && std::strcmp(site.part, site.op) != 0) text += fmt::format(" ({})", site.part);
  text += ": " + what;
  if (*site.where.file) text += " at " + to_string(site.where);
  return text;
}

void fail_on_device(const Site& site, const DeviceError& error, const std::string& what) {
  if (dynamic_cast<const MemoryError*>(&error)) fail<MemoryError>(site, what);
  fail<DeviceError>(site, what);
}

Scope::Scope(const char* op, Location where) : site_{op, where}, before_(current) {
  if (before_ && *before_->op) return;
  if (before_) site_.where = before_->where;
  current = &site_;
}
Scope::~Scope() {
  if (current == &site_) current = before_;
}
const Site& Scope::site() const { return *current; }

Site site_of(const char* op, Location where) {
  if (current == nullptr) return {op, where};
  if (!*current->op) return {op, current->where};
  return {current->op, current->where, op};
}

}  // namespace sinter::trace

namespace sinter {

static_assert(sizeof(trace::Scope) <= 5 * sizeof(void*));
Caller::Caller(const char* function, Location where) { std::construct_at(reinterpret_cast<trace::Scope*>(scope_), function, where); }
Caller::~Caller() { std::destroy_at(std::launder(reinterpret_cast<trace::Scope*>(scope_))); }

void set_name(const Tensor& tensor, std::string_view name) {
  constexpr std::size_t kMaxNames = 1 << 16;  // a name is never freed
  static std::mutex mutex;
  static auto& names = *new std::set<std::string, std::less<>>;
  if (tensor.empty_handle()) throw ValueError("set_name: the tensor is empty (default-constructed); assign it first");
  const std::lock_guard lock(mutex);
  auto known = names.find(name);
  if (known == names.end()) {
    if (names.size() == kMaxNames) return;
    known = names.emplace(name).first;
  }
  tensor.node()->label.store(known->c_str(), std::memory_order_relaxed);
}

bool is_evaluated(const Tensor& tensor) { return !tensor.empty_handle() && tensor.node()->evaluated(); }

}  // namespace sinter
