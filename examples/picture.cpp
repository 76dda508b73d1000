#include "picture.hpp"

#include <cstdlib>
#include <fstream>

#include "sinter/errors.hpp"
#ifdef EXAMPLE_PNG
#include <png.h>
#endif

namespace example {
namespace {

using sinter::IoError;

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// The next number of a PPM header; comments run from # to the end of the line.
std::int64_t header_number(std::istream& in, const std::string& path) {
  while (in >> std::ws && in.peek() == '#') {
    std::string comment;
    std::getline(in, comment);
  }
  std::int64_t number = 0;
  if (!(in >> number) || number <= 0 || number > 65535) throw IoError(path + ": malformed PPM header");
  return number;
}

Picture read_ppm(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw IoError(path + ": cannot be opened");
  std::string magic;
  in >> magic;
  if (magic != "P6") throw IoError(path + ": not a binary PPM (P6) file");
  Picture picture;
  picture.width = header_number(in, path);
  picture.height = header_number(in, path);
  if (header_number(in, path) != 255) throw IoError(path + ": only 8 bits a channel are read");
  in.get();
  picture.pixels.resize(static_cast<std::size_t>(picture.width * picture.height * 3));
  in.read(reinterpret_cast<char*>(picture.pixels.data()), static_cast<std::streamsize>(picture.pixels.size()));
  if (!in) throw IoError(path + ": truncated");
  return picture;
}

void write_ppm(const std::string& path, const Picture& picture) {
  std::ofstream out(path, std::ios::binary);
  out << "P6\n" << picture.width << ' ' << picture.height << "\n255\n";
  out.write(reinterpret_cast<const char*>(picture.pixels.data()), static_cast<std::streamsize>(picture.pixels.size()));
  out.close();
  if (!out) throw IoError(path + ": cannot be written");
}

#ifdef EXAMPLE_PNG
Picture read_png(const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&image, path.c_str())) throw IoError(path + ": " + image.message);
  image.format = PNG_FORMAT_RGB;
  Picture picture{image.width, image.height, std::vector<std::uint8_t>(PNG_IMAGE_SIZE(image))};
  const png_color black{0, 0, 0};
  if (!png_image_finish_read(&image, &black, picture.pixels.data(), 0, nullptr)) throw IoError(path + ": " + image.message);
  return picture;
}
void write_png(const std::string& path, const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGB;
  if (!png_image_write_to_file(&image, path.c_str(), 0, picture.pixels.data(), 0, nullptr)) throw IoError(path + ": " + image.message);
}
#else
[[noreturn]] Picture no_png(const std::string& path) {
  throw IoError(path + ": this build has no libpng; give a binary PPM, or install libpng-dev and configure again");
}
Picture read_png(const std::string& path) { no_png(path); }
void write_png(const std::string& path, const Picture&) { no_png(path); }
#endif

}  // namespace

Picture read_picture(const std::string& path) { return ends_with(path, ".png") ? read_png(path) : read_ppm(path); }
void write_picture(const std::string& path, const Picture& picture) {
  ends_with(path, ".png") ? write_png(path, picture) : write_ppm(path, picture);
}

}  // namespace example
