#include "trace/site.hpp"

#include <fmt/format.h>

namespace sinter::trace {
namespace {
thread_local const Site* current = nullptr;
}

std::string message(const Site& site, const std::string& what) {
  std::string text = site.op;
  if (*site.part) text += fmt::format(" ({})", site.part);
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
