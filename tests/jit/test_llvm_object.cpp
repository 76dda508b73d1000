// The compiler behind its interface, and the loader of its objects: errors are exceptions, damaged objects are refused.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>
#include <thread>

#include "jit/library.hpp"
#include "llvm_runner.hpp"
#include "nest_builder.hpp"
#include "seed.hpp"
#include "sinter/errors.hpp"

using namespace sinter;
using namespace sinter::testing;

namespace {

jit::LoopNest function_nest(Op op, DType dtype, std::int64_t n) {
  NestBuilder b({n});
  b.stage(false);
  const int index = b.affine({1});
  b.store(b.op(op, {b.load(dtype, index)}), index);
  return b.nest;
}

jit::Source raw_source(const std::string& text) {
  jit::Source source = jit::generate_llvm(function_nest(Op::exp, DType::float32, 1), jit::host_cpu());
  source.text = text;
  return source;
}

std::string message_of(const jit::Source& source) {
  try {
    jit::load_object(llvm_compiler()->compile(source));
  } catch (const CompileError& error) {
    return error.what();
  }
  return "";
}

bool maps_llvm() {
  std::ifstream maps("/proc/self/maps");
  std::stringstream text;
  text << maps.rdbuf();
  return text.str().find("libLLVM") != std::string::npos;
}

}  // namespace

TEST_CASE("finding the compiler and generating a source load no library") {
  if (!maps_llvm()) {  // true when this test case runs first
    const jit::CompilerPtr compiler = jit::find_llvm();
    if (compiler) {
      CHECK(compiler->identity().find("LLVM") != std::string::npos);
      CHECK(compiler->identity() == jit::library_identity(compiler->path()));
    }
    jit::generate_llvm(function_nest(Op::tanh, DType::float32, 1), jit::host_cpu());
    CHECK(!maps_llvm());
  }
}

TEST_CASE("a path without a library means that there is no compiler") {
  const char* before = std::getenv("SINTER_LLVM");
  const std::string saved = before ? before : "";
  setenv("SINTER_LLVM", "/nonexistent/libLLVM.so.99", 1);
  CHECK(jit::find_llvm() == nullptr);
  setenv("SINTER_LLVM", "off", 1);
  CHECK(jit::find_llvm() == nullptr);
  setenv("SINTER_LLVM", "/etc/passwd", 1);
  CHECK(jit::find_llvm() == nullptr);
  if (before) setenv("SINTER_LLVM", saved.c_str(), 1);
  else unsetenv("SINTER_LLVM");
}

TEST_CASE("an invalid source is an exception with the compiler's message") {
  NEEDS_LLVM
  CHECK(message_of(raw_source("this is no IR")).find("does not parse") != std::string::npos);
  CHECK(message_of(raw_source("define void @test() {\n  %x = add i64 %y, 1\n  ret void\n}\n")).find("undefined value") != std::string::npos);
  CHECK(message_of(raw_source("define void @test() {\nentry:\n  br label %a\na:\n  br label %b\nb:\n  %x = phi i64 [ 1, %entry ]\n  ret void\n}\n"))
            .find("not valid IR") != std::string::npos);
  CHECK(message_of(raw_source("define void @other() {\n  ret void\n}\n")).find("no function test") != std::string::npos);
  CHECK(message_of(raw_source("declare void @system(ptr)\ndefine void @test() {\n  call void @system(ptr null)\n  ret void\n}\n")).find("\"system\"") !=
        std::string::npos);
  CHECK(message_of(raw_source("@data = global i64 3\ndefine void @test() {\n  store i64 4, ptr @data\n  ret void\n}\n")).find("writable") != std::string::npos);
  CHECK(message_of(jit::generate_llvm(function_nest(Op::exp, DType::float32, 1), jit::host_cpu())).empty());  // the compiler still works after the error
}

TEST_CASE("nests that compute in a type that is only stored are refused") {
  CHECK_THROWS_AS(jit::verify(function_nest(Op::negative, DType::float16, 1)), InternalError);
}

