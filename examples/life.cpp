// Conway's Game of Life on a torus.
#include "example.hpp"

namespace sn = sinter;

namespace {

// --- the program
sn::Tensor life(sn::Tensor alive, int generations) {
  for (int g = 0; g < generations; ++g) {
    const sn::Tensor rows = sn::roll(alive, 1, 0) + alive + sn::roll(alive, -1, 0);
    const sn::Tensor around = sn::roll(rows, 1, 1) + rows + sn::roll(rows, -1, 1);  // with the cell itself
    alive = ((around == 3) | ((around == 4) & (alive == 1))).astype(sn::DType::uint8);
    sn::eval(alive);
  }
  return alive;
}
// ---

std::vector<std::uint8_t> plain(std::vector<std::uint8_t> alive, std::int64_t size, int generations) {
  for (int g = 0; g < generations; ++g) {
    auto next = alive;
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t j = 0; j < size; ++j) {
        int neighbours = 0;
        for (int di = -1; di <= 1; ++di)
          for (int dj = -1; dj <= 1; ++dj)
            if (di != 0 || dj != 0) neighbours += alive[static_cast<std::size_t>((i + di + size) % size * size + (j + dj + size) % size)];
        std::uint8_t& cell = next[static_cast<std::size_t>(i * size + j)];
        cell = neighbours == 3 || (neighbours == 2 && cell);
      }
    alive = next;
  }
  return alive;
}

int live(bool full) {
  const std::int64_t size = full ? 1024 : 64;
  const int generations = full ? 100 : 30;
  const sn::Tensor start = (example::numbers({size, size}, 1) > 0.3f).astype(sn::DType::uint8);
  sn::eval(start);
  const sn::Tensor end = example::measured([&] { return life(start, generations); });
  example::Checks checks;
  checks.holds("the cells of plain loops are alive", end.to_vector<std::uint8_t>() == plain(start.to_vector<std::uint8_t>(), size, generations));
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] { return live(example::full_size(argc, argv)); });
}
