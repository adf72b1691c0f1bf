"""Operations that a processor does in one instruction and Python lacks, on NumPy scalars.

`intrinsics.py` has the same ones for compiled code; both return the same bits.
"""

import ctypes
from fractions import Fraction
from typing import Any, TypeVar, overload

import numpy as np

Precision = type[np.float32] | type[np.float64]
Bits = np.int32 | np.int64  # a bit pattern, of the width of its number
T = TypeVar("T")
R = TypeVar("R", np.float32, float)  # float: float64, as the caller of a formula sees it
W = TypeVar("W", np.int32, np.int64)  # a bit pattern or another whole number of that width
S = TypeVar("S", bound=np.generic)


@overload
def fma(a: np.float32, b: np.float32, c: np.float32) -> np.float32: ...
@overload
def fma(a: float, b: float, c: float) -> float: ...
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


def polynomial(coefficients: tuple[R, ...], x: R) -> R:
    """The polynomial with these coefficients, highest power first, at x (Horner's rule with `fma`)."""
    y = coefficients[0]
    for coefficient in coefficients[1:]:
        y = fma(y, x, coefficient)
    return y


def where(condition: bool | np.bool_, a: T, b: T) -> T:
    """The value a if condition else b; compiled, both are computed and one is selected."""
    return a if condition else b


@overload
def bits(x: np.float32) -> np.int32: ...
@overload
def bits(x: float) -> np.int64: ...
def bits(x: Any) -> Bits:
    """The bit pattern of a number as a signed integer of the same width."""
    pattern: Bits = x.view(np.int32 if type(x) is np.float32 else np.int64)
    return pattern


@overload
def number(i: np.int64) -> np.float64: ...
@overload
def number(i: np.int32) -> np.float32: ...
def number(i: Bits) -> np.float32 | np.float64:
    """The number with the bit pattern i."""
    return i.view(np.float32) if type(i) is np.int32 else i.view(np.float64)


def plus(i: W, j: W) -> W:
    """The sum of two bit patterns, in their width (compiled `+` would widen 32 bits to 64)."""
    return i + j


def minus(i: W, j: W) -> W:
    """The difference of two bit patterns, in their width."""
    return i - j


def left(i: W, n: W) -> W:
    """A bit pattern shifted up by n."""
    return i << n


def right(i: W, n: W) -> W:
    """A bit pattern shifted down by n, with its sign."""
    return i >> n


def either(i: W, j: W) -> W:
    """The exclusive or of two bit patterns."""
    return i ^ j


@overload
def real(i: np.int64) -> np.float64: ...
@overload
def real(i: np.int32) -> np.float32: ...
def real(i: Bits) -> np.float32 | np.float64:
    """A whole number as a number of the same width."""
    return np.float32(i) if type(i) is np.int32 else np.float64(i)


def square_root(x: R) -> R:
    """The square root, rounded once; NaN below 0."""
    root: R = np.sqrt(x)
    return root


def peek(address: int, like: S) -> S:
    """The number at an address in memory, of the type of `like`."""
    there: S = np.frombuffer(_memory(address, like), type(like))[0]
    return there


def poke(address: int, value: float | np.generic, like: np.generic) -> None:
    """Stores a number at an address, as the type of `like`; an integer that is too long loses its high bits."""
    np.frombuffer(_memory(address, like), type(like))[0] = np.asarray(value).astype(type(like))


def swap(address: int, old: float | np.generic, new: float | np.generic, like: S) -> S:
    """Stores `new` at an address if the number there has the bits of `old`; returns the number that was there.

    Compiled, this is one atomic operation (compare and exchange) for all processes that share the memory; in Python it is not.
    """
    there = peek(address, like)
    if there.tobytes() == np.asarray(old).astype(type(like)).tobytes():
        poke(address, new, like)
    return there


def prefetch(address: int) -> None:
    """Asks for the memory at an address, which the caller will soon change; in Python nothing."""


def _memory(address: int, like: np.generic) -> Any:
    return (ctypes.c_char * like.nbytes).from_address(int(address))
