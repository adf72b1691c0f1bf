"""Operations that a processor does in one instruction and Python lacks, on NumPy scalars.

`intrinsics.py` has the same ones for compiled code; both return the same bits.
"""

import ctypes
from fractions import Fraction
from typing import Any, cast

import numpy as np


def fma(a: Any, b: Any, c: Any) -> Any:
    """The number a*b + c, rounded once."""
    if not (np.isfinite(a) and np.isfinite(b) and np.isfinite(c)):
        return a * b + c
    return _fma_single(a, b, c) if type(a) is np.float32 else _fma_double(a, b, c)


def _fma_single(a: np.float32, b: np.float32, c: np.float32) -> np.float32:
    """In double the product is exact; the sum is rounded to odd there, so that rounding it to single is rounding once."""
    product, addend = np.float64(a) * np.float64(b), np.float64(c)
    total = product + addend
    part = total - product
    lost = (product - (total - part)) + (addend - part)  # Knuth (1969), two-sum: exact
    pattern = total.view(np.int64)
    if lost != 0 and pattern & 1 == 0:
        total = np.int64(pattern + (1 if (lost > 0) == (total > 0) else -1)).view(np.float64)
    return np.float32(total)


def _fma_double(a: np.float64, b: np.float64, c: np.float64) -> np.float64:
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        return a * b + c  # for the sign of zero
    try:
        return np.float64(float(exact))
    except OverflowError:
        return np.float64(np.inf if exact > 0 else -np.inf)


def polynomial(coefficients: tuple[Any, ...], x: Any) -> Any:
    """The polynomial with these coefficients, highest power first, at x (Horner's rule with `fma`)."""
    y = coefficients[0]
    for coefficient in coefficients[1:]:
        y = fma(y, x, coefficient)
    return y


def where(condition: Any, a: Any, b: Any) -> Any:
    """The value a if condition else b; compiled, both are computed and one is selected."""
    return a if condition else b


def bits(x: Any) -> Any:
    """The bit pattern of a number as a signed integer of the same width."""
    return x.view(np.int32 if type(x) is np.float32 else np.int64)


def number(i: Any) -> Any:
    """The number with the bit pattern i."""
    return i.view(np.float32 if type(i) is np.int32 else np.float64)


def plus(i: Any, j: Any) -> Any:
    """The sum of two bit patterns, in their width (compiled `+` would widen 32 bits to 64)."""
    return i + j


def minus(i: Any, j: Any) -> Any:
    """The difference of two bit patterns, in their width."""
    return i - j


def left(i: Any, n: Any) -> Any:
    """A bit pattern shifted up by n."""
    return i << n


def right(i: Any, n: Any) -> Any:
    """A bit pattern shifted down by n, with its sign."""
    return i >> n


def either(i: Any, j: Any) -> Any:
    """The exclusive or of two bit patterns."""
    return i ^ j


def real(i: Any) -> Any:
    """A whole number as a number of the same width."""
    return np.float32(i) if type(i) is np.int32 else np.float64(i)


def square_root(x: Any) -> Any:
    """The square root, rounded once; NaN below 0."""
    return cast(Any, np.sqrt(x))


def peek(address: Any, like: Any) -> Any:
    """The number at an address in memory, of the type of `like`."""
    return np.frombuffer(_memory(address, like), type(like))[0]


def poke(address: Any, value: Any, like: Any) -> None:
    """Stores a number at an address, as the type of `like`; an integer that is too long loses its high bits."""
    np.frombuffer(_memory(address, like), type(like))[0] = np.asarray(value).astype(type(like))


def swap(address: Any, old: Any, new: Any, like: Any) -> Any:
    """Stores `new` at an address if the number there has the bits of `old`; returns the number that was there.

    Compiled, this is one atomic operation (compare and exchange) for all processes that share the memory; in Python it is not.
    """
    there = peek(address, like)
    if there.tobytes() == np.asarray(old).astype(type(like)).tobytes():
        poke(address, new, like)
    return there


def float64s(address: Any) -> Any:
    """The float64 at an address and those behind it, to be indexed; neighbours are loaded together."""
    return ctypes.cast(int(address), ctypes.POINTER(ctypes.c_double))


def prefetch(address: Any) -> None:
    """Asks for the memory at an address, which the caller will soon change; in Python nothing."""


def _memory(address: Any, like: Any) -> Any:
    return (ctypes.c_char * like.nbytes).from_address(int(address))
