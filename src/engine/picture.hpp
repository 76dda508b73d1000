// The plan as a picture: the steps as regions of the recorded graph. One drawing serves documents, notebooks and the page that is clicked.
#pragma once
#include <string>
#include <vector>

#include "engine/explain.hpp"

namespace sinter::engine {

/// A drawing in which each step is a region with its recorded nodes.
std::string picture_svg(const std::vector<Told>& evaluations);
/// The drawing in a page that needs no network, with sources, reasons, lines, live ranges and a search.
std::string picture_html(const std::vector<Told>& evaluations);
/// The same for Graphviz.
std::string picture_dot(const std::vector<Told>& evaluations);

/// picture.html, which the build embeds.
extern const char* const kPicturePage;

}  // namespace sinter::engine
