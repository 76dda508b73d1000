// The engine's interface, with which this module is written.
#pragma once
#include "engine/engine.hpp"

namespace sinter::freezing {
using namespace engine;
}
