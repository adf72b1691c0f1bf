"""`steppe serve`: a run that clients steer and watch."""

import signal
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steppe.cli.run import changes_of
from steppe.errors import Exit, Failure, Mistake


def serve(
    run_file: Path | None = None,
    *,
    bind: str = "127.0.0.1:8090",
    uds: Path | None = None,
    launcher: str = "",
    token_file: Path | None = None,
    durable: bool = False,
    keep_engine: bool = False,
    engine_bind: str = "",
    plain_engine_link: bool = False,
    read_only: bool = False,
    many: bool = False,
    scenarios: int | None = None,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    host: Annotated[list[str] | None, Parameter(negative=())] = None,
    root_path: str = "",
    proxy: Annotated[list[str] | None, Parameter(negative=())] = None,
    cors: Annotated[list[str] | None, Parameter(negative=())] = None,
    runs: Path | None = None,
    data: Annotated[list[Path] | None, Parameter(negative=())] = None,
    launchers: Annotated[list[str] | None, Parameter(negative=())] = None,
    open: bool = False,
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
    bind
        Address and port to listen at; port 0 takes a free one.
    uds
        Listen at a Unix socket of this path instead.
    launcher
        Words before the command of the engine, such as "mpiexec -n 4" or "srun -n 64".
    token_file
        Tokens to accept: lines of a role (view, steer, admin) and a token, in a file that you alone can read. Without it the server makes
        tokens and keeps them in server.tokens of the run folder, or of the folder of --runs.
    durable
        Orders survive a power failure, too, and take some milliseconds more.
    keep_engine
        Leave the engine at work when the server ends; the next server takes it over.
    engine_bind
        ADDRESS or ADDRESS:PORT of this machine for an engine that the launcher starts on another machine.
    plain_engine_link
        Do not encrypt the link to that engine, for a private network; by default TLS encrypts it.
    read_only
        Clients may read the run, and order nothing.
    many
        One token may open as many sockets as the server takes, 1,200, instead of 8: for a link that a whole lecture shares.
    scenarios
        The most scenarios of a run, 100 by default; the server refuses the next one until one is removed.
    tls_cert
        File of a certificate, for HTTPS.
    tls_key
        File of its key.
    host
        A name by which the server may be called, beside localhost.
    root_path
        The prefix of all addresses, such as /steppe, if a proxy passes on a part of its own.
    proxy
        Address or network of a proxy whose headers X-Forwarded-Prefix and X-Forwarded-For are believed; "unix" for one that calls at --uds.
    cors
        ORIGIN of another site, such as https://maps.example.org, whose scripts may call with a token. May be given several times.
    runs
        A folder for the runs that clients begin; the runs in it are served, too.
    data
        A folder that their run files may name, beside that. May be given several times.
    launchers
        NAME=WORDS: a launcher that their engines may use, such as four="mpiexec -n 4". May be given several times.
    open
        Open the page in a browser, too.
    set
        KEY=VALUE of the run file, for this run.
    """
    # Until the server listens to it, as SIGTERM: an exception that comes while modules load may be lost, and with it the wish to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from steppe.api import ROLES
    from steppe.control.server.launcher import check_launcher
    from steppe.control.sockets import tcp_listener
    from steppe.files import make_folder
    from steppe.server.doors import Origins, Prefix, Proxies
    from steppe.server.role_tokens import Tokens
    from steppe.server.serve import serve_runs

    if (tls_cert is None) != (tls_key is None):
        raise Mistake("--tls-cert and --tls-key belong together; give both.")
    if scenarios is not None and scenarios < 1:
        raise Mistake(f"--scenarios {scenarios} must be 1 or more: main is one.")
    if open and uds:
        raise Mistake("--open needs an address that a browser can call; leave --uds away.")
    if plain_engine_link and not engine_bind:
        raise Mistake("--plain-engine-link is for an engine on another machine; give --engine-bind, too.")
    if run_file is None and runs is None:
        raise Mistake("Give a run file, or --runs with a folder for the runs that clients begin.")
    named = _named(launchers or [])
    for words in (launcher, *named.values()):
        check_launcher(words)
    if runs and runs.exists() and not runs.is_dir():
        raise Mistake(f'--runs "{runs}" is a file, expected a folder.')
    for folder_of_data in data or []:
        if not folder_of_data.is_dir():
            raise Mistake(f'--data "{folder_of_data}" is no folder. Name one that run files may read.')
    if engine_bind:
        tcp_listener(engine_bind).close()  # an address that cannot be used is reported before anything is written
    try:
        Prefix(root_path)
        Proxies(proxy or [])
    except ValueError as error:
        raise Mistake(f"--root-path or --proxy: {error}") from None
    try:
        Origins(cors or [])
    except ValueError as error:
        raise Mistake(f"--cors {error}") from None
    given = Tokens.given(token_file) if token_file else None
    address, port = _address(bind)
    folder = _prepared(run_file, changes_of(set)) if run_file else None
    if runs:
        runs = runs.absolute()
        make_folder(runs, 0o700)
    served = runs or folder
    assert served is not None
    tokens = given or Tokens.of_folder(served, ("view",) if read_only else ROLES)
    where = {"uds": str(uds)} if uds else {"host": address, "port": port}
    where |= {"ssl_certfile": str(tls_cert), "ssl_keyfile": str(tls_key)} if tls_cert else {}
    serve_runs(
        folder,
        tokens,
        _say,
        to_terminal=sys.stdout.isatty(),
        launcher=launcher,
        durable=durable,
        keep_engine=keep_engine,
        engine_bind=engine_bind,
        plain_engine_link=plain_engine_link,
        read_only=read_only,
        many=many,
        scenarios=scenarios,
        hosts=host or [],
        prefix=root_path,
        proxies=proxy or [],
        cors=cors or [],
        runs=runs,
        data=data or [],
        launchers=named,
        visit=open,
        where=where,
    )
    return Exit.DONE


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _address(bind: str) -> tuple[str, int]:
    address, _, port = bind.rpartition(":")
    if not address or not port.isdecimal() or int(port) > 65535:
        raise Mistake(f'--bind "{bind}" must be ADDRESS:PORT, such as 127.0.0.1:8090.')
    return address.strip("[]"), int(port)


def _named(texts: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for text, (name, _, words) in zip(texts, pairs, strict=True):
        if not name or not words:
            raise Mistake(f'--launchers "{text}" must be NAME=WORDS, such as four="mpiexec -n 4".')
    return {name: words for name, _, words in pairs}


def _prepared(run_file: Path, changes: dict[str, str]) -> Path:
    """The run folder, with the run file in it as the engine will read it."""
    from steppe.control.rendezvous import put_run_file
    from steppe.engine.run_file import read_run_file

    run = read_run_file(run_file, changes)
    folder = Path(run.output.path).absolute()
    if folder.exists() and not folder.is_dir():
        raise Mistake(f'"{folder}" is a file, expected a folder. Choose another folder for the output.')
    try:
        put_run_file(folder, run.as_toml())
    except OSError as error:
        raise Failure(
            f'"{folder}" cannot be written: {error.strerror}. Make room or give the right to write; the run goes on then.'
        ) from None
    return folder
