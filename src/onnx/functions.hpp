// Functions that a model defines for itself (as PyTorch's exporter does of torch.export): each call of one becomes the nodes of its body.
#pragma once
#include <string>

#include "onnx.pb.h"

namespace sinter::onnx {

/// No node of the model's graphs calls a function of its own afterwards. Throws ModelError, naming the file, for one that calls itself or is of another
/// opset than the model.
void inline_functions(format::Model& model, const std::string& file);

}  // namespace sinter::onnx
