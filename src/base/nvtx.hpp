// Ranges for NVIDIA's tools (Nsight Systems and Compute), which name in NVTX_INJECTION64_PATH a library that receives them. Without that variable nothing is
// opened.
#pragma once

namespace sinter::nvtx {

/// Opens the library that the environment names. Returns true if it receives ranges. Must be called only once.
bool attach();
/// Begins a range of this thread. The latest range ends first. May be called only after attach() returned true.
void push(const char* name);
void pop();

}  // namespace sinter::nvtx
