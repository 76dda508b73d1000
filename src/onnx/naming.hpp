// Adds the file and the place in it to errors of every layer.
#pragma once
#include <fmt/format.h>

#include <new>
#include <string>

#include "sinter/errors.hpp"
#include "sinter/model.hpp"

namespace sinter::onnx {

inline std::string at(Location where) { return where.line ? fmt::format(" at {}:{}", where.file, where.line) : ""; }

/// Returns f(). Its errors then begin with the file and where(), unless they already name the file. This replaces the line of the library's source that an
/// error would name. Only sinter's exceptions leave this function.
template <class Where, class F> auto naming(const std::string& file, Where where, F f) {
  const auto named = [&](const std::exception& error) {
    std::string text = error.what();
    if (text.find(file) != std::string::npos) return text;
    const std::size_t at = text.rfind(" at ");
    if (at != std::string::npos && text.find("src/onnx/", at) != std::string::npos) text.resize(at);
    return fmt::format("{}: {}: {}", file, where(), text);
  };
  try {
    return f();
  } catch (const ModelError& error) {
    throw ModelError(named(error));
  } catch (const ShapeError& error) {
    throw ShapeError(named(error));
  } catch (const DTypeError& error) {
    throw DTypeError(named(error));
  } catch (const AxisError& error) {
    throw AxisError(named(error));
  } catch (const IndexError& error) {
    throw IndexError(named(error));
  } catch (const ValueError& error) {
    throw ValueError(named(error));
  } catch (const MemoryError& error) {
    throw MemoryError(named(error));
  } catch (const DeviceError& error) {
    throw DeviceError(named(error));
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw MemoryError(fmt::format("{}: {}: there is not enough memory for it", file, where()));
  } catch (const std::exception& error) {
    throw InternalError(named(error));
  }
}

}  // namespace sinter::onnx
