// The logger named "sinter". It writes to stderr, so that stdout belongs to the program.
#pragma once
#include <spdlog/logger.h>

namespace sinter {
spdlog::logger& log();
}