TEST_CASE("assembly can be requested") {
  NEEDS_LLVM
  const jit::CpuTarget cpu = jit::host_cpu();
  const std::string text = jit::llvm_assembly(*llvm_compiler(), jit::generate_llvm(function_nest(Op::exp, DType::float32, 1), cpu));
  CHECK(text.find("test:") != std::string::npos);
  if (cpu.vector_bytes == 64) CHECK(text.find("zmm") != std::string::npos);
  if (cpu.vector_bytes == 32) CHECK(text.find("ymm") != std::string::npos);
}

TEST_CASE("functions call no others but those of the same text, except sin, cos and tan of huge arguments") {
  NEEDS_LLVM
  const std::regex call(R"(\tcall\w*\t(\S+))");
  for (const jit::CpuTarget& cpu : cpu_levels())
    for (const DType dtype : {DType::float32, DType::float64})
      for (Op op : {Op::exp,  Op::exp2, Op::expm1, Op::log,   Op::log2,  Op::log10, Op::log1p, Op::asin, Op::acos, Op::atan,    Op::sinh,
                    Op::cosh, Op::tanh, Op::asinh, Op::acosh, Op::atanh, Op::cbrt,  Op::erf,   Op::erfc, Op::ndtr, Op::sigmoid, Op::erfinv}) {
        const std::string text = jit::llvm_assembly(*llvm_compiler(), jit::generate_llvm(function_nest(op, dtype, 1), cpu));
        for (std::sregex_iterator found(text.begin(), text.end(), call), end; found != end; ++found)
          CHECK_MESSAGE(text.find(fmt::format("\n{}:", (*found)[1].str())) != std::string::npos, trace::name(op), " calls ", (*found)[1].str());
      }
}

TEST_CASE("objects are loaded from their bytes") {
  NEEDS_LLVM
  for (DType dtype : {DType::float32, DType::float64}) {
    const jit::LoopNest nest = function_nest(Op::sin, dtype, 100);
    const jit::Binary compiled = llvm_compiler()->compile(jit::generate_llvm(nest, jit::host_cpu()));
    CHECK(compiled.report.compile_ms > 0);
    jit::Binary stored;
    stored.entry = compiled.entry;
    stored.image = compiled.image;
    std::vector<double> x(100), out(100);
    std::vector<float> xf(100), outf(100);
    for (int k = 0; k < 100; ++k) xf[k] = static_cast<float>(x[k] = k * 1e5);  // huge arguments call the C library
    void* in = dtype == DType::float32 ? static_cast<void*>(xf.data()) : x.data();
    void* to = dtype == DType::float32 ? static_cast<void*>(outf.data()) : out.data();
    for (int times = 0; times < 3; ++times) run(nest, jit::load_object(stored)->entry(), {in, to}, {});
    for (int k = 0; k < 100; ++k) REQUIRE(std::fabs((dtype == DType::float32 ? outf[k] : out[k]) - std::sin(x[k])) < 1e-7);
  }
}

TEST_CASE("objects for ARM are made and linked on any machine, and run only on ARM") {
  NEEDS_LLVM
  const jit::CpuTarget arm = jit::plainest_cpu("aarch64");
  CHECK_THROWS_AS(jit::plainest_cpu("riscv64"), CompileError);
  for (const DType dtype : {DType::float32, DType::float64})
    for (const Op op : {Op::exp, Op::sin, Op::erf, Op::floor, Op::sqrt}) {
      const jit::Source source = jit::generate_llvm(function_nest(op, dtype, 1), arm);
      CHECK(source.target == "cpu:aarch64 +neon");  // part of the cache's key
      const std::string text = jit::llvm_assembly(*llvm_compiler(), source);
      CHECK(text.find(dtype == DType::float32 ? ".4s" : ".2d") != std::string::npos);
      const std::string refused = message_of(source);
      if (jit::host_cpu().arch == "aarch64") CHECK(refused.empty());
      else CHECK(refused.find("is for aarch64") != std::string::npos);
    }
}

