"""A run that was asked of a server: `python -m steppe.engine.admit RUN_FILE FOLDER` reads it, its data and model, and makes its folder.

On standard output is nothing when all is well, else the sentence that says what is wrong; the exit code is 2 then, and no folder was made.
"""

import json
import sys
from pathlib import Path

from steppe.control.launch import put_run_file
from steppe.engine.plan import Plan
from steppe.engine.run_file import read_run_file
from steppe.errors import Exit, Mistake


def admit(run_file: Path, folder: Path) -> None:
    """Makes the run folder of a run file, with the file in it as engines read it.

    Raises
    ------
    Mistake
        Anything wrong in the run file or the data that it names.
    """
    run = read_run_file(run_file, {"output.path": json.dumps(str(folder.absolute()), ensure_ascii=False)})
    reader = Plan.of(run).reader()
    if reader:
        reader.close()
    put_run_file(folder, run.as_toml())


if __name__ == "__main__":
    try:
        admit(Path(sys.argv[1]), Path(sys.argv[2]))
    except Mistake as mistake:
        sys.stdout.write(str(mistake))
        sys.exit(Exit.MISTAKE)
