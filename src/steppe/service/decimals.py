"""Numbers as JSON writes them."""

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray


def decimals(values: NDArray[Any]) -> list[Any]:
    """The values in C order, each to become the shortest decimal that gives it back; what is no number becomes null.

    float32 has decimals of its own, so it must not pass through float64.
    """
    if values.dtype == np.float32:
        texts = [text if text not in ("nan", "inf", "-inf") else "null" for text in map(str, values.ravel())]
        return [msgspec.Raw(text.encode()) for text in texts]
    return list(values.ravel().tolist())
