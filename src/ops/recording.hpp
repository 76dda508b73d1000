// The recording interface, which every function of this module uses.
#pragma once
#include "trace/build.hpp"
#include "trace/promote.hpp"

namespace sinter::ops {
using namespace trace;
}
