// Where the steps of a plan read and write, at the sizes of a call: for plans that a file gave, whose numbers nobody has made here.
#pragma once
#include "freeze/engine.hpp"

namespace sinter::freezing {

/// Throws InternalError where a value's size is none: before bind() lays the values out.
void check_bytes(const Planned& planned, const Values& values);
/// Throws InternalError where a step would reach outside of its buffers; `input_bytes` are those of the inputs. What a kernel finds at computed places, or
/// reads under a guard, it has to keep within itself, as its code does.
void check_reach(const Bound& bound, const Values& values, const std::vector<std::int64_t>& input_bytes);

}  // namespace sinter::freezing
