#!/usr/bin/env python3
"""Compares the example programs with NumPy, on one thread each: lines of code, kernels launched, time, and whether the results agree.

    bench/programs.py build/release/examples [--small] > bench/results/programs-DATE.md

Programs are run in turn, sinter before and after NumPy; the better of its two runs counts. --small uses the sizes of the tests."""
import inspect
import math
import os
import pathlib
import re
import subprocess
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "SINTER_THREADS"):
    os.environ[name] = "1"
import numpy as np

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


def numbers(shape, seed, dtype=np.float32):
    """example::numbers"""
    k = np.arange(math.prod(shape)) + seed
    return np.sin(np.square(k) * 0.7).reshape(shape).astype(dtype)


# Each program, and the arguments it gets at the sizes of the examples: small, full.

def kmeans(points, centres, steps):
    k = len(centres)
    for _ in range(steps):
        apart = np.sum(np.square(points[:, None] - centres[None]), -1)
        mine = (np.argmin(apart, 1)[:, None] == np.arange(k)).astype(points.dtype)
        centres = mine.T @ points / np.maximum(np.sum(mine, 0)[:, None], 1)
    return centres


def acceleration(x, mass):
    apart = x[None] - x[:, None]
    pull = mass * np.power(np.sum(apart * apart, -1) + 0.01, -1.5)
    return np.sum(apart * pull[..., None], 1)


def nbody(x, v, mass, dt, steps):
    a = acceleration(x, mass)
    for _ in range(steps):
        v = v + a * (dt / 2)
        x = x + v * dt
        a = acceleration(x, mass)
        v = v + a * (dt / 2)
    return x


def mandelbrot(height, width, steps):
    cr, ci = np.linspace(-2.0, 0.5, width), np.linspace(-1.25, 1.25, height)[:, None]
    zr = np.zeros((height, width))
    zi, count = zr, np.zeros((height, width), np.int32)
    for _ in range(steps):
        inside = zr * zr + zi * zi <= 4
        following = zr * zr - zi * zi + cr
        zi = np.where(inside, 2 * zr * zi + ci, zi)
        zr = np.where(inside, following, zr)
        count = count + inside
    return count


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def adam(x, y, steps):
    w = np.zeros(x.shape[1], np.float32)
    m = v = w
    for step in range(1, steps + 1):
        gradient = x.T @ (sigmoid(x @ w) - y) / np.float32(len(x))
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * np.square(gradient)
        w = w - 0.05 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    return w


