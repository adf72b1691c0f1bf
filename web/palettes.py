"""Writes src/draw/palettes.ts from the colour tables of the package cmcrameri: `python web/palettes.py`, from the repository's root.

The tables are the Scientific colour maps of Fabio Crameri (MIT licence, https://doi.org/10.5281/zenodo.1243862). The colours of classes are
those of pictures.
"""

import json
from pathlib import Path

import numpy as np
from cmcrameri import cm

from steppe.view.colour import CLASSES

NAMES = ("batlow", "bamako_r", "lajolla", "lapaz_r", "oslo_r", "davos", "grayC", "vik_r", "cork", "berlin", "romaO")
HEAD = """/**
 * Colour tables: red, green, blue of 256 entries each, as what is added to the entry before, in characters from "@" on, which are packed well.
 * Written by palettes.py.
 *
 * From cmcrameri (MIT licence), which packs the Scientific colour maps, https://doi.org/10.5281/zenodo.1243862:
 *
 * Copyright (c) 2020 Fabio Crameri
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files
 * (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge,
 * publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so,
 * subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
 * MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR
 * ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH
 * THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */
"""


def main() -> None:
    """Writes the file."""
    entries = np.arange(256)
    tables = (np.round(np.asarray(cm.cmaps[name](entries))[:, :3] * 255).astype(np.int64) for name in NAMES)
    steps = ((np.diff(table, axis=0, prepend=0) + ord("@")).ravel().tolist() for table in tables)
    lines = [f"  {name}: {json.dumps(''.join(map(chr, row)))},\n" for name, row in zip(NAMES, steps, strict=True)]
    path = Path(__file__).parent / "src" / "draw" / "palettes.ts"
    classes = f'/** Colours of classes, six digits each. */\nexport const CLASSES =\n  "{CLASSES}";\n'
    path.write_text(f"{HEAD}export const TABLES = {{\n{''.join(lines)}}} as const;\n{classes}", encoding="utf-8")


if __name__ == "__main__":
    main()
