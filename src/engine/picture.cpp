#include "engine/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/origins.hpp"

namespace sinter::engine {
namespace {

using nlohmann::json;

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') safe += "&lt;";
    else if (c == '>') safe += "&gt;";
    else if (c == '&') safe += "&amp;";
    else if (c == '"') safe += "&quot;";
    else safe += c;
  }
  return safe;
}

/// Shortens a text to at most `max_length` characters, without splitting a character.
std::string shortened(std::string text, std::size_t max_length) {
  if (text.size() <= max_length) return text;
  text.resize(max_length);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
  if (!text.empty() && (static_cast<unsigned char>(text.back()) & 0x80)) text.pop_back();
  return text + "…";
}

/// One step with its recorded nodes.
struct Region {
  const json* step = nullptr;
  bool library = false;
  std::vector<std::size_t> nodes;
};

/// Returns the steps in order. A view, which no step computes, is in the region of the first step that reads through it.
std::vector<Region> regions_of(const json& data) {
  std::vector<Region> regions(data.at("kernels").size() + data.at("library_calls").size());
  for (const char* kind : {"kernels", "library_calls"})
    for (const json& step : data.at(kind)) regions[step.at("step").get<std::size_t>()] = {&step, kind[0] == 'l', {}};
  for (std::size_t p = 0; p < data.at("plans").size(); ++p) {
    const json& nodes = data.at("plans")[p].at("nodes");
    std::vector<std::vector<std::size_t>> within(nodes.size());
    for (std::size_t s = 0; s < regions.size(); ++s)
      if (regions[s].step->at("plan") == p)
        for (const std::size_t node : regions[s].step->at("computes")) within[node].push_back(s);
    for (std::size_t id = nodes.size(); id-- > 0;)
      for (const std::size_t input : nodes[id].at("inputs"))
        if (const json& op = nodes[input].at("op"); op != "data" && op != "constant" && !within[id].empty())
          if (within[input].empty() ||
              (nodes[input].at("inputs").size() == 1 && within[id].front() < within[input].front() && within[input].size() == 1 &&
               std::none_of(regions[within[input].front()].step->at("computes").begin(), regions[within[input].front()].step->at("computes").end(),
                            [&](const json& computed) { return computed == input; })))
            within[input] = {within[id].front()};
    for (std::size_t id = 0; id < nodes.size(); ++id)
      for (const std::size_t s : within[id]) regions[s].nodes.push_back(id);
  }
  return regions;
}

std::string chip_text(const json& node) {
  std::string text = node.at("op");
  if (node.contains("name")) text = node.at("name").get<std::string>() + " = " + text;
  return shortened(text, 40);
}

std::string bytes_text(double bytes) { return bytes < 1e6 ? fmt::format("{:.1f} KB", bytes / 1e3) : fmt::format("{:.1f} MB", bytes / 1e6); }

std::string values_text(const json& values) {
  std::string text;
  for (const json& value : values) {
    text += text.empty() ? "" : ", ";
    if (value.contains("name")) text += value.at("name").get<std::string>() + " ";
    text += fmt::format("{} {}", value.at("dtype").get<std::string>(), sinter::to_string(value.at("shape").get<Shape>()));
  }
  return shortened(text, 110);
}

