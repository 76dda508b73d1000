// Checks CUDA kernels without a GPU: more than three hundred kernels of many shapes and types are compiled by NVRTC for real architectures. None spills; each
// fits the device with its launch parameters. A kernel with more than 64 registers takes at most a tenth more than expected_registers(). Contiguous accesses
// have 16 bytes; no index has 64 bits if 32 suffice; no loop over a row divides.
//
// Each kernel is compiled for one of the architectures in turn, or for all of them with SINTER_STATIC_ARCHITECTURES=all. The table is printed, and written to
// the file $SINTER_STATIC_TABLE if that is set.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "engine/engine.hpp"
#include "jit/contraction.hpp"
#include "program.hpp"
#include "runtime/kind.hpp"

namespace {

constexpr std::array kArchitectures = {75, 80, 86, 89, 90, 100, 120};
constexpr int kRegistersOfMultiprocessor = 65536;
constexpr int kFloor = 64;  // registers of a thread, with which a multiprocessor has four blocks of 256

struct Case {
  std::string name;
  std::vector<Tensor> results;
  bool contiguous = false;  // adjacent threads read and write whole vectors
};

Tensor make(DType dtype, const Shape& shape) { return sn::placeholder(shape, dtype); }

/// Every family over every type and size that it has.
std::vector<Case> corpus() {
  std::vector<Case> all;
  const auto add = [&](const std::string& name, DType dtype, const Shape& shape, std::vector<Tensor> results, bool contiguous = false) {
    all.push_back({fmt::format("{} {} {}", name, sn::name(dtype), sn::to_string(shape)), std::move(results), contiguous});
  };
  const std::array floats = {DType::float32, DType::bfloat16, DType::float16, DType::float64};
  for (const DType t : {DType::float32, DType::bfloat16, DType::float16, DType::float64, DType::int32, DType::int8, DType::int64}) {
    const Shape flat{1 << 24}, odd{(1 << 24) + 1}, square{4096, 4096};
    const Tensor x = make(t, flat), y = make(t, flat), o = make(t, odd), s = make(t, square), r = make(t, {4096});
    add("axpy", t, flat, {x * y + x}, true);
    add("odd", t, odd, {o + o * o});
    add("slice", t, odd, {o.at({Slice{1, {}}}) + o.at({Slice{{}, -1}})});
    add("broadcast", t, square, {s * r + s}, true);
    add("turned", t, square, {s.T() + s});
    add("where", t, flat, {sn::where(x > y, x, y * y)}, true);
    add("permuted", t, {16, 1024, 16, 64}, {sn::contiguous(sn::permute(make(t, {16, 1024, 16, 64}), {0, 2, 1, 3})) + make(t, {16, 16, 1024, 64})});
    add("sum of everything", t, flat, {sn::sum(x)});
    add("sort", t, flat, {sn::sort(x)});
    add("places in order", t, flat, {sn::topk(x, 100).second});
    add("sums at places", t, square, {sn::add_at(sn::zeros({50000, 64}, t), sn::Index(make(DType::int64, {1 << 16})), make(t, {1 << 16, 64}))});
    add("values at places", t, flat, {sn::put_along_axis(x, make(DType::int64, {1 << 20}), make(t, {1 << 20}), 0)});
    for (const std::int64_t width : {48, 128, 1000, 8192}) {
      const Shape rows{(1 << 22) / width, width};
      const Tensor m = make(t, rows);
      add("row max", t, rows, {sn::max(m, 1)});
      add("row sum", t, rows, {sn::sum(m, 1)});
      add("column sum", t, rows, {sn::sum(m, 0)});
    }
  }
  for (const DType t : floats) {
    const Shape flat{1 << 24};
    const Tensor x = make(t, flat), y = make(t, flat), g = make(t, flat), m = make(t, flat), v = make(t, flat);
    add("gelu", t, flat, {sn::gelu(x) * y}, true);
    add("power", t, flat, {sn::power(x, y)}, true);
    add("waves", t, flat, {sn::sin(x) + sn::cos(y) * sn::tanh(x)}, true);
    const Tensor m2 = m * 0.9f + g * 0.1f, v2 = v * 0.999f + g * g * 0.001f;
    add("adam", t, flat, {m2, v2, x - 0.001f * m2 / (sn::sqrt(v2) + 1e-8f)}, true);
    for (const std::int64_t width : {32, 64, 100, 128, 256, 1024, 4096, 8192, 28672, 131072}) {
      const Shape rows{std::max<std::int64_t>((1 << 24) / width, 64), width};
      const Tensor a = make(t, rows), w = make(t, {width}), b = make(t, {width});
      add("softmax", t, rows, {sn::softmax(a, -1)});
      if (width >= 100) add("layer norm", t, rows, {sn::layer_norm(a, w, b)});
      if (width <= 8192) add("log-sum-exp", t, rows, {sn::logsumexp(a, -1)});
      if (width == 1024 || width == 64) add("argmax", t, rows, {sn::argmax(a, -1)});
      if (width == 1000 || width == 8192) add("softmax of columns", t, rows, {sn::softmax(a, 0)});
      if (width == 128 || width == 4096) add("running sum", t, rows, {sn::cumsum(a, -1)});
    }
    for (const std::int64_t height : {19, 64, 100, 128, 256, 500, 1024}) {
      const Tensor c = make(t, {16, height, 4096});
      add("softmax of short columns", t, {16, height, 4096}, {sn::softmax(c, 1)});
      add("variance of short columns", t, {16, height, 4096}, {(c - sn::mean(c, 1, true)) / sn::sqrt(sn::var(c, 1, true) + 1e-5f)});
    }
    for (const std::int64_t height : {8192, 100001})
      add("moments of columns", t, {height, 1024}, {sn::mean(make(t, {height, 1024}), 0), sn::var(make(t, {height, 1024}), 0)});
    add("product of long rows", t, {64, 65536, 64}, {sn::matmul(make(t, {64, 65536}), make(t, {65536, 64}))});
    const Shape image{32, 64, 56, 56};
    const Tensor i = make(t, image);
    add("batch-norm statistics", t, image, {sn::mean(i, {0, 2, 3}), sn::var(i, {0, 2, 3})});
    add("pool", t, image, {sn::max_pool2d(i, 2)});
    const Tensor left = make(t, {2048, 1024}), right = make(t, {1024, 1536}), bias = make(t, {1536});
    add("product", t, {2048, 1024, 1536}, {sn::matmul(left, right)});
    add("product, gelu", t, {2048, 1024, 1536}, {sn::gelu(sn::matmul(left, right) + bias)});
    add("attention's scores", t, {8, 12, 384, 64}, {sn::matmul(make(t, {8, 12, 384, 64}), sn::swapaxes(make(t, {8, 12, 384, 64}), 2, 3)) * 0.125f});
    add("distances", t, {2000, 48}, {sn::sum(sn::square(sn::expand_dims(make(t, {2000, 48}), 1) - make(t, {2000, 48})), -1)});
    add("conv", t, {8, 32, 56, 56}, {sn::conv(make(t, {8, 32, 56, 56}), make(t, {64, 32, 3, 3}), {}, {.padding = 1})});
  }
  return all;
}

/// Returns the expected number of registers of a thread (checked, up to a tenth, if a kernel has more than 64). It is the estimate that fusion uses, for a
/// contraction the accumulators of its tile and the operands of both sides, plus registers that ptxas reserves in our measurements.
int expected_registers(const sn::fuse::Kernel& kernel, const sn::jit::LoopNest& nest, const sn::fuse::Limits& limits) {
  const auto& schedule = nest.schedule;
  const sn::jit::Steps steps = schedule.steps();
  int registers = sn::fuse::estimated_registers(kernel, schedule.vector, steps.count), combined = 0, residents = 0;
  for (const auto& stage : nest.stages)
    for (const auto& reduction : stage.reductions) combined += sn::fuse::registers_of(nest.instrs[static_cast<std::size_t>(reduction.result)].dtype);
  // Adds the addresses of all steps (unless the number of registers is limited), the other operands that each step loads, and division and functions of
  // doubles.
  const bool doubles = std::any_of(kernel.values.begin(), kernel.values.end(), [](const auto& value) { return sn::itemsize(value.dtype) == 8; });
  const int of_doubles = doubles ? 24 : 0, inputs = static_cast<int>(nest.inputs.size()), staged = static_cast<int>(nest.persistent.size());
  if (schedule.is<sn::jit::ColumnsForm>()) {
    residents = schedule.as<sn::jit::ColumnsForm>().residents;
    registers += of_doubles;
    if (steps.count == 0) registers += combined * schedule.vector;
    else if (residents == 0) registers += (2 * schedule.vector + std::max(staged - 1, 0)) * steps.count;
  } else if (schedule.is<sn::jit::RowsForm>()) {
    registers += of_doubles + (schedule.threads > 256 ? 2 * steps.count : 0) + std::max(inputs - 1, 0) * steps.count;
    // The position of a block's part of a row, and its shared memory that is being loaded.
    if (schedule.cluster() > 1) registers += schedule.vector * (steps.count == 0 ? 12 : steps.whole ? steps.count + 1 : 0);
  } else if (schedule.is<sn::jit::ContractionForm>()) {
    const int each = schedule.as<sn::jit::ContractionForm>().side / sn::jit::kContractionSide;
    registers += combined * (each * (each + 2) + 8) + 8;
  }
  return std::min(registers, std::min(limits.registers, kRegistersOfMultiprocessor / schedule.threads / std::max(residents, 1)));
}

struct Row {
  std::string kernel, schedule;
  int sm = 0, registers = 0, estimate = 0, shared = 0, threads = 0;
};

std::string part_of_text(const std::string& text, const std::string& from) {
  const auto at = text.find(from);
  return at == std::string::npos ? std::string() : text.substr(at);
}

}  // namespace

