#!/usr/bin/env python3
"""Fits the polynomials of the inlined math functions and prints src/jit/math/coefficients.hpp.

    pip install mpmath
    scripts/fit_polynomials.py > src/jit/math/coefficients.hpp

Each polynomial is a weighted minimax fit (Remez exchange). Coefficients of a float32 polynomial are rounded one by one,
lowest order first, and the rest fitted again around the rounded ones, so that rounding them costs almost nothing; all at once where the
interval holds 0, at which what is fitted again could change nothing.
"""
import re
import struct

import mpmath as mp

mp.mp.dps = 40


def round_to(x, bits):
    code = {24: "f", 53: "d"}[bits]
    return mp.mpf(struct.unpack("<" + code, struct.pack("<" + code, float(x)))[0])


def remez(f, weight, low, high, powers):
    """Returns coefficients c for which weight(x) * |sum c_k x^powers_k - f(x)| is as even as possible over [low, high]."""
    low, high = mp.mpf(low), mp.mpf(high)
    n = len(powers)
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / 600) for i in range(601)]
    values = [(x, f(x), weight(x)) for x in grid]
    reference = [values[round(i * 600 / n)] for i in range(n + 1)]
    for _ in range(12):
        rows = mp.matrix(n + 1, n + 1)
        right = mp.matrix(n + 1, 1)
        for i, (x, y, w) in enumerate(reference):
            for k, p in enumerate(powers):
                rows[i, k] = w * x**p
            rows[i, n] = (-1) ** i
            right[i] = w * y
        c = mp.lu_solve(rows, right)
        errors = [w * (sum(c[k] * x**p for k, p in enumerate(powers)) - y) for x, y, w in values]
        extremes, current = [], 0
        for i in range(1, len(errors)):  # the largest error of each run of equal sign
            if (errors[i] > 0) != (errors[current] > 0):
                extremes.append(current)
                current = i
            elif abs(errors[i]) > abs(errors[current]):
                current = i
        extremes.append(current)
        while len(extremes) > n + 1:
            extremes.pop(0 if abs(errors[extremes[0]]) < abs(errors[extremes[-1]]) else -1)
        if len(extremes) < n + 1:
            break
        reference = [values[i] for i in extremes]
    return [c[k] for k in range(n)], max(abs(e) for e in errors)


def fit(name, comment, f, weight, low, high, count, bits=53, first_rest=None, at_once=False):
    fixed = []
    for k in range(count):
        rest = lambda x: f(x) - sum(c * x**i for i, c in enumerate(fixed))
        c, _ = remez(rest, weight, low, high, list(range(k, count)))
        if bits == 53 or at_once:
            fixed = [round_to(v, bits) for v in c]
            break
        fixed.append(round_to(c[0], bits))
    first = c[0] if first_rest else fixed[0]
    points = [mp.mpf(low) + (mp.mpf(high) - mp.mpf(low)) * i / 2000 for i in range(2001)]
    error = max(abs(weight(x) * (first - fixed[0] + sum(c * x**i for i, c in enumerate(fixed)) - f(x))) for x in points)
    print(f"// {comment}; error {mp.nstr(error, 3)}")
    print(f"inline constexpr double {name}[] = {{")
    for c in fixed:
        print(f"    {float(c).hex()},  // {mp.nstr(c, 17)}")
    print("};")
    if first_rest:
        print(f"inline constexpr double {first_rest} = {float(first - fixed[0]).hex()};  // what the first leaves out")


