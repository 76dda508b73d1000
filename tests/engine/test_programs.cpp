// Runs the programs of programs/ on one executor.
#include "program.hpp"
#include "programs/programs.hpp"
#include "seed.hpp"

using namespace sinter::testing;

TEST_CASE("small programs agree with plain loops") {
  const auto seed = test_seed();
  const char* only = std::getenv("SINTER_TEST_PROGRAM");
  std::vector<Program> programs;
  for (auto& list : {learning_programs(), physics_programs(), image_programs(), number_programs(), linear_programs(), selection_programs(), network_programs()})
    programs.insert(programs.end(), list.begin(), list.end());
  CHECK(programs.size() >= 100);
  std::size_t number = 0;
  for (const Program& program : shuffled(programs)) {
    if (time_is_over()) break;
    if (only && std::string(only) != program.name) continue;
    // Each emulated kernel is compiled for the host, so the emulator runs one in eight programs.
    if (on_gpu() && !only && number++ % 8 != 0) continue;
    for (const auto& [real, evaluates] :
         {std::pair{sn::DType::float64, false}, {sn::DType::float32, true}, {sn::DType::float32, false}, {sn::DType::float64, true}}) {
      if (on_gpu() && real == sn::DType::float64) continue;
      INFO(program.name << " in " << std::string(sn::name(real)) << (evaluates ? ", evaluated at each step" : ", recorded whole"));
      Desk desk(seed, real, evaluates);
      try {
        program.run(desk);
      } catch (const sn::Error& error) {
        FAIL_CHECK(error.what());
      }
    }
  }
}
