"""Join several MPI launches, at sites that share a TCP connection, to one MPI_COMM_WORLD.

Exit code: the program's, where it is not 0; 1 for a call that is not served between sites;
75 if the bridge failed; 2 for a mistake found before the start; else 0.
"""
# The command `steppe-bridge`: run, site, doctor, key. Docstrings are its help.

import argparse
import inspect
import os
import re
import shlex
import sys
from pathlib import Path
from typing import NoReturn

from steppe_bridge import doctor
from steppe_bridge.errors import Mistake
from steppe_bridge.key import make_key
from steppe_bridge.mpi import KINDS
from steppe_bridge.run import NAME, SSH, run_sites
from steppe_bridge.site import run_site

OF_GATEWAY = ("expect", "listen", "join", "map", "timeout", "link_timeout", "connections", "reconnect", "compress")
DESCRIPTION, _, CODES = (__doc__ or "").strip().partition("\n\n")  # none with python -OO


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Mistake(f"{message[:1].upper()}{message[1:]}. `{self.prog} --help` shows what it takes.")


def main(arguments: list[str] | None = None, name: str = "steppe-bridge") -> int:
    """Runs the command line; returns the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    end = words.index("--") if "--" in words else len(words)
    program = words[end + 1 :]
    try:
        parser = _parser(name)
        options, rest = parser.parse_known_args(words[:end])
        starts = options.act in STARTING
        place = f'the program stands after "--", as in `{name} {options.command} ... -- ./program arguments`.'
        if rest and starts and end == len(words) and not rest[0].startswith("-"):
            raise Mistake(f'"{rest[0]}" belongs to no option: {place}')
        if rest:
            parser.error(f"unrecognized arguments: {shlex.join(rest)}")
        if starts and not program:
            raise Mistake(f"There is no program: {place}")
        return int(options.act(options, program) or 0)
    except Mistake as error:
        sys.stderr.write(f"steppe bridge: {error}\n")
        return error.code


def _run(options: argparse.Namespace, program: list[str]) -> int:
    """
    Start all sites of a world from this machine. LOCAL sites run here, others by ssh, where steppe-bridge is installed.

      steppe-bridge run --site a=local:8 --site b=host.b:16,mpi=openmpi -- ./program arguments

    A site is NAME=HOST:RANKS, then options after commas:
      mpi=mpich|openmpi|abi   what its program loads, where the program and mpiexec do not show it
      mpiexec=COMMAND         its launcher
      folder=PATH             where the program is started (else here, or in the login folder of HOST)
      command=COMMAND         how steppe-bridge is called there
      listen=[HOST:]PORT      where its gateway waits for the others
      join=HOST:PORT          the first site's gateway as this site reaches it
    """
    return run_sites(options, program, [*_of_gateway(options), *(["--quiet"] if options.quiet else [])])


def _site(options: argparse.Namespace, program: list[str]) -> int:
    """
    Start one site of a world, by hand or in a batch script. The first site listens and names all; the others join it.

      steppe-bridge key world.key                  # once; copy it to each site
      steppe-bridge site --listen 4711 --expect a,b --key world.key --name a -n 8 -- ./program arguments
      steppe-bridge site --join host.a:4711 --key world.key --name b -n 16 -- ./program arguments
    """
    if not re.fullmatch(NAME, options.name):
        raise Mistake(f'--name "{options.name}" must be 1 to 63 of A-Z a-z 0-9 . _ -, and begin with a letter or digit.')
    if options.ranks < 1:
        raise Mistake(f"-n {options.ranks} must be at least 1.")
    if not options.join and not (options.listen and options.expect):
        first = "if it is the first, --listen [HOST:]PORT and --expect with the names of all sites"
        raise Mistake(f"A site needs --join HOST:PORT or, {first}.")
    of_first = {"--expect": options.expect, "--map": options.map and not options.led}  # a `run` gives --map to all sites
    if options.join and (given := next((name for name, value in of_first.items() if value), "")):
        raise Mistake(f"{given} is for the first site, which does not --join.")
    return run_site(options, program, _of_gateway(options))


def _doctor(options: argparse.Namespace, _: list[str]) -> None:
    """
    Say what a link is good for: delay, rate with 1 to 16 connections, what compression brings. Start it at both ends.

      steppe-bridge doctor --listen 4711 --key world.key
      steppe-bridge doctor --join host.a:4711 --key world.key
    """
    doctor.examine(options.key, options.listen or options.join, bool(options.listen), options.timeout, options.seconds)


def _key(options: argparse.Namespace, _: list[str]) -> None:
    """Write a fresh random key to a new file of mode 0600."""
    make_key(options.file)


STARTING = (_run, _site)  # a program


def _of_gateway(options: argparse.Namespace) -> list[str]:
    """Options that the gateway takes under the same name."""
    given = [(f"--{name.replace('_', '-')}", getattr(options, name, None)) for name in OF_GATEWAY]
    return [str(word) for pair in given if pair[1] is not None for word in pair]


def _parser(name: str) -> _Parser:
    parser = _Parser(prog=name, description=DESCRIPTION, epilog=CODES)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    acts = {_run: "start all sites from this machine", _site: "start one site", _doctor: "measure a link", _key: "make a key file"}
    for act, brief in acts.items():
        style, text, epilog = argparse.RawDescriptionHelpFormatter, inspect.getdoc(act), CODES if act in STARTING else None
        each = commands.add_parser(act.__name__[1:], help=brief, description=text, epilog=epilog, formatter_class=style)
        each.set_defaults(act=act)
    run, site, ends, key = commands.choices.values()
    run.add_argument("--site", action="append", required=True, metavar="NAME=HOST:RANKS", help="a site; the first one has standard input")
    run.add_argument("--ssh", default=SSH, metavar="COMMAND", help="the command before HOST (%(default)s)")
    run.add_argument("--no-prefix", action="store_true", help="lines without the name of their site")
    add = site.add_argument
    add("--name", required=True, help="of this site")
    add("-n", "--ranks", required=True, type=int, metavar="N", help="ranks that mpiexec starts here")
    add("--key", required=True, metavar="FILE", help='the key of all sites, or "-": in the first line of standard input')
    add("--listen", type=_listen, metavar="[HOST:]PORT", help="wait here for the others; port 0 takes a free one")
    add("--join", type=_join, metavar="HOST:PORT", help="where the first site listens")
    add("--expect", metavar="NAME,NAME", help="of the first site: all sites, in the order of their ranks")
    add("--mpi", choices=[*KINDS], help="what the program loads, where it and mpiexec do not show it")
    add("--mpiexec", metavar="COMMAND", help="the launcher, with options (else STEPPE_MPIEXEC, else one that is found)")
    add("--nodes", metavar="HOST", help="this machine's address for ranks on other nodes, which share the current folder with it")
    site.set_defaults(mpi="", mpiexec="", nodes="")
    add("--led", action="store_true", help=argparse.SUPPRESS)  # by a `run`
    for add in (run.add_argument, site.add_argument):
        add("--map", choices=["blocks", "turns"], help="world ranks: all of a site, then the next site's; or one of each site in turn")
        add("--timeout", type=_whole, metavar="S", help="for all ranks of all sites to come (120)")
        add("--link-timeout", type=_whole, metavar="S", help="after which a silent site is lost (10)")
        add("--connections", type=_connections, metavar="N", help="of a link, where one is limited: 1 to 32 (1)")
        add("--reconnect", type=_whole, metavar="S", help="how long a lost link may stay away, with nothing lost (0)")
        add("--compress", choices=["auto", "never"], help="what waits for a link: where measurement says that it pays (auto)")
        add("-q", "--quiet", action="store_true", help="no sentence when the world stands")
    where = ends.add_mutually_exclusive_group(required=True)
    where.add_argument("--listen", type=_listen, metavar="[HOST:]PORT", help="wait here for the other end")
    where.add_argument("--join", type=_join, metavar="HOST:PORT", help="where the other end listens")
    ends.add_argument("--key", required=True, metavar="FILE", help="the key of both ends")
    ends.add_argument("--seconds", type=_whole, default=2, metavar="S", help="for each rate (2)")
    ends.add_argument("--timeout", type=_whole, default=120, metavar="S", help="for the other end to come (120)")
    key.add_argument("file", type=Path, metavar="FILE")
    return parser


def _whole(text: str, most: int = 999_999, words: str = "of seconds, at least 1") -> int:
    if not (re.fullmatch(r"[1-9]\d{0,5}", text) and int(text) <= most):
        raise argparse.ArgumentTypeError(f'"{text}" must be a whole number {words}')
    return int(text)


def _connections(text: str) -> int:
    return _whole(text, 32, "from 1 to 32")


def _listen(text: str) -> str:
    return _address(text, "--listen", "[HOST:]PORT", "0.0.0.0")


def _join(text: str) -> str:
    """:PORT is of the machine that the ssh session comes from."""
    return _address(text, "--join", "HOST:PORT", os.environ.get("SSH_CONNECTION", "").partition(" ")[0])


def _address(text: str, option: str, form: str, otherwise: str) -> str:
    host, _, port = text.rpartition(":")
    if not (host or otherwise) or not port.isdecimal() or int(port) > 65535:
        raise Mistake(f'{option} "{text}" must be {form}, with a port up to 65535.')
    return f"{host or otherwise}:{port}"
