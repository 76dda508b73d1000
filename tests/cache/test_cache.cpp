// Tests the disk cache against faults of the file system, other processes and hostile files.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <thread>

#include "base/log.hpp"
#include "cache/disk_cache.hpp"
#include "cache/entry.hpp"
#include "cache/temporary.hpp"
#include "host_data_stub.hpp"
#include "seed.hpp"
#include "sinter/errors.hpp"
#include "temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace sinter;
using namespace sinter::cache;

namespace {

constexpr std::uint64_t kMega = 1 << 20;
constexpr uid_t kNobody = 65534;

/// A fresh seed each run; it is shown when a check fails.

struct Folder : testing::TemporaryFolder {
  fs::path cache() const { return path / "cache"; }
};

jit::Source source_of(const std::string& text) {
  return {.target = "sm_90", .compiler = "libtest.so.1", .options = "-O3 --fast", .entry = "kernel_0", .text = text};
}

jit::Binary binary_of_bytes(std::vector<std::uint8_t> image) {
  return {.entry = "kernel_0",
          .image = std::move(image),
          .report = {.registers = 40, .spill_bytes = 0, .shared_bytes = 4096, .stack_bytes = 16, .compile_ms = 12.5},
          .note = "row does not fit: 295040 B > 232448 B"};
}

std::vector<std::uint8_t> random_bytes(std::mt19937_64& random, std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

std::vector<std::uint8_t> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, const std::vector<std::uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(file.good());
  file.close();
  REQUIRE(chmod(path.c_str(), 0600) == 0);
}

fs::path entry_path(const DiskCache& cache, const jit::Source& source) { return cache.settings().directory / entry_name(key_text(source)); }

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& item : fs::directory_iterator(folder)) files.push_back(item.path());
  return files;
}

