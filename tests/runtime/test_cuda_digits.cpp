// The kernels that sort and invert indices on device cuda (a GPU or the emulator), compared with the CPU's library. Two random types are tested;
// SINTER_TEST_TYPES=all tests every type.
#include <map>
#include <set>

#include "cases.hpp"
#include "cuda_fixture.hpp"
#include "fuse/library_call.hpp"
#include "runtime/kind.hpp"
#include "trace/library.hpp"

using namespace sinter;
using test::Array, test::Random;

namespace {

struct Operand {
  fuse::LibraryOperand view;
  Array elements;
};

fuse::LibraryCall call_of(trace::Op op, const std::vector<Operand>& operands, std::vector<std::int64_t> ints = {}) {
  fuse::LibraryCall call;
  call.op = op;
  call.ints = std::move(ints);
  std::vector<Shape> shapes;
  for (const Operand& operand : operands) {
    call.operands.push_back(operand.view);
    shapes.push_back(operand.view.shape);
  }
  call.dtype = call.stored = trace::library_dtype(op, operands[0].view.dtype);
  call.shape = trace::library_shape(op, shapes, call.ints);
  REQUIRE(fuse::is_sound(call));
  return call;
}

/// Runs the call on a device. The result is poisoned first.
std::vector<std::byte> run(runtime::Device& device, const fuse::LibraryCall& call, const std::vector<Operand>& operands) {
  std::vector<runtime::BufferPtr> buffers;
  std::vector<void*> pointers;
  const auto place = [&](const std::byte* from, std::size_t bytes) {
    buffers.push_back(device.allocate(std::max<std::size_t>(bytes, 1)));
    device.upload(*buffers.back(), from, bytes);
    pointers.push_back(buffers.back()->data());
  };
  for (const Operand& operand : operands) place(operand.elements.bytes.data(), operand.elements.bytes.size());
  std::vector<std::byte> result(static_cast<std::size_t>(element_count(call.shape)) * itemsize(call.stored), std::byte{0xa5});
  place(result.data(), result.size());
  if (device.limits().library_calls) {
    device.call(call, pointers, nullptr);
  } else {
    std::vector<runtime::Kernel*> all;
    for (const jit::Source& source : runtime::find_kind("cuda")->call_sources(call, device.limits())) {
      static std::map<std::string, runtime::KernelPtr> loaded;
      runtime::KernelPtr& kernel = loaded[source.text];
      if (!kernel) {
        jit::LoopNest nest;
        nest.name = source.entry;
        kernel = device.load(nest, test::compiler().compile(source));
      }
      all.push_back(kernel.get());
    }
    const std::size_t launches = device.call_by(call, all, pointers);
    // Each pass counts, scans and places.
    if (!result.empty()) CHECK(launches == static_cast<std::size_t>(3 * fuse::passes_by_digits(call) + 2));
  }
  device.download(result.data(), *buffers.back(), result.size());
  return result;
}

/// Returns elements with few different values; floats include NaN and both zeros.
Array elements(Random& random, DType dtype, std::size_t count) {
  Array array(dtype, count);
  const bool few = random.integer(0, 1) == 0;
  for (std::byte& byte : array.bytes) byte = static_cast<std::byte>(few ? 0x11 * random.integer(0, 15) : random.integer(0, 255));
  const std::size_t size = itemsize(dtype);
  if (is_bool(dtype))
    for (std::byte& byte : array.bytes) byte &= std::byte{1};
  else if (is_floating(dtype))
    for (std::size_t i = 0; i < count; ++i)
      if (const std::int64_t what = random.integer(0, 9); what < 2) {
        std::memset(array.bytes.data() + i * size, 0, size);
        if (what == 1) array.bytes[i * size + size - 1] = std::byte{0x80};
      }
  return array;
}

runtime::Device& cpu() {
  static const runtime::DevicePtr device = runtime::interpreting_kind().open(0);
  return *device;
}

}  // namespace

