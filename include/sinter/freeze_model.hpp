// Trained models as frozen functions. Needs the library sinter_model, as sinter/model.hpp does.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sinter/freeze.hpp"
#include "sinter/model.hpp"

namespace sinter {

/// The model as a frozen function of its inputs in order, for the present device. Names in the inputs' shapes are named axes; `sizes` gives the sizes
/// that plans are made for now, each combination of those listed (a name that is left out: 41, a further one 43, and so on; of a picture's side 224, 352;
/// smaller ones where the model refuses these). A size that has no name is called by its input and axis, "x.0". Throws ModelError for an input without a shape
/// and where a node fails, ValueError for a name that is none, and where a shape depends on the elements of an input.
Function freeze(const Model& model, const std::map<std::string, std::vector<std::int64_t>>& sizes = {}, Location where = Location::current());

}  // namespace sinter
