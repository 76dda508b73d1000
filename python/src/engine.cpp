// Evaluation, inspection of kernels, frozen functions, settings, files.
#include <fmt/format.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "core.hpp"
#include "sinter/caller.hpp"
#include "sinter/control.hpp"
#include "sinter/engine.hpp"
#include "sinter/errors.hpp"
#include "sinter/freeze.hpp"
#include "sinter/ops.hpp"
#include "sinter/profile.hpp"
#include "sinter/random.hpp"
#include "sinter/tune.hpp"
#include "table/files.hpp"
#ifdef SINTER_MODELS
#include "sinter/freeze_model.hpp"
#include "sinter/model.hpp"
#endif

namespace sinter::python {
namespace {

// ---- Ctrl-C

pthread_t main_thread;
std::atomic<bool> signalled{false};     // a signal arrived since the main thread released the GIL
thread_local bool signal_came = false;  // a signal arrived during this thread's last release of the GIL
struct sigaction before;                // the previous handler of SIGINT, usually Python's
int listening = 0;                      // depth of the main thread's releases of the GIL, which are nested in a program of ranks.run

/// Stops the evaluation, and calls the previous handler.
void on_interrupt(int number, siginfo_t* info, void* context) {
  signalled = true;
  if (before.sa_flags & SA_SIGINFO) {
    interrupt();
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler == SIG_DFL) {
    sigaction(SIGINT, &before, nullptr);
    ::raise(SIGINT);
  } else if (before.sa_handler != SIG_IGN) {
    interrupt();
    before.sa_handler(number);
  }
}

/// Is true while this thread has released the GIL.
thread_local bool without_gil = false;

// ---- the end of the process

// If a thread asks for the GIL of a finalized interpreter, Python ends the thread by an exception. In a noexcept function of C++ this would end the process.
std::atomic<bool> ending{false};
std::atomic<int> asking{0};  // threads that wait for the GIL in take_gil()

/// Takes the GIL. If the interpreter is being finalized, the thread sleeps until the process ends.
template <class Take> void take_gil(Take&& take) {
  ++asking;
  if (ending && pthread_equal(pthread_self(), main_thread) == 0) {
    --asking;
    for (;;) pause();
  }
  take();
  --asking;
}
/// Is called before the interpreter is finalized.
void begin_end() {
  ending = true;
  PyThreadState* state = PyEval_SaveThread();
  while (asking > 0) std::this_thread::yield();
  PyEval_RestoreThread(state);
}

}  // namespace

Released::Released()
    : given_up_(!without_gil && PyGILState_GetThisThreadState() != nullptr), listens_(given_up_ && pthread_equal(pthread_self(), main_thread) != 0) {
  if (!given_up_) return;
  if (listens_ && listening++ == 0) {
    struct sigaction ours {};
    ours.sa_sigaction = on_interrupt;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGINT, &ours, &before);
  }
  without_gil = true;
  state_ = PyEval_SaveThread();
}
Released::~Released() {
  if (!given_up_) return;
  take_gil([this] { PyEval_RestoreThread(state_); });
  without_gil = false;
  if (!listens_) return;
  if (--listening == 0) sigaction(SIGINT, &before, nullptr);
  signal_came = signalled.exchange(false);
  if (signal_came) withdraw_interrupt();  // Python's handler runs now
}
Held::Held() : without_(without_gil) {
  take_gil([this] { state_ = PyGILState_Ensure(); });
  without_gil = false;
}
Held::~Held() {
  without_gil = without_;
  PyGILState_Release(state_);
}

