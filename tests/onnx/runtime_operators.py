#!/usr/bin/env python3
"""ONNX Runtime's own operators (com.microsoft) beside ONNX Runtime: one node a model, on random inputs.

    tests/onnx/runtime_operators.py SINTER

Exits with 77 where onnxruntime or onnx is not installed.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

try:
    import onnx
    import onnxruntime
    from onnx import helper
except ImportError:
    sys.exit(77)

RANDOM = np.random.default_rng()
B, S, N, H = 2, 5, 3, 8  # sequences, places, heads, numbers a head
E = N * H


def floats(*shape, width=1.0):
    return RANDOM.uniform(-width, width, shape).astype(np.float32)


def small(dtype, *shape):
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def whole(high, *shape, dtype=np.int32):
    return RANDOM.integers(0, high, shape).astype(dtype)


def scale():
    return np.float32(RANDOM.uniform(0.005, 0.02))


MASKS = {"keys": whole(2, B, S) | (np.arange(S) == 0).astype(np.int32), "lengths": whole(S, B) + 1,
         "ends and starts": np.array([S, S - 1, 0, 1], np.int32), "pairs": whole(2, B, S, S) | np.eye(S, dtype=np.int32)}


def cases():
    """Yields the operator, its inputs (None: left out), its attributes, the number of outputs, and the allowed error."""
    projected = [floats(B, S, E), floats(E, 3 * E), floats(3 * E)]
    heads = {"num_heads": N}
    yield "Attention", projected, heads, 1, 1e-5
    yield "Attention", projected, {**heads, "unidirectional": 1}, 1, 1e-5
    yield "Attention", projected + [None, floats(2, B, N, 4, H)], heads, 2, 1e-5
    yield "Attention", projected + [None, None, floats(B, N, S, S)], {**heads, "scale": 0.3}, 1, 1e-5
    yield "Attention", [floats(B, S, E), floats(E, 2 * E + N * 4), floats(2 * E + N * 4)], {**heads, "qkv_hidden_sizes": [E, E, N * 4]}, 1, 1e-5
    for mask in MASKS.values():
        yield "Attention", projected + [mask], heads, 1, 1e-5
    quantized = [small(np.uint8, B, S, E), small(np.int8, E, 3 * E), floats(3 * E), scale(), scale()]
    yield "QAttention", quantized + [None, np.uint8(120), np.int8(3)], heads, 1, 1e-4
    yield "QAttention", quantized + [MASKS["lengths"], np.uint8(120), np.int8(0)], heads, 1, 1e-4
    apart = [floats(B, S, E), floats(B, 7, E), floats(B, 7, E)]
    yield "MultiHeadAttention", apart, heads, 1, 1e-5
    yield "MultiHeadAttention", apart + [floats(3 * E)], heads, 1, 1e-5
    yield "MultiHeadAttention", apart + [None, whole(2, B, 7) | (np.arange(7) == 2).astype(np.int32)], heads, 1, 1e-5
    yield "MultiHeadAttention", apart + [None, None, floats(1, N, S, 7)], heads, 1, 1e-5
    yield "MultiHeadAttention", [floats(B, S, E)] * 3 + [None] * 3 + [floats(B, N, 4, H), floats(B, N, 4, H)], heads, 3, 1e-5
    yield "MultiHeadAttention", [floats(B, S, E), floats(B, N, 6, H), floats(B, N, 6, H)], heads, 1, 1e-5
    tables = [floats(32, H // 2), floats(32, H // 2)]
    for interleaved in (0, 1):
        yield "RotaryEmbedding", [floats(B, S, E), whole(32, B, S, dtype=np.int64), *tables], {"interleaved": interleaved}, 1, 1e-5
    yield "RotaryEmbedding", [floats(B, S, E), np.array([3], np.int64), *tables], {}, 1, 1e-5
    yield "RotaryEmbedding", [floats(B, N, S, H), whole(32, B, S, dtype=np.int64), *tables], {}, 1, 1e-5
    words = [whole(50, B, S), whole(2, B, S)]
    embedded = [floats(50, E), floats(9, E), floats(2, E), floats(E), floats(E)]
    yield "EmbedLayerNormalization", words + embedded, {"epsilon": 1e-5}, 2, 1e-5
    yield "EmbedLayerNormalization", words + embedded + [MASKS["keys"]], {"epsilon": 1e-5}, 2, 1e-5
    yield "EmbedLayerNormalization", [words[0], None, *embedded[:2], None, *embedded[3:], None, whole(9, B, S)], {"epsilon": 1e-5}, 2, 1e-5
    rounded = [small(np.uint8, 50, E), small(np.uint8, 9, E), small(np.uint8, 2, E), small(np.uint8, E), small(np.uint8, E)]
    for mask in (None, MASKS["keys"]):
        yield ("QEmbedLayerNormalization", words + rounded + [mask] + [scale() for _ in rounded] + [np.uint8(RANDOM.integers(256)) for _ in rounded],
               {"epsilon": 1e-5}, 2, 1e-4)
    for zero in (None, np.int8(5)):
        yield "DynamicQuantizeMatMul", [floats(B, S, E), small(np.int8, E, 7), scale(), zero], {}, 1, 1e-4
    yield "DynamicQuantizeMatMul", [floats(B, S, E), small(np.uint8, E, 7), floats(7) + 2, small(np.uint8, 7), floats(7)], {}, 1, 1e-4
    yield "MatMulIntegerToFloat", [small(np.uint8, S, E), small(np.int8, E, 7), scale(), scale(), np.uint8(7), np.int8(-2), floats(7)], {}, 1, 1e-4
    for direction, sides in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
        for dtype in (np.int8, np.uint8):
            yield ("DynamicQuantizeLSTM",
                   [floats(6, B, E), small(dtype, sides, E, 4 * H), small(dtype, sides, H, 4 * H), floats(sides, 8 * H), None, None, None, None,
                    np.full(sides, 0.002, np.float32), small(dtype, sides) // 8, np.full(sides, 0.002, np.float32), small(dtype, sides) // 8],
                   {"hidden_size": H, "direction": direction}, 3, 0.02)
    yield "SkipLayerNormalization", [floats(B, S, E), floats(B, S, E), floats(E), floats(E), floats(E)], {"epsilon": 1e-5}, 1, 1e-5
    yield "BiasGelu", [floats(B, S, E, width=4), floats(E)], {}, 1, 1e-5
    yield "FastGelu", [floats(B, S, E, width=4), floats(E)], {}, 1, 1e-5
    for zero in ([], [small(np.uint8, 7)]):
        yield "MatMulNBits", [floats(S, 32), small(np.uint8, 7, 2, 8), floats(14), *zero], {"K": 32, "N": 7, "bits": 4, "block_size": 16}, 1, 1e-4


def main(sinter):
    wrong = 0
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    for op, operands, attributes, outputs, allowed in cases():
        given = {f"i{k}": np.asarray(x) for k, x in enumerate(operands) if x is not None}
        node = helper.make_node(op, [f"i{k}" if x is not None else "" for k, x in enumerate(operands)], [f"o{k}" for k in range(outputs)],
                                domain="com.microsoft", **attributes)
        # Scales, zero points and weights are the model's own, as files have them.
        own = {name for name, x in given.items() if name != "i0" and (x.ndim == 0 or op.startswith(("Dynamic", "QAttention", "MatMul")))}
        kinds = {name: helper.np_dtype_to_tensor_dtype(x.dtype) for name, x in given.items()}
        graph = helper.make_graph([node], op, [helper.make_tensor_value_info(name, kinds[name], x.shape) for name, x in given.items() if name not in own],
                                  [helper.make_tensor_value_info(f"o{k}", onnx.TensorProto.INT32 if "Embed" in op and k == 1 else onnx.TensorProto.FLOAT, None)
                                   for k in range(outputs)],
                                  [onnx.numpy_helper.from_array(given[name], name) for name in own])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
        said = f"{op} of {[list(x.shape) if x is not None else None for x in map(lambda x: None if x is None else np.asarray(x), operands)]} {attributes}"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            onnx.save(model, path)
            given = {name: x for name, x in given.items() if name not in own}
            try:
                want = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, given)
            except Exception as error:
                print(f"{said}: ONNX Runtime refuses it: {str(error)[:200]}")
                wrong += 1
                continue
            for name, x in given.items():
                np.save(os.path.join(folder, name + ".npy"), x)
            run = subprocess.run([sinter, "run", path, *[f"{name}={os.path.join(folder, name)}.npy" for name in given], "-o", os.path.join(folder, "out")],
                                 capture_output=True, text=True)
            if run.returncode:
                print(f"{said}: {run.stderr.strip()}")
                wrong += 1
                continue
            for k, expected in enumerate(want):
                got = np.load(os.path.join(folder, "out", f"o{k}.npy"))
                error = np.max(abs(got - expected), initial=0) / (1 + np.max(abs(expected), initial=0)) if got.shape == expected.shape else np.inf
                if not error <= allowed or got.dtype != expected.dtype:
                    print(f"{said}: output {k} is {got.dtype} {got.shape}, off by {error:.2g}")
                    wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