def lstm(x, w, u, b):
    h = np.zeros((x.shape[1], u.shape[0]), x.dtype)
    c = h
    for step in x:
        i, f, g, o = np.split(step @ w + h @ u + b, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    return h


def attention(q, k, v):
    n = q.shape[-2]
    scores = q @ k.swapaxes(-1, -2) / np.float32(math.sqrt(q.shape[-1]))
    scores = np.where(np.arange(n)[:, None] >= np.arange(n), scores, np.float32(-np.inf))
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def along(x, axis, taps):
    reach = len(taps) // 2
    wide = np.pad(x, [(reach, reach) if a == axis else (0, 0) for a in (0, 1)], mode="edge")
    total = np.zeros_like(x)
    for k, tap in enumerate(taps):
        shifted = slice(k, k + x.shape[axis])
        total = total + np.float32(tap) * (wide[shifted] if axis == 0 else wide[:, shifted])
    return total


def filters(image):
    gauss, slope, smooth = [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16], [-1, 0, 1], [1, 2, 1]
    blurred = along(along(image, 0, gauss), 1, gauss)
    steep = np.hypot(along(along(blurred, 0, smooth), 1, slope), along(along(blurred, 0, slope), 1, smooth))
    return np.where(steep > 2 * np.mean(steep), np.float32(1), np.float32(0))


def monte_carlo(paths, days, rate, volatility, strike):
    dt = 1 / days
    moves = np.random.Generator(np.random.Philox(7)).standard_normal((paths, days))
    prices = 100 * np.exp(np.cumsum((rate - volatility * volatility / 2) * dt + volatility * math.sqrt(dt) * moves, 1))
    return math.exp(-rate) * np.maximum(np.exp(np.mean(np.log(prices), 1)) - strike, 0)


def moving_average(x, days):
    sums = np.pad(np.cumsum(x), (1, 0))
    return (sums[days:] - sums[:-days]) / days


def time_series(prices):
    returns = np.diff(np.log(prices))
    volatility = np.sqrt(moving_average(np.square(returns), 20)) * math.sqrt(252)
    fall = 1 - prices / np.maximum.accumulate(prices)
    fast, slow = moving_average(prices, 10)[40:], moving_average(prices, 50)
    crossings = np.count_nonzero(np.diff((fast > slow).astype(np.int32)))
    return np.array([volatility.max(), fall.max(), crossings])


def life(alive, generations):
    for _ in range(generations):
        rows = np.roll(alive, 1, 0) + alive + np.roll(alive, -1, 0)
        around = np.roll(rows, 1, 1) + rows + np.roll(rows, -1, 1)
        alive = ((around == 3) | ((around == 4) & (alive == 1))).astype(np.uint8)
    return alive


def heat(u, steps):
    for _ in range(steps):
        u = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def search(questions, documents, count):
    def unit(x):
        return x / np.sqrt(np.sum(np.square(x), -1, keepdims=True))
    alike = unit(questions) @ unit(documents).T
    found = []
    for _ in range(count):
        found.append(np.argmax(alike, 1))
        alike = np.where(found[-1][:, None] == np.arange(len(documents)), np.float32(-2), alike)
    return np.stack(found, 1)


def uint8_image(image):
    grey = np.sum(image * np.array([0.299, 0.587, 0.114], np.float32), -1)
    low, high = np.min(grey), np.max(grey)
    stretched = 255 * np.sqrt((grey - low) / (high - low))
    mixed = np.float32(0.75) * image + np.float32(0.25) * stretched[..., None]
    return np.clip(np.round(mixed), 0, 255).astype(np.uint8)


def erf(x):
    """NumPy has none: Abramowitz and Stegun 7.1.26."""
    t = 1 / (1 + np.float32(0.3275911) * np.abs(x))
    y = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.sign(x) * (1 - y * np.exp(-x * x))


def half_weights(x, weights):
    y = x
    for w in weights:
        z = y @ w.astype(np.float32)
        y = y + z * (1 + erf(z * np.float32(math.sqrt(0.5)))) * np.float32(0.5)
        y = y / np.sqrt(np.mean(y * y, -1, keepdims=True) + np.float32(1e-6))
    return y


def waves(size, margin):
    t = 2 * np.pi / size * np.arange(-margin, size + margin)
    return np.sin(t) * np.sin(2 * t[:, None]) + 0.25 * (np.cos(7 * t) * np.sin(9 * t[:, None]))


def arguments(full):
    pick = lambda small, large: large if full else small
    points = numbers((pick(3000, 200_000), 2), 1)
    n = pick(40, 512)
    rows, features = pick((500, 12), (20_000, 200))
    x = numbers((rows, features), 1)
    steps, batch, inputs, hidden = pick((6, 3, 5, 7), (50, 64, 128, 256))
    heads, length, d = pick((2, 20, 8), (8, 512, 64))
    series = np.exp(np.cumsum(numbers((pick(2000, 2_000_000),), 1, np.float64) * 0.01)) * 100
    width = pick(24, 512)
    image = ((numbers(pick((50, 70, 3), (1080, 1920, 3)), 1) + 1) * np.float32(127.5)).astype(np.uint8)
    return {
        kmeans: (points, points[:16], pick(4, 20)),
        nbody: (numbers((n, 3), 1, np.float64), numbers((n, 3), 7, np.float64) * 0.1, np.abs(numbers((n,), 3, np.float64)) / n, 0.01, pick(10, 20)),
        mandelbrot: pick((60, 90, 50), (1000, 1000, 100)),
        adam: (x, (x @ numbers((features,), 9) > 0).astype(np.float32), pick(20, 50)),
        lstm: (numbers((steps, batch, inputs), 1), numbers((inputs, 4 * hidden), 2) * np.float32(0.1), numbers((hidden, 4 * hidden), 3) * np.float32(0.1), numbers((4 * hidden,), 4)),
        attention: tuple(numbers((heads, length, d), seed) for seed in (1, 2, 3)),
        filters: (numbers(pick((60, 75), (1080, 1920)), 1),),
        monte_carlo: (*pick((20_000, 50), (100_000, 250)), 0.05, 0.2, 100),
        time_series: (series,),
        life: ((numbers(pick((64, 64), (1024, 1024)), 1) > np.float32(0.3)).astype(np.uint8), pick(30, 100)),
        heat: (waves(512, 100), 100),
        search: (*pick((numbers((8, 24), 1), numbers((300, 24), 5)), (numbers((200, 256), 1), numbers((20_000, 256), 5))), 3),
        uint8_image: (image,),
        half_weights: (numbers((pick(6, 256), width), 1), [(numbers((width, width), 10 + k) * np.float32(0.05)).astype(np.float16) for k in range(4)]),
    }


HELPERS = {nbody: [acceleration], adam: [sigmoid], lstm: [sigmoid], filters: [along], time_series: [moving_average], half_weights: [erf]}


def count(text, comment):
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith(comment))


def lines_of_cpp(name):
    text = (EXAMPLES / f"{name}.cpp").read_text()
    return count(re.search(r"// --- the program\n(.*?)// ---", text, re.S)[1], "//")


def of_sinter(folder, name, full):
    text = subprocess.run([f"{folder}/{name}"] + (["--full"] if full else []), capture_output=True, text=True, check=True).stdout
    found = re.search(r"measured: kernels=(\d+) library_calls=(\d+) ms=([\d.]+) mean=(\S+)", text)
    return int(found[1]), int(found[2]), float(found[3]), float(found[4])


def of_numpy(program, args):
    best = math.inf
    for _ in range(3):
        start = time.perf_counter()
        result = program(*args)
        best = min(best, time.perf_counter() - start)
    return best * 1e3, float(np.mean(result.astype(np.float64)))


def main():
    folder, full = sys.argv[1], "--small" not in sys.argv
    print("| program | lines in C++ | in Python | kernels | library calls | sinter, ms | NumPy, ms | NumPy / sinter |\n|---|---:|---:|---:|---:|---:|---:|---:|")
    for program, args in arguments(full).items():
        name = program.__name__
        first = of_sinter(folder, name, full)
        numpy_ms, numpy_mean = of_numpy(program, args)
        second = of_sinter(folder, name, full)
        ms, mean = min(first[2], second[2]), first[3]
        slack = 2e-2 if program in (monte_carlo, search) else 1e-3  # other random numbers; another order of equal values
        if abs(mean - numpy_mean) > slack * max(abs(numpy_mean), 1e-2):
            sys.exit(f"{name}: the mean is {mean}, and NumPy's {numpy_mean}")
        python = sum(count(re.sub(r'"""(.|\n)*?"""\n', "", inspect.getsource(f)), "#") for f in [program, *HELPERS.get(program, [])])
        print(f"| {name} | {lines_of_cpp(name)} | {python} | {first[0]} | {first[1]} | {ms:.2f} | {numpy_ms:.2f} | {numpy_ms / ms:.1f} |", flush=True)


if __name__ == "__main__":
    main()
