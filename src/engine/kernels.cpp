#include "engine/kernels.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "sinter/errors.hpp"
#include "trace/log.hpp"

namespace sinter::engine {

jit::Compiler* Kernels::compiler(bool cuda) {
  if (cuda) {
    static const jit::CompilerPtr nvrtc = jit::find_nvrtc();
    return nvrtc.get();
  }
  static const jit::CompilerPtr llvm = jit::find_llvm();
  return llvm.get();
}

void Kernels::configure(const cache::Settings& settings, const std::string& dump) {
  std::lock_guard lock(mutex_);
  dump_ = dump;
  if (!disk_ || disk_->settings().directory != settings.directory || disk_->settings().max_bytes != settings.max_bytes)
    disk_ = std::make_shared<cache::DiskCache>(settings);
}

std::shared_ptr<cache::DiskCache> Kernels::disk() const {
  std::lock_guard lock(mutex_);
  return disk_;
}

std::shared_ptr<Kernels::Entry> Kernels::entry_of(const jit::Source& source) {
  std::lock_guard lock(mutex_);
  auto& entry = entries_[cache::key_text(source)];
  if (!entry) entry = std::make_shared<Entry>();
  return entry;
}

// SINTER_DUMP is for looking: a folder that cannot be written is told once and stops nothing.
void Kernels::dump_strings(const jit::LoopNest& nest, const jit::Source& source) {
  std::string directory;
  {
    std::lock_guard lock(mutex_);
    directory = dump_;
  }
  if (directory.empty()) return;
  try {
    write_strings(directory, nest, source, false);
  } catch (const IoError& error) {
    std::lock_guard lock(mutex_);
    if (dump_ == directory) dump_.clear();
    log().warn("{}; going on without", error.what());
  }
}

// Fills the entry from disk or by compiling, once; the entry's lock is held.
void Kernels::obtain(Entry& entry, const jit::Source& source, const Target& target, const std::string& cut, Made& made) {
  if (entry.done) {
    if (entry.failure.empty()) ++totals_.from_memory;
    made.origin = jit::Origin::memory;
    return;
  }
  const auto disk_cache = disk();
  if (auto found = disk_cache->load(source)) {
    entry.binary = std::move(*found);
    ++totals_.from_disk;
    made.origin = jit::Origin::disk;
  } else {
    try {
      entry.binary = compiler(target.limits.is_cuda())->compile(source);
      entry.binary.note = cut;
      ++totals_.compiled;
      made.origin = jit::Origin::compiled;
      disk_cache->store(source, entry.binary);
      log().debug("{}: compiled in {:.1f} ms", source.entry, entry.binary.report.compile_ms);
    } catch (const CompileError& error) {
      entry.failure = error.what();
      log().warn("{} is interpreted, which is slow: {}", source.entry, error.what());
    }
  }
  entry.done = true;
}

Made Kernels::make(const jit::LoopNest& nest, const Target& target, const std::string& cut) {
  Made made;
  const bool cuda = target.limits.is_cuda();
  const auto interpret = [&](std::string why) {
    made.interpreted = true;
    made.why_interpreted = std::move(why);
    made.origin = jit::Origin::memory;
    // A CUDA device cannot run a nest by itself: the engine brings the operands to the host.
    if (target.device && !cuda) made.kernel = target.device->load(nest, {});
    return made;
  };
  if (target.interpret) {
    dump_strings(nest, {});
    return interpret({});
  }
  jit::Compiler* compiler = Kernels::compiler(cuda);
  ++totals_.generated;
  made.source = cuda ? jit::generate_cuda(nest, target.limits.sm) : jit::generate_llvm(nest, jit::host_cpu());
  dump_strings(nest, made.source);
  if (!compiler) {
    ++totals_.fallbacks;
    static std::once_flag warned[2];
    std::call_once(warned[cuda], [&] {
      log().warn("no {} was found; kernels are interpreted, which is slow. Install {} or set {}", cuda ? "NVRTC" : "LLVM",
                 cuda ? "the CUDA toolkit's libnvrtc" : "libLLVM (16 or later)", cuda ? "SINTER_NVRTC" : "SINTER_LLVM");
    });
    return interpret(cuda ? "no NVRTC was found" : "no LLVM was found");
  }
  made.source.compiler = compiler->identity();
  const auto entry = entry_of(made.source);
  std::lock_guard lock(entry->mutex);
  obtain(*entry, made.source, target, cut, made);
  if (!entry->failure.empty()) {
    ++totals_.fallbacks;
    return interpret(entry->failure);
  }
  made.report = entry->binary.report;
  if (made.origin != jit::Origin::compiled) made.report.compile_ms = 0;
  if (!target.device) return made;
  auto& loaded = entry->loaded[target.device.get()];
  try {
    if (!loaded) loaded = target.device->load(nest, entry->binary);
  } catch (const CompileError& error) {  // a binary that does not load is as good as none
    log().warn("{} could not be loaded and is interpreted: {}", nest.name, error.what());
    ++totals_.fallbacks;
    return interpret(error.what());
  }
  made.kernel = loaded;
  return made;
}

std::vector<std::string> write_strings(const std::string& directory, const jit::LoopNest& nest, const jit::Source& source, bool assembly) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) throw IoError(fmt::format("dump: cannot create folder '{}': {}", directory, error.message()));
  std::vector<std::string> paths;
  const auto write = [&](const std::string& extension, const std::string& text) {
    const std::string path = (fs::path(directory) / (nest.name + extension)).string();
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw IoError(fmt::format("dump: cannot write '{}'", path));
    paths.push_back(path);
  };
  const bool cuda = source.target.rfind("sm_", 0) == 0;
  if (!cuda) write(".nest", jit::to_string(nest));
  if (source.text.empty()) return paths;
  write(cuda ? ".cu" : ".ll", source.text);
  if (assembly && !cuda)
    if (auto* llvm = Kernels::compiler(false)) write(".s", jit::llvm_assembly(*llvm, source));
  return paths;
}

}  // namespace sinter::engine
