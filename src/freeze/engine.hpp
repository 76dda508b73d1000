// The parts of the engine's interface that this module uses.
#pragma once
#include "engine/engine.hpp"

namespace sinter::freezing {
using namespace engine;
}
