// Trained models as frozen functions. Needs the library sinter_model, as sinter/model.hpp does.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sinter/freeze.hpp"
#include "sinter/model.hpp"

namespace sinter {

/// Returns the sizes that freeze() chooses for names that are not in `sizes`. With `small`, returns those that freeze() tries if the model refuses its first
/// choice.
std::map<std::string, std::int64_t> usual_sizes(const Model& model, const std::map<std::string, std::vector<std::int64_t>>& sizes = {}, bool small = false);

/// Freezes the model as a function of its inputs in order, for the present device. Names in the inputs' shapes are named axes. `sizes` lists sizes for names; a
/// plan is made now for every combination of them. A name that is not listed gets a default size: 41 for the first such name, 43 for the next, and so on; 224
/// and 352 for the sides of a picture. If the model refuses these sizes, smaller ones are tried. A size without a name is called by its input and axis, "x.0".
/// Throws ModelError for an input without a shape and for a node that fails, ValueError for an unknown name and for a shape that depends on the elements of an
/// input.
Function freeze(const Model& model, const std::map<std::string, std::vector<std::int64_t>>& sizes = {}, Location where = Location::current());

}  // namespace sinter
