#include "freeze/staged_function.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sinter/counted.hpp"
#include "sinter/errors.hpp"
#include "sinter/ops.hpp"

namespace sinter::freezing {
namespace {

using trace::fail;

std::size_t number(Turn::Kind kind) { return static_cast<std::size_t>(kind); }

/// Returns the kinds of turns at the end of a stage.
std::vector<Turn::Kind> turns_at(const Stage& stage) {
  if (stage.path.end == End::condition) return {Turn::Kind::yes, Turn::Kind::no};
  if (stage.path.end == End::loop) return {Turn::Kind::round, Turn::Kind::after};
  return {};
}

/// Returns the beginning of texts about a stage, "if decide at main.cpp:3 is 4 times true and false: ". It is empty for a formula without decisions.
std::string prefix(const Stage& stage) {
  constexpr std::string_view kTexts[] = {"is false", "is true", "runs a round", "has ended"};
  const std::vector<Turn>& turns = stage.path.turns;
  std::string text, before;
  for (std::size_t k = 0, times = 1; k < turns.size(); k += times, times = 1) {
    const auto asked = [&](std::size_t at) { return fmt::format("{} at {}", stage.asked[at].op, trace::to_string(stage.asked[at].where)); };
    const std::string here = asked(k);
    while (k + times < turns.size() && asked(k + times) == here && turns[k + times].kind == turns[k].kind) ++times;
    text += fmt::format("{}{}{}{}", k == 0 ? "if " : " and ", here == before ? "" : here + " ", kTexts[number(turns[k].kind)],
                        times > 1 ? fmt::format(" {} times", times) : "");
    before = here;
  }
  return text.empty() ? text : text + ": ";
}

}  // namespace

InputSpec counter_spec(std::size_t loop) {
  constexpr std::int64_t kUsualRounds = 5;
  const std::string name = loop == 0 ? "loop rounds" : fmt::format("loop {} rounds", loop + 1);
  return {DType::bool_, {AxisSize(name, kUsualRounds)}, name};
}

std::unique_ptr<Stage> stage_after(const Stage& stage, Turn::Kind turn) {
  auto after = std::make_unique<Stage>();
  after->asked = stage.asked;
  after->asked.push_back(stage.path.decision);
  after->path.turns = stage.path.turns;
  after->path.turns.push_back({turn});
  after->path.kept = stage.path.kept;
  after->path.counters = stage.path.counters;
  return after;
}

StagedFunction::StagedFunction(Function::Formula formula, std::vector<InputSpec> specs, std::vector<std::string> names, Location where)
    : formula_(std::move(formula)), names_(std::move(names)) {
  if (!formula_) fail<ValueError>({"freeze", where}, "the formula is empty");
  first_ = std::make_unique<Stage>();
  const auto record = [this, path = &first_->path](std::vector<Tensor>& inputs) { return record_stage(formula_, *path, inputs); };
  first_->function = std::make_unique<FrozenFunction>(record, std::move(specs), where);
  if (first_->path.end == End::results) check_count(*first_, where);
}

/// All paths give the same number of results.
void StagedFunction::check_count(const Stage& last, Location where) {
  const std::size_t results = last.function->results();
  if (results_ != 0 && results != results_)
    fail<ValueError>({"freeze", where}, fmt::format("{}the formula gives {}; on another path it gives {}", prefix(last), counted(results, "tensor"), results_));
  if (names_.size() > results)
    fail<ValueError>({"freeze", where}, fmt::format("{} named, but the formula gives {}", counted(names_.size(), "output is", "outputs are"), results));
  while (names_.size() < results) names_.push_back(fmt::format("y{}", names_.size()));
  results_ = results;
}

/// Returns the specs of the formula's inputs, and one for each counter of rounds.
std::vector<InputSpec> StagedFunction::specs_after(const StagePath& path) const {
  std::vector<InputSpec> specs = inputs();
  for (std::size_t loop = 0; loop < path.counters; ++loop) specs.push_back(counter_spec(loop));
  return specs;
}

/// Plans a stage for loops without rounds and with one round, which need plans of their own; of more than two loops, for one of them at a time.
void StagedFunction::prepare_rounds(const Stage& stage, Location where) {
  constexpr std::int64_t kFew[] = {0, 1};
  const std::size_t counters = stage.path.counters;
  for (std::size_t a = 0; a < counters; ++a)
    for (const std::int64_t rounds : kFew) {
      stage.function->prepare({{counter_spec(a).name, rounds}}, where);
      if (counters != 2 || a > 0) continue;
      for (const std::int64_t others : kFew) stage.function->prepare({{counter_spec(0).name, rounds}, {counter_spec(1).name, others}}, where);
    }
}

/// Returns the stage after a turn. Makes it if the formula is there.
Stage& StagedFunction::next(Stage& stage, Turn::Kind turn, Location where) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Stage>& after = stage.next[number(turn)];
  if (after) return *after;
  std::unique_ptr<Stage> made = stage_after(stage, turn);
  if (!formula_) fail<ValueError>({"Function", where}, fmt::format("the file has no plan {}{}", prefix(*made), stage.missing[number(turn)]));
  made->path.turns.back().through = stage.path.round.turns;
  if (turn == Turn::Kind::after) made->path.counters += stage.path.round.collected > 0;
  const auto record = [this, path = &made->path](std::vector<Tensor>& inputs) { return record_stage(formula_, *path, inputs); };
  made->function = std::make_unique<FrozenFunction>(record, specs_after(made->path), where);
  if (made->path.end == End::results) check_count(*made, where);
  prepare_rounds(*made, where);
  for (const auto& sizes : prepared_) made->function->prepare(sizes, where);
  after = std::move(made);
  return *after;
}

