// The exceptions of sinter: every failure that a user can cause or meet throws one of these. Messages name the op, the shapes and dtypes, the user's file and
// line, and a remedy.
#pragma once
#include <stdexcept>
#include <string>

namespace sinter {

/// The base of every exception that sinter throws.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Shapes that do not fit: broadcasting, reshape, matmul, element counts.
struct ShapeError : Error {
  using Error::Error;
};
/// An element type that the operation does not accept.
struct DTypeError : Error {
  using Error::Error;
};
/// An axis is out of range or repeated, or there are more indices than axes.
struct AxisError : Error {
  using Error::Error;
};
/// An index out of range. For an element of an index tensor it is thrown when the value is computed.
struct IndexError : Error {
  using Error::Error;
};
/// A value that is not meaningful: a zero slice step, an unknown option, a malformed expression.
struct ValueError : Error {
  using Error::Error;
};
/// A file that is missing, unreadable, truncated or malformed.
struct IoError : Error {
  using Error::Error;
};
/// A run-time compiler rejected a generated kernel; the message carries its log.
struct CompileError : Error {
  using Error::Error;
};
/// A device is missing or failed.
struct DeviceError : Error {
  using Error::Error;
};
/// There is no memory for a tensor on a device or on the host, or Options::memory forbids it. The message gives the number of bytes requested.
struct MemoryError : DeviceError {
  using DeviceError::DeviceError;
};
/// An evaluation was stopped by interrupt().
struct Interrupted : Error {
  using Error::Error;
};
/// A broken invariant inside sinter: always a bug, please report it.
struct InternalError : Error {
  using Error::Error;
};

}  // namespace sinter
