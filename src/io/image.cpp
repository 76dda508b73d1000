// Images: PNG by libpng, and netpbm's binary formats, a line of text followed by the samples. https://netpbm.sourceforge.net/doc/ppm.html
#include "sinter/image.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <csetjmp>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#ifdef SINTER_PNG
#include <png.h>
#endif

#include "io/file.hpp"
#include "trace/build.hpp"
#include "trace/host_access.hpp"

namespace sinter {
namespace {

using namespace io;

struct Geometry {
  std::int64_t width = 0, height = 0, channels = 0;
  DType dtype = DType::uint8;
  std::size_t row_bytes() const { return static_cast<std::size_t>(width * channels) * itemsize(dtype); }
  std::size_t bytes() const { return row_bytes() * static_cast<std::size_t>(height); }
};

/// Returns the tensor of an image; `fill` writes the samples.
template <class Fill> Tensor image_of(const Site& site, const Reader& reader, const Geometry& geometry, Fill fill) {
  auto storage = std::make_shared<Storage>();
  storage->bytes = geometry.bytes();
  storage->host = reader.allocate(storage->bytes);
  fill(static_cast<unsigned char*>(storage->host.get()));
  Shape shape{geometry.height, geometry.width};
  if (geometry.channels > 1) shape.push_back(geometry.channels);
  return Tensor(make_data(site, geometry.dtype, std::move(shape), std::move(storage)));
}

/// Swaps the bytes of samples, because both formats are big-endian.
void swap_samples(unsigned char* samples, std::size_t bytes) {
  if constexpr (std::endian::native == std::endian::little)
    for (std::size_t k = 0; k + 1 < bytes; k += 2) std::swap(samples[k], samples[k + 1]);
}

// ---- netpbm ---------------------------------------------------------------------------------------------------------

class Netpbm {
 public:
  Netpbm(const Reader& reader, std::string_view bytes) : reader_(reader), bytes_(bytes), at_(2) {}

  Tensor read(const Site& site) {
    Geometry geometry;
    geometry.channels = bytes_[1] == '6' ? 3 : 1;
    geometry.width = number();
    geometry.height = number();
    const std::int64_t largest = number();
    if (largest == 0 || largest > 65535) reader_.refuse(fmt::format("its largest sample is {}", largest));
    geometry.dtype = largest < 256 ? DType::uint8 : DType::uint16;
    ++at_;  // one space ends the header
    if (geometry.width * geometry.height > (std::int64_t{1} << 40) || at_ > bytes_.size() || geometry.bytes() > bytes_.size() - at_)
      reader_.refuse(fmt::format("truncated: some of the {} by {} samples are missing", geometry.width, geometry.height));
    return image_of(site, reader_, geometry, [&](unsigned char* to) {
      std::memcpy(to, bytes_.data() + at_, geometry.bytes());
      if (geometry.dtype == DType::uint16) swap_samples(to, geometry.bytes());
    });
  }

 private:
  /// Reads decimal digits after spaces and comments.
  std::int64_t number() {
    for (; at_ < bytes_.size(); ++at_) {
      if (bytes_[at_] == '#') at_ = std::min(bytes_.find('\n', at_), bytes_.size());
      else if (!std::isspace(static_cast<unsigned char>(bytes_[at_]))) break;
    }
    std::int64_t value = 0;
    const std::size_t begin = at_;
    for (; at_ < bytes_.size() && std::isdigit(static_cast<unsigned char>(bytes_[at_])) && at_ - begin < 9; ++at_) value = 10 * value + (bytes_[at_] - '0');
    if (at_ == begin) reader_.refuse("malformed header: a number is missing");
    return value;
  }

