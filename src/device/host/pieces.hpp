// Results that come in pieces.
#pragma once
#include <cstdint>
#include <functional>

namespace sinter::device {

/// Elements [begin, end) of a result, counted row-major, are there and stay as they are. Called on the thread that computed them, for each
/// element once; empty: nobody wants to know.
using Finished = std::function<void(std::int64_t begin, std::int64_t end)>;

}  // namespace sinter::device