// A signal whose Python handler raises no exception does not stop an evaluation.
void evaluate(const std::vector<Tensor>& tensors, bool fused) {
  for (;;) {
    try {
      return fused ? sinter::eval_fused(tensors, location()) : sinter::eval(tensors, location());
    } catch (const Interrupted&) {
      if (!signal_came) throw;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }
}

namespace {

/// Returns the result of work during which this thread does not hold the GIL.
template <class Work> auto released(Work&& work) {
  const Released outside;
  return work();
}

std::vector<Tensor> tensors_of(nb::args arrays) {
  std::vector<Tensor> tensors;
  for (nb::handle object : arrays) {
    const Array* array = as_array(object);
    if (!array) raise(PyExc_TypeError, "the arguments must be arrays of sinter");
    tensors.push_back(array->re);
    if (array->is_complex()) tensors.push_back(array->im);
  }
  return tensors;
}

nb::object as_tuple(const std::vector<Tensor>& tensors) {
  nb::object made = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (std::size_t k = 0; k < tensors.size(); ++k) PyTuple_SetItem(made.ptr(), static_cast<Py_ssize_t>(k), new_array(tensors[k]).release().ptr());
  return made;
}

std::vector<Tensor> tensors_in(nb::handle sequence) {
  std::vector<Tensor> tensors;
  for (nb::handle object : sequence) {
    const Array* array = as_array(object);
    if (!array) raise(PyExc_TypeError, "the arguments must be arrays of sinter");
    if (array->is_complex()) raise(PyExc_TypeError, "a frozen function does not take complex arrays; pass their real and imaginary parts");
    tensors.push_back(array->re);
  }
  return tensors;
}

/// Calls a frozen function with a tuple of arrays.
PyObject* call_frozen(PyObject* self, PyObject* arguments, PyObject* keywords) noexcept {
  return guarded([&] {
    if (keywords && PyDict_Size(keywords) > 0) raise(PyExc_TypeError, "a plan takes no keywords");
    if (!nb::inst_ready(nb::handle(self))) raise(PyExc_TypeError, "only freeze() and load_plan() make frozen functions");
    const Function& function = *nb::inst_ptr<Function>(self);
    const std::vector<Tensor> given = tensors_in(arguments);
    const Location where = location();
    return as_tuple(released([&] { return function(given, where); }));
  });
}

/// Returns the dtypes and shapes of the arrays in a tuple as bytes, which are equal only for equal ones; None if another object or a complex array is among
/// them.
nb::object key_of(nb::handle arguments) {
  std::string key;
  const Py_ssize_t size = PyTuple_Size(arguments.ptr());
  const auto add = [&](const auto& value) { key.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (Py_ssize_t k = 0; k < size; ++k) {
    const Array* const array = as_array(PyTuple_GetItem(arguments.ptr(), k));
    if (!array || array->is_complex()) return nb::none();
    const Shape& shape = array->re.shape();
    add(array->re.dtype());
    add(shape.size());
    for (const std::int64_t length : shape) add(length);
  }
  return nb::steal(PyBytes_FromStringAndSize(key.data(), static_cast<Py_ssize_t>(key.size())));
}

/// A Python formula. Any thread may call it; the call takes the GIL.
struct Formula {
  std::shared_ptr<nb::object> function;
  explicit Formula(nb::object given)
      : function(new nb::object(std::move(given)), [](nb::object* object) {
          if (!Py_IsInitialized()) return;
          const Held held;
          delete object;
        }) {}
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const {
    const Held held;
    try {
      return tensors_in((*function)(*as_tuple(inputs)));
    } catch (nb::python_error& raised) {
      if (raised.matches(undecided)) throw Undecided{};
      if (raised.matches(PyExc_KeyboardInterrupt)) throw FormulaInterrupt(std::move(raised));
      throw FormulaError(std::move(raised));
    }
  }
};

InputSpec spec_of(nb::handle given) {
  InputSpec spec;
  const auto type = find_element_type(given[0]);
  if (!type || type->is_complex) raise(PyExc_TypeError, "a spec is (dtype, shape, name), and the dtype must be real");
  spec.dtype = type->parts;
  for (nb::handle size : nb::object(given[1])) {
    if (PyLong_Check(size.ptr())) spec.shape.emplace_back(nb::cast<std::int64_t>(size));
    else spec.shape.emplace_back(nb::cast<std::string>(size[0]), nb::cast<std::int64_t>(size[1]));
  }
  spec.name = nb::cast<std::string>(given[2]);
  return spec;
}

/// Calls `use` with the name and the value of each setting.
template <class Settings, class Use> void each_option(Settings& o, Use&& use) {
  use("device", o.device), use("backend", o.backend), use("fuse", o.fuse), use("fast_math", o.fast_math), use("threads", o.threads), use("wait", o.wait);
  use("schedule", o.schedule), use("tuned", o.tuned), use("keep_plans", o.keep_plans), use("without", o.without), use("memory", o.memory), use("log", o.log),
      use("dump", o.dump);
  use("cache_dir", o.cache_dir), use("cache_size", o.cache_size);
}
nb::dict options_dict() {
  nb::dict made;
  const Options now = options();
  each_option(now, [&](const char* name, const auto& option) { made[name] = option; });
  return made;
}
void configure_with(nb::kwargs changes) {
  Options wanted = options();
  for (auto [key, value] : changes) {
    const auto given = nb::cast<std::string>(key);
    bool known = false;
    each_option(wanted, [&](const char* name, auto& option) {
      if (given != name) return;
      option = nb::cast<std::remove_reference_t<decltype(option)>>(value);
      known = true;
    });
    if (!known) throw ValueError(fmt::format("there is no option '{}'; sinter.options() shows all options", given));
  }
  configure(wanted);
}

Format format_named(const std::string& name) {
  for (const auto& [known, format] :
       {std::pair("text", Format::text), {"json", Format::json}, {"html", Format::html}, {"svg", Format::svg}, {"dot", Format::dot}})
    if (name == known) return format;
  throw ValueError(fmt::format("explain: unknown format '{}'; the formats are text, json, html, svg and dot", name));
}

nb::dict counters_dict() {
  const Counters c = counters();
  nb::dict made;
  made["kernels_launched"] = c.kernels_launched, made["library_calls"] = c.library_calls, made["host_calls"] = c.host_calls, made["epilogues"] = c.epilogues;
  made["replays"] = c.replays, made["graph_launches"] = c.graph_launches, made["kernels_compiled"] = c.kernels_compiled;
  made["kernels_from_disk"] = c.kernels_from_disk, made["kernels_from_memory"] = c.kernels_from_memory, made["plans_made"] = c.plans_made;
  made["plans_from_disk"] = c.plans_from_disk, made["plans_reused"] = c.plans_reused, made["guards_checked"] = c.guards_checked;
  made["steps_planned"] = c.steps_planned, made["steps_made"] = c.steps_made, made["sources_generated"] = c.sources_generated, made["fallbacks"] = c.fallbacks,
  made["bytes_now"] = c.bytes_now, made["bytes_peak"] = c.bytes_peak;
  return made;
}

}  // namespace

void add_engine(nb::module_& module) {
  main_thread = pthread_self();
  // In a child process, the thread that forked is the main thread, and threads that waited for the GIL do not exist.
  pthread_atfork(nullptr, nullptr, [] { main_thread = pthread_self(), asking = 0; });
  around_evaluations({[]() -> void* { return new Released; }, [](void* released) { delete static_cast<Released*>(released); }});
  module.attr("__version__") = std::string(version());
  module.def("eval", [](nb::args arrays) { evaluate(tensors_of(arrays)); });
  module.def("eval_fused", [](nb::args arrays) { evaluate(tensors_of(arrays), true); });
  module.def(
      "explain_text",
      [](nb::args arrays, const std::string& format, const std::string& target, bool guards) {
        const std::vector<Tensor> tensors = tensors_of(arrays);
        return released([&] { return sinter::explain(tensors, {.format = format_named(format), .target = target, .guards = guards}); });
      },
      nb::arg("arrays"), nb::kw_only(), nb::arg("format") = "text", nb::arg("target") = "", nb::arg("guards") = false);
  module.def("set_name", [](const Array& array, const std::string& name) {
    sinter::set_name(array.re, name);
    if (!array.im.empty_handle()) sinter::set_name(array.im, name + ".imag");
  });
  module.def(
      "explain_boundary",
      [](nb::args arrays, const std::string& target) {
        const std::vector<Tensor> tensors = tensors_of(arrays);
        return released([&] { return sinter::explain_boundary(tensors[0], tensors[1], {tensors.begin() + 2, tensors.end()}, {.target = target}); });
      },
      nb::arg("arrays"), nb::kw_only(), nb::arg("target") = "");
  module.def(
      "dump_kernels",
      [](nb::args arrays, const std::string& directory, const std::string& target, bool assembly) {
        const std::vector<Tensor> tensors = tensors_of(arrays);
        return released([&] { return sinter::dump_kernels(tensors, directory, target, assembly); });
      },
      nb::arg("arrays"), nb::kw_only(), nb::arg("directory"), nb::arg("target") = "", nb::arg("assembly") = false);
  module.def("options", &options_dict);
  module.def("configure", &configure_with);
  module.def("counters", &counters_dict);
  module.def("reset_peak", &reset_peak);
  module.def("trim", &trim);
  module.def("interrupt", [] { interrupt(); });
  module.def("synchronize", [] { released([] { synchronize(); }); });
  module.def("load_file", [](const std::string& path) { return new_array(table::load_file(path)); });
  module.def("save_file", [](const std::string& path, const Array& array) {
    evaluate(array);
    table::save_file(path, array.re);
  });
  module.def("save_archive",
             [](const std::string& path, nb::list arrays, const std::vector<std::string>& names) { table::save_archive(path, tensors_in(arrays), names); });
  // Keys are Python integers; the table takes them as signed ones.
  module.def("fold_in", [](std::int64_t seed, std::int64_t number) {
    return static_cast<std::int64_t>(random::Key(static_cast<std::uint64_t>(seed)).fold_in(static_cast<std::uint64_t>(number)).bits());
  });
  module.def("split_key", [](std::int64_t seed, std::size_t count) {
    std::vector<std::int64_t> keys;
    for (const random::Key& key : random::Key(static_cast<std::uint64_t>(seed)).split(count)) keys.push_back(static_cast<std::int64_t>(key.bits()));
    return keys;
  });
  module.def(
      "placeholder",
      [](nb::handle dtype, const Shape& shape) {
        const auto type = find_element_type(dtype);
        if (!type || type->is_complex) raise(PyExc_TypeError, "the dtype of a placeholder must be real");
        return new_array(sinter::placeholder(shape, type->parts, location()));
      },
      nb::arg("dtype"), nb::arg("shape"));

  static PyType_Slot frozen_slots[] = {{Py_tp_call, reinterpret_cast<void*>(call_frozen)}, {0, nullptr}};
  nb::class_<Function>(module, "Frozen", nb::type_slots(frozen_slots), "A formula that is recorded and planned once, and called many times.")
      .def("save",
           [](const Function& f, const std::string& path, const std::string& note) {
             const Location where = location();
             released([&] { f.save(path, note, where); });
           })
      .def("note", &Function::note)
      .def("explain", [](const Function& f) { return f.explain(); })
      .def("serves", &Function::serves)
      .def("missing", &Function::missing)
      .def("plans", &Function::plans)
      .def("inputs", [](const Function& f) {
        std::vector<std::string> specs;
        for (const InputSpec& spec : f.inputs()) specs.push_back(to_string(spec));
        return specs;
      });
  module.def("freeze_formula", [](nb::object formula, nb::list specs) {
    std::vector<InputSpec> read;
    for (nb::handle spec : specs) read.push_back(spec_of(spec));
    const Location where = location();
    return released([&] { return sinter::freeze(Function::Formula(Formula(std::move(formula))), read, {}, where); });
  });
  module.def("key_of", &key_of);
  module.def("is_freezing", &is_freezing);
  // A loop whose round maps its number and its state to whether another one follows, and the new state.
  module.def("loop", [](nb::handle go, nb::handle state, nb::object round) {
    const auto body = [&](const Tensor& number, const std::vector<Tensor>& before) {
      std::vector<Tensor> arguments{number};
      arguments.insert(arguments.end(), before.begin(), before.end());
      std::vector<Tensor> made = tensors_in(round(*as_tuple(arguments)));
      return LoopRound{made.at(0), {made.begin() + 1, made.end()}};
    };
    return as_tuple(loop({.go = tensors_in(nb::make_tuple(go)).front(), .state = tensors_in(state), .body = body}, location()).state);
  });
  module.def(
      "load_plan",
      [](const std::string& path) {
        const Location where = location();
        return released([&] { return Function::load(path, where); });
      },
      nb::arg("path"));

  nb::class_<Profile>(module, "Profiling")
      .def(nb::init<>())
      .def(
          "text", [](const Profile& profile, int most) { return to_string(profile, most); }, nb::arg("most") = 25)
      .def("json", [](const Profile& profile) { return released([&] { return to_json(profile); }); })
      .def("restart", &Profile::restart)
      .def("seconds", &Profile::seconds)
      .def("steps", [](const Profile& profile) {
        nb::list made;
        for (const ProfiledStep& step : profile.steps()) {
          nb::dict row;
          row["name"] = step.name, row["kernel"] = step.kernel, row["kind"] = step.kind, row["from"] = step.from, row["library"] = step.library;
          row["runs"] = step.runs, row["seconds"] = step.seconds, row["fastest"] = step.fastest, row["bytes"] = step.bytes;
          row["operations"] = step.operations, row["of_bandwidth"] = step.of_bandwidth, row["of_arithmetic"] = step.of_arithmetic;
          made.append(row);
        }
        return made;
      });
  nb::class_<Timeline>(module, "Timeline").def(nb::init<std::string>()).def("write", [](Timeline& timeline) { released([&] { timeline.write(); }); });
  // The finished share of tune_arrays, and its present kernel, which Python reads. A callback would need the GIL in the middle of an evaluation, while a fork
  // that holds the GIL may wait for that evaluation.
  static std::mutex mutex;
  static std::pair<double, std::string> tuning;
  module.def("tuning", [] {
    const std::lock_guard lock(mutex);
    return tuning;
  });
  module.def("tune_arrays", [](nb::args arrays) {
    const std::vector<Tensor> tensors = tensors_of(arrays);
    const auto report = [](double done, std::string_view kernel) {
      const std::lock_guard lock(mutex);
      tuning = {done, std::string(kernel)};
    };
    report(0, "");
    const std::vector<TunedKernel> tuned = released([&] { return sinter::tune(tensors, report); });
    nb::list made;
    for (const TunedKernel& kernel : tuned) {
      nb::dict row;
      row["name"] = kernel.name, row["chosen"] = kernel.chosen, row["best"] = kernel.best, row["ratio"] = kernel.ratio, row["tried"] = kernel.tried,
      row["stored"] = kernel.stored;
      made.append(row);
    }
    return made;
  });
  module.def("begin_end", &begin_end);

#ifdef SINTER_MODELS
  nb::class_<Model>(module, "ModelFile")
      .def("inputs",
           [](const Model& m) {
             std::vector<std::string> all;
             for (const ModelValue& value : m.inputs()) all.push_back(to_string(value));
             return all;
           })
      .def("input_names",
           [](const Model& m) {
             std::vector<std::string> all;
             for (const ModelValue& value : m.inputs()) all.push_back(value.name);
             return all;
           })
      .def("output_names",
           [](const Model& m) {
             std::vector<std::string> all;
             for (const ModelValue& value : m.outputs()) all.push_back(value.name);
             return all;
           })
      .def("outputs",
           [](const Model& m) {
             std::vector<std::string> all;
             for (const ModelValue& value : m.outputs()) all.push_back(to_string(value));
             return all;
           })
      .def("__call__", [](const Model& m, nb::list inputs) {
        const std::vector<Tensor> given = tensors_in(inputs);
        const Location where = location();
        return as_tuple(released([&] { return m(given, where); }));
      });
  module.def(
      "load_model",
      [](const std::string& path, const std::vector<std::string>& without) {
        ModelOptions how;
        how.without = without;
        const Location where = location();
        return released([&] { return Model::load(path, how, where); });
      },
      nb::arg("path"), nb::arg("without") = std::vector<std::string>());
#endif
}

}  // namespace sinter::python

NB_MODULE(_core, module) {
  using namespace sinter::python;
  nb::set_leak_warnings(false);
  add_errors(module);
  add_dtypes(module);
  add_array(module);
  add_exchange(module);
  add_functions(module);
  add_engine(module);
  add_printing(module);
  add_ranks(module);
}
