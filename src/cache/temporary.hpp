// Names of files being written. A name tells which process writes it, so that another process can tell an abandoned
// file from one in use.
#pragma once
#include <string>
#include <string_view>

namespace sinter::cache {

/// Unique among all processes and threads: ".tmp-MACHINE-PID-START-N".
std::string temporary_name();
bool is_temporary_name(std::string_view name);

/// True if nobody will finish the file: its process is dead (or another took over its number), or it has not been written
/// to for ten minutes. Of a process on another machine or in another container only the age is known.
bool is_abandoned(std::string_view name, double age_seconds);

}  // namespace sinter::cache
