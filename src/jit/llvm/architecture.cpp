#include "jit/llvm/architecture.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <cstring>
#include <string>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "sinter/errors.hpp"

namespace sinter::jit {
namespace llvm {
namespace {

constexpr DType kFloat = DType::float32, kDouble = DType::float64;
// All lanes are computed (a mask of ones), and rounded as usual (4). VFIXUPIMM replaces x by the kind of y: the digits from the right are for quiet NaN, NaN,
// 0, 1, -inf, inf, negative and positive numbers, and mean: 0 keep x, 2 y as a quiet NaN, 3 NaN, 4 -inf, 5 inf.
constexpr Instruction kX86Instructions[] = {
    {Task::to_int32, kFloat, DType::int32, 4, "@llvm.x86.sse2.cvttps2dq", "", ""},
    {Task::to_int32, kFloat, DType::int32, 8, "@llvm.x86.avx.cvtt.ps2dq.256", "", ""},
    {Task::to_int32, kFloat, DType::int32, 16, "@llvm.x86.avx512.mask.cvttps2dq.512", ", <16 x i32>, i16, i32", ", <16 x i32> zeroinitializer, i16 -1, i32 4"},
    {Task::ldexp, kFloat, kFloat, 16, "@llvm.x86.avx512.mask.scalef.ps.512", ", <16 x float>, i16, i32", ", <16 x float> zeroinitializer, i16 -1, i32 4"},
    {Task::ldexp, kDouble, kDouble, 8, "@llvm.x86.avx512.mask.scalef.pd.512", ", <8 x double>, i8, i32", ", <8 x double> zeroinitializer, i8 -1, i32 4"},
    {Task::permute, DType::int32, DType::int32, 8, "@llvm.x86.avx2.permd", "", ""},
    {Task::permute, DType::int32, DType::int32, 16, "@llvm.x86.avx512.permvar.si.512", "", ""},
    {Task::permute, DType::int64, DType::int64, 8, "@llvm.x86.avx512.permvar.di.512", "", ""},
    {Task::logarithm_limits, kFloat, kFloat, 16, "@llvm.x86.avx512.mask.fixupimm.ps.512", ", <16 x i32>, i32, i16, i32",
     ", <16 x i32> shufflevector (<16 x i32> insertelement (<16 x i32> poison, i32 u0x03530422, i64 0), <16 x i32> poison, <16 x i32> zeroinitializer), "
     "i32 0, i16 -1, i32 4"},
    {Task::logarithm_limits, kDouble, kDouble, 8, "@llvm.x86.avx512.mask.fixupimm.pd.512", ", <8 x i64>, i32, i8, i32",
     ", <8 x i64> shufflevector (<8 x i64> insertelement (<8 x i64> poison, i64 u0x03530422, i64 0), <8 x i64> poison, <8 x i32> zeroinitializer), "
     "i32 0, i8 -1, i32 4"},
};
constexpr RelocationRule kX86Relocations[] = {
    {R_X86_64_64, Fix::word64},      {R_X86_64_PC32, Fix::distance32}, {R_X86_64_PLT32, Fix::distance32},
    {R_X86_64_GOTPCREL, Fix::got32}, {R_X86_64_GOTPCRELX, Fix::got32}, {R_X86_64_REX_GOTPCRELX, Fix::got32},
};
constexpr RelocationRule kArmRelocations[] = {
    {R_AARCH64_ABS64, Fix::word64},
    {R_AARCH64_PREL32, Fix::distance32},
    {R_AARCH64_JUMP26, Fix::branch26},
    {R_AARCH64_CALL26, Fix::branch26},
    {R_AARCH64_ADR_PREL_PG_HI21, Fix::page21},
    {R_AARCH64_ADD_ABS_LO12_NC, Fix::low12, 0},
    {R_AARCH64_LDST8_ABS_LO12_NC, Fix::low12, 0},
    {R_AARCH64_LDST16_ABS_LO12_NC, Fix::low12, 1},
    {R_AARCH64_LDST32_ABS_LO12_NC, Fix::low12, 2},
    {R_AARCH64_LDST64_ABS_LO12_NC, Fix::low12, 3},
    {R_AARCH64_LDST128_ABS_LO12_NC, Fix::low12, 4},
};

constexpr Architecture kArchitectures[] = {
    {
        .name = "x86-64",
        .triple = "x86_64-unknown-linux-gnu",
        .processor = "x86-64",
        .component = "X86",
        .features = "",
        .fma = "+fma",
        .converts_half = false,
        .fence = "@llvm.x86.sse.sfence",
        .instructions = kX86Instructions,
        .machine = EM_X86_64,
        .jump = {0xff, 0x25, 0x02, 0x00, 0x00, 0x00, 0x66, 0x90},  // jmp *2(%rip); two bytes of padding
        .relocations = kX86Relocations,
    },
    {
        .name = "aarch64",
        .triple = "aarch64-unknown-linux-gnu",
        .processor = "generic",
        .component = "AArch64",
        .features = "+neon",
        .fma = "",
        .converts_half = true,
        .fence = "",         // the locks and atomics of a launch order these stores like any others
        .instructions = {},  // the conversion to int32 saturates
        .machine = EM_AARCH64,
        .jump = {0x50, 0x00, 0x00, 0x58, 0x00, 0x02, 0x1f, 0xd6},  // ldr x16, 8; br x16
        .relocations = kArmRelocations,
    },
};

template <class T> const Architecture* find(T Architecture::*member, T value) {
  for (const Architecture& one : kArchitectures)
    if (one.*member == value) return &one;
  return nullptr;
}
const Architecture* named(std::string_view name) { return find(&Architecture::name, name); }

}  // namespace

bool Architecture::has_fma(const CpuTarget& cpu) const { return (cpu.features + ",").find(fmt::format("{},", fma)) != std::string::npos; }

const Architecture* host_architecture() {
#if defined(__x86_64__)
  return named("x86-64");
#elif defined(__aarch64__)
  return named("aarch64");
#else
  return nullptr;
#endif
}

const Architecture* architecture_of_machine(std::uint16_t machine) { return find(&Architecture::machine, machine); }

const Architecture& architecture_of(std::string_view target) {
  if (target.starts_with("cpu:")) target.remove_prefix(4);
  const std::string_view name = target.substr(0, target.find(' '));
  if (const Architecture* const known = named(name)) return *known;
  throw CompileError(fmt::format("no machine code is generated for {}", name));
}

}  // namespace llvm
namespace {

int vector_bytes(std::string_view features) {
  const auto has = [&](std::string_view feature) { return features.find(feature) != std::string_view::npos; };
  return has("+avx512f") ? 64 : has("+avx2") ? 32 : 16;
}

}  // namespace

CpuTarget cpu_of(std::string_view target) {
  const llvm::Architecture& known = llvm::architecture_of(target);
  const std::string_view features = target.substr(target.find(' ') + 1);
  return {std::string(known.name), std::string(features), vector_bytes(features)};
}

CpuTarget host_cpu() {
  CpuTarget cpu;
#if defined(__x86_64__)
  // __builtin_cpu_supports also tests whether the operating system saves the wide registers.
  cpu.arch = "x86-64";
  const auto add = [&](bool has, const char* feature) {
    if (has) cpu.features += (cpu.features.empty() ? "+" : ",+") + std::string(feature);
    return has;
  };
  __builtin_cpu_init();
  add(__builtin_cpu_supports("sse3"), "sse3");
  add(__builtin_cpu_supports("ssse3"), "ssse3");
  add(__builtin_cpu_supports("sse4.1"), "sse4.1");
  add(__builtin_cpu_supports("sse4.2"), "sse4.2");
  add(__builtin_cpu_supports("popcnt"), "popcnt");
  add(__builtin_cpu_supports("avx"), "avx");
  // FMA is used only together with AVX2, like in the interpreter, so that both fuse multiply-adds or neither does.
  add(__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"), "fma");
  add(__builtin_cpu_supports("avx2"), "avx2");
  add(__builtin_cpu_supports("bmi"), "bmi");
  add(__builtin_cpu_supports("bmi2"), "bmi2");
  // These parts of AVX-512 are in every server processor with AVX-512. Processors with fewer parts are not worth a special case.
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd"))
    for (const char* feature : {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}) add(true, feature);
  cpu.vector_bytes = vector_bytes(cpu.features);
#else
  if (const llvm::Architecture* const host = llvm::host_architecture()) return plainest_cpu(host->name);
  utsname machine{};
  uname(&machine);
  cpu.arch = machine.machine;
#endif
  return cpu;
}

CpuTarget plainest_cpu(std::string_view arch) {
  const llvm::Architecture& known = llvm::architecture_of(arch);
  return {std::string(known.name), std::string(known.features), 16};
}

std::string host_processor() {
  std::string name;
#if defined(__x86_64__)
  unsigned words[12] = {};
  bool known = true;
  for (unsigned part = 0; part < 3; ++part)
    known = known && __get_cpuid(0x80000002 + part, &words[4 * part], &words[4 * part + 1], &words[4 * part + 2], &words[4 * part + 3]);
  if (known) name.assign(reinterpret_cast<const char*>(words), strnlen(reinterpret_cast<const char*>(words), sizeof words));
  while (!name.empty() && name.back() == ' ') name.pop_back();
#endif
  const CpuTarget cpu = host_cpu();
  return name.empty() ? fmt::format("{} {}", cpu.arch, cpu.features) : fmt::format("{}, vectors of {} bytes", name, cpu.vector_bytes);
}

}  // namespace sinter::jit