  const Reader& reader_;
  std::string_view bytes_;
  std::size_t at_;
};

std::string netpbm(const Geometry& geometry, const unsigned char* samples) {
  std::string bytes =
      fmt::format("P{}\n{} {}\n{}\n", geometry.channels == 3 ? 6 : 5, geometry.width, geometry.height, geometry.dtype == DType::uint8 ? 255 : 65535);
  const std::size_t header = bytes.size();
  bytes.append(reinterpret_cast<const char*>(samples), geometry.bytes());
  if (geometry.dtype == DType::uint16) swap_samples(reinterpret_cast<unsigned char*>(bytes.data() + header), geometry.bytes());
  return bytes;
}

// ---- PNG --------------------------------------------------------------------------------------------------------------

#ifdef SINTER_PNG

/// libpng reports a failure by longjmp, which skips destructors. So the functions that call setjmp have no objects with destructors.
struct Png {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string_view in;
  std::string out;
  std::vector<png_bytep> rows;
  std::string message;
  bool reading;

  explicit Png(bool reads) : reading(reads) {
    png = reading ? png_create_read_struct(PNG_LIBPNG_VER_STRING, this, failed, quiet) : png_create_write_struct(PNG_LIBPNG_VER_STRING, this, failed, quiet);
    if (png != nullptr) info = png_create_info_struct(png);
    if (info == nullptr) throw DeviceError("libpng has no memory");
  }
  ~Png() {
    if (reading) png_destroy_read_struct(&png, &info, nullptr);
    else png_destroy_write_struct(&png, &info);
  }
  Png(const Png&) = delete;

  void set_rows(unsigned char* samples, const Geometry& geometry) {
    rows.resize(static_cast<std::size_t>(geometry.height));
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = samples + k * geometry.row_bytes();
  }