void set_age(const fs::path& path, time_t seconds) {
  const timespec then{time(nullptr) - seconds, 0};
  const timespec times[2] = {then, then};
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

mode_t mode_of(const fs::path& path) {
  struct stat status;
  REQUIRE(lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

/// While this object exists, it collects the log's messages, which then do not go to stderr.
struct LogCapture {
  std::ostringstream text;
  std::vector<spdlog::sink_ptr> before = logger().sinks();
  LogCapture() { logger().sinks() = {std::make_shared<spdlog::sinks::ostream_sink_mt>(text)}; }
  ~LogCapture() { logger().sinks() = before; }
  int count(const std::string& what) const {
    const std::string all = text.str();
    int n = 0;
    for (std::size_t at = all.find(what); at != std::string::npos; at = all.find(what, at + 1)) ++n;
    return n;
  }
};

struct Child {
  pid_t id;
  int end;  // the end of the pipe for its messages
};

Child start_child(const std::function<std::string()>& body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::cout.flush();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    close(ends[0]);
    std::string said;
    try {
      said = body();
    } catch (const std::exception& error) {
      said = std::string("threw: ") + error.what();
    }
    const ssize_t written = write(ends[1], said.data(), said.size());
    _exit(written == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  close(ends[1]);
  return {child, ends[0]};
}

std::string finish(const Child& child) {
  std::string said;
  char buffer[4096];
  for (ssize_t n; (n = read(child.end, buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<std::size_t>(n));
  close(child.end);
  int status = 0;
  REQUIRE(waitpid(child.id, &status, 0) == child.id);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) said += fmt::format("child ended with status {:#x}", status);
  return said;
}

/// Runs the body in a child process. The body returns one line per failure, or "skip: ..." to skip the test case.
std::string in_child(const std::function<std::string()>& body) { return finish(start_child(body)); }

bool skipped(const std::string& said) {
  if (!said.starts_with("skip: ")) return false;
  MESSAGE("skipped: " << said.substr(6));
  return true;
}

/// In a child process, gives up the privileges of root, so that permissions apply.
void become_nobody() {
  if (geteuid() != 0) return;
  if (setgid(kNobody) != 0 || setuid(kNobody) != 0) throw std::runtime_error("setuid failed");
}

/// In a child process, makes a private mount namespace, so that the test can mount file systems. Without the privileges of root it first makes a user
/// namespace.
bool own_mounts() {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  if (unshare(CLONE_NEWNS) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    std::ofstream("/proc/self/uid_map") << fmt::format("0 {} 1\n", uid);
    std::ofstream("/proc/self/setgroups") << "deny\n";
    std::ofstream("/proc/self/gid_map") << fmt::format("0 {} 1\n", gid);
    if (geteuid() != 0) return false;
  }
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

void give_to_nobody(const fs::path& path) {
  if (geteuid() != 0) return;
  REQUIRE(chown(path.c_str(), kNobody, kNobody) == 0);
  for (const auto& item : fs::recursive_directory_iterator(path)) REQUIRE(lchown(item.path().c_str(), kNobody, kNobody) == 0);
}

}  // namespace

TEST_CASE("an entry is loaded unchanged, in this process and in the next one") {
  std::mt19937_64 random(sinter::testing::fresh_seed());
  Folder folder;
  const jit::Source source = source_of("__global__ void kernel_0() {}\n");
  const jit::Binary stored = binary_of_bytes(random_bytes(random, 1 + random() % 100000));
  {
    DiskCache cache({folder.cache(), kMega});
    CHECK(cache.disabled_reason() == "");
    CHECK_FALSE(fs::exists(folder.cache()));  // reading the cache creates no directory
    CHECK_FALSE(cache.load(source));
    cache.store(source, stored);
    CHECK(cache.stats().misses == 1);
    CHECK(cache.stats().stores == 1);
    CHECK(cache.stats().entries == 1);
  }
  DiskCache cache({folder.cache(), kMega});
  const auto loaded = cache.load(source);
  REQUIRE(loaded);
  CHECK(loaded->image == stored.image);
  CHECK(loaded->entry == stored.entry);
  CHECK(loaded->note == stored.note);
  CHECK(loaded->report.registers == 40);
  CHECK(loaded->report.spill_bytes == 0);
  CHECK(loaded->report.shared_bytes == 4096);
  CHECK(loaded->report.stack_bytes == 16);
  CHECK(loaded->report.compile_ms == 12.5);
  CHECK(loaded->origin == jit::Origin::disk);
  CHECK(cache.stats().hits == 1);
  CHECK(cache.stats().bytes == fs::file_size(entry_path(cache, source)));
  CHECK(mode_of(folder.cache()) == 0700);
  CHECK(mode_of(entry_path(cache, source)) == 0600);
  CHECK(files_in(folder.cache()).size() == 1);  // no temporary file is left
}

TEST_CASE("every field of the source is part of the key, and the boundaries between fields are unambiguous") {
  const jit::Source base = source_of("text");
  std::map<std::string, int> keys{{key_text(base), 0}};
  for (auto member : {&jit::Source::target, &jit::Source::compiler, &jit::Source::options, &jit::Source::entry, &jit::Source::text}) {
    jit::Source other = base;
    other.*member += "x";
    CHECK(keys.emplace(key_text(other), 0).second);
  }
  jit::Source left = base, right = base;
  left.target = "a\ncompiler 1\nb", left.compiler = "";
  right.target = "a", right.compiler = "b\n";
  CHECK(key_text(left) != key_text(right));
  CHECK(entry_name(key_text(base)).size() == 32 + std::strlen(".sinter"));
}

TEST_CASE("a hash collision is a miss, and neither entry harms the other") {
  Folder folder;
  DiskCache cache({folder.cache(), kMega});
  const jit::Source first = source_of("first"), second = source_of("second");
  cache.store(first, binary_of_bytes({1, 2, 3}));
  fs::rename(entry_path(cache, first), entry_path(cache, second));  // this simulates two keys with the same hash
  CHECK_FALSE(cache.load(second));
  CHECK(fs::exists(entry_path(cache, second)));
  CHECK(cache.stats().corrupt == 0);
  cache.store(second, binary_of_bytes({4}));
  CHECK(cache.load(second)->image == std::vector<std::uint8_t>{4});
}

TEST_CASE("an entry that is truncated at any length is deleted, and the next store replaces it") {
  Folder folder;
  DiskCache cache({folder.cache(), kMega});
  const jit::Source source = source_of("t");
  cache.store(source, binary_of_bytes({9, 8, 7, 6, 5}));
  const fs::path path = entry_path(cache, source);
  const std::vector<std::uint8_t> whole = read_file(path);
  REQUIRE(whole.size() > 100);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    write_file(path, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)});
    CHECK_FALSE(cache.load(source));
    CHECK_FALSE(fs::exists(path));
    CHECK(cache.stats().corrupt == length + 1);
  }
  std::vector<std::uint8_t> longer = whole;
  longer.push_back(0);
  write_file(path, longer);
  CHECK_FALSE(cache.load(source));
  CHECK_FALSE(fs::exists(path));
  cache.store(source, binary_of_bytes({9, 8, 7, 6, 5}));
  CHECK(cache.load(source));
}

TEST_CASE("a flipped bit is found wherever it is") {
  std::mt19937_64 random(sinter::testing::fresh_seed());
  Folder folder;
  DiskCache cache({folder.cache(), kMega});
  const jit::Source source = source_of("a kernel");
  cache.store(source, binary_of_bytes(random_bytes(random, 300)));
  const fs::path path = entry_path(cache, source);
  const std::vector<std::uint8_t> whole = read_file(path);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::uint8_t> bytes = whole;
    const std::size_t at = random() % bytes.size();
    bytes[at] ^= static_cast<std::uint8_t>(1u << random() % 8);
    for (std::uint64_t more = random() % 3; more > 0; --more) bytes[random() % bytes.size()] ^= static_cast<std::uint8_t>(random());
    if (bytes == whole) continue;
    CAPTURE(at);
    write_file(path, bytes);
    CHECK_FALSE(cache.load(source));
    // With a flipped bit in the schema number the file belongs to another version, so it must not be deleted.
    const bool schema_changed = std::memcmp(bytes.data() + 8, whole.data() + 8, 4) != 0;
    const bool magic_changed = std::memcmp(bytes.data(), whole.data(), 8) != 0;
    CHECK(fs::exists(path) == (schema_changed && !magic_changed));
  }
}

TEST_CASE("wrong lengths and metadata with a correct checksum allocate no memory and do no harm") {
  Folder folder;
  DiskCache cache({folder.cache(), kMega});
  const jit::Source source = source_of("victim");
  cache.store(source, binary_of_bytes({1}));
  const fs::path path = entry_path(cache, source);
  const std::vector<std::uint8_t> whole = read_file(path);
  const auto reseal = [](std::vector<std::uint8_t> bytes) {
    const XXH128_hash_t sum = XXH3_128bits(bytes.data(), bytes.size() - sizeof(XXH128_hash_t));
    std::memcpy(bytes.data() + bytes.size() - sizeof sum, &sum, sizeof sum);
    return bytes;
  };
  const auto refused = [&](const std::vector<std::uint8_t>& bytes) {
    write_file(path, bytes);
    return !cache.load(source) && !fs::exists(path);
  };
  for (const std::size_t field : {16, 24, 32}) {
    for (const std::uint64_t length :
         {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1} << 40, ~std::uint64_t{0} - 55, std::uint64_t{whole.size()}, std::uint64_t{0}}) {
      CAPTURE(field);
      CAPTURE(length);
      std::vector<std::uint8_t> bytes = whole;
      std::memcpy(bytes.data() + field, &length, sizeof length);
      CHECK(refused(reseal(bytes)));
    }
  }
  // Lengths whose sum wraps around to the right one.
  std::vector<std::uint8_t> bytes = whole;
  std::uint64_t lengths[3];
  std::memcpy(lengths, bytes.data() + 16, sizeof lengths);
  lengths[0] += std::uint64_t{1} << 63, lengths[1] += std::uint64_t{1} << 63;
  std::memcpy(bytes.data() + 16, lengths, sizeof lengths);
  CHECK(refused(reseal(bytes)));

  const std::string key = key_text(source);
  const auto with_metadata = [&](const std::string& metadata) {
    std::vector<std::uint8_t> entry(whole.begin(), whole.begin() + 40);
    const std::uint64_t sizes[3] = {key.size(), metadata.size(), 0};
    std::memcpy(entry.data() + 16, sizes, sizeof sizes);
    entry.insert(entry.end(), key.begin(), key.end());
    entry.insert(entry.end(), metadata.begin(), metadata.end());
    entry.resize(entry.size() + sizeof(XXH128_hash_t));
    return reseal(entry);
  };
  for (const std::string& metadata :
       {std::string("{"), std::string("[]"), std::string("{}"), std::string("null"), std::string(100000, '['),
        std::string(R"({"entry":1,"note":"","registers":1,"spill_bytes":0,"shared_bytes":0,"stack_bytes":0,"compile_ms":1})"),
        std::string(R"({"entry":"","note":"","registers":1e300,"spill_bytes":0,"shared_bytes":0,"stack_bytes":0,"compile_ms":1})"),
        std::string(R"({"entry":"","note":"","registers":99999999999,"spill_bytes":0,"shared_bytes":0,"stack_bytes":0,"compile_ms":1})"),
        std::string(R"({"entry":"","note":"","registers":1,"spill_bytes":0,"shared_bytes":0,"stack_bytes":0,"compile_ms":"x"})")}) {
    CAPTURE(metadata.substr(0, 80));
    CHECK(refused(with_metadata(metadata)));
  }
  const std::string good = R"({"entry":"","note":"","registers":1,"spill_bytes":0,"shared_bytes":0,"stack_bytes":0,"compile_ms":1})";
  write_file(path, with_metadata(good));
  CHECK(cache.load(source));  // with_metadata makes an entry that is accepted if its metadata is good

  write_file(path, whole);
  REQUIRE(truncate(path.c_str(), static_cast<off_t>(kMaxEntryBytes + 1)) == 0);  // a sparse file of 256 MiB
  CHECK_FALSE(cache.load(source));
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("an entry of another schema is a miss, and neither load nor verify deletes it") {
  Folder folder;
  DiskCache cache({folder.cache(), kMega});
  const jit::Source source = source_of("s");
  cache.store(source, binary_of_bytes({1}));
  const fs::path path = entry_path(cache, source);
  std::vector<std::uint8_t> bytes = read_file(path);
  bytes[8] ^= 0x40;
  write_file(path, bytes);
  CHECK_FALSE(cache.load(source));
  CHECK(cache.verify().foreign_schema == 1);
  CHECK(read_file(path) == bytes);
  CHECK(cache.stats().corrupt == 0);
}

TEST_CASE("verify deletes damaged entries and lists them, keeps good ones; clear deletes all entries and no other files") {
  Folder folder;
  DiskCache cache({folder.cache(), kMega});
  for (int i = 0; i < 5; ++i) cache.store(source_of(fmt::format("k{}", i)), binary_of_bytes({1, 2, 3}));
  std::vector<std::uint8_t> bytes = read_file(entry_path(cache, source_of("k1")));
  bytes.back() ^= 1;
  write_file(entry_path(cache, source_of("k1")), bytes);
  fs::rename(entry_path(cache, source_of("k2")), entry_path(cache, source_of("elsewhere")));
  write_file(folder.cache() / "README", {'h', 'i'});
  const VerifyResult result = cache.verify();
  CHECK(result.good == 3);
  CHECK(result.bad == 2);
  CHECK(std::count(result.report.begin(), result.report.end(), '\n') == 2);
  CHECK(result.report.find("checksum") != std::string::npos);
  CHECK(result.report.find("another key's name") != std::string::npos);
  CHECK(cache.stats().entries == 3);
  CHECK(cache.verify().bad == 0);
  CHECK(cache.clear() == 3);
  CHECK(cache.stats().entries == 0);
  CHECK(files_in(folder.cache()) == std::vector<fs::path>{folder.cache() / "README"});
}

TEST_CASE("import accepts only entries that the cache could have written, under their own names") {
  const Folder folder;
  DiskCache cache({folder.cache(), kMega});
  jit::Binary binary;
  binary.image.assign(10, 1);
  using Import = DiskCache::Import;
  const auto taken = [&](const std::string& key) { return cache.import(encode(key, binary)); };
  CHECK(taken(key_text(source_of("text"))) == Import::stored);
  CHECK(taken(key_text(source_of("text"))) == Import::known);
  CHECK(cache.load(source_of("text")).has_value());
  CHECK(taken("sinter note compiler-cpu") == Import::stored);
  CHECK(cache.recall("compiler-cpu").has_value());
  for (const char* name : {"", "../outside", "a/b", ".tmp-1", "0123456789abcdef0123456789abcdef.sinter"})
    CHECK_MESSAGE(taken(std::string("sinter note ") + name) == Import::refused, name);
  for (const std::string& key : {std::string("anything"), key_text(source_of("t")) + "more", key_text(source_of("t")).substr(0, 60)})
    CHECK(taken(key) == Import::refused);
  CHECK_FALSE(fs::exists(folder.path / "outside"));
  CHECK(cache.import({}) == Import::refused);
  CHECK(cache.list().size() == 1);

  // Every key can be converted back to the source from which it was made.
  const jit::Source source = source_of("source 12\n3\ntarget 4\n");
  const auto read = source_in(key_text(source));
  REQUIRE(read.has_value());
  CHECK(key_text(*read) == key_text(source));
}

TEST_CASE("a directory that others may write is refused, with one warning") {
  Folder folder;
  for (const mode_t mode : {0770, 0707, 0777, 01777}) {
    CAPTURE(mode);
    const fs::path path = folder.path / fmt::format("mode{:o}", mode);
    REQUIRE(fs::create_directory(path));
    REQUIRE(chmod(path.c_str(), mode) == 0);
    LogCapture log;
    DiskCache cache({path, kMega});
    CHECK(cache.disabled_reason().find("writable by others") != std::string::npos);
    cache.store(source_of("x"), binary_of_bytes({1}));
    CHECK_FALSE(cache.load(source_of("x")));
    DiskCache again({path, kMega});
    CHECK(files_in(path).empty());
    CHECK(log.count("writable by others") == 1);
  }
  const fs::path readable = folder.path / "readable";
  REQUIRE(fs::create_directory(readable));
  REQUIRE(chmod(readable.c_str(), 0755) == 0);
  CHECK(DiskCache({readable, kMega}).disabled_reason() == "");
}

TEST_CASE("a directory or an entry of another user is refused") {
  if (geteuid() != 0) {
    MESSAGE("skipped: foreign owner: needs root to give a directory away");
    return;
  }
  Folder folder;
  const jit::Source source = source_of("planted");
  {
    DiskCache cache({folder.cache(), kMega});
    cache.store(source, binary_of_bytes({1}));
    REQUIRE(chown(entry_path(cache, source).c_str(), kNobody, kNobody) == 0);
    CHECK_FALSE(cache.load(source));
    CHECK(fs::exists(entry_path(cache, source)));
    REQUIRE(chown(entry_path(cache, source).c_str(), 0, 0) == 0);
    CHECK(cache.load(source));
  }
  REQUIRE(chown(folder.cache().c_str(), kNobody, kNobody) == 0);
  DiskCache cache({folder.cache(), kMega});
  CHECK(cache.disabled_reason().find("owned by another user") != std::string::npos);
  CHECK_FALSE(cache.load(source));
}

TEST_CASE("symbolic links, pipes and folders with an entry's name are not followed, waited for or deleted") {
  Folder folder;
  DiskCache cache({folder.cache(), kMega});
  const jit::Source source = source_of("linked");
  cache.store(source, binary_of_bytes({1}));
  const fs::path path = entry_path(cache, source);
  const fs::path real = folder.path / "real";
  fs::rename(path, real);
  fs::create_symlink(real, path);
  CHECK_FALSE(cache.load(source));
  CHECK(fs::is_symlink(path));
  cache.store(source, binary_of_bytes({2}));  // replaces the link, not its target
  CHECK(cache.load(source)->image == std::vector<std::uint8_t>{2});
  CHECK_FALSE(fs::is_symlink(path));
  CHECK(fs::exists(real));

  fs::remove(path);
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK_FALSE(cache.load(source));
  CHECK(fs::is_fifo(path));
  fs::remove(path);
  fs::create_directory(path);
  CHECK_FALSE(cache.load(source));
  cache.store(source, binary_of_bytes({3}));  // rename onto a folder fails, which is only a warning
  CHECK(fs::is_directory(path));
  CHECK(files_in(folder.cache()).size() == 1);
  CHECK(cache.verify().bad == 1);

  REQUIRE(chmod(path.c_str(), 0700) == 0);
  fs::remove(path);
  cache.store(source, binary_of_bytes({4}));
  REQUIRE(chmod(path.c_str(), 0666) == 0);  // somebody else may have written it
  CHECK_FALSE(cache.load(source));
  CHECK(fs::exists(path));
}

TEST_CASE("the cache is off if its directory cannot be made or is no directory") {
  Folder folder;
  write_file(folder.path / "file", {1});
  LogCapture log;
  DiskCache file({folder.path / "file", kMega});
  CHECK(file.disabled_reason() != "");
  DiskCache below({folder.path / "file" / "cache", kMega});
  below.store(source_of("x"), binary_of_bytes({1}));
  below.store(source_of("y"), binary_of_bytes({1}));
  CHECK(below.disabled_reason() != "");
  CHECK(log.count("kernels are not cached on disk") == 2);
  CHECK(DiskCache({"", kMega}).disabled_reason() != "");
  CHECK(DiskCache({folder.cache(), 0}).disabled_reason().find("size of 0") != std::string::npos);
  DiskCache deep({folder.path / "a" / "b" / "c", kMega});
  deep.store(source_of("x"), binary_of_bytes({1}));
  CHECK(deep.load(source_of("x")));
  CHECK(mode_of(folder.path / "a") == 0700);
}

TEST_CASE("a directory removed under a running process is made again") {
  Folder folder;
  DiskCache cache({folder.cache(), kMega});
  cache.store(source_of("x"), binary_of_bytes({1}));
  fs::remove_all(folder.cache());
  CHECK_FALSE(cache.load(source_of("x")));
  cache.store(source_of("x"), binary_of_bytes({2}));
  CHECK(cache.load(source_of("x"))->image == std::vector<std::uint8_t>{2});
}

TEST_CASE("a read-only directory still serves its entries; an unreadable entry is never deleted") {
  Folder folder;
  {
    DiskCache cache({folder.cache(), kMega});
    cache.store(source_of("kept"), binary_of_bytes({1}));
    cache.store(source_of("unreadable"), binary_of_bytes({2}));
    REQUIRE(chmod(entry_path(cache, source_of("unreadable")).c_str(), 0) == 0);
  }
  give_to_nobody(folder.path);
  REQUIRE(chmod(folder.cache().c_str(), 0500) == 0);
  const std::string said = in_child([&]() -> std::string {
    become_nobody();
    LogCapture log;
    DiskCache cache({folder.cache(), kMega});
    std::string wrong;
    if (!cache.load(source_of("kept"))) wrong += "lost the entry; ";
    cache.store(source_of("new"), binary_of_bytes({3}));
    cache.store(source_of("newer"), binary_of_bytes({3}));
    if (cache.load(source_of("new"))) wrong += "stored in a read-only directory; ";
    if (log.count("cannot be written") != 1) wrong += fmt::format("warnings: {}; ", log.text.str());
    chmod(folder.cache().c_str(), 0700);  // now deleting would work
    if (cache.load(source_of("unreadable"))) wrong += "read the unreadable; ";
    const VerifyResult result = cache.verify();
    if (result.bad != 1 || result.good != 1) wrong += fmt::format("verify: {}; ", result.report);
    if (!fs::exists(entry_path(cache, source_of("unreadable")))) wrong += "deleted what it could not read; ";
    if (log.count("Permission denied") < 2) wrong += "said nothing of the permission; ";
    return wrong;
  });
  if (!skipped(said)) CHECK(said == "");
}

TEST_CASE("on a full or read-only disk entries stay, stores fail, and one warning is logged") {
  Folder folder;
  const fs::path mount_point = folder.path / "disk";
  fs::create_directory(mount_point);
  const std::string said = in_child([&]() -> std::string {
    if (!own_mounts()) return "skip: full disk: no right to mount here";
    if (mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0) return "skip: full disk: tmpfs cannot be mounted here";
    LogCapture log;
    DiskCache cache({mount_point, kMega});
    std::string wrong;
    cache.store(source_of("small"), binary_of_bytes({1}));
    cache.store(source_of("large"), binary_of_bytes(std::vector<std::uint8_t>(100000, 7)));
    cache.store(source_of("large2"), binary_of_bytes(std::vector<std::uint8_t>(100000, 7)));
    if (!cache.load(source_of("small"))) wrong += "lost the entry; ";
    if (cache.load(source_of("large"))) wrong += "stored on a full disk; ";
    if (files_in(mount_point).size() != 1) wrong += "left a temporary file; ";
    if (log.count("No space left") != 1) wrong += fmt::format("warnings: {}; ", log.text.str());
    cache.store(source_of("small2"), binary_of_bytes({2}));
    if (!cache.load(source_of("small2"))) wrong += "gave up for ever; ";

    if (mount(nullptr, mount_point.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) return wrong;
    DiskCache frozen({mount_point, kMega});
    if (!frozen.load(source_of("small"))) wrong += "read-only disk: lost the entry; ";
    frozen.store(source_of("x"), binary_of_bytes({1}));
    frozen.clear();
    if (!frozen.load(source_of("small"))) wrong += "read-only disk: lost the entry at clear; ";
    if (frozen.load(source_of("x"))) wrong += "read-only disk: stored; ";
    return wrong;
  });
  if (!skipped(said)) CHECK(said == "");
}

TEST_CASE("a write that fails half way leaves no file") {
  Folder folder;
  const std::string said = in_child([&]() -> std::string {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return "setrlimit failed";
    LogCapture log;
    DiskCache cache({folder.cache(), kMega});
    cache.store(source_of("large"), binary_of_bytes(std::vector<std::uint8_t>(5000, 7)));
    std::string wrong;
    if (!files_in(folder.cache()).empty()) wrong += "left a file; ";
    if (cache.load(source_of("large"))) wrong += "stored; ";
    cache.store(source_of("small"), binary_of_bytes({1}));
    if (!cache.load(source_of("small"))) wrong += "gave up for ever; ";
    if (log.count("cannot be written") != 1) wrong += "warnings: " + log.text.str();
    return wrong;
  });
  CHECK(said == "");
}

TEST_CASE("processes and threads use the same keys at once, and every load is complete") {
  Folder folder;
  const auto image_of = [](int key) { return std::vector<std::uint8_t>(static_cast<std::size_t>(1000 + 4000 * key), static_cast<std::uint8_t>(key)); };
  const auto hammer = [&](std::uint64_t seed) -> std::string {
    DiskCache cache({folder.cache(), 60000});  // so small that evictions race, too
    std::atomic<int> torn{0}, found{0};
    const auto work = [&](std::uint64_t thread_seed) {
      std::mt19937_64 random(thread_seed);
      for (int round = 0; round < 150; ++round) {
        const int key = static_cast<int>(random() % 6);
        const jit::Source source = source_of(fmt::format("key {}", key));
        if (const auto binary = cache.load(source)) {
          ++found;
          torn += binary->image != image_of(key);
        } else {
          cache.store(source, binary_of_bytes(image_of(key)));
        }
        if (random() % 20 == 0) unlink(entry_path(cache, source).c_str());
      }
    };
    std::thread first(work, seed), second(work, seed + 1);
    first.join();
    second.join();
    if (torn || cache.stats().corrupt) return fmt::format("seed {}: {} torn, {} corrupt", seed, torn.load(), cache.stats().corrupt);
    return found > 0 ? "" : "found nothing";
  };
  const std::uint64_t seed = sinter::testing::fresh_seed();
  // Both children are forked while this process has one thread, because a child of a process with more threads may not start threads.
  const Child children[] = {start_child([&] { return hammer(seed); }), start_child([&] { return hammer(seed + 100); })};
  for (const Child& child : children) CHECK(finish(child) == "");
  DiskCache cache({folder.cache(), kMega});
  CHECK(cache.verify().bad == 0);
  for (const fs::path& file : files_in(folder.cache())) CHECK(is_entry_name(file.filename().string()));
}

TEST_CASE("the least recently used entries are deleted when the cache exceeds its size") {
  Folder folder;
  const jit::Binary binary = binary_of_bytes(std::vector<std::uint8_t>(10000, 1));
  DiskCache cache({folder.cache(), 55000});
  for (int i = 0; i < 4; ++i) {
    const jit::Source source = source_of(fmt::format("k{}", i));
    cache.store(source, binary);
    set_age(entry_path(cache, source), 100000 - i);
  }
  CHECK(cache.stats().evicted == 0);
  const time_t before = time(nullptr);
  REQUIRE(cache.load(source_of("k0")));  // used now, so the oldest is k1
  struct stat status;
  REQUIRE(stat(entry_path(cache, source_of("k0")).c_str(), &status) == 0);
  CHECK(status.st_mtim.tv_sec >= before);
  cache.store(source_of("k4"), binary);
  cache.store(source_of("k5"), binary);
  CHECK(cache.stats().evicted >= 1);
  CHECK(cache.stats().bytes <= 55000);
  CHECK_FALSE(cache.load(source_of("k1")));
  CHECK(cache.load(source_of("k0")));
  CHECK(cache.load(source_of("k5")));
  cache.store(source_of("huge"), binary_of_bytes(std::vector<std::uint8_t>(60000, 1)));  // larger than the whole cache
  CHECK_FALSE(cache.load(source_of("huge")));
  CHECK(cache.load(source_of("k5")));
}

TEST_CASE("a hit marks an entry as used at most once an hour") {
  Folder folder;
  DiskCache cache({folder.cache(), kMega});
  const jit::Source source = source_of("x");
  cache.store(source, binary_of_bytes({1}));
  set_age(entry_path(cache, source), 1800);
  const auto then = fs::last_write_time(entry_path(cache, source));
  REQUIRE(cache.load(source));
  CHECK(fs::last_write_time(entry_path(cache, source)) == then);
}

TEST_CASE("temporary files of dead processes are deleted, those of living ones are not") {
  Folder folder;
  std::string dead_name;
  dead_name = in_child([] { return temporary_name(); });
  REQUIRE(is_temporary_name(dead_name));
  const std::string own = temporary_name();
  CHECK(is_abandoned(dead_name, 1));
  CHECK_FALSE(is_abandoned(own, 1));
  CHECK(is_abandoned(own, 601));
  // The number of this process, but another start time: the writer died and its number was reused.
  std::string reused = own;
  const std::size_t start = reused.find('-', reused.find(std::to_string(getpid()))) + 1;
  reused.insert(start, "1");
  CHECK(is_abandoned(reused, 1));
  CHECK_FALSE(is_abandoned(".tmp-00000000-1-1-1", 1));  // a temporary file from another machine is judged only by its age
  CHECK(is_abandoned(".tmp-00000000-1-1-1", 601));
  CHECK_FALSE(is_abandoned(".tmp-nonsense", 1));

  fs::create_directory(folder.cache());
  REQUIRE(chmod(folder.cache().c_str(), 0700) == 0);
  write_file(folder.cache() / dead_name, {1});
  write_file(folder.cache() / own, {1});
  write_file(folder.cache() / ".tmp-old", {1});
  write_file(folder.cache() / "notes.txt", {1});
  set_age(folder.cache() / ".tmp-old", 700);
  set_age(folder.cache() / "notes.txt", 100000);
  DiskCache cache({folder.cache(), kMega});
  cache.store(source_of("x"), binary_of_bytes({1}));
  CHECK_FALSE(fs::exists(folder.cache() / dead_name));
  CHECK_FALSE(fs::exists(folder.cache() / ".tmp-old"));
  CHECK(fs::exists(folder.cache() / own));
  CHECK(fs::exists(folder.cache() / "notes.txt"));
}

TEST_CASE("the environment sets the cache's size and directory") {
  CHECK(parse_size("4096") == 4096);
  CHECK(parse_size("0") == 0);
  CHECK(parse_size("512M") == 512 * kMega);
  CHECK(parse_size("2g") == 2048 * kMega);
  CHECK(parse_size("16KiB") == 16384);
  for (const char* bad : {"", "M", "-1", "1.5G", "12Q", "99999999999999999999", "99999999999T", "1 G", "0x10"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(parse_size(bad), ValueError);
  }
  const std::map<std::string, std::string> before = [] {
    std::map<std::string, std::string> saved;
    for (const char* name : {"SINTER_CACHE_DIR", "SINTER_CACHE_SIZE", "XDG_CACHE_HOME", "HOME"})
      if (const char* value = getenv(name)) saved[name] = value;
    return saved;
  }();
  unsetenv("SINTER_CACHE_DIR"), unsetenv("XDG_CACHE_HOME"), unsetenv("SINTER_CACHE_SIZE");
  setenv("HOME", "/home/somebody", 1);
  CHECK(default_settings().directory == "/home/somebody/.cache/sinter");
  CHECK(default_settings().max_bytes == 1024 * kMega);
  setenv("XDG_CACHE_HOME", "relative/is/ignored", 1);
  CHECK(default_settings().directory == "/home/somebody/.cache/sinter");
  setenv("XDG_CACHE_HOME", "/x", 1);
  CHECK(default_settings().directory == "/x/sinter");
  setenv("SINTER_CACHE_DIR", "/own", 1), setenv("SINTER_CACHE_SIZE", "3K", 1);
  CHECK(default_settings().directory == "/own");
  CHECK(default_settings().max_bytes == 3072);
  setenv("SINTER_CACHE_SIZE", "plenty", 1);
  CHECK(default_settings().max_bytes == 1024 * kMega);
  for (const char* name : {"SINTER_CACHE_DIR", "SINTER_CACHE_SIZE", "XDG_CACHE_HOME", "HOME"}) unsetenv(name);
  for (const auto& [name, value] : before) setenv(name.c_str(), value.c_str(), 1);
}
