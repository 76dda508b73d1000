#!/usr/bin/env python3
"""Plans and compiles formulas of one line for a CPU and an H100, without data or a GPU: how many kernels each takes, and why more than one.

    bench/one_liners.py build/release/sinter > bench/results/one-liners-DATE.md"""
import json
import subprocess
import sys

X, V, I = "x=f32[4096,1024]", "v=f32[1024]", "i=i32[4096]"
FORMULAS = [
    ("sigmoid(x) * tanh(x) + erfc(x)", X),
    ("where(x > 0, log1p(x), expm1(x)).astype(float16)", X),
    ("hypot(x, v) + copysign(logaddexp(x, v), x)", X, V),
    ("nan_to_num(x / x[0], nan=1.0).clip(-3, 3)", X),
    ("((x - x.mean(axis=0)) / x.std(axis=0)).sum(axis=1)", X),
    ("softmax(x * 0.125 + v, axis=-1)", X, V),
    ("layer_norm(gelu(x), v, v)", X, V),
    ("rms_norm(x + silu(x), v)", X, V),
    ("logsumexp(x, axis=1, keepdims=True) - x", X),
    ("x.argmax(axis=1), x.max(axis=1), x.mean(axis=1)", X),
    ("cumsum(square(x), axis=1) / (arange(1024) + 1)", X),
    ("pad(x, 1, mode='edge')[:-2, 1:-1] + x * 2", X),
    ("concat((x, flip(x, axis=1)), axis=1) * 0.5", X),
    ("take(x, i, axis=0) - v", X, V, I),
    ("einsum('ij,ij->i', x, x) ** 0.5", X),
    ("diff(x, 2, axis=1).ptp(axis=1)", X),
    ("trace(x @ x.T)", "x=f32[512,512]"),
    ("tril(x[:1024]) + roll(x[:1024].T, 3, axis=0)", X),
    ("normal((4096, 1024), key=7, dtype=float32) * 0.1 + x", X),
    ("nanmean(x, axis=1) + norm(x, axis=1)", X),
    ("sliding_window_view(v, 9).mean(axis=-1)", V),
    ("(bernoulli((4096, 1024), 0.9, key=3) * x / 0.9).sum(axis=0)", X),
]


def planned(sinter, formula, names, target):
    done = subprocess.run([sinter, "kernels", formula, *names, "--target", target, "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    plan = json.loads(done.stdout)
    steps = sorted(plan["kernels"] + plan["library_calls"], key=lambda step: step["step"])
    more = [f"{step['name'].split('_')[0] if step in plan['kernels'] else step['name']}: {step['cut']['reason']}" for step in steps[:-1]]
    return len(plan["kernels"]), len(plan["library_calls"]), more


def main():
    print("| formula | cpu | sm_90 | why more than one |\n|---|---:|---:|---|")
    ones = 0
    for formula, *names in FORMULAS:
        cells, why = [], []
        for target in ("cpu", "sm_90"):
            kernels, calls, more = planned(sys.argv[1], formula, names, target)
            cells.append(f"{kernels}" + (f" + {calls} library" if calls else ""))
            why += [f"{target} {reason}" for reason in more]
        ones += cells == ["1", "1"]
        print(f"| `{formula.replace('|', '¦')}` | {cells[0]} | {cells[1]} | {'; '.join(why)} |", flush=True)
    print(f"\n{ones} of {len(FORMULAS)} are one kernel on both. Inputs: {X}, {V}, {I}, where a formula has no others.")


main()