/// The values that a call has computed between its stages.
struct StagedFunction::Run {
  const std::vector<Tensor>& inputs;
  std::vector<Tensor> counters, introduced, kept;
  std::vector<Turn::Kind> turns;

  std::vector<Tensor> given() const {
    std::vector<Tensor> all = inputs;
    for (const auto* list : {&counters, &introduced, &kept}) all.insert(all.end(), list->begin(), list->end());
    return all;
  }
};

namespace {

/// Returns the values of all rounds in one tensor; an empty handle if there was no round.
Tensor stacked(const std::vector<Tensor>& rounds, Location where) {
  if (rounds.empty()) return {};
  Shape shape = rounds.front().shape();
  shape.insert(shape.begin(), std::ssize(rounds));
  const DType dtype = rounds.front().dtype();
  std::vector<std::byte> bytes(static_cast<std::size_t>(element_count(shape)) * itemsize(dtype));
  std::byte* to = bytes.data();
  for (const Tensor& round : rounds) {
    const std::size_t count = static_cast<std::size_t>(round.nbytes());
    std::memcpy(to, detail::host_address(round, dtype, "loop", where), count);
    to += count;
  }
  return from_bytes(bytes.data(), dtype, static_cast<std::size_t>(element_count(shape)), shape, where);
}

}  // namespace

/// Runs the rounds of a loop from its first state, and then adds the last state and the collected values to the inputs of the stages behind it.
void StagedFunction::run_loop(Stage& stage, std::vector<Tensor> state, Run& run, Location where) {
  const std::size_t size = stage.path.state;
  std::vector<std::vector<Tensor>> collected;
  std::int64_t rounds = 0;
  bool go = state.front().item<bool>(where);
  state.erase(state.begin());
  for (; go; ++rounds) {
    Run within = run;
    within.introduced.push_back(from_bytes(&rounds, DType::int64, 1, Shape{}, where));
    within.introduced.insert(within.introduced.end(), state.begin(), state.end());
    std::vector<Tensor> made = this->run(next(stage, Turn::Kind::round, where), within, where);
    go = made.front().item<bool>(where);
    collected.resize(made.size() - 1 - size);
    for (std::size_t k = 0; k < collected.size(); ++k) collected[k].push_back(std::move(made[1 + size + k]));
    std::move(made.begin() + 1, made.begin() + 1 + static_cast<std::ptrdiff_t>(size), state.begin());
  }
  const Stage& after = next(stage, Turn::Kind::after, where);
  run.introduced.insert(run.introduced.end(), state.begin(), state.end());
  if (after.path.counters == stage.path.counters) return;
  const std::vector<std::byte> counter(static_cast<std::size_t>(rounds));  // only its length counts
  run.counters.push_back(from_bytes(counter.data(), DType::bool_, counter.size(), {rounds}, where));
  collected.resize(after.function->further().size() - run.introduced.size() - run.kept.size());
  for (const auto& list : collected) run.introduced.push_back(stacked(list, where));
}

