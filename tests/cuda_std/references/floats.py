"""Writes floats.txt: values of the functions of `GpuFloat` and `FloatExt`, by mpmath in 400 bits.

    pip install mpmath
    python3 floats.py > floats.txt
    python3 floats.py 2000 > many.txt    # 2000 arguments of each width, instead of 16

A line has a function's name, the bits of its arguments and of a value near the result (all f64, in
hexadecimal), and what that value lacks, in units of its last place. Half of the arguments are
numbers of f32, and have results that are numbers of f32.
"""

import math
import random
import struct
import sys

from mpmath import mp, mpf

mp.prec = 400


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def uniform(low, high):
    return lambda draw: draw.uniform(low, high)


def logarithmic(low, high, signs=True):
    """Magnitudes from `low` to `high`, whose logarithms are uniform."""

    def number(draw):
        magnitude = math.exp(draw.uniform(math.log(low), math.log(high)))
        return magnitude * draw.choice([-1, 1]) if signs else magnitude

    return number


def either(*draws):
    return lambda draw: draw.choice(draws)(draw)


def positive(low, high):
    return logarithmic(low, high, signs=False)


def integer(low, high):
    return lambda draw: float(draw.randint(low, high))


def erfc_inv(y):
    """The x with erfc(x) = y, by Newton's iteration on ln erfc(x) for y up to 1."""
    if y > 1:
        return -erfc_inv(2 - y)
    if y == 1:
        return mpf(0)
    x = mp.sqrt(-mp.log(y)) if y < mpf("0.1") else (1 - y) * mp.sqrt(mp.pi) / 2
    for _ in range(200):
        value = mp.erfc(x)
        step = value * (mp.log(value) - mp.log(y)) * mp.sqrt(mp.pi) / 2 * mp.exp(x * x)
        x += step
        if abs(step) < abs(x) * mpf(2) ** -300:
            return x
    raise ArithmeticError(y)


def erfcx(x):
    # Beyond 10³⁰ the series' second term is below 10⁻⁶⁰ of the first, and mpmath's erfc overflows.
    return 1 / (x * mp.sqrt(mp.pi)) if x > 1e30 else mp.exp(x * x) * mp.erfc(x)


# Name, function, arguments.
FUNCTIONS = [
    ("powi", lambda x, n: x ** int(n), [either(uniform(-3, 3), positive(0.1, 10)), integer(-30, 30)]),
    ("powf", lambda x, y: mp.power(x, y), [positive(1e-5, 1e5), uniform(-7, 7)]),
    ("exp", mp.exp, [either(uniform(-87, 88), logarithmic(1e-9, 1))]),
    ("exp2", lambda x: mp.power(2, x), [either(uniform(-125, 127), logarithmic(1e-9, 1))]),
    ("ln", mp.log, [either(positive(1e-37, 1e37), uniform(0.5, 2))]),
    ("log", lambda x, b: mp.log(x) / mp.log(b), [positive(1e-37, 1e37), positive(2, 1000)]),
    ("log2", lambda x: mp.log(x, 2), [either(positive(1e-37, 1e37), uniform(0.5, 2))]),
    ("log10", lambda x: mp.log10(x), [either(positive(1e-37, 1e37), uniform(0.5, 2))]),
    ("cbrt", lambda x: mp.sign(x) * mp.cbrt(abs(x)), [logarithmic(1e-37, 1e37)]),
    ("hypot", mp.hypot, [logarithmic(1e-10, 1e10), logarithmic(1e-10, 1e10)]),
    ("sin", mp.sin, [either(uniform(-8, 8), logarithmic(1e-9, 1e30))]),
    ("cos", mp.cos, [either(uniform(-8, 8), logarithmic(1e-9, 1e30))]),
    ("tan", mp.tan, [either(uniform(-8, 8), logarithmic(1e-9, 1e30))]),
    ("asin", mp.asin, [either(uniform(-1, 1), logarithmic(1e-9, 1))]),
    ("acos", mp.acos, [either(uniform(-1, 1), logarithmic(1e-9, 1))]),
    ("atan", mp.atan, [logarithmic(1e-9, 1e9)]),
    ("atan2", mp.atan2, [logarithmic(1e-6, 1e6), logarithmic(1e-6, 1e6)]),
    ("exp_m1", mp.expm1, [either(uniform(-17, 88), logarithmic(1e-9, 1))]),
    ("ln_1p", mp.log1p, [either(positive(1e-9, 1e30), uniform(-0.999, 1), logarithmic(1e-9, 0.1))]),
    ("sinh", mp.sinh, [either(uniform(-88, 88), logarithmic(1e-9, 1))]),
    ("cosh", mp.cosh, [either(uniform(-88, 88), logarithmic(1e-9, 1))]),
    ("tanh", mp.tanh, [either(uniform(-10, 10), logarithmic(1e-9, 1))]),
    ("asinh", mp.asinh, [logarithmic(1e-9, 1e30)]),
    ("acosh", mp.acosh, [either(positive(1.1, 1e30), uniform(1.0001, 2))]),
    ("atanh", mp.atanh, [either(uniform(-0.999, 0.999), logarithmic(1e-9, 1))]),
    ("sinpi", mp.sinpi, [either(uniform(-4, 4), logarithmic(1e-9, 1e4))]),
    ("cospi", mp.cospi, [either(uniform(-4, 4), logarithmic(1e-9, 1e4))]),
    ("error_function", mp.erf, [either(uniform(-6, 6), logarithmic(1e-9, 1))]),
    ("complementary_error_function", mp.erfc, [either(uniform(-6, 9), logarithmic(1e-9, 1))]),
    ("inv_complementary_error_function", erfc_inv, [either(uniform(1e-3, 1.999), positive(1e-36, 1))]),
    (
        "scaled_complementary_error_function",
        erfcx,
        [either(uniform(-9, 30), positive(1e-9, 1e9))],
    ),
    ("norm_cdf", mp.ncdf, [either(uniform(-13, 8), logarithmic(1e-9, 1))]),
    ("inv_norm_cdf", lambda p: -mp.sqrt(2) * erfc_inv(2 * p), [either(uniform(1e-3, 0.999), positive(1e-36, 1))]),
    ("rcbrt", lambda x: mp.sign(x) / mp.cbrt(abs(x)), [logarithmic(1e-37, 1e37)]),
    ("gamma", mp.gamma, [either(uniform(-10, 34), positive(1e-9, 34))]),
    ("log_gamma", lambda x: mp.log(abs(mp.gamma(x))), [either(positive(1e-9, 1e15), uniform(-50, 50))]),
    ("j0", lambda x: mp.besselj(0, x), [either(uniform(-40, 40), positive(1e-3, 1e4))]),
    ("j1", lambda x: mp.besselj(1, x), [either(uniform(-40, 40), positive(1e-3, 1e4))]),
    ("jn", lambda x, n: mp.besselj(int(n), x), [uniform(-60, 60), integer(-20, 20)]),
    ("y0", lambda x: mp.bessely(0, x), [either(uniform(0.01, 40), positive(1e-3, 1e4))]),
    ("y1", lambda x: mp.bessely(1, x), [either(uniform(0.01, 40), positive(1e-3, 1e4))]),
    ("yn", lambda x, n: mp.bessely(int(n), x), [uniform(2, 60), integer(-20, 20)]),
]