def fit_erf32():
    """Prints the table of float32's erf: a polynomial for each of eight pieces of [0, 3.96]."""
    # The step is the one between 0.5 and 0.535, in units of 2^-18, for which the values at the middles of the pieces are nearest to short numbers: where the sum
    # of such a value and u exceeds 1/2 or 1, it stays exact.
    step, scale, pieces, terms = mp.mpf(137033) / 2**18, mp.mpf("1.897"), 8, 7
    rows, error = [], 0
    for i in range(pieces):
        middle = step * i
        below, above = (i - mp.mpf("0.5")) / scale - middle, (i + mp.mpf("0.5")) / scale - middle
        start, slope = mp.erf(middle), 2 * mp.exp(-(middle**2)) / mp.sqrt(mp.pi)
        if i == 0:  # odd
            even = lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1 if z > 1e-20 else slope - 1
            c = [mp.mpf(0)] * terms
            for k in range((terms + 1) // 2):  # rounded one by one
                found, _ = remez(lambda z: even(z) - sum(c[2 * n] * z**n for n in range(k)), lambda z: mp.mpf(1), 0, above**2, list(range(k, (terms + 1) // 2)))
                c[2 * k] = round_to(found[0], 24)
        else:
            rest = lambda u: (mp.erf(middle + u) - start) / u - 1 if abs(u) > 1e-15 else slope - 1
            c = [round_to(v, 24) for v in remez(rest, lambda u: abs(u) / mp.erf(middle + u), below, above, list(range(terms)))[0]]
        unit = mp.mpf(2) ** (-25 if start < 0.5 else -24 if start < 0.75 else -23)
        rounded = mp.nint(start / unit) * unit
        for k in range(1, 400):
            u = below + (above - below) * k / 400 if i else above * k / 400
            error = max(error, abs((rounded + u + sum(v * u ** (n + 1) for n, v in enumerate(c))) / mp.erf(middle + u) - 1))
        rows.append([rounded, *c])
    print(f"// float32: erf(i h + u) = c[0][i] + u + u (c[1][i] + c[2][i] u + ...), where i is kErfScale32 (i h + u), rounded; error {mp.nstr(error, 3)}")
    print(f"inline constexpr double kErfStep32 = {float(step).hex()}, kErfScale32 = {mp.nstr(scale, 4)};")
    print(f"inline constexpr float kErf32[{terms + 1}][{pieces}] = {{")
    for k in range(terms + 1):
        print("    {" + ", ".join(re.sub("0+p", "p", float(row[k]).hex()) + "f" for row in rows) + "},")
    print("};")


def fit_erf64():
    """Prints the table of float64's erf: a polynomial for each of eight pieces of [0, 5.97], whose first two coefficients have a low part."""
    step, scale, pieces, terms = mp.mpf(102) / 128, mp.mpf(1) / mp.mpf("0.796875"), 8, 18
    rows, error = [], 0
    for i in range(pieces):
        middle = step * i
        below, above = -step / 2, step / 2
        if i == 0:  # odd
            even = lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) if z > 1e-30 else 2 / mp.sqrt(mp.pi)
            odd, _ = remez(even, lambda z: 1 / even(z), 0, above**2, list(range(terms // 2)))
            c = [odd[k // 2] if k % 2 else mp.mpf(0) for k in range(terms)]
        else:
            c, _ = remez(lambda u: mp.erf(middle + u), lambda u: 1 / mp.erf(middle + u), below, above, list(range(terms)))
        first = [round_to(v, 53) for v in c[:2]]
        rest = [round_to(v - f, 53) for v, f in zip(c, first)]
        row = [first[0], rest[0], first[1], rest[1]] + [round_to(v, 53) for v in c[2:]]
        for k in range(1, 400):
            u = below + (above - below) * k / 400 if i else above * k / 400
            value = row[0] + row[1] + u * (row[2] + row[3]) + sum(v * u ** (n + 2) for n, v in enumerate(row[4:]))
            error = max(error, abs(value / mp.erf(middle + u) - 1))
        rows.append(row)
    print(f"// erf(i h + u) = c[0][i] + c[1][i] + u (c[2][i] + c[3][i] + c[4][i] u + ...), where i is the quotient by h, rounded; error {mp.nstr(error, 3)}")
    print(f"inline constexpr double kErfStep = {float(step).hex()}, kErfScale = {float(scale).hex()};")
    print(f"inline constexpr double kErfTable[{terms + 2}][{pieces}] = {{")
    for k in range(terms + 2):
        print("    {" + ", ".join(re.sub(r"\.?0+p", "p", float(row[k]).hex()) for row in rows) + "},")
    print("};")


def log_table():
    """Prints the table of float64's log: for each tenth from 0.7 to 1.4 a short number near its reciprocal, and the logarithm of that number's reciprocal."""
    tenths = [8, 9, 10, 11, 12, 13, 14, 7]  # in the order of their last three bits
    inverses = [mp.nint(mp.mpf(10) / k * 2**9) / 2**9 for k in tenths]
    high = [mp.nint(-mp.log(c) * 2**42) / 2**42 for c in inverses]  # short, so that the sum with a multiple of ln(2)'s first part is exact
    print("// log(m) = c[1][i] + c[2][i] + log(1 + r), r = m c[0][i] - 1, where i is the last three bits of 10 m, rounded")
    print("inline constexpr double kLogTable[3][8] = {")
    for row in inverses, high, [-mp.log(c) - h for c, h in zip(inverses, high)]:
        print("    {" + ", ".join(re.sub("0+p", "p", float(v).hex()) for v in row) + "},")
    print("};")


def taylor_safe(f, limit):
    """Returns f, or its value at a tiny argument where f divides by zero."""
    return lambda x: f(x) if abs(x) > mp.mpf("1e-12") else limit


def main():
    print("""// Polynomial coefficients of the inlined math functions, lowest order first. Made by scripts/fit_polynomials.py;
// the error is that of the exact polynomial, relative to the function unless said otherwise.
#pragma once
// clang-format off

namespace sinter::jit::coefficients {
""")
    ln2 = mp.log(2)
    one = mp.mpf(1)
    half_ln2 = ln2 / 2 * (1 + mp.mpf(2) ** -10)
    root = mp.sqrt(mp.mpf(1) / 2) - 1, mp.sqrt(2) - 1

    exp_tail = taylor_safe(lambda r: (mp.expm1(r) - r) / r**2, one / 2)
    fit("kExp32", "float32: e^r = 1 + r + r^2 p(r), |r| <= ln(2)/2", exp_tail, lambda r: r**2 / mp.exp(r),
        -half_ln2, half_ln2, 5, 24)
    fit("kExp2_32", "float32: 2^r = 1 + r p(r), |r| <= 1/2", taylor_safe(lambda r: mp.expm1(r * ln2) / r, ln2),
        lambda r: abs(r) / mp.power(2, r), -0.5005, 0.5005, 6, 24)
    fit("kLog32", "float32: log(1+f) = f - f^2/2 + f^3 p(f), 1+f in [sqrt(1/2), sqrt(2)]",
        taylor_safe(lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3, one / 3),
        lambda f: f**2 if abs(f) < 1e-9 else abs(f**3 / mp.log1p(f)), root[0], root[1], 9, 24)
    fit("kTanh32", "float32: tanh(x) = x + x^3 p(x^2), |x| <= 0.625",
        lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z > 1e-12 else -one / 3, lambda z: z, 0,
        0.625**2, 5, 24)
    fit_erf32()
    sin_tail = lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z > 1e-12 else z / 120 - one / 6
    cos_tail = lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2 if z > 1e-10 else one / 24 - z / 720
    sinh_tail = lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z > 1e-12 else one / 6 + z / 120
    cosh_tail = lambda z: (mp.cosh(mp.sqrt(z)) - 1 - z / 2) / z**2 if z > 1e-12 else one / 24 + z / 720
    asin_tail = lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z > 1e-12 else one / 6 + z * 3 / 40
    atan_tail = lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z > 1e-12 else z / 5 - one / 3
    fit("kSin32", "float32: sin(r) = r + r^3 p(r^2), |r| <= 0.95", sin_tail, lambda z: z, 0, mp.mpf("0.9025"), 3, 24)
    fit("kCos32", "float32: cos(r) = 1 - r^2/2 + r^4 p(r^2), |r| <= 0.95; error absolute", cos_tail, lambda z: z**2, 0, mp.mpf("0.9025"), 3, 24)
    fit("kSinh32", "float32: sinh(r) = r + r^3 p(r^2), |r| <= ln(2)/2", sinh_tail, lambda z: z, 0, half_ln2**2, 2, 24)
    fit("kCosh32", "float32: cosh(r) = 1 + r^2/2 + r^4 p(r^2), |r| <= ln(2)/2; error absolute", cosh_tail, lambda z: z**2, 0, half_ln2**2, 2, 24)
    fit("kAsin32", "float32: asin(x) = x + x^3 p(x^2), |x| <= 1/2", asin_tail, lambda z: z, 0, mp.mpf("0.2501"), 5, 24)
    fit("kAtan32", "float32: atan(t) = t + t^3 p(t^2), |t| <= 1", atan_tail, lambda z: z / (1 + atan_tail(z) * z), 0, 1, 8, 24)

    fit("kCbrt32", "float32: cbrt(1+f) = p(f), 1+f in [sqrt(1/2), sqrt(2)]", lambda f: mp.cbrt(1 + f), lambda f: 1 / mp.cbrt(1 + f), root[0], root[1], 6, 24)
    fit("kCbrtSlope32", "float32: the derivative of cbrt at 1+f = p(f), 1+f in [sqrt(1/2), sqrt(2)]", lambda f: mp.cbrt(1 + f) ** -2 / 3,
        lambda f: 3 * mp.cbrt(1 + f) ** 2, root[0], root[1], 3, 24)

    from_unit = lambda t: 4 * (1 + t) / (1 - t)
    scaled_tail = lambda x: (1 + x) * mp.exp(x * x / 2) * mp.erfc(x / mp.sqrt(2)) / 2
    fit("kTail32", "float32: ndtr(-x) = exp(-x^2/2) / (1 + x) p((x - 4) / (x + 4)), 0 <= x <= 14.3", lambda t: scaled_tail(from_unit(t)),
        lambda t: 1 / scaled_tail(from_unit(t)), -1, mp.mpf("10.3") / mp.mpf("18.3"), 11, 24, at_once=True)

    fit("kExp64", "double lanes: e^r = 1 + r + r^2 p(r), |r| <= ln(2)/2", exp_tail, lambda r: r**2 / mp.exp(r),
        -half_ln2, half_ln2, 7)
    fit("kLog64", "double lanes: log(1+r) = r + r^2 p(r), |r| <= 0.074", taylor_safe(lambda r: (mp.log1p(r) - r) / r**2, -one / 2), lambda r: abs(r),
        mp.mpf("-0.074"), mp.mpf("0.074"), 7)
    fit("kSin64", "double lanes: sin(r) = r + r^3 p(r^2), |r| <= pi/4",
        lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z > 1e-12 else -one / 6, lambda z: z, 0,
        mp.mpf("0.6175"), 4)
    fit("kCos64", "double lanes: cos(r) = 1 - r^2/2 + r^4 p(r^2), |r| <= pi/4",
        lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2 if z > 1e-10 else one / 24, lambda z: z**2, 0,
        mp.mpf("0.6175"), 4)

    # The polynomials of float64's functions: their truncation error is below 2^-58 of the result.
    fit("kExp", "e^r = 1 + r + r^2/2 + r^3 p(r), |r| <= ln(2)/2", taylor_safe(lambda r: (mp.expm1(r) - r - r**2 / 2) / r**3, one / 6),
        lambda r: abs(r) ** 3 / mp.exp(r), -half_ln2, half_ln2, 10)
    fit("kExp2", "2^r = 1 + r p(r), |r| <= 1/2", taylor_safe(lambda r: mp.expm1(r * ln2) / r, ln2), lambda r: abs(r) / mp.power(2, r), -0.5005, 0.5005, 12)
    fit("kSinh", "sinh(r) = r + r^3 p(r^2), |r| <= ln(2)/2",
        lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z > 1e-12 else one / 6 + z / 120, lambda z: z, 0, half_ln2**2, 5)
    fit("kCosh", "cosh(r) = 1 + r^2/2 + r^4 p(r^2), |r| <= ln(2)/2; error absolute",
        lambda z: (mp.cosh(mp.sqrt(z)) - 1 - z / 2) / z**2 if z > 1e-12 else one / 24 + z / 720, lambda z: z**2, 0, half_ln2**2, 5)
    log_table()
    fit("kLogTail", "log(1+r) = r - r^2/2 + r^3 p(r), |r| <= 0.074", taylor_safe(lambda r: (mp.log1p(r) - r + r**2 / 2) / r**3, one / 3),
        lambda r: r**2 if abs(r) < mp.mpf("0.057") else abs(r) ** 3 / mp.mpf("0.25"), mp.mpf("-0.074"), mp.mpf("0.074"), 10)
    fit("kLogRest", "log(1+r) = r - r^2/2 + r^3/3 + r^4 p(r), |r| <= 0.074",
        taylor_safe(lambda r: (mp.log1p(r) - r + r**2 / 2 - r**3 / 3) / r**4, -one / 4), lambda r: abs(r) ** 3, mp.mpf("-0.074"), mp.mpf("0.074"), 11)
    fit("kSin", "sin(r) = r + r^3 p(r^2), |r| <= pi/4",
        lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z > 1e-12 else z / 120 - one / 6, lambda z: z, 0, mp.mpf("0.6175"), 6)
    fit("kCos", "cos(r) = 1 - r^2/2 + r^4 p(r^2), |r| <= pi/4; error absolute",
        lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2 if z > 1e-10 else one / 24 - z / 720, lambda z: z**2, 0, mp.mpf("0.6175"), 6)
    fit("kAsin", "asin(x) = x + x^3 p(x^2), |x| <= 1/2",
        lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z > 1e-12 else one / 6 + z * 3 / 40, lambda z: z, 0, mp.mpf("0.2501"), 13)
    fit("kAtan", "atan(t) = t + t^3 p(t^2), |t| <= tan(pi/8)",
        lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z > 1e-12 else z / 5 - one / 3, lambda z: z, 0, mp.mpf("0.1717"), 12)
    fit_erf64()
    fit("kNdtr", "ndtr(x) = 1/2 + x (1/sqrt(2 pi) + x^2 p(x^2)), |x| <= 0.56; error absolute",
        lambda z: ((mp.ncdf(mp.sqrt(z)) - one / 2) / mp.sqrt(z) - 1 / mp.sqrt(2 * mp.pi)) / z if z > 1e-12 else (z / 40 - one / 6) / mp.sqrt(2 * mp.pi),
        lambda z: z * mp.sqrt(z), 0, mp.mpf("0.3137"), 8)
    from_unit = lambda t: 5 * (1 + t) / (1 - t)
    fit("kTail", "ndtr(-x) = exp(-x^2/2) / (1 + x) p((x - 5) / (x + 5)), 0 <= x <= 39.6", lambda t: scaled_tail(from_unit(t)),
        lambda t: 1 / scaled_tail(from_unit(t)), -1, mp.mpf(346) / mp.mpf(446), 24, first_rest="kTailFirstRest")
    scaled_inverse = lambda w: mp.erfinv(mp.sqrt(-mp.expm1(-w))) / mp.sqrt(-mp.expm1(-w)) if w > 1e-12 else mp.sqrt(mp.pi) / 2
    fit("kErfinvNear", "erfinv(x) = x p(w - 5/2), w = -log(1 - x^2), 0 <= w <= 5", lambda t: scaled_inverse(t + mp.mpf(5) / 2),
        lambda t: 1 / scaled_inverse(t + mp.mpf(5) / 2), -2.5, 2.5, 9)
    mp.mp.dps = 60
    fit("kErfinvFar", "erfinv(x) = x p(sqrt(w) - 4), 5 <= w <= 37.5", lambda t: scaled_inverse((t + 4) ** 2), lambda t: 1 / scaled_inverse((t + 4) ** 2),
        mp.sqrt(5) - 4, mp.sqrt(37.5) - 4, 9)
    mp.mp.dps = 40
    stirling = lambda t: (mp.loggamma(t) - (t - one / 2) * mp.log(t) + t - mp.log(2 * mp.pi) / 2) * t
    fit("kStirling", "lgamma(t) = (t - 1/2) log(t) - t + log(2 pi)/2 + p(1/t^2) / t, t >= 8; error absolute",
        lambda z: stirling(1 / mp.sqrt(z)) if z > 1e-9 else one / 12 - z / 360, lambda z: mp.sqrt(z), 0, one / 64, 8)
    fit("kDigamma", "digamma(t) = log(t) - 1/(2t) - p(1/t^2) / t^2, t >= 8; error absolute",
        lambda z: (mp.log(1 / mp.sqrt(z)) - mp.sqrt(z) / 2 - mp.digamma(1 / mp.sqrt(z))) / z if z > 1e-7 else one / 12 - z / 120 + z**2 / 252, lambda z: z, 0, one / 64, 8)
    for name, place, slope, count in ("kGammaOne", 1, -mp.euler, 14), ("kGammaTwo", 2, 1 - mp.euler, 11):
        fit(name, f"lgamma({place}+e) = e (c + e p(e)), c its slope there, |e| <= 1/8",
            lambda e: (mp.loggamma(place + e) / e - slope) / e if abs(e) > 1e-10 else mp.psi(1, place) / 2, lambda e: abs(e), -one / 8, one / 8, count)
    fit("kCbrt", "cbrt(1+f) = p(f), 1+f in [sqrt(1/2), sqrt(2)]", lambda f: mp.cbrt(1 + f), lambda f: 1 / mp.cbrt(1 + f), root[0], root[1], 6)
    print("\n}  // namespace sinter::jit::coefficients")


main()
