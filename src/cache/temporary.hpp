// Names of files that are being written. A name contains its process, so that another process can distinguish an abandoned file from one in use.
#pragma once
#include <string>
#include <string_view>

namespace sinter::cache {

/// Returns a name that is unique among all processes and threads: ".tmp-MACHINE-PID-START-N".
std::string temporary_name();
bool is_temporary_name(std::string_view name);

/// Returns true if no process will complete the file: its process is dead (or its number is reused), or it was last written ten minutes ago. For a process on
/// another machine or in another container only the age counts.
bool is_abandoned(std::string_view name, double age_seconds);

}  // namespace sinter::cache
