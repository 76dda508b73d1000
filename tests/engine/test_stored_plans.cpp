// Plans in the disk cache: a second process uses or remakes them, and refuses wrong entries.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "cache/entry.hpp"
#include "engine/archive.hpp"
#include "engine/stored_plans.hpp"
#include "mutations.hpp"
#include "seed.hpp"
#include "sinter/sinter.hpp"
#include "temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace sinter;

namespace {

/// Returns the exit code of a child that runs `body`, or 255 if the child did not exit normally.
template <class Body> int in_child(const Body& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);
    int code = 9;
    try {
      code = body();
      synchronize();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    _exit(code);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

void use(const fs::path& cache, bool fast_math = false) {
  Options options;
  options.backend = "interpreter";
  options.cache_dir = cache.string();
  options.keep_plans = true;
  options.fast_math = fast_math;
  configure(options);
}

/// Reads `columns` columns of an array with three more, from the column `first`. Another first column is another offset of the same plan.
Tensor formula(std::int64_t rows, std::int64_t columns, std::int64_t first) {
  const Tensor all = (arange(rows * (columns + 3)).astype(DType::float32) / 7.f).reshape({rows, columns + 3});
  eval(all);
  const Tensor x = all.at({Slice{0, rows}, Slice{first, first + columns}});
  const Tensor weights = matmul(x, permute(x, {1, 0})) + 1.f;
  return softmax(gelu(weights * 0.01f), -1) + sum(x.at({Slice{0, rows}, 0})) * 1e-3f;
}

/// Returns whether the formula gives its values, with at most `plans` plans made here.
int computes(const fs::path& cache, std::int64_t rows, std::uint64_t made, std::uint64_t from_disk, bool fast_math = false) {
  use(cache, fast_math);
  std::vector<std::vector<float>> got;
  for (const std::int64_t first : {1, 3, 2}) got.push_back(formula(rows, 6, first).to_vector<float>());
  const Counters counted = counters();
  Options plain = options();
  plain.fuse = false;
  plain.keep_plans = false;
  configure(plain);
  for (const std::int64_t first : {1, 2, 3}) {
    const std::vector<float> expected = formula(rows, 6, first).to_vector<float>(), &given = got[first == 1 ? 0 : first == 2 ? 2 : 1];
    for (std::size_t k = 0; k < given.size(); ++k)
      if (!(std::abs(given[k] - expected[k]) <= 1e-5f * (1 + std::abs(expected[k])))) return 1;
  }
  return counted.plans_made != made ? 2 : counted.plans_from_disk != from_disk ? 3 : 0;
}

std::vector<fs::path> plans_in(const fs::path& cache) {
  std::vector<fs::path> found;
  for (const auto& file : fs::directory_iterator(cache)) {
    std::ifstream in(file.path(), std::ios::binary);
    const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
    const auto entry = cache::decode(bytes);
    if (entry.status == cache::EntryView::Status::good && cache::target_of(entry.key).starts_with(cache::kPlanTarget)) found.push_back(file.path());
  }
  return found;
}

}  // namespace

TEST_CASE("a second process uses the plans of the first, for every size that they serve") {
  const testing::TemporaryFolder folder;
  const fs::path cache = folder.path / "cache";
  REQUIRE(in_child([&] { return computes(cache, 40, 2, 0); }) == 0);  // x, and the formula
  CHECK(in_child([&] { return computes(cache, 40, 0, 2); }) == 0);
  CHECK(in_child([&] { return computes(cache, 41, 0, 2); }) == 0);
  CHECK(in_child([&] { return computes(cache, 40, 2, 0, /*fast_math=*/true); }) == 0);  // other settings, other plans
  const std::size_t before = plans_in(cache).size();
  CHECK(before == 4);
  CHECK(in_child([&] { return computes(cache, 1, 2, 0); }) == 0);  // another structure
  CHECK(plans_in(cache).size() == before + 2);
}

TEST_CASE("several plans of one structure are stored, and each is found by its guards") {
  const testing::TemporaryFolder folder;
  const fs::path cache = folder.path / "cache";
  const auto sums = [&](std::vector<std::int64_t> sizes, std::uint64_t made) {
    return in_child([&] {
      use(cache);
      for (const std::int64_t size : sizes) {
        const Tensor x = full({size, 3}, 0.5f);
        if (sum(x * 2.f, 0).to_vector<float>() != std::vector<float>(3, static_cast<float>(size))) return 1;
      }
      return counters().plans_made == made ? 0 : 10 + static_cast<int>(counters().plans_made);
    });
  };
  CHECK(sums({100, 3'000'000}, 2) == 0);  // long sums are split
  CHECK(sums({3'000'001}, 0) == 0);
  CHECK(sums({101}, 0) == 0);
  CHECK(sums({101, 3'000'001, 99}, 0) == 0);
}

TEST_CASE("a schedule of each form is written and read, and one of another form is refused") {
  for (const jit::Form& form :
       {jit::Form(jit::PointwiseForm{4, true}), jit::Form(jit::TilesForm{8, 3}), jit::Form(jit::RowsForm{64, 2, {8, true}}),
        jit::Form(jit::ColumnsForm{2, 3, {4, false}, 1}), jit::Form(jit::ContractionForm{64, 0, 1}), jit::Form(jit::PanelsForm{16, 2})}) {
    jit::Schedule given, read;
    given.form = form;
    given.singles = {0, 2};
    engine::ArchiveWriter writer;
    writer(given);
    engine::ArchiveReader reader(writer.bytes);
    reader(read);
    CHECK(reader.at_end());
    for (const auto backend : {fuse::Backend::cpu, fuse::Backend::cuda}) CHECK(to_string(read, backend) == to_string(given, backend));
    writer.bytes[0] = static_cast<char>(std::variant_size_v<jit::Form>);
    CHECK_THROWS_AS(engine::ArchiveReader(writer.bytes)(read), engine::Damaged);
  }
}

TEST_CASE("an entry with a wrong number in it is refused, or computes something within its buffers") {
  const testing::TemporaryFolder folder;
  const fs::path good = folder.path / "good", bad = folder.path / "bad";
  REQUIRE(in_child([&] { return computes(good, 40, 2, 0); }) == 0);
  const std::vector<fs::path> plans = plans_in(good);
  REQUIRE(plans.size() == 2);
  const std::uint64_t seed = testing::test_seed();
  const long count = testing::mutations_or(120);
  int refused = 0, ran = 0;
  for (long k = 0; k < count; ++k) {
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(k));
    fs::remove_all(bad);
    fs::copy(good, bad);
    fs::permissions(bad, fs::perms::owner_all);
    const fs::path file = bad / plans[random() % plans.size()].filename();
    std::ifstream in(file, std::ios::binary);
    const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
    const auto entry = cache::decode(bytes);
    auto binary = cache::binary_of(entry);
    REQUIRE(binary);
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % binary->image.size();
      if (random() % 2) binary->image[at] = static_cast<std::uint8_t>(random());
      else binary->image[at] ^= static_cast<std::uint8_t>(1u << random() % 8);
    }
    const auto changed = cache::encode(entry.key, *binary);
    std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(changed.data()), static_cast<std::streamsize>(changed.size()));
    const int code = in_child([&] {
      use(bad);
      setenv("SINTER_FAULTS", "", 1);
      try {
        for (const std::int64_t first : {1, 3, 2}) formula(40, 6, first).to_vector<float>();
      } catch (const Error&) {
        return 1;
      }
      return counters().plans_from_disk == 2 ? 0 : 1;
    });
    INFO("mutation ", seed + static_cast<std::uint64_t>(k));
    CHECK(code <= 1);
    ++(code == 0 ? ran : refused);
  }
  MESSAGE(count, " entries: ", refused, " refused, ", ran, " taken");
  CHECK(refused > 0);
}