TEST_CASE("sorts of every type and layout give the same bits as on the CPU") {
  Random random;
  CAPTURE(random.seed);
  const bool every = std::getenv("SINTER_TEST_TYPES") != nullptr;
  std::set<int> types;
  while (static_cast<int>(types.size()) < (every ? kDTypeCount : 2)) types.insert(static_cast<int>(random.integer(0, kDTypeCount - 1)));
  for (const int d : types)
    for (const Shape& shape : {Shape{1}, Shape{2049}, Shape{5, 300}, Shape{3, 2, 40}, Shape{300, 1}, Shape{4, 0}}) {
      if (sinter::testing::time_is_over()) return;
      const auto dtype = static_cast<DType>(d);
      CAPTURE(name(dtype));
      CAPTURE(to_string(shape));
      const auto count = static_cast<std::size_t>(element_count(shape));
      // The layouts: row-major from the fourth element on, reversed, every second element, and the same element for all rows.
      for (int layout = 0; layout < (count < 1000 ? 4 : 2); ++layout) {
        CAPTURE(layout);
        Operand x{{0, dtype, 3, shape, std::vector<std::int64_t>(shape.size())}, elements(random, dtype, 2 * count + 4)};
        std::int64_t stride = layout == 2 ? 2 : 1;
        for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) x.view.strides[axis] = stride;
        if (layout == 1) {
          x.view.strides.back() = -1;
          x.view.offset += shape.back() > 0 ? shape.back() - 1 : 0;
        }
        if (layout == 3 && shape.size() > 1) x.view.strides[0] = 0;
        const std::int64_t some = std::min<std::int64_t>(shape.back(), 7);
        for (const fuse::LibraryCall& call : {call_of(trace::Op::sort, {x}), call_of(trace::Op::argsort, {x}), call_of(trace::Op::argsort, {x}, {some, 1}),
                                              call_of(trace::Op::argsort, {x}, {shape.back(), 0})}) {
          CAPTURE(fuse::to_string(call));
          // Sorted NaNs and zeros may have other bits than on the CPU, so their positions are compared.
          if (call.op == trace::Op::sort && is_floating(dtype)) continue;
          CHECK(run(test::gpu(), call, {x}) == run(cpu(), call, {x}));
        }
        if (!is_floating(dtype) || count == 0) continue;
        const fuse::LibraryCall sort = call_of(trace::Op::sort, {x}), places = call_of(trace::Op::argsort, {x});
        const auto sorted = run(test::gpu(), sort, {x}), order = run(cpu(), places, {x});
        const std::size_t size = itemsize(dtype), length = static_cast<std::size_t>(shape.back());
        bool same = true;
        for (std::size_t i = 0; i < count; ++i) {
          std::int64_t place = 0, at = x.view.offset;
          std::memcpy(&place, order.data() + i * sizeof place, sizeof place);
          at += place * x.view.strides.back();
          std::size_t row = i / length;
          for (std::size_t axis = shape.size() - 1; axis-- > 0; row /= static_cast<std::size_t>(shape[axis]))
            at += static_cast<std::int64_t>(row % static_cast<std::size_t>(shape[axis])) * x.view.strides[axis];
          same = same && std::memcmp(sorted.data() + i * size, x.elements.bytes.data() + static_cast<std::size_t>(at) * size, size) == 0;
        }
        CHECK(same);
      }
    }
}

TEST_CASE("an inverted index lists the positions of each row in order, and positions out of range last") {
  Random random;
  CAPTURE(random.seed);
  for (const std::int64_t rows : {1, 2, 15, 254, 255, 256, 5000, 65536})
    for (const std::int64_t count : {1, 7, 2048, 3001}) {
      if (sinter::testing::time_is_over()) return;
      CAPTURE(rows);
      CAPTURE(count);
      const std::int64_t step = random.integer(1, 2);
      std::vector<std::int64_t> index(static_cast<std::size_t>(step * count + 2));
      for (std::int64_t& row : index) row = random.integer(0, 20) == 0 ? random.integer(-3, rows + 3) : random.integer(0, rows - 1);
      if (count == 7) index.assign(index.size(), rows - 1);
      const Operand places{{0, DType::int64, 2, {count}, {step}}, Array(index)}, all{{0, DType::int64, 2, {rows}, {0}}, places.elements};
      const fuse::LibraryCall call = call_of(trace::Op::invert_index, {places, all});
      CHECK(call.shape == Shape{rows + 1 + count});
      const auto got = run(test::gpu(), call, {places, all});
      CHECK(got == run(cpu(), call, {places, all}));
      // Computes the inverted index by its definition.
      std::vector<std::int32_t> wanted;
      std::int32_t start = 0;
      std::vector<std::int32_t> order;
      for (std::int64_t row = 0; row <= rows; ++row) {
        wanted.push_back(start);
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t of = index[static_cast<std::size_t>(2 + i * step)];
          if (of != row && !(row == rows && (of < 0 || of >= rows))) continue;
          order.push_back(static_cast<std::int32_t>(i));
          ++start;
        }
      }
      wanted.insert(wanted.end(), order.begin(), order.end());
      REQUIRE(got.size() == wanted.size() * sizeof wanted[0]);
      CHECK(std::memcmp(got.data(), wanted.data(), got.size()) == 0);
    }
}

TEST_CASE("the kernels compile for every architecture without spills, and each source is self-contained") {
  test::need_nvrtc();
  std::size_t turn = 0;
  const bool every = std::getenv("SINTER_TEST_TYPES") != nullptr;
  for (const int sm : test::kTargets)
    for (const DType dtype : {DType::bool_, DType::int8, DType::uint64, DType::bfloat16, DType::float32, DType::float64}) {
      fuse::LibraryCall call;
      if (!every && turn++ % 11 != 0) continue;  // a few pairs, with different types
      call.operands.push_back({0, dtype, 0, {100}, {1}});
      for (const trace::Op op : {trace::Op::sort, trace::Op::argsort, trace::Op::invert_index}) {
        if (op == trace::Op::invert_index && dtype != DType::uint64) continue;
        call.op = op;
        if (op == trace::Op::invert_index) call.operands[0].dtype = DType::int64;
        for (const jit::Source& source : runtime::find_kind("cuda")->call_sources(call, fuse::cuda_limits(sm))) {
          CAPTURE(source.entry);
          CAPTURE(sm);
          const jit::Binary binary = test::compiler().compile(source);
          CHECK(binary.report.spill_bytes == 0);
          CHECK(binary.report.registers <= 64);
          CHECK(source.text.find("#include") == std::string::npos);
        }
      }
    }
}
