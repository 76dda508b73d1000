// Functions that a model defines (as PyTorch's exporter writes for torch.export): each call is replaced by the nodes of the function's body.
#pragma once
#include <string>

#include "onnx.pb.h"

namespace sinter::onnx {

/// Replaces all calls. Throws a ModelError that names the file for a function that calls itself or has another opset than the model.
void inline_functions(format::Model& model, const std::string& file);

}  // namespace sinter::onnx
