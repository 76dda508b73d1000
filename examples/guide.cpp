// The code of docs/guide.md: scripts/guide.py takes each section from here, and its output from a run.
#include <iostream>

#include "example.hpp"
#include "sinter/control.hpp"

namespace sn = sinter;
using sn::newaxis, sn::Slice, sn::Tensor;

namespace {

void first() {
  // [first]
  Tensor x = {{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}};  // float32 (2, 3): the type of the C++ numbers
  Tensor y = sn::sqrt(x) + 0.5;                   // recorded; 0.5 takes x's type, as Python's numbers do in NumPy
  std::cout << y << "\n";                         // printing needs the numbers: one kernel computes them
  std::cout << sn::name(y.dtype()) << " " << sn::to_string(y.shape()) << "\n";
  // [end]
}

void views() {
  // [views]
  Tensor x = sn::arange(12).reshape({3, 4});
  std::cout << x(0) << "\n";                                 // x[0]
  std::cout << x(-1, Slice{1, 3}) << "\n";                   // x[-1, 1:3]
  std::cout << x(Slice{}, Slice{{}, {}, -1}) << "\n";        // x[:, ::-1]
  std::cout << x(sn::ellipsis, newaxis).shape()[2] << "\n";  // x[..., None]
  std::cout << sn::sum(x.T(), -1, true) << "\n";             // x.T.sum(-1, keepdims=True)
  // [end]
}

void assign() {
  // [assign]
  Tensor x = sn::zeros({2, 4});
  const Tensor before = x;
  x(0) = sn::arange(4);              // x[0] = np.arange(4)
  x(Slice{}, Slice{2, {}}) += 10.0;  // x[:, 2:] += 10
  x(x > 12.5) = -1.0;                // x[x > 12.5] = -1
  std::cout << x << "\n" << sn::sum(before).item<double>() << "\n";
  // [end]
}

void several() {
  // [several]
  Tensor x = sn::linspace(0.0, 1.0, 5);
  const auto [fraction, exponent] = sn::frexp(x);
  Tensor mean = sn::mean(x), spread = sn::stddev(x);
  sn::eval(fraction, exponent, mean, spread);  // together: what they share is computed once
  std::cout << exponent << " " << mean << " " << spread << "\n";
  // [end]
}

void errors() {
  // [errors]
  try {
    Tensor x = sn::ones({3, 4}), y = sn::ones({5});
    sn::eval(x * y);
  } catch (const sn::ShapeError& error) {
    std::cout << error.what() << "\n";
  }
  // [end]
}

void explain() {
  // [explain]
  Tensor x = example::numbers({4096, 1024}, 1), w = example::numbers({1024}, 2);
  sn::set_name(x, "x"), sn::set_name(w, "w");
  Tensor y = sn::softmax(sn::gelu(x * w), -1);
  std::cout << sn::explain(y);
  // [end]
}

void change() {
  // [change]
  const Tensor x = example::numbers({512, 768}, 1);
  Tensor y = sn::fused([&] { return sn::softmax(x * 2.f, -1); });  // one kernel
  try {
    sn::fused([&] { return sn::sum(sn::materialize(sn::exp(x)), 1); });
  } catch (const sn::FusionError& error) {  // nothing was computed
    std::cout << error.what() << "\n";
  }
  // [end]
}

void when() {
  // [when]
  const Tensor x = example::numbers({1000, 1000}, 1);
  const auto milliseconds = [](int repeats, auto work) { return example::best_ms(repeats, work); };
  Tensor y;
  const double recording = milliseconds(100, [&] { y = sn::tanh(x * 2 + 1) * x; });
  y = sn::tanh(x * 2 + 1) * x;
  const double first = milliseconds(1, [&] { sn::eval(y); });
  sn::synchronize();  // by now the kernel is compiled
  const double later = milliseconds(20, [&] { sn::eval(sn::tanh(x * 2 + 1) * x); });
  std::printf("recording %.4f ms, first evaluation %.2f ms, later ones %.2f ms\n", recording, first, later);
  // [end]
}

void loops() {
  // [loops]
  const Tensor start = example::numbers({500, 500}, 1);
  const auto run = [&](int every) {
    Tensor b = start;
    for (int step = 1; step <= 300; ++step) {
      b = b + 0.02f * sn::sin(b);
      if (every > 0 && step % every == 0) sn::eval(b);
    }
    sn::eval(b);
  };
  for (const int every : {1, 10, 100, 0}) {
    run(every);
    sn::synchronize();
    const auto before = sn::counters().kernels_launched;
    run(every);
    const auto kernels = sn::counters().kernels_launched - before;
    std::printf("eval every %3d steps: %3d kernels, %6.2f ms\n", every, static_cast<int>(kernels), example::best_ms(5, [&] { run(every); }));
  }
  // [end]
}

void memory() {
  // [memory]
  const auto megabytes = [](std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  const Tensor x = example::numbers({1000, 1000}, 1);
  sn::reset_peak();
  const auto held = sn::counters().bytes_now;
  {
    Tensor y = sn::exp(x) - sn::exp(-x);  // four values, none of them in memory
    std::printf("recorded:  %.1f MB more\n", megabytes(sn::counters().bytes_now - held));
    sn::eval(y);
    std::printf("evaluated: %.1f MB more, %.1f at most\n", megabytes(sn::counters().bytes_now - held), megabytes(sn::counters().bytes_peak - held));
  }
  std::printf("gone:      %.1f MB more\n", megabytes(sn::counters().bytes_now - held));
  // [end]
}

int guide() {
  const std::pair<const char*, void (*)()> sections[] = {{"first", first},   {"views", views},     {"assign", assign}, {"several", several},
                                                         {"errors", errors}, {"explain", explain}, {"change", change}, {"when", when},
                                                         {"loops", loops},   {"memory", memory}};
  for (const auto& [name, section] : sections) {
    std::cout << "== " << name << "\n" << std::flush;
    section();
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main() { return example::run(guide); }
