#include "engine/checks.hpp"

#include <fmt/format.h>

#include "sinter/errors.hpp"

namespace sinter::engine {
namespace {

std::string place(const Location& where) { return *where.file ? fmt::format(" at {}:{}", where.file, where.line) : std::string(); }

}  // namespace

void Checks::launch(const PlannedStep& step, const std::function<void(const device::BufferPtr& flags)>& launch_with) {
  const std::vector<std::int64_t> none(2 * step.gathers.size());
  const auto flags = device_->allocate(none.size() * sizeof none[0]);
  device_->upload(*flags, none.data(), none.size() * sizeof none[0]);
  pending_.push_back({&step, flags});
  launch_with(flags);
}

void Checks::verify() {
  for (const auto& [step, flags] : pending_) {
    std::vector<std::int64_t> raised(2 * step->gathers.size());
    device_->download(raised.data(), *flags, raised.size() * sizeof raised[0]);
    for (std::size_t check = 0; check < step->gathers.size(); ++check) {
      if (raised[2 * check] == 0) continue;
      const trace::GatherSite& gather = gathers_.at(static_cast<std::size_t>(step->gathers[check]));
      std::int64_t index = raised[2 * check + 1];
      if (index < 0) index -= gather.size;  // negative indices are counted from the front before they are looked up
      throw IndexError(fmt::format("{}: index {} is out of bounds for axis {} with size {}{}", gather.called, index, gather.axis, gather.size, place(gather.where)));
    }
  }
}

}  // namespace sinter::engine
