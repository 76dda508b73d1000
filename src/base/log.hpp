// sinter's own logger: named "sinter", to stderr, so that a program's stdout stays its own.
#pragma once
#include <spdlog/logger.h>

namespace sinter {
spdlog::logger& log();
}
