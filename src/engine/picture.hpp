// Draws the plan as a picture: the steps are regions of the recorded graph. One drawing serves documents, notebooks and the interactive page.
#pragma once
#include <string>
#include <vector>

#include "engine/explain.hpp"

namespace sinter::engine {

/// Returns a drawing in which each step is a region with its recorded nodes.
std::string picture_svg(const std::vector<Explained>& evaluations);
/// Returns a page that contains the drawing, sources, reasons, lines, live ranges and a search, and needs no network.
std::string picture_html(const std::vector<Explained>& evaluations);
/// Returns the same plan for Graphviz.
std::string picture_dot(const std::vector<Explained>& evaluations);

/// The text of picture.html, which the build embeds.
extern const char* const kPicturePage;

}  // namespace sinter::engine
