#include "engine/kernels.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/own_fault.hpp"
#include "base/timeline.hpp"
#include "cache/entry.hpp"
#include "engine/archive.hpp"
#include "engine/tuned.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"

namespace sinter::engine {
namespace {

using State = Compiled::State;

/// Logs one warning for each kind of device, because a machine without a compiler must not flood the log.
void warn_of_no_compiler(const runtime::Kind& kind) {
  static auto& mutex = *new std::mutex;
  static auto& said = *new std::set<std::string_view>;
  const std::lock_guard lock(mutex);
  if (said.insert(kind.name).second) log().warn("no {} was found; kernels are interpreted, which is slow. {}", kind.compiler_name, kind.compiler_advice);
}

// Returns null for a device that cannot interpret nests. The engine then copies the operands to a device that can.
runtime::KernelPtr stand_in(const jit::LoopNest& nest, const Target& target) {
  return target.device && target.kind().interprets ? target.device->load(nest, {}) : nullptr;
}

/// Returns a text that is equal for two nests and targets only if they have the same source: all but the values of the nest's parameters.
std::string structure_of(jit::LoopNest nest, fuse::Limits limits, const std::string& compiler) {
  std::fill(nest.ints.begin(), nest.ints.end(), 0);
  for (auto* accesses : {&nest.inputs, &nest.outputs})
    for (jit::Access& access : *accesses) access.buffer = access.offset = 0;
  for (jit::Scalar& scalar : nest.scalars) scalar.node = 0;
  ArchiveWriter writer;
  writer.bytes = compiler;
  writer(limits, nest);
  return std::move(writer.bytes);
}

std::string note_of_compiler(const runtime::Kind& kind) { return fmt::format("compiler-{}", kind.name); }

}  // namespace

void Kernels::configure(const cache::Settings& settings, const std::string& dump) {
  std::lock_guard lock(mutex_);
  dump_ = dump;
  if (!disk_ || disk_->settings().directory != settings.directory || disk_->settings().max_bytes != settings.max_bytes) {
    disk_ = std::make_shared<cache::DiskCache>(settings);
    tuning_mark_.reset();
  }
}

std::string Kernels::tuning_mark() {
  std::lock_guard lock(mutex_);
  if (!tuning_mark_) tuning_mark_ = engine::tuning_mark(*disk_);
  return *tuning_mark_;
}

void Kernels::tuned() {
  std::lock_guard lock(mutex_);
  tuning_mark_.reset();
  ++tunings_;
}

void Kernels::later(const Background::Job& job) {
  if (!background_.add(job)) job();
}

std::shared_ptr<cache::DiskCache> Kernels::disk() const {
  std::lock_guard lock(mutex_);
  return disk_;
}

std::shared_ptr<Compiled> Kernels::entry_of(const jit::Source& source) {
  std::string key = cache::key_text(source);
  std::lock_guard lock(mutex_);
  if (const auto* known = entries_.find(key)) return *known;
  const std::size_t cost = 3 * key.size();  // the key, and an image that is about twice as large
  const std::size_t evicted = entries_.evicted();
  const auto entry = entries_.insert(key, std::make_shared<Compiled>(), cost);
  if (const std::size_t more = entries_.evicted() - evicted; more > 0)
    log().debug("{} dropped from memory: kernels may take {} MiB", counted(more, "kernel is", "kernels are"), kMaxBytes >> 20);
  return entry;
}

// SINTER_DUMP is only for inspection. If its folder cannot be written, one warning is logged, and the evaluation continues.
void Kernels::dump_strings(const jit::LoopNest& nest, const jit::Source& source, const runtime::Kind& kind) {
  std::string directory;
  {
    std::lock_guard lock(mutex_);
    directory = dump_;
  }
  if (directory.empty()) return;
  try {
    write_strings(directory, nest, source, kind, false);
  } catch (const IoError& error) {
    std::lock_guard lock(mutex_);
    if (dump_ == directory) dump_.clear();
    log().warn("{}; going on without", error.what());
  }
}

bool Kernels::find_on_disk(Compiled& entry, const jit::Source& source) {
  const timeline::Span span("load", source.entry.c_str());
  auto found = disk()->load(source);
  if (!found) return false;
  log().debug("{}: found on disk", source.entry);
  entry.binary = std::move(*found);
  ++totals_.from_disk;
  return true;
}

// The caller holds the entry's lock.
void Kernels::compile(Compiled& entry, const jit::Source& source, const runtime::Kind& kind, const std::string& split_reason) {
  const timeline::Span span("compile", source.entry.c_str());
  try {
    entry.binary = kind.compiler()->compile(source);
    entry.binary.note = split_reason;
    ++totals_.compiled;
    const auto to = disk();
    to->store(source, entry.binary);
    to->remember(note_of_compiler(kind), source.compiler);
    log().debug("{}: compiled in {:.1f} ms", source.entry, entry.binary.report.compile_ms);
  } catch (const jit::RefusedSource& error) {
    entry.failure = error.what();
    own_fault(fmt::format("{} is interpreted, which is slow: {}", source.entry, error.what()));
  } catch (const CompileError& error) {
    entry.failure = error.what();
    log().warn("{} is interpreted, which is slow: {}", source.entry, error.what());
  }
}

// The caller holds the entry's lock. Returns false if the background thread cannot take the compile.
bool Kernels::compile_later(const std::shared_ptr<Compiled>& entry, const jit::Source& source, const runtime::Kind& kind, const std::string& split_reason) {
  entry->state = State::under_way;
  if (background_.add([this, entry, source, &kind, split_reason] {
        const std::lock_guard lock(entry->mutex);
        if (entry->state == State::done) return;  // an evaluation needed it and compiled it
        compile(*entry, source, kind, split_reason);
        if (!entry->failure.empty()) ++totals_.fallbacks;
        entry->state = State::done;
      }))
    return true;
  entry->state = State::unknown;
  return false;
}

// The caller holds the entry's lock. Returns null if the binary does not load; the entry then has the reason.
runtime::KernelPtr Kernels::load(Compiled& entry, const jit::Source& source, const jit::LoopNest& nest, const Target& target, const std::string& split_reason) {
  auto& loaded = entry.loaded[target.device.get()];
  for (bool again = true; !loaded && entry.failure.empty(); again = false) {
    try {
      const timeline::Span span("load", source.entry.c_str());
      loaded = target.device->load(nest, entry.binary);
    } catch (const CompileError& error) {
      // An intact binary from disk may still not load, and is compiled again. A binary that was just compiled is not.
      if (again && entry.binary.origin == jit::Origin::disk) {
        disk()->discard(source);
        if (target.kind().compiler()) {
          log().info("{} from the cache could not be loaded and is compiled again: {}", source.entry, error.what());
          compile(entry, source, target.kind(), split_reason);
          continue;
        }
      }
      entry.failure = error.what();
      log().warn("{} could not be loaded and is interpreted: {}", source.entry, error.what());
    } catch (const runtime::NoClusterSpace&) {
      throw;
    } catch (const DeviceError& error) {  // there is no memory, or the device is lost; then copying the operands to the host fails, too
      log().warn("{} could not be loaded and is interpreted: {}", source.entry, error.what());
      return nullptr;
    }
  }
  return loaded;
}

Made Kernels::make(const jit::LoopNest& nest, const Target& target, const std::string& split_reason) {
  stop_if_interrupted();
  const runtime::Kind& kind = target.kind();
  if (target.interpret) {
    dump_strings(nest, {}, kind);
    Made made;
    made.interpreted = true;
    made.origin = jit::Origin::memory;
    made.kernel = stand_in(nest, target);
    return made;
  }
  return make(generated(nest, target), nest, target, split_reason);
}

/// Returns the identity of the compiler. If it is no longer installed, its binaries may still be in the cache.
std::string Kernels::compiler_of(const runtime::Kind& kind) const {
  if (const jit::Compiler* compiler = kind.compiler()) return compiler->identity();
  return disk()->recall(note_of_compiler(kind)).value_or(std::string());
}

/// Adds who generates and who compiles the source.
Kernels::Generated Kernels::completed(jit::Source source, const runtime::Kind& kind) {
  source.generator = kind.generator;
  source.compiler = compiler_of(kind);
  const auto entry = entry_of(source);
  return {std::make_shared<const jit::Source>(std::move(source)), entry};
}

/// Generates the source, or returns the one that was generated for the same nest with other values of its parameters.
Kernels::Generated Kernels::generated(const jit::LoopNest& nest, const Target& target) {
  const runtime::Kind& kind = target.kind();
  const std::string structure = structure_of(nest, target.limits, compiler_of(kind));
  {
    const std::lock_guard lock(mutex_);
    if (const Generated* known = sources_.find(structure); known && !known->entry.expired()) return *known;
  }
  ++totals_.generated;
  timeline::Span span("generate", nest.name.c_str());
  const Generated made = completed(kind.generate(nest, target.limits), kind);
  span.stop();
  const std::lock_guard lock(mutex_);
  sources_.replace(structure, made, structure.size() + made.source->text.size());
  return made;
}

std::vector<Made> Kernels::make_for(const fuse::LibraryCall& call, const Target& target) {
  std::vector<Made> all;
  const runtime::Kind& kind = target.kind();
  if (target.interpret || !kind.call_sources || !fuse::has_library(target.limits, call.op, call.dtype)) return all;
  for (jit::Source& source : kind.call_sources(call, target.limits)) {
    stop_if_interrupted();
    ++totals_.generated;
    const jit::LoopNest nest = nest_named(source.entry);
    all.push_back(make(completed(std::move(source), kind), nest, target, "a part of " + fuse::to_string(call)));
  }
  return all;
}

Made Kernels::make(const Generated& generated, const jit::LoopNest& nest, const Target& target, const std::string& split_reason) {
  Made made;
  made.generated = generated.source;
  const jit::Source& source = *generated.source;
  const runtime::Kind& kind = target.kind();
  const auto interpret = [&](std::string why) {
    made.interpreted = true;
    made.why_interpreted = std::move(why);
    made.origin = jit::Origin::memory;
    made.kernel = stand_in(nest, target);
    return made;
  };
  dump_strings(nest, source, kind);
  const jit::Compiler* compiler = kind.compiler();
  auto entry = generated.entry.lock();
  if (!entry) entry = entry_of(source);
  const bool may_run_ahead = !target.wait && kind.interprets && target.device && !kind.reports_resources && kind.same_bits(nest);
  const auto run_ahead = [&] {
    made.later = entry;
    made.kernel = stand_in(nest, target);
    return made;
  };
  if (may_run_ahead && entry->state == State::under_way) return run_ahead();

  std::lock_guard lock(entry->mutex);
  if (entry->state == State::done) {
    made.origin = jit::Origin::memory;
    if (entry->failure.empty()) ++totals_.from_memory;
  } else {
    if (find_on_disk(*entry, source)) {
      made.origin = jit::Origin::disk;
    } else if (!compiler) {
      warn_of_no_compiler(kind);
      entry->failure = fmt::format("no {} was found", kind.compiler_name);
    } else if (may_run_ahead && compile_later(entry, source, kind, split_reason)) {
      log().debug("{}: interpreted until it is compiled", source.entry);
      return run_ahead();
    } else {
      compile(*entry, source, kind, split_reason);
    }
    entry->state = State::done;
  }
  if (target.device && entry->failure.empty()) {
    made.kernel = load(*entry, source, nest, target, split_reason);
    if (made.kernel && made.origin != jit::Origin::memory) made.origin = entry->binary.origin;
    if (!made.kernel && entry->failure.empty()) {
      ++totals_.fallbacks;
      return interpret("it could not be loaded");
    }
  }
  if (!entry->failure.empty()) {
    ++totals_.fallbacks;
    return interpret(entry->failure);
  }
  made.report = entry->binary.report;
  if (made.origin != jit::Origin::compiled) made.report.compile_ms = 0;
  return made;
}

runtime::Kernel* Kernels::current(const Made& made, const jit::LoopNest& nest, const Target& target) {
  if (runtime::Kernel* ready = made.ready.kernel.load(std::memory_order_acquire)) return ready;
  if (!made.later || made.later->state != State::done) return made.kernel.get();
  std::lock_guard lock(made.later->mutex);
  if (!made.later->failure.empty()) return made.kernel.get();
  const auto loaded = load(*made.later, made.source(), nest, target, {});
  if (!loaded) return made.kernel.get();
  made.ready.kernel.store(loaded.get(), std::memory_order_release);
  return loaded.get();
}

std::string Kernels::entry_of(const Made& made, const runtime::Kind& kind) {
  if (made.source().text.empty() || made.interpreted) return {};
  const auto entry = entry_of(made.source());
  const std::lock_guard lock(entry->mutex);
  if (entry->state != State::done) {
    if (!find_on_disk(*entry, made.source())) {
      if (!kind.compiler()) return {};
      compile(*entry, made.source(), kind, {});
    }
    entry->state = State::done;
  }
  if (!entry->failure.empty()) return {};
  const auto bytes = cache::encode(cache::key_text(made.source()), entry->binary);
  return {bytes.begin(), bytes.end()};
}

void Kernels::before_fork() {
  background_.before_fork();
  mutex_.lock();
}

void Kernels::after_fork(bool child) {
  mutex_.unlock();
  if (child) background_.after_fork_in_child();
  else background_.after_fork_in_parent();
}

jit::LoopNest nest_named(const std::string& name) {
  jit::LoopNest nest;
  nest.name = name;
  return nest;
}

std::vector<std::string> write_strings(const std::string& directory, const jit::LoopNest& nest, const jit::Source& source, const runtime::Kind& kind,
                                       bool assembly, const std::vector<std::string>& notes) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) throw IoError(fmt::format("dump: cannot create folder '{}': {}", directory, error.message()));
  std::vector<std::string> paths;
  for (const auto& [extension, text] : kind.strings(nest, source, kind.compiler(), assembly)) {
    const std::string path = (fs::path(directory) / (nest.name + extension)).string();
    std::ofstream file(path, std::ios::binary);
    for (const std::string& note : notes)
      file << (extension == ".ll" ? "; " : extension == ".cu" || extension == ".cl" || extension == ".loops" ? "// " : "# ") << note << '\n';
    file << text;
    file.close();
    if (!file) throw IoError(fmt::format("dump: cannot write '{}'", path));
    paths.push_back(path);
  }
  return paths;
}

}  // namespace sinter::engine
