// The names of the graph (trace/graph.hpp) and of its sizes, as scheduling uses them.
#pragma once
#include "trace/graph.hpp"

namespace sinter::fuse {

using trace::as_double;
using trace::element_count;
using trace::Estimating;
using trace::exactly;
using trace::Graph;
using trace::Guard;
using trace::hints;
using trace::Node;
using trace::Size;
using trace::SizeNode;
using trace::SizeProgram;
using trace::Sizes;
using trace::sizes_of;
using trace::SizeSpace;
using trace::to_string;

}  // namespace sinter::fuse
