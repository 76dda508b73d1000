// DLPack: exports and imports, their owners, and the time at which memory is returned, on the CPU and on a GPU.
#include <doctest/doctest.h>

#include <random>
#include <sinter/dlpack.hpp>

#include "program.hpp"
#include "reference.hpp"
#include "says.hpp"
#include "seed.hpp"
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
static_assert(sizeof(DLTensor) == sizeof(sinter::dlpack::View) && offsetof(DLTensor, strides) == offsetof(sinter::dlpack::View, strides));
static_assert(sizeof(DLManagedTensor) == sizeof(sinter::dlpack::Unversioned));
#endif

namespace dlpack = sinter::dlpack;
using namespace sinter::testing;

namespace {

std::mt19937 rng{fresh_seed()};

bool equal(const Tensor& a, const Tensor& b) { return a.dtype() == b.dtype() && a.shape() == b.shape() && values(a) == values(b); }

/// Memory of the test in the form in which another library exports it. Counts the calls of its deleter.
struct Foreign {
  std::vector<float> elements;
  Shape shape;
  std::vector<std::int64_t> strides;
  int given_back = 0;
  dlpack::Versioned managed{};

  Foreign(std::vector<float> values, Shape of, std::vector<std::int64_t> steps) : elements(std::move(values)), shape(std::move(of)), strides(std::move(steps)) {
    managed.version = {1, 1};
    managed.manager = this;
    managed.deleter = [](dlpack::Versioned* self) { ++static_cast<Foreign*>(self->manager)->given_back; };
    managed.tensor = {elements.data(),
                      {dlpack::DeviceType::cpu, 0},
                      static_cast<std::int32_t>(shape.size()),
                      {dlpack::Code::floating, 32, 1},
                      shape.data(),
                      strides.empty() ? nullptr : strides.data(),
                      0};
  }
};

}  // namespace

TEST_CASE("to_dlpack and from_dlpack share the elements, for every type") {
  for (int d = 0; d < sn::kDTypeCount; ++d) {
    const auto type = static_cast<DType>(d);
    if (on_gpu() && d % 4 != 3) continue;
    CAPTURE(sn::name(type));
    const Tensor x = random(rng, {3, 5}, type, 0, 9).first;
    const Tensor y = is_bool(type) ? sn::logical_not(x) : x + x;
    dlpack::Versioned* managed = dlpack::to_versioned(y);
    CHECK(managed->version.major == 1);
    CHECK(managed->flags == dlpack::kReadOnly);
    CHECK(managed->tensor.ndim == 2);
    CHECK(managed->tensor.strides[0] == 5);
    CHECK(managed->tensor.device.type == (on_cuda() ? dlpack::DeviceType::cuda : dlpack::DeviceType::cpu));
    void* const data = managed->tensor.data;
    const Tensor back = dlpack::from_dlpack(managed);
    CHECK(equal(back, y));
    if (!is_bool(type)) {
      dlpack::Versioned* again = dlpack::to_versioned(back);
      if (!on_gpu()) CHECK(again->tensor.data == data);
      again->deleter(again);
    }
    dlpack::Versioned* copy = dlpack::to_versioned(y, true);
    CHECK(copy->flags == dlpack::kCopied);
    CHECK(copy->tensor.data != data);
    CHECK(equal(dlpack::from_dlpack(copy), y));
    CHECK(equal(dlpack::from_dlpack(dlpack::to_unversioned(y)), y));
  }
}

TEST_CASE("the owner's deleter is called when no tensor uses the memory any more") {
  Foreign given({0, 1, 2, 3, 4, 5}, {2, 3}, {});
  {
    Tensor y;
    {
      const Tensor x = dlpack::from_dlpack(&given.managed);
      y = x * 2.f;
    }
    CHECK(given.given_back == 0);
    CHECK(values(y) == std::vector<double>{0, 2, 4, 6, 8, 10});
    CHECK(given.given_back == 1);  // x was computed, so its operand is not needed any more
  }
  CHECK(given.given_back == 1);
  Foreign empty({}, {0, 3}, {});
  CHECK(dlpack::from_dlpack(&empty.managed).shape() == Shape{0, 3});
  CHECK(empty.given_back == 1);
}

TEST_CASE("strides") {
  std::vector<float> numbers(24);
  for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<float>(k);
  const Tensor all = sn::arange(24.f);
  const auto reads = [&](Shape shape, std::vector<std::int64_t> strides, std::uint64_t offset, const Tensor& want, bool copied) {
    Foreign given(numbers, std::move(shape), std::move(strides));
    given.managed.tensor.byte_offset = offset;
    const Tensor x = dlpack::from_dlpack(&given.managed);
    CHECK(given.given_back == (copied ? 1 : 0));
    CHECK(equal(x + 0.f, want));
    CHECK(equal(x, want));
  };
  reads({4, 6}, {6, 1}, 0, sn::reshape(all, {4, 6}), false);
  reads({6, 4}, {1, 6}, 0, sn::reshape(all, {4, 6}).T(), false);
  reads({3, 2, 4}, {4, 12, 1}, 0, sn::swapaxes(sn::reshape(all, {2, 3, 4}), 0, 1), false);
  reads({2, 1, 3}, {3, 77, 1}, 4, sn::reshape(all(sn::Slice{1, 7}), {2, 1, 3}), false);
  reads({}, {}, 20, Tensor(5.f), false);
  reads({3}, {2}, 0, all(sn::Slice{0, 5, 2}), true);
  reads({2, 3}, {0, 1}, 0, sn::broadcast_to(all(sn::Slice{0, 3}), {2, 3}), true);
  reads({3}, {-1}, 8, sn::flip(all(sn::Slice{0, 3})), true);
}

TEST_CASE("memory that from_dlpack refuses stays with its owner") {
  Foreign given({1, 2}, {2}, {});
  const auto refuses = [&]<class E>(const std::string& what, E*) {
    says<E>([&] { dlpack::from_dlpack(&given.managed); }, "from_dlpack: " + what);
    CHECK(given.given_back == 0);
    given.managed.tensor.dtype = {dlpack::Code::floating, 32, 1};
    given.managed.tensor.device.type = dlpack::DeviceType::cpu;
    given.managed.version = {1, 0};
  };
  given.managed.version.major = 2;
  refuses("the tensor is of DLPack 2.1; sinter reads 1.x", static_cast<sn::ValueError*>(nullptr));
  given.managed.tensor.dtype = {dlpack::Code::complex, 64, 1};
  refuses("sinter has no dtype for elements of code 5 with 64 bits in 1 lanes", static_cast<sn::DTypeError*>(nullptr));
  given.managed.tensor.dtype.lanes = 4;
  refuses("sinter has no dtype for elements of code 2 with 32 bits in 4 lanes", static_cast<sn::DTypeError*>(nullptr));
  given.managed.tensor.device.type = static_cast<dlpack::DeviceType>(4);
  refuses("elements on a device of DLPack's type 4 cannot be used", static_cast<sn::DeviceError*>(nullptr));
  says<sn::ValueError>([&] { dlpack::from_dlpack(static_cast<dlpack::Versioned*>(nullptr)); }, "from_dlpack: there is no tensor: the pointer is null");
  CHECK_THROWS_AS(dlpack::to_versioned(Tensor()), sn::ValueError);
}
