// sinter.ranks: arrays over several processes. The package's ranks.py documents these functions.
#include <nanobind/stl/string.h>

#include "core.hpp"
#include "sinter/ranks.hpp"

namespace sinter::python {
namespace {

std::vector<std::string> names_in(nb::handle axes) {
  if (PyUnicode_Check(axes.ptr())) throw DTypeError("axes must be a tuple or a list with a name, or None, for each axis of the array");
  std::vector<std::string> names;
  for (nb::handle name : nb::object(nb::borrow(axes))) names.push_back(name.is_none() ? std::string() : nb::cast<std::string>(name));
  return names;
}

/// Both parts of a complex array are sharded in the same way.
template <class Way> nb::object each_part(nb::handle object, const Way& way) {
  const Array array = array_of(object);
  Tensor re = way(array.re);
  return array.is_complex() ? new_array(Complex{std::move(re), way(array.im)}) : new_array(std::move(re));
}

std::vector<ranks::MeshAxis> axes_of(const nb::dict& axes) {
  std::vector<ranks::MeshAxis> made;
  for (auto [name, size] : axes) {
    ranks::MeshAxis& axis = made.emplace_back();
    axis.name = nb::cast<std::string>(name);
    if (PyLong_Check(size.ptr())) axis.size = nb::cast<int>(size);
    else axis.size = nb::cast<int>(size[0]), axis.pieces = nb::cast<int>(size[1]);
  }
  return made;
}

nb::dict dict_of(const ranks::Mesh& mesh) {
  nb::dict made;
  for (const ranks::MeshAxis& axis : mesh.axes()) made[axis.name.c_str()] = nb::make_tuple(axis.size, axis.pieces);
  return made;
}

/// Calls the program on each thread of ranks::run. Python exceptions are carried by a C++ exception.
void run(int count, const nb::object& program) {
  const Released outside;
  ranks::run(count, [&](const ranks::World& world) {
    const Held held;
    try {
      program(world);
    } catch (nb::python_error& raised) {
      throw FormulaError(std::move(raised));
    }
  });
}

}  // namespace

void add_ranks(nb::module_& parent) {
  nb::module_ module = parent.def_submodule("_ranks");
  nb::class_<ranks::World>(module, "World")
      .def_prop_ro("rank", &ranks::World::rank, "The number of this rank, from 0.")
      .def_prop_ro("size", &ranks::World::size, "The number of ranks.")
      .def("abort", &ranks::World::abort, nb::arg("message"), "Ends the processes of all ranks with this message.");
  nb::class_<ranks::Mesh>(module, "Mesh")
      .def(
          "__init__", [](ranks::Mesh* made, const ranks::World& world, const nb::dict& axes) { new (made) ranks::Mesh(world, axes_of(axes), location()); },
          nb::arg("world"), nb::arg("axes"))
      .def_prop_ro("axes", &dict_of, "For each axis, the number of its ranks and of its pieces.")
      .def_prop_ro("world", &ranks::Mesh::world);
  module.def("init", [] {
    const Released outside;
    return ranks::init();
  });
  module.def("run", &run, nb::arg("ranks"), nb::arg("program"));
  module.def(
      "shard",
      [](nb::handle x, const ranks::Mesh& mesh, nb::handle axes) {
        const Here here("shard");
        const auto names = names_in(axes);
        return each_part(x, [&](const Tensor& part) { return ranks::shard(Arg(part, location()), mesh, names); });
      },
      nb::arg("x"), nb::arg("mesh"), nb::arg("axes"));
  module.def("unshard", [](nb::handle x) {
    const Here here("unshard");
    return each_part(x, [](const Tensor& part) { return ranks::unshard(Arg(part, location())); });
  });
  module.def("local", [](nb::handle x) {
    const Here here("local");
    return each_part(x, [](const Tensor& part) { return ranks::local(part, location()); });
  });
  module.def("sharding", [](nb::handle x) {
    nb::list names;
    for (const std::string& name : ranks::sharding(array_of(x).re)) names.append(name.empty() ? nb::none() : nb::cast(name));
    return nb::tuple(names);
  });
  module.def("describe", [](nb::handle x) {
    const Array array = array_of(x);
    const std::string text = ranks::describe(array.re);
    return array.is_complex() ? std::string(type_name(type_of(array))) + text.substr(text.find(' ')) : text;
  });
  module.def(
      "load_npy",
      [](const std::string& path, const ranks::Mesh& mesh, nb::handle axes) {
        const Here here("load_npy");
        const auto names = names_in(axes);
        const Location where = location();
        Tensor made;
        {
          const Released outside;
          made = ranks::load_npy(path, mesh, names, where);
        }
        return new_array(std::move(made));
      },
      nb::arg("path"), nb::arg("mesh"), nb::arg("axes"));
  module.def(
      "save_npy",
      [](const std::string& path, nb::handle x) {
        const Here here("save_npy");
        const Array array = array_of(x);
        if (array.is_complex()) throw DTypeError("save_npy: complex arrays are not saved from several ranks; save x.real and x.imag");
        const Location where = location();
        const Released outside;
        ranks::save_npy(path, array.re, where);
      },
      nb::arg("path"), nb::arg("x"));
  module.def(
      "load_safetensors",
      [](const std::string& path, const ranks::Mesh& mesh, const nb::dict& axes) {
        const Here here("load_safetensors");
        std::map<std::string, std::vector<std::string>> names;
        for (auto [name, of_tensor] : axes) names[nb::cast<std::string>(name)] = names_in(of_tensor);
        const Location where = location();
        NamedTensors loaded;
        {
          const Released outside;
          loaded = ranks::load_safetensors(path, mesh, names, where);
        }
        nb::dict made;
        for (auto& [name, tensor] : loaded) made[name.c_str()] = new_array(std::move(tensor));
        return made;
      },
      nb::arg("path"), nb::arg("mesh"), nb::arg("axes"));
  module.def(
      "save_safetensors",
      [](const std::string& path, const nb::dict& arrays) {
        const Here here("save_safetensors");
        NamedTensors tensors;
        for (auto [name, object] : arrays) {
          const Array array = array_of(object);
          if (array.is_complex()) throw DTypeError("save_safetensors: the format has no complex type; save the real and the imaginary parts");
          tensors.emplace_back(nb::cast<std::string>(name), array.re);
        }
        const Location where = location();
        const Released outside;
        ranks::save_safetensors(path, tensors, where);
      },
      nb::arg("path"), nb::arg("arrays"));
}

}  // namespace sinter::python