constexpr const char* kStyle = R"(<style>
.sinter{--ink:#1c2430;--dim:#5a6575;--paper:#fff;--edge:#8a94a6;--library:#e4e9f2;--chip:#ffffffb0;--mark:#d9480f;font:12px system-ui,sans-serif;background:var(--paper)}
.sinter .h0{fill:#e3f1e6}.sinter .h1{fill:#e6ecfb}.sinter .h2{fill:#fbefdc}.sinter .h3{fill:#f4e6f6}.sinter .h4{fill:#ddf1f2}.sinter .h5{fill:#f8e6e4}
@media (prefers-color-scheme:dark){.sinter{--ink:#e6eaf0;--dim:#a2adbd;--paper:#14181f;--edge:#66718a;--library:#2a3240;--chip:#00000055;--mark:#ff9f5a}
.sinter .h0{fill:#1f3327}.sinter .h1{fill:#222c47}.sinter .h2{fill:#3a301e}.sinter .h3{fill:#36253a}.sinter .h4{fill:#1d3538}.sinter .h5{fill:#3b2523}}
.sinter .step>rect{stroke:var(--edge)}.sinter .library>rect{fill:var(--library)}.sinter text{fill:var(--ink)}.sinter .dim{fill:var(--dim)}.sinter .title{font-weight:600}
.sinter .node rect{fill:var(--chip);stroke:var(--edge);stroke-width:.6}.sinter .link{fill:none;stroke:var(--edge);stroke-width:1.3}.sinter .tip{fill:var(--edge)}
.sinter .chosen>rect{stroke:var(--mark);stroke-width:2.4}.sinter .found>rect{stroke:var(--mark);stroke-width:2.4;stroke-dasharray:4 2}
.sinter .step,.sinter .node{cursor:pointer}.sinter .step:focus{outline:none}.sinter .step:focus>rect{stroke:var(--mark);stroke-width:2.4}
</style>)";

std::string drawing(const json& data) {
  constexpr int kLeft = 12, kWidth = 780, kGap = 26, kChip = 20, kBend = 150;
  constexpr std::size_t kMaxNodes = 4000, kFew = 24;
  const std::vector<Region> regions = regions_of(data);
  std::size_t nodes = 0;
  for (const Region& region : regions) nodes += region.nodes.size();
  const std::size_t max_shown = nodes > kMaxNodes ? kFew : nodes;
  std::string body, links;
  std::vector<int> top(regions.size()), bottom(regions.size());
  int y = 10;
  for (std::size_t s = 0; s < regions.size(); ++s) {
    const json& step = *regions[s].step;
    std::string chips;
    int x = kLeft + 10, line = y + 56;
    const std::size_t shown = std::min(regions[s].nodes.size(), max_shown);
    const json& plan = data.at("plans")[step.at("plan").get<std::size_t>()];
    for (std::size_t k = 0; k < shown; ++k) {
      const std::size_t id = regions[s].nodes[k];
      const std::string text = chip_text(plan.at("nodes")[id]);
      const int width = 14 + 7 * static_cast<int>(text.size());
      if (x + width > kLeft + kWidth - 10) x = kLeft + 10, line += kChip + 4;
      chips +=
          fmt::format("<g class=\"node\" data-node=\"{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"9\"/><text x=\"{}\" y=\"{}\">{}</text></g>\n",
                      id, x, line, width, kChip, x + 7, line + 14, escaped(text));
      x += width + 6;
    }
    if (shown < regions[s].nodes.size())
      chips += fmt::format("<text class=\"dim\" x=\"{}\" y=\"{}\">and {} more</text>\n", x, line + 14, regions[s].nodes.size() - shown);
    top[s] = y, bottom[s] = line + (regions[s].nodes.empty() ? -4 : kChip + 8);
    const std::string from = step.at("lines_text"), name = step.at("name");
    const json& boundary = step.at("boundary");
    body += fmt::format(
        "<g class=\"step {}\" data-step=\"{}\" tabindex=\"0\" role=\"button\"><title>{}</title><rect class=\"h{}\" x=\"{}\" y=\"{}\" width=\"{}\" "
        "height=\"{}\" rx=\"7\"/>"
        "<text class=\"title\" x=\"{}\" y=\"{}\">{}</text><text class=\"dim\" x=\"{}\" y=\"{}\">{}</text><text class=\"dim\" x=\"{}\" "
        "y=\"{}\">{}</text>\n{}</g>\n",
        regions[s].library ? "library" : "kernel", s, escaped(name), s % 6, kLeft, y, kWidth, bottom[s] - y, kLeft + 10, y + 17,
        escaped(shortened(fmt::format("{}. {}{}", s + 1, name, from.empty() ? "" : ", from " + from), 102)), kLeft + 10, y + 33,
        escaped(
            shortened(fmt::format("{}: {} to {}", bytes_text(step.at("bytes_moved")), values_text(step.at("inputs")), values_text(step.at("outputs"))), 130)),
        kLeft + 10, y + 48,
        escaped(shortened(fmt::format("ends: {}: {}", boundary.at("reason").get<std::string>(), boundary.at("detail").get<std::string>()), 130)), chips);
    y = bottom[s] + kGap;
  }
  for (std::size_t s = 0; s < regions.size(); ++s) {
    std::set<std::size_t> sources;
    for (const json& value : regions[s].step->at("inputs"))
      if (value.contains("of_step")) sources.insert(value.at("of_step").get<std::size_t>());
    for (const std::size_t from : sources) {
      const int out = kLeft + kWidth, bend = out + std::min(kBend, 16 + 7 * static_cast<int>(s - from));
      links += from + 1 == s
                   ? fmt::format("<path class=\"link\" marker-end=\"url(#sinter-tip)\" d=\"M{0} {1}V{2}\"/>\n", kLeft + kWidth / 2, bottom[from], top[s] - 2)
                   : fmt::format("<path class=\"link\" marker-end=\"url(#sinter-tip)\" d=\"M{0} {1}C{2} {1} {2} {3} {4} {3}\"/>\n", out, bottom[from] - 8, bend,
                                 top[s] + 12, out + 2);
    }
  }
  return fmt::format(
      "<svg class=\"sinter\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">{2}\n<defs><marker id=\"sinter-tip\" "
      "viewBox=\"0 0 8 8\" "
      "refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path class=\"tip\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n{3}{4}</svg>",
      kLeft + kWidth + kBend, y, kStyle, body, links);
}

/// Returns the program's lines around those of a step, if the file can be read.
json program_lines(const json& lines) {
  constexpr std::uint32_t kAround = 2, kMaxName = 60;
  json text = json::array();
  for (const json& one : lines) {
    const std::uint32_t first = one.at("first"), last = one.at("last");
    if (first == 0 || text.size() > kMaxName) continue;
    std::ifstream file(one.at("file").get<std::string>());
    std::string line;
    for (std::uint32_t number = 1; number <= last + kAround && std::getline(file, line); ++number)
      if (number + kAround >= first) text.push_back({{"number", number}, {"text", line.substr(0, 200)}, {"here", number >= first && number <= last}});
  }
  return text;
}

}  // namespace

std::string picture_svg(const std::vector<Explained>& evaluations) { return drawing(explain_json(evaluations)); }

std::string picture_html(const std::vector<Explained>& evaluations) {
  json data = explain_json(evaluations);
  const std::string svg = drawing(data);
  // The sources of each kernel, each text once.
  std::map<std::string, std::size_t> known;
  json texts = json::array(), of_steps = json::array();
  const auto text_number = [&](const std::string& text) {
    const auto [at, fresh] = known.emplace(text, texts.size());
    if (fresh) texts.push_back(text);
    return at->second;
  };
  for (const Explained& explained : evaluations)
    if (explained.planned)
      for (const PlannedStep& step : explained.planned->steps) {
        json both = json::object();
        if (!step.library) {
          both["nest"] = text_number(to_string(step.nest));
          if (!step.made.source().text.empty()) both["source"] = text_number(step.made.source().text);
        }
        of_steps.push_back(both);
      }
  data["texts"] = texts, data["of_steps"] = of_steps;
  for (const char* kind : {"kernels", "library_calls"})
    for (json& step : data[kind]) step["program"] = program_lines(step.at("lines"));
  ExplainOptions text;
  data["text"] = explanation(evaluations, text);
  std::string script = data.dump(-1, ' ', false, json::error_handler_t::replace);
  for (std::size_t at = 0; (at = script.find("</", at)) != std::string::npos; at += 3) script.insert(at + 1, "\\");
  std::string page = kPicturePage;
  for (const auto& [mark, with] : {std::pair<std::string, const std::string&>("<!--DRAWING-->", svg), {"/*DATA*/", script}})
    if (const std::size_t at = page.find(mark); at != std::string::npos) page.replace(at, mark.size(), with);
  return page;
}

std::string picture_dot(const std::vector<Explained>& evaluations) {
  const json data = explain_json(evaluations);
  const auto quoted = [](const std::string& text) { return json(text).dump(-1, ' ', false, json::error_handler_t::replace); };
  std::string text = "digraph sinter {\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n";
  const std::vector<Region> regions = regions_of(data);
  std::map<std::pair<std::size_t, std::size_t>, std::string> drawn;  // node of a plan -> the last step that draws it
  for (std::size_t s = 0; s < regions.size(); ++s) {
    const json& step = *regions[s].step;
    const std::size_t plan = step.at("plan");
    text += fmt::format("  subgraph cluster_{} {{\n    label={};\n", s,
                        quoted(fmt::format("{}. {} {}", s + 1, step.at("name").get<std::string>(), step.at("lines_text").get<std::string>())));
    for (const std::size_t id : regions[s].nodes) {
      drawn[{plan, id}] = fmt::format("s{}_n{}", s, id);
      text += fmt::format("    s{}_n{} [label={}];\n", s, id, quoted(chip_text(data.at("plans")[plan].at("nodes")[id])));
    }
    text += "  }\n";
  }
  for (std::size_t p = 0; p < data.at("plans").size(); ++p) {
    const json& nodes = data.at("plans")[p].at("nodes");
    for (std::size_t id = 0; id < nodes.size(); ++id)
      if (nodes[id].contains("leaf")) {
        drawn[{p, id}] = fmt::format("p{}_n{}", p, id);
        text += fmt::format("  p{}_n{} [shape=ellipse, label={}];\n", p, id,
                            quoted(nodes[id].value("name", fmt::format("input {}", nodes[id].at("leaf").get<int>() + 1))));
      }
  }
  for (std::size_t s = 0; s < regions.size(); ++s) {
    const std::size_t plan = regions[s].step->at("plan");
    const std::set<std::size_t> here(regions[s].nodes.begin(), regions[s].nodes.end());
    for (const std::size_t id : regions[s].nodes)
      for (const std::size_t input : data.at("plans")[plan].at("nodes")[id].at("inputs"))
        if (const auto from = drawn.find({plan, input}); here.contains(input) || from != drawn.end())
          text += fmt::format("  {} -> s{}_n{};\n", here.contains(input) ? fmt::format("s{}_n{}", s, input) : from->second, s, id);
  }
  return text + "}\n";
}

}  // namespace sinter::engine