TEST_CASE("kernels of every family compile for real architectures as they were planned") {
  const char* which = std::getenv("SINTER_STATIC_ARCHITECTURES");
  const bool everywhere = which && std::strcmp(which, "all") == 0;
  std::vector<Row> table;
  std::size_t turn = 0;
  const std::vector<Case> all = sinter::testing::shuffled(corpus());
  for (std::size_t k = 0; k < all.size() && !(k > 0 && sinter::testing::time_is_over()); ++k) {
    CAPTURE(all[k].name);
    for (std::size_t a = 0; a < (everywhere ? kArchitectures.size() : 1); ++a) {
      const int sm = kArchitectures[everywhere ? a : turn++ % kArchitectures.size()];
      CAPTURE(sm);
      std::vector<sn::trace::RecordedPtr> nodes;
      for (const Tensor& y : all[k].results) nodes.push_back(y.node());
      sn::engine::Target target;
      target.limits = sn::fuse::cuda_limits(sm);
      const auto scheduled = sn::engine::schedule_and_make(sn::trace::linearize(nodes).graph, target, {}, sn::engine::Engine::get().kernels());
      const auto planned = scheduled.planned;
      for (std::size_t s = 0; s < planned->steps.size(); ++s) {
        for (const auto& of_call : planned->steps[s].call_kernels) {
          CAPTURE(of_call.source().entry);
          REQUIRE(!of_call.interpreted);
          CHECK(of_call.report.spill_bytes == 0);
          CHECK(of_call.report.registers <= kFloor);
        }
        if (planned->steps[s].library) continue;
        const auto& kernel = scheduled.plan.steps[s].kernel;
        const auto& [nest, made] = std::tie(planned->steps[s].nest, planned->steps[s].made);
        const auto& schedule = nest.schedule;
        CAPTURE(nest.name);
        CAPTURE(sn::jit::to_string(schedule, sn::fuse::Backend::cuda));
        REQUIRE(!made.interpreted);
        const auto& report = made.report;
        const auto launch = sn::runtime::kind_of(planned->limits).launch(nest, planned->limits);
        const int estimate = expected_registers(kernel, nest, planned->limits);
        table.push_back({nest.name, sn::jit::to_string(schedule, sn::fuse::Backend::cuda), sm, report.registers, estimate,
                         report.shared_bytes + launch.shared_bytes, launch.threads});
        CHECK(report.spill_bytes == 0);
        CHECK((report.registers + 7) / 8 * 8 * launch.threads <= kRegistersOfMultiprocessor);
        CHECK(report.shared_bytes <= 48 << 10);
        CHECK(report.shared_bytes + launch.shared_bytes <= planned->limits.row_bytes + sn::fuse::kPartsBytes);
        // All these arrays have fewer than 2^32 elements.
        CHECK(!schedule.wide_index);
        // In whole vectors of 16 bytes of the widest type.
        if (all[k].contiguous && schedule.is<sn::jit::PointwiseForm>()) {
          std::size_t widest = 0;
          for (const auto* accesses : {&nest.inputs, &nest.outputs})
            for (const auto& access : *accesses) widest = std::max(widest, sn::itemsize(access.dtype));
          CHECK(static_cast<std::size_t>(schedule.vector) * widest == 16);
          CHECK(schedule.singles.empty());
          CHECK(!schedule.as<sn::jit::PointwiseForm>().tail);
        }
        // With one row axis there is nothing to split.
        if (nest.rows == 1 && !schedule.is<sn::jit::ContractionForm>() && !schedule.lanes_along_rows()) {
          const std::string loop = part_of_text(made.source().text, "for (unsigned int row = ");
          CHECK(loop.substr(0, loop.find("\n    }\n")).find(" % s") == std::string::npos);
        }
      }
    }
  }
  std::map<std::string, std::size_t> kernels;
  std::set<std::string> names;
  std::size_t far = 0;
  for (const Row& row : table)
    names.insert(row.kernel + std::to_string(row.sm)), ++kernels[row.schedule.substr(0, row.schedule.find(','))],
        far += row.registers > std::max(kFloor, row.estimate + row.estimate / 10);
  MESSAGE(names.size() << " different kernels");
  for (const auto& [form, count] : kernels) MESSAGE(form << ": " << count);
  MESSAGE(far << " kernels of " << table.size() << " take more than " << kFloor << " registers and a tenth above the estimate");
  if (const char* file = std::getenv("SINTER_STATIC_TABLE")) {
    std::ofstream out(file);
    out << "sm\tregisters\testimate\tshared\tthreads\tkernel\tschedule\n";
    for (const Row& row : table)
      out << row.sm << '\t' << row.registers << '\t' << row.estimate << '\t' << row.shared << '\t' << row.threads << '\t' << row.kernel << '\t' << row.schedule
          << '\n';
  }
  CHECK(far == 0);
}

