"""`steppe serve`: serves a run, which clients steer and watch."""

import atexit
import logging
import os
import signal
from contextlib import suppress
from dataclasses import replace
from logging.handlers import QueueHandler, QueueListener
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steppe.cli.run import changes_of
from steppe.errors import Exit, Failure, Mistake
from steppe.server.serve_options import ServeOptions

if TYPE_CHECKING:
    from steppe.engine.run_file import RunFile

DEFAULTS = ServeOptions()


def serve(
    run_file: Path | None = None,
    *,
    options: Annotated[ServeOptions, Parameter(name="*")] = DEFAULTS,
    set: Annotated[list[str] | None, Parameter(negative=())] = None,
) -> Exit:
    """Serve a run: clients step, read, change, branch and rewind it by HTTP, from a notebook or on the page.

    The command prints addresses of the page to a terminal. The run computes nothing before a client orders a step. Ctrl-C keeps the state
    and ends; the same command continues.

    Examples:

        steppe serve run.toml
        steppe serve run.toml --bind 0.0.0.0:8090 --tls-cert cert.pem \\
            --tls-key key.pem --host steppe.example.org
        steppe serve run.toml --root-path /steppe --host steppe.example.org
        steppe serve run.toml --launcher srun --engine-bind node1 --durable
        steppe serve --runs runs --data weather --launchers many=srun

    Parameters
    ----------
    run_file
        The run file.
    set
        KEY=VALUE of the run file, for this run.
    """
    while (file := os.open(os.devnull, os.O_RDWR)) <= 2:  # libuv aborts at a connection of the number 0, 1 or 2
        pass
    os.close(file)
    _log_aside()
    if options.access_log:
        logging.getLogger("steppe.server").setLevel(logging.INFO)
    # Until the server handles SIGINT, it ends the process as SIGTERM does: a KeyboardInterrupt while modules load may be lost.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from steppe.api import ROLES
    from steppe.comm import find_launch
    from steppe.control.server.launcher import check_launcher
    from steppe.control.sockets import tcp_listener
    from steppe.engine.run_file import read_run_file
    from steppe.files import make_folder
    from steppe.io import expect_no_ensemble
    from steppe.server.doors import Origins, Prefix, Proxies
    from steppe.server.role_tokens import Tokens
    from steppe.server.serve import serve_runs

    if find_launch():
        raise Mistake('The launcher starts engines, not servers. Write `steppe serve ... --launcher "mpiexec -n 4"`.')
    run = read_run_file(run_file, changes_of(set)) if run_file else None
    if run:
        expect_no_ensemble(run.output.path)
    options.check()
    if run_file is None and options.runs is None:
        raise Mistake("Give a run file, or --runs with a folder for the runs that clients begin.")
    for words in options.launcher_words.values():
        check_launcher(words)
    if options.engine_bind:
        tcp_listener(options.engine_bind).close()  # an address that cannot be used is reported before anything is written
    try:
        Prefix(options.root_path)
        Proxies(options.proxy)
    except ValueError as error:
        raise Mistake(f"--root-path or --proxy: {error}") from None
    try:
        Origins(options.cors)
    except ValueError as error:
        raise Mistake(f"--cors {error}") from None
    given = Tokens.given(options.token_file) if options.token_file else None
    folder = _prepared(run) if run else None
    if options.runs:
        options = replace(options, runs=(runs := options.runs.absolute()))
        make_folder(runs, 0o700)
    served = options.runs or folder
    assert served is not None
    tokens = given or Tokens.of_folder(served, ("view",) if options.read_only else ROLES)
    serve_runs(folder, tokens, _say, options, to_terminal=os.isatty(1))
    return Exit.DONE


def _log_aside() -> None:
    """Logs to stderr on a thread of its own: the loop of the server does not wait for a disk."""
    lines = SimpleQueue[logging.LogRecord]()
    listener = QueueListener(lines, logging.StreamHandler())
    listener.start()
    atexit.register(listener.stop)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", handlers=[QueueHandler(lines)])


def _say(text: str) -> None:
    with suppress(OSError):  # the disk of a log may be full, or its reader gone
        os.write(1, text.encode())


def _prepared(run: "RunFile") -> Path:
    """Writes the run file for the engine into the run folder; returns the folder."""
    from steppe.control.rendezvous import put_run_file

    folder = Path(run.output.path).absolute()
    if folder.exists() and not folder.is_dir():
        raise Mistake(f'"{folder}" is a file, expected a folder. Choose another folder for the output.')
    try:
        put_run_file(folder, run.as_toml())
    except OSError as error:
        raise Failure(
            f'"{folder}" cannot be written: {error.strerror}. Make room or give the right to write; then the run continues.'
        ) from None
    return folder
