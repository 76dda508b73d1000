// Finds the caller's line. A frame's code object gives the file; each code object is examined once.
#include <dlfcn.h>

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core.hpp"

namespace sinter::python {
namespace {

struct File {
  const char* name = "";
  bool ours = false;                                   // a file of the package itself
  std::unordered_map<long, std::uint32_t> lines = {};  // lines by instruction, because CPython reads its table of lines from the start each time
};

/// The names of files, which are never freed, and the known code objects. A reference keeps each known code object alive, so that no other object gets its
/// address.
struct Files {
  std::unordered_set<std::string> names;
  std::unordered_map<PyObject*, File> codes;
  std::string package;  // the package's folder

  /// The reference stays valid while the GIL is held.
  File& of(PyObject* code) {
    if (const auto known = codes.find(code); known != codes.end()) return known->second;
    constexpr std::size_t kMaxCodes = 20000;  // a limit, because a program may create functions without end
    if (codes.size() > kMaxCodes) {
      for (const auto& [old, file] : codes) Py_DECREF(old);
      codes.clear();
    }
    const nb::object name = nb::steal(PyObject_GetAttrString(code, "co_filename"));
    const char* text = name.is_valid() ? PyUnicode_AsUTF8AndSize(name.ptr(), nullptr) : nullptr;
    if (text == nullptr) PyErr_Clear();
    const std::string& kept = *names.emplace(text ? text : "").first;
    Py_INCREF(code);
    return codes[code] = {kept.c_str(), !package.empty() && kept.starts_with(package)};
  }

  /// Returns the frame's present instruction. PyFrame_GetLasti is not in the stable ABI, so it is looked up when the program runs; where it is not found, the
  /// attribute is read, which takes longer.
  static long instruction_of(PyFrameObject* frame) {
    static const auto direct = reinterpret_cast<int (*)(PyFrameObject*)>(dlsym(RTLD_DEFAULT, "PyFrame_GetLasti"));
    if (direct != nullptr) return direct(frame);
    static PyObject* const name = PyUnicode_InternFromString("f_lasti");
    const nb::object place = nb::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(frame), name));
    if (!place.is_valid()) throw nb::python_error();
    return PyLong_AsLong(place.ptr());
  }

  std::uint32_t line_of(PyFrameObject* frame, File& file) {
    const auto [line, added] = file.lines.try_emplace(instruction_of(frame), 0);
    if (added) line->second = static_cast<std::uint32_t>(PyFrame_GetLineNumber(frame));
    return line->second;
  }
};
Files& files() {
  static Files& all = *new Files;
  if (all.package.empty()) {
    const nb::object path = nb::module_::import_("sinter").attr("__file__");
    const std::string init = nb::cast<std::string>(path);
    all.package = init.substr(0, init.rfind('/') + 1);
  }
  return all;
}

}  // namespace

namespace {

/// Calls `use` with the frame of the nearest caller outside of the package, its file, and its distance from the present frame.
template <class Use> void at_caller(Use&& use) {
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  for (int level = 1; frame.is_valid() && !frame.is_none(); ++level) {
    auto* const at = reinterpret_cast<PyFrameObject*>(frame.ptr());
    const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(at)));
    File& file = files().of(code.ptr());
    if (!file.ours) return use(at, file, level);
    frame = nb::steal(PyObject_GetAttrString(frame.ptr(), "f_back"));
  }
}

}  // namespace

Location location() {
  Location found;
  at_caller([&](PyFrameObject* frame, File& file, int) { found = {file.name, files().line_of(frame, file)}; });
  return found;
}

int stack_level() {
  int found = 1;
  at_caller([&](PyFrameObject*, const File&, int level) { found = level; });
  return found;
}

}  // namespace sinter::python
