#include "engine/checks.hpp"

#include <fmt/format.h>

#include "sinter/errors.hpp"
#include "trace/site.hpp"

namespace sinter::engine {

void Checks::launch(const PlannedStep& step, const std::function<void(const runtime::BufferPtr& flags)>& launch_with) {
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
      const trace::GatherSite& gather = gathers_[static_cast<std::size_t>(step->gathers[check])];
      std::int64_t index = raised[2 * check + 1];
      if (index < 0) index -= gather.size;  // negative indices are counted from the front before they are looked up
      trace::fail<IndexError>({gather.called, gather.where},
                              fmt::format("index {} is out of bounds for axis {} with size {}", index, gather.axis, gather.size));
    }
  }
}

}  // namespace sinter::engine
