// The library calls that the host computes.
#pragma once
#include <span>
#include <string>

#include "fuse/library_call.hpp"
#include "kernels/epilogue.hpp"

namespace sinter::kernels {

/// Computes a call. pointers: the starts of the operands' buffers, then of the result's. `epilogue` receives each piece of the result (ops with results in
/// pieces). Throws MemoryError.
void run_library_call(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Epilogue& epilogue);

/// Opens the library that computes the call, and makes what it makes for its first one.
void prepare_library_call(const fuse::LibraryCall& call);

/// Names the library that computes the call: "oneDNN 2.6.3".
std::string library_of(const fuse::LibraryCall& call);

}  // namespace sinter::kernels