TEST_CASE("rows that a cluster can stage are one kernel on each architecture that has clusters") {
  for (const DType t : {DType::float32, DType::float16, DType::float64})
    for (const std::int64_t width : {60000, 100001, 131072, 262144, 400000})
      for (const int sm : {90, 100, 120}) {
        const Tensor x = make(t, {200, width}), w = make(t, {width});
        const std::int64_t staged = width * (t == DType::float64 ? 8 : 4);
        const auto limits = sn::fuse::cuda_limits(sm);
        for (const auto& [name, y] :
             {std::pair{"softmax", sn::softmax(x, -1)}, std::pair{"layer norm", sn::layer_norm(x, w, w)}, std::pair{"rms norm", sn::rms_norm(x, w)}}) {
          CAPTURE(std::string(name));
          CAPTURE(sn::name(t));
          CAPTURE(width);
          CAPTURE(sm);
          const auto planned = sn::engine::Engine::get().histories_of({y.node()}, fmt::format("sm_{}", sm)).front().planned;
          REQUIRE(planned);
          const auto& nest = planned->steps[0].nest;
          CAPTURE(sn::jit::to_string(nest.schedule, sn::fuse::Backend::cuda));
          const bool holds = staged <= limits.cluster * (limits.row_bytes - 1024), one_holds = staged <= limits.row_bytes;
          CHECK((planned->steps.size() == 1) == holds);
          CHECK((nest.schedule.cluster() > 1) == (holds && !one_holds));
          if (!holds) continue;
          const auto& report = planned->steps[0].made.report;
          const auto launch = sn::runtime::kind_of(planned->limits).launch(nest, planned->limits);
          CHECK(report.spill_bytes == 0);
          CHECK((report.registers + 7) / 8 * 8 * launch.threads <= kRegistersOfMultiprocessor);
          CHECK(report.shared_bytes + launch.shared_bytes <= limits.row_bytes + sn::fuse::kPartsBytes);
          CHECK(launch.blocks % nest.schedule.cluster() == 0);
          CHECK(planned->steps[0].made.source().text.find("__cluster_dims__(") != std::string::npos);
          // Read once and written once, and a layer norm's weights a few times at most.
          const double moved = 2.0 * 200.0 * static_cast<double>(width * static_cast<std::int64_t>(sn::itemsize(t)));
          CHECK(planned->bytes_moved <= moved * 1.02);
        }
      }
}

int main(int argc, char** argv) {
  if (!sn::runtime::find_kind("cuda")->compiler()) {
    std::printf("FAILED: no NVRTC was found: scripts/setup.sh --tests installs one\n");
    return 1;
  }
  return sinter::testing::run_tests(argc, argv);
}
