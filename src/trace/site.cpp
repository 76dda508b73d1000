#include "trace/site.hpp"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <new>

#include "sinter/caller.hpp"
#include "trace/record.hpp"

namespace sinter::trace {
namespace {
thread_local const Site* current = nullptr;
}

std::string message(const Site& site, const std::string& what) {
  std::string text = site.op;
  if (*site.part && std::strcmp(site.part, site.op) != 0) text += fmt::format(" ({})", site.part);
  text += ": " + what;
  if (*site.where.file) text += fmt::format(" at {}:{}", site.where.file, site.where.line);
  return text;
}

void fail_on_device(const Site& site, const DeviceError& error, const std::string& what) {
  if (dynamic_cast<const MemoryError*>(&error)) fail<MemoryError>(site, what);
  fail<DeviceError>(site, what);
}

Scope::Scope(const char* op, Location where) : site_{op, where}, outermost_(current == nullptr) {
  if (outermost_) current = &site_;
}
Scope::~Scope() {
  if (outermost_) current = nullptr;
}
const Site& Scope::site() const { return *current; }

Site site_of(const char* op, Location where) {
  if (current == nullptr) return {op, where};
  return {current->op, current->where, op};
}

}  // namespace sinter::trace

namespace sinter {

static_assert(sizeof(trace::Scope) <= 5 * sizeof(void*));
Caller::Caller(const char* function, Location where) { std::construct_at(reinterpret_cast<trace::Scope*>(scope_), function, where); }
Caller::~Caller() { std::destroy_at(std::launder(reinterpret_cast<trace::Scope*>(scope_))); }

bool is_evaluated(const Tensor& tensor) { return !tensor.empty_handle() && tensor.node()->evaluated(); }

}  // namespace sinter
