// Times convolutions and products of networks beside oneDNN's primitives on as many threads: in the layout that oneDNN prefers, and the conversions to and
// from that layout. bench_conv [THREADS]
#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <cstdlib>
#include <string>
#include <vector>

#include "bench.hpp"
#include "sinter/sinter.hpp"

namespace sn = sinter;
static_assert(DNNL_VERSION_MAJOR == 2, "written for oneDNN 2; version 3 makes primitive descriptors in one step");

namespace {

struct Layer {
  const char* name;
  std::int64_t batch, channels, size, filters, taps, stride, pad, groups;
};
constexpr Layer kLayers[] = {{"first of ResNet", 1, 3, 224, 64, 7, 2, 3, 1},
                             {"3x3, 64 of 56", 1, 64, 56, 64, 3, 1, 1, 1},
                             {"3x3, 128 of 28", 1, 128, 28, 128, 3, 1, 1, 1},
                             {"3x3, 512 of 7", 1, 512, 7, 512, 3, 1, 1, 1},
                             {"1x1, 64 to 256 of 56", 1, 64, 56, 256, 1, 1, 0, 1},
                             {"1x1, 512 to 128 of 28", 1, 512, 28, 128, 1, 1, 0, 1},
                             {"depthwise 3x3, 32 of 112", 1, 32, 112, 32, 3, 1, 1, 32},
                             {"depthwise 3x3 / 2, 96 of 112", 1, 96, 112, 96, 3, 2, 1, 96},
                             {"3x3, 64 of 56, batch 8", 8, 64, 56, 64, 3, 1, 1, 1}};

constexpr int kRounds = 15;

struct Times {
  double primitive, there_and_back;
  std::string implementation;
};
Times of_onednn(const Layer& l) {
  using namespace dnnl;
  engine cpu(engine::kind::cpu, 0);
  stream stream(cpu);
  const auto f32 = memory::data_type::f32;
  const std::int64_t out = (l.size + 2 * l.pad - l.taps) / l.stride + 1;
  const memory::dims x{l.batch, l.channels, l.size, l.size}, y{l.batch, l.filters, out, out};
  const memory::dims w =
      l.groups > 1 ? memory::dims{l.groups, l.filters / l.groups, l.channels / l.groups, l.taps, l.taps} : memory::dims{l.filters, l.channels, l.taps, l.taps};
  const auto any = memory::format_tag::any, rows = memory::format_tag::nchw;
  const convolution_forward::primitive_desc how({prop_kind::forward_inference,
                                                 algorithm::convolution_direct,
                                                 {x, f32, any},
                                                 {w, f32, any},
                                                 {y, f32, any},
                                                 {l.stride, l.stride},
                                                 {l.pad, l.pad},
                                                 {l.pad, l.pad}},
                                                cpu);
  memory source(how.src_desc(), cpu), weights(how.weights_desc(), cpu), result(how.dst_desc(), cpu), plain_x({x, f32, rows}, cpu), plain_y({y, f32, rows}, cpu);
  for (memory* m : {&source, &weights, &result, &plain_x, &plain_y})
    std::fill_n(static_cast<float*>(m->get_data_handle()), m->get_desc().get_size() / sizeof(float), 0.01f);
  convolution_forward conv(how);
  reorder there(plain_x, source), back(result, plain_y);
  std::vector<double> primitive, turns;
  for (int round = 0; round < kRounds; ++round) {
    primitive.push_back(bench::seconds([&] {
      conv.execute(stream, {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, result}});
      stream.wait();
    }));
    turns.push_back(bench::seconds([&] {
      there.execute(stream, plain_x, source);
      back.execute(stream, result, plain_y);
      stream.wait();
    }));
  }
  return {bench::minimum(primitive), bench::minimum(turns), how.impl_info_str()};
}

}  // namespace

int main(int argc, char** argv) {
  sn::Options options = sn::options();
  options.threads = argc > 1 ? std::atoi(argv[1]) : 1;
  options.wait = true;
  sn::configure(options);
  setenv("OMP_NUM_THREADS", std::to_string(options.threads).c_str(), 1);  // before oneDNN starts a thread
  fmt::print("{} threads; least of {} rounds, ms\n{:30} {:>8} {:>8} {:>8} {:>10} {:>7}  oneDNN's\n", options.threads, kRounds, "layer", "sinter", "+ relu",
             "oneDNN", "+ reorders", "ratio");
  for (const Layer& l : kLayers) {
    const sn::Tensor x = sn::random::normal(sn::random::Key(1), {l.batch, l.channels, l.size, l.size}, 0, 1, sn::DType::float32);
    const sn::Tensor w = sn::random::normal(sn::random::Key(2), {l.filters, l.channels / l.groups, l.taps, l.taps}, 0, 1, sn::DType::float32);
    const sn::Tensor b = sn::random::normal(sn::random::Key(3), {l.filters}, 0, 1, sn::DType::float32);
    sn::eval(x, w, b);
    const sn::ConvOptions how{l.stride, l.pad, 1, l.groups};
    std::vector<double> ours, with_relu;
    for (int round = 0; round < kRounds; ++round) {
      ours.push_back(bench::seconds([&] { sn::eval(sn::conv2d(x, w, {}, how)); }));
      with_relu.push_back(bench::seconds([&] { sn::eval(sn::relu(sn::conv2d(x, w, b, how))); }));
    }
    const Times theirs = of_onednn(l);
    fmt::print("{:30} {:8.3f} {:8.3f} {:8.3f} {:10.3f} {:7.2f}  {}\n", l.name, bench::minimum(ours) * 1e3, bench::minimum(with_relu) * 1e3,
               theirs.primitive * 1e3, theirs.there_and_back * 1e3, bench::minimum(ours) / (theirs.primitive + theirs.there_and_back), theirs.implementation);
  }
}
