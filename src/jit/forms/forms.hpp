// The forms in which a GPU runs a loop nest, one file each (a CPU's forms: forms/cpu). Each form writes the nest in the loop language, as its schedule says.
// Names follow to_string(LoopNest): axes p0.. and r0.., numbers s3, indices i2, literals c0, persistent buffers persistent0. Values have the names of their
// instructions. No parameter's value is in the text, so that another literal or another size gives the same text.
#pragma once
#include "jit/compiler.hpp"
#include "jit/loop/language.hpp"
#include "jit/loop_nest.hpp"

namespace sinter::jit::forms {

loop::Kernel lower(const LoopNest& nest, const PointwiseForm& form, int sm);
loop::Kernel lower(const LoopNest& nest, const TilesForm& form, int sm);
loop::Kernel lower(const LoopNest& nest, const RowsForm& form, int sm);
loop::Kernel lower(const LoopNest& nest, const ColumnsForm& form, int sm);
loop::Kernel lower(const LoopNest& nest, const ContractionForm& form, int sm);
[[noreturn]] loop::Kernel lower(const LoopNest& nest, const PanelsForm& form, int sm);  // only the CPU has panels

/// Lowers the nest for an architecture (90 for sm_90), by the form of its schedule. The result is verified.
loop::Kernel lower(const LoopNest& nest, int sm);
/// Lowers the nest for a CPU in the same way.
loop::Kernel lower(const LoopNest& nest, const CpuTarget& cpu);

}  // namespace sinter::jit::forms