/// Runs the stages from one on up to the end of the formula or of the round, and returns its results.
std::vector<Tensor> StagedFunction::run(Stage& first, Run& run, Location where) {
  Stage* stage = &first;
  for (;;) {
    std::vector<Tensor> results = stage->function->call(run.given(), where);
    if (!stage->path.decides()) return results;
    const auto kept = results.begin() + 1 + static_cast<std::ptrdiff_t>(stage->path.state);
    run.kept.insert(run.kept.end(), std::make_move_iterator(kept), std::make_move_iterator(results.end()));
    results.erase(kept, results.end());
    Turn::Kind turn = Turn::Kind::after;
    if (stage->path.end == End::condition) turn = results.front().item<bool>(where) ? Turn::Kind::yes : Turn::Kind::no;
    else run_loop(*stage, std::move(results), run, where);
    run.turns.push_back(turn);
    stage = &next(*stage, turn, where);
  }
}

std::vector<Tensor> StagedFunction::call(const std::vector<Tensor>& inputs, Location where) {
  if (!first_->path.decides()) return first_->function->call(inputs, where);
  Run run{inputs, {}, {}, {}, {}};
  std::vector<Tensor> results = this->run(*first_, run, where);
  const std::lock_guard lock(mutex_);
  called_ = std::move(run.turns);
  return results;
}

void StagedFunction::prepare(const std::map<std::string, std::int64_t>& sizes, Location where) {
  for (const Stage* stage : stages()) stage->function->prepare(sizes, where);
  const std::lock_guard lock(mutex_);
  prepared_.push_back(sizes);
}

const Stage& StagedFunction::complete(Location where) {
  if (!formula_) fail<ValueError>({"Function::save", where}, "the function was loaded; copy its file instead");
  std::size_t count = stages().size();
  std::vector<Stage*> list{first_.get()};
  for (std::size_t k = 0; k < list.size(); ++k)
    for (const Turn::Kind turn : turns_at(*list[k])) {
      const bool is_new = !list[k]->next[number(turn)];
      std::string& missing = list[k]->missing[number(turn)];
      missing = fmt::format("save() adds stages up to {}, and the formula has more; call the function on such a path before it is saved", kMaxStages);
      if (is_new && count >= kMaxStages) continue;
      try {
        list.push_back(&next(*list[k], turn, where));
        count += is_new;
      } catch (const InternalError&) {
        throw;
      } catch (const Error& error) {                 // this path cannot be planned
        const std::string_view text = error.what();  // of a Python function, a traceback and the error
        missing = text.substr(text.rfind('\n') + 1);
      }
    }
  return *first_;
}

/// Returns all stages, each before those that follow it.
std::vector<const Stage*> StagedFunction::stages() const {
  const std::lock_guard lock(mutex_);
  std::vector<const Stage*> list{first_.get()};
  for (std::size_t k = 0; k < list.size(); ++k)
    for (const Turn::Kind turn : turns_at(*list[k]))
      if (const Stage* after = list[k]->next[number(turn)].get()) list.push_back(after);
  return list;
}

/// Returns the stages of the last call, and of the first known path through a round of each loop; without a call, those of the first known path.
std::vector<const Stage*> StagedFunction::called() const {
  const std::lock_guard lock(mutex_);
  std::vector<const Stage*> way;
  const auto follow = [&](const auto& self, const Stage* stage, std::size_t turn) -> void {
    while (stage) {
      way.push_back(stage);
      const Stage* next = nullptr;
      for (const Turn::Kind kind : turns_at(*stage)) {
        const Stage* const after = stage->next[number(kind)].get();
        if (kind == Turn::Kind::round && after) self(self, after, called_.size());
        else if (!next && (turn >= called_.size() || called_[turn] == kind)) next = after;
      }
      stage = next;
      ++turn;
    }
  };
  follow(follow, first_.get(), 0);
  return way;
}