TEST_CASE("a new compiler registers the parts of each architecture once, whichever thread asks first") {
  NEEDS_LLVM
  const jit::CompilerPtr compiler = jit::find_llvm();
  std::vector<std::thread> threads;
  std::vector<int> good(6, 0);
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      for (const char* arch : {"aarch64", "x86-64", "aarch64"})
        good[t] += !compiler->compile(jit::generate_llvm(function_nest(Op::exp, DType::float32, 20), jit::plainest_cpu(arch))).image.empty();
    });
  for (std::thread& thread : threads) thread.join();
  for (const int count : good) CHECK(count == 3);
}

TEST_CASE("the same source gives the same bytes") {
  NEEDS_LLVM
  const jit::Source source = jit::generate_llvm(function_nest(Op::erf, DType::float32, 1), jit::host_cpu());
  CHECK(llvm_compiler()->compile(source).image == llvm_compiler()->compile(source).image);
}

TEST_CASE("damaged objects are refused and never executed") {
  NEEDS_LLVM
  std::mt19937_64 random(fresh_seed());
  for (const char* arch : {"x86-64", "aarch64"}) {
    CAPTURE(arch);
    const jit::Binary good = llvm_compiler()->compile(jit::generate_llvm(function_nest(Op::sin, DType::float32, 1), jit::plainest_cpu(arch)));
    int refused = 0, tried = 0;
    const auto attempt = [&](const jit::Binary& bad) {
      ++tried;
      try {
        jit::load_object(bad);  // the object is only loaded, because only the cache's checksum finds a flipped bit within the code
      } catch (const CompileError&) {
        ++refused;
      }
    };
    for (std::size_t size = 0; size < good.image.size(); size += 1 + random() % 7) {
      jit::Binary cut = good;
      cut.image.resize(size);
      attempt(cut);
      CHECK(refused == tried);  // the section headers are last, so no prefix is a complete object
    }
    for (int k = 0; k < 20000; ++k) {
      jit::Binary bad = good;
      for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips) bad.image[random() % bad.image.size()] = static_cast<std::uint8_t>(random());
      attempt(bad);
    }
    // Changes everything except the code: the headers, and the tables after the code.
    for (int k = 0; k < 20000; ++k) {
      jit::Binary bad = good;
      const std::size_t tail = bad.image.size() - 1 - random() % 1500;
      const std::uint64_t values[] = {0, 1, 0xff, 0xffff, 0xffffffff, ~std::uint64_t{0}, std::uint64_t{1} << 63, random()};
      std::memcpy(bad.image.data() + std::min(random() % 4 ? tail : random() % 64, bad.image.size() - 8), &values[random() % 8], 1 + random() % 8);
      attempt(bad);
    }
    CHECK(refused > tried / 20);
    jit::Binary empty;
    empty.entry = good.entry;
    CHECK_THROWS_AS(jit::load_object(empty), CompileError);
  }
}

TEST_CASE("compiling from several threads") {
  NEEDS_LLVM
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (Op op : {Op::exp, Op::log, Op::tanh}) {
        const jit::LoopNest nest = function_nest(op, DType::float32, 20);
        std::vector<float> x(20, 0.5f), out(20);
        const auto code = jit::load_object(llvm_compiler()->compile(jit::generate_llvm(nest, jit::host_cpu())));
        void* pointers[] = {x.data(), out.data()};
        code->entry()(pointers, nest.ints.data(), nullptr, nullptr, 0, 1, 0, 20);
        const double expected = op == Op::exp ? std::exp(0.5) : op == Op::log ? std::log(0.5) : std::tanh(0.5);
        good[t] += std::all_of(out.begin(), out.end(), [&](float v) { return std::fabs(v - expected) < 1e-6; });
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int count : good) CHECK(count == 3);
}