# Other arguments of f64: those of all magnitudes, where the ones above end with the range of f32.
DOUBLE = {
    "exp": [either(uniform(-708, 709), logarithmic(1e-300, 1))],
    "exp2": [either(uniform(-1021, 1023), logarithmic(1e-300, 1))],
    "ln": [either(positive(1e-307, 1e308), uniform(0.5, 2))],
    "log": [positive(1e-307, 1e308), positive(2, 1e300)],
    "log2": [either(positive(1e-307, 1e308), uniform(0.5, 2))],
    "log10": [either(positive(1e-307, 1e308), uniform(0.5, 2))],
    "powf": [positive(1e-40, 1e40), uniform(-7, 7)],
    "cbrt": [logarithmic(1e-307, 1e308)],
    "hypot": [logarithmic(1e-150, 1e300), logarithmic(1e-150, 1e300)],
    "sin": [either(uniform(-8, 8), logarithmic(1e-300, 1e308))],
    "cos": [either(uniform(-8, 8), logarithmic(1e-9, 1e308))],
    "tan": [either(uniform(-8, 8), logarithmic(1e-300, 1e308))],
    "asin": [either(uniform(-1, 1), logarithmic(1e-300, 1))],
    "atan": [logarithmic(1e-300, 1e300)],
    "atan2": [logarithmic(1e-150, 1e150), logarithmic(1e-150, 1e150)],
    "exp_m1": [either(uniform(-36, 709), logarithmic(1e-300, 1))],
    "ln_1p": [either(positive(1e-300, 1e308), uniform(-0.999, 1), logarithmic(1e-9, 0.1))],
    "sinh": [either(uniform(-709, 709), logarithmic(1e-300, 1))],
    "cosh": [either(uniform(-709, 709), logarithmic(1e-9, 1))],
    "tanh": [either(uniform(-20, 20), logarithmic(1e-300, 1))],
    "asinh": [logarithmic(1e-300, 1e307)],
    "acosh": [either(positive(1.1, 1e307), uniform(1.0001, 2))],
    "atanh": [either(uniform(-0.999999, 0.999999), logarithmic(1e-300, 1))],
    "error_function": [either(uniform(-6, 6), logarithmic(1e-300, 1))],
    "complementary_error_function": [either(uniform(-6, 26), logarithmic(1e-9, 1))],
    "inv_complementary_error_function": [either(uniform(1e-3, 1.999), positive(1e-300, 1))],
    "scaled_complementary_error_function": [either(uniform(-26, 30), positive(1e-9, 1e300))],
    "norm_cdf": [either(uniform(-37, 8), logarithmic(1e-9, 1))],
    "inv_norm_cdf": [either(uniform(1e-3, 0.999), positive(1e-300, 1))],
    "rcbrt": [logarithmic(1e-307, 1e308)],
    "gamma": [either(uniform(-20, 171), positive(1e-300, 171))],
    "log_gamma": [either(positive(1e-300, 1e300), uniform(-50, 50))],
}


def lines(name, function, arguments, count):
    draw = random.Random(name)
    done = 0
    while done < 2 * count:
        is_single = done < count
        values = [argument(draw) for argument in (arguments if is_single else DOUBLE.get(name, arguments))]
        if is_single:
            values = [single(value) for value in values]
        exact = function(*map(mpf, values))
        near = float(exact)
        if abs(near) < sys.float_info.min or math.isinf(near):
            continue
        rest = float((exact - mpf(near)) / mpf(math.ulp(near)))
        words = " ".join(f"{bits(value):x}" for value in values)
        yield f"{name} {words} {bits(near):x} {rest:.3f}"
        done += 1


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    print("# Written by floats.py, which says what the columns are.")
    for name, function, arguments in FUNCTIONS:
        for line in lines(name, function, arguments, count):
            print(line)


main()