int StagedFunction::plans() const {
  int plans = 0;
  for (const Stage* stage : stages()) plans += stage->function->plans();
  return plans;
}

std::vector<FrozenFigures> StagedFunction::figures() const {
  std::vector<FrozenFigures> all;
  for (const Stage* stage : called()) {
    std::vector<FrozenFigures> here = stage->function->figures();
    for (FrozenFigures& one : here) std::erase_if(one.sizes, [&](const auto& size) { return size.first.ends_with(" rounds"); });
    if (all.empty()) {
      all = std::move(here);
      continue;
    }
    std::erase_if(all, [&](FrozenFigures& sum) {  // sizes with which this stage was not called
      const auto same = std::find_if(here.begin(), here.end(), [&](const FrozenFigures& one) { return one.sizes == sum.sizes; });
      if (same == here.end()) return true;
      sum.kernels += same->kernels, sum.library_calls += same->library_calls, sum.operations += same->operations;
      sum.bytes_moved += same->bytes_moved, sum.bytes_unfused += same->bytes_unfused;
      sum.arena_bytes = std::max(sum.arena_bytes, same->arena_bytes);
      sum.least_bytes = std::max(sum.least_bytes, same->least_bytes);
      sum.apart_bytes += same->apart_bytes;
      return false;
    });
  }
  return all;
}

/// Returns the stages that give results, with the text of serves() for each of their plans; of many paths only one with each text.
std::vector<StagedFunction::Served> StagedFunction::served() const {
  constexpr std::size_t kMostPaths = 8;
  std::vector<const Stage*> last = stages();
  std::erase_if(last, [](const Stage* stage) { return stage->path.end != End::results; });
  std::vector<Served> all;
  std::map<std::string, int> paths;
  for (const Stage* stage : last) {
    const std::vector<std::string>& plans = stage->function->serves();
    for (std::size_t plan = 0; plan < plans.size(); ++plan)
      if (++paths[plans[plan]] == 1 || last.size() <= kMostPaths) all.push_back({stage, plan, plans[plan]});
  }
  for (auto& [stage, plan, text] : all)
    text = last.size() <= kMostPaths ? prefix(*stage) + text : fmt::format("on {} of {} paths: {}", paths[text], last.size(), text);
  return all;
}

std::vector<std::string> StagedFunction::serves() const {
  std::vector<std::string> all;
  for (Served& one : served()) all.push_back(std::move(one.text));
  return all;
}

std::vector<std::string> StagedFunction::missing() const {
  std::vector<std::string> all;
  if (formula_) return all;
  for (const Stage* stage : stages())
    for (const Turn::Kind turn : turns_at(*stage))
      if (!stage->next[number(turn)]) all.push_back(prefix(*stage_after(*stage, turn)) + stage->missing[number(turn)]);
  return all;
}

std::vector<std::string> StagedFunction::limits() const {
  std::vector<std::string> all;
  for (const Served& one : served()) all.push_back(one.stage->function->limits()[one.plan]);
  return all;
}

bool StagedFunction::has_plan_for(const std::map<std::string, std::int64_t>& sizes) const {
  const std::vector<const Stage*> all = stages();
  return std::all_of(all.begin(), all.end(), [&](const Stage* stage) { return stage->function->has_plan_for(sizes); });
}

std::string StagedFunction::explain(const ExplainOptions& options) const {
  if (!first_->path.decides()) return first_->function->explain(options);
  std::string text;
  std::vector<Explained> plans;
  ExplainOptions how = options;
  for (const Stage* stage : called()) {
    if (options.format == Format::text) {
      const std::string when = prefix(*stage);
      text += fmt::format("{}{}{}{}", text.empty() ? "" : "\n", when, when.empty() ? "" : "\n", stage->function->explain(options));
      continue;
    }
    how.sizes = options.sizes;
    if (auto plan = stage->function->explained(how.sizes)) plans.push_back(std::move(*plan));
  }
  return options.format == Format::text ? text : explanation(plans, how);
}

}  // namespace sinter::freezing
