#!/usr/bin/env python3
"""Quantises the models of make_models.py with ONNX Runtime's own quantiser, to 8 bits, beside an input and ONNX Runtime's result for each.

    bench/make_models.py FOLDER resnet50 mobilenet_v2 detector minilm bert
    bench/quantise_models.py FOLDER QUANTISED [NAME...]
    bench/models.py SINTER QUANTISED

Of convolutional networks it writes NAME_qdq (QuantizeLinear and DequantizeLinear around each operator, weights scaled by channel), NAME_qdq_tensor (by
tensor) and NAME_qoperator (QLinearConv and the like); of all NAME_dynamic (ConvInteger, MatMulInteger); of encoders NAME_qdq too. Ranges come from the inputs
that lie beside the model and a few drawn like them.
"""
import glob
import os
import shutil
import sys
import tempfile

import numpy as np
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process


class Inputs(CalibrationDataReader):
    """Returns the model's own inputs, and others like them."""

    def __init__(self, own):
        draw = np.random.default_rng(0)
        like = [{key: draw.standard_normal(value.shape, np.float32) if value.dtype == np.float32 else value for key, value in own.items()} for _ in range(3)]
        self.all = iter([own, *like])

    def get_next(self):
        return next(self.all, None)


def quantised(source, own, convolutional, folder):
    name = os.path.basename(source)[:-5]

    def to(kind):
        return os.path.join(folder, f"{name}_{kind}.onnx")

    types = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
    quantize_static(source, to("qdq"), Inputs(own), quant_format=QuantFormat.QDQ, per_channel=convolutional, **types)
    if convolutional:
        quantize_static(source, to("qdq_tensor"), Inputs(own), quant_format=QuantFormat.QDQ, **types)
        quantize_static(source, to("qoperator"), Inputs(own), quant_format=QuantFormat.QOperator, per_channel=True, **types)
    # ONNX Runtime has no ConvInteger with signed weights.
    quantize_dynamic(source, to("dynamic"), weight_type=QuantType.QUInt8 if convolutional else QuantType.QInt8)
    return glob.glob(to("*"))


def main():
    source, folder = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[3:] or ["resnet50", "mobilenet_v2", "detector", "minilm", "bert"]:
        inputs = {os.path.basename(file)[len(name) + 1:-4]: file for file in glob.glob(os.path.join(source, name + ".*.npy"))}
        inputs.pop("y")
        own = {key: np.load(file) for key, file in inputs.items()}
        with tempfile.TemporaryDirectory() as work:
            prepared = os.path.join(work, name + ".onnx")
            quant_pre_process(os.path.join(source, name + ".onnx"), prepared, skip_symbolic_shape=True)
            made = quantised(prepared, own, name not in ("minilm", "bert"), folder)
        for path in sorted(made):
            for key, file in inputs.items():
                shutil.copy(file, f"{path[:-5]}.{key}.npy")
            np.save(path[:-5] + ".y.npy", onnxruntime.InferenceSession(path).run(None, own)[0])
            print(f"{path}: {os.path.getsize(path) / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