  [[noreturn]] static void failed(png_structp png, png_const_charp text) {
    static_cast<Png*>(png_get_error_ptr(png))->message = text;
    png_longjmp(png, 1);
  }
  static void quiet(png_structp, png_const_charp) {}
  static void take(png_structp png, png_bytep to, std::size_t count) {
    std::string_view& in = static_cast<Png*>(png_get_io_ptr(png))->in;
    if (count > in.size()) png_error(png, "truncated");
    std::memcpy(to, in.data(), count);
    in.remove_prefix(count);
  }
  static void give(png_structp png, png_bytep from, std::size_t count) {
    static_cast<Png*>(png_get_io_ptr(png))->out.append(reinterpret_cast<const char*>(from), count);
  }
};

/// This function and the next two return false after a failure; `message` then has the reason.
bool read_png_header(Png& file, Geometry& geometry) {
  if (setjmp(png_jmpbuf(file.png))) return false;
  png_set_read_fn(file.png, &file, Png::take);
  png_set_user_limits(file.png, 1000000, 1000000);
  png_read_info(file.png, file.info);
  png_set_expand(file.png);  // palettes, fewer than 8 bits, transparent colours
  if constexpr (std::endian::native == std::endian::little) png_set_swap(file.png);
  png_set_interlace_handling(file.png);
  png_read_update_info(file.png, file.info);
  geometry.width = png_get_image_width(file.png, file.info);
  geometry.height = png_get_image_height(file.png, file.info);
  geometry.channels = png_get_channels(file.png, file.info);
  geometry.dtype = png_get_bit_depth(file.png, file.info) == 16 ? DType::uint16 : DType::uint8;
  return true;
}
bool read_png_rows(Png& file) {
  if (setjmp(png_jmpbuf(file.png))) return false;
  png_read_image(file.png, file.rows.data());
  png_read_end(file.png, nullptr);
  return true;
}
bool write_png(Png& file, const Geometry& geometry) {
  if (setjmp(png_jmpbuf(file.png))) return false;
  constexpr int kinds[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  png_set_write_fn(file.png, &file, Png::give, nullptr);
  png_set_user_limits(file.png, 1000000, 1000000);
  png_set_IHDR(file.png, file.info, static_cast<png_uint_32>(geometry.width), static_cast<png_uint_32>(geometry.height),
               8 * static_cast<int>(itemsize(geometry.dtype)), kinds[geometry.channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(file.png, file.info);
  if constexpr (std::endian::native == std::endian::little) png_set_swap(file.png);
  png_write_image(file.png, file.rows.data());
  png_write_end(file.png, nullptr);
  return true;
}

Tensor png_image(const Site& site, const Reader& reader, std::string_view bytes) {
  Png file(true);
  file.in = bytes;
  Geometry geometry;
  if (!read_png_header(file, geometry)) reader.refuse(fmt::format("a damaged PNG file: {}", file.message));
  return image_of(site, reader, geometry, [&](unsigned char* to) {
    file.set_rows(to, geometry);
    if (!read_png_rows(file)) reader.refuse(fmt::format("a damaged PNG file: {}", file.message));
  });
}
std::string png_bytes(const Site& site, const Geometry& geometry, const unsigned char* samples) {
  Png file(false);
  file.set_rows(const_cast<unsigned char*>(samples), geometry);  // libpng's signature is not const; it only reads them
  if (!write_png(file, geometry)) fail<ValueError>(site, fmt::format("libpng refuses the image: {}", file.message));
  return std::move(file.out);
}

#else

[[noreturn]] void no_png(const Site& site) {
  fail<ValueError>(site, "sinter was built without libpng (Debian's libpng-dev), which reads and writes PNG; .ppm and .pgm work without it");
}
Tensor png_image(const Site& site, const Reader&, std::string_view) { no_png(site); }
std::string png_bytes(const Site& site, const Geometry&, const unsigned char*) { no_png(site); }

#endif

}  // namespace

Tensor load_image(const std::string& path, Location where) {
  const Site site = site_of("load_image", where);
  Reader reader(site, path);
  const std::string bytes = reader.rest();
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return png_image(site, reader, bytes);
  if (bytes.starts_with("P5") || bytes.starts_with("P6")) return Netpbm(reader, bytes).read(site);
  reader.refuse("neither a PNG file nor a binary PPM or PGM file (P6, P5)");
}

void save_image(const std::string& path, const Tensor& image, Location where) {
  const Site site{"save_image", where};
  const RecordedPtr& node = node_of(site, image);
  const Shape& shape = node->shape;
  Geometry geometry;
  geometry.dtype = node->dtype;
  if (node->dtype != DType::uint8 && node->dtype != DType::uint16)
    fail<DTypeError>(site, fmt::format("an image must be uint8 or uint16, not {}; convert with clip(round(x), 0, 255).astype(uint8)", name(node->dtype)));
  if (shape.size() == 2 || shape.size() == 3) {
    geometry.height = shape[0];
    geometry.width = shape[1];
    geometry.channels = shape.size() == 3 ? shape[2] : 1;
  }
  if (geometry.channels < 1 || geometry.channels > 4 || geometry.width == 0 || geometry.height == 0)
    fail<ShapeError>(
        site, fmt::format("shape {} is not that of an image: it must be (height, width), or (height, width, channels) with 1 to 4 channels", to_string(shape)));
  const bool png = path.ends_with(".png"), ppm = path.ends_with(".ppm"), pgm = path.ends_with(".pgm");
  if (!png && !ppm && !pgm) fail<ValueError>(site, fmt::format("{}: an image's name ends in .png, .ppm or .pgm", path));
  if ((ppm && geometry.channels != 3) || (pgm && geometry.channels != 1))
    fail<ShapeError>(site, fmt::format("{}: shape {} has {} channels, but the format has {}", path, to_string(shape), geometry.channels, ppm ? 3 : 1));
  const auto* samples = static_cast<const unsigned char*>(host_data(node, site));
  const std::string bytes = png ? png_bytes(site, geometry, samples) : netpbm(geometry, samples);
  Writer writer(site, path);
  writer.write(bytes.data(), bytes.size());
  writer.finish();
}

}  // namespace sinter
