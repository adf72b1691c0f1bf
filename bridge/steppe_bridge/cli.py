"""The command `steppe-bridge`: run, site, doctor, key."""

import argparse
import os
import re
import shlex
import sys
from pathlib import Path
from typing import NoReturn

from steppe_bridge import doctor
from steppe_bridge.errors import Mistake
from steppe_bridge.key import make_key
from steppe_bridge.mpi import KINDS, named_command
from steppe_bridge.run import NAME, Run, read_places, run_sites
from steppe_bridge.site import Site, run_site

SSH = "ssh -T -o BatchMode=yes -o ServerAliveInterval=3 -o ServerAliveCountMax=3"
RUN = """\
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
SITE = """\
Start one site of a world, by hand or in a batch script. The first site listens and names all; the others join it.

  steppe-bridge key world.key                  # once; copy it to each site
  steppe-bridge site --listen 4711 --expect a,b --key world.key --name a -n 8 -- ./program arguments
  steppe-bridge site --join host.a:4711 --key world.key --name b -n 16 -- ./program arguments
"""
DOCTOR = """\
Say what a link is good for: delay, rate with 1 to 16 connections, what compression brings. Start it at both ends.

  steppe-bridge doctor --listen 4711 --key world.key
  steppe-bridge doctor --join host.a:4711 --key world.key
"""
CODES = (
    "Exit code: the program's, where it is not 0; 1 for a call that is not served between sites;\n"
    "75 if the bridge failed; 2 for a mistake found before the start; else 0."
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Mistake(f"{message[:1].upper()}{message[1:]}. `{self.prog} --help` shows what it takes.")


def main(arguments: list[str] | None = None, name: str = "steppe-bridge") -> int:
    """Runs the command line; returns the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    end = words.index("--") if "--" in words else len(words)
    try:
        parser = _parser(name)
        options, rest = parser.parse_known_args(words[:end])
        if rest and options.command in ("run", "site") and end == len(words) and not rest[0].startswith("-"):
            raise Mistake(f'"{rest[0]}" belongs to no option: {_place_of_program(name, options.command)}')
        if rest:
            parser.error(f"unrecognized arguments: {shlex.join(rest)}")
        if options.command == "key":
            make_key(options.file)
            return 0
        if options.command == "doctor":
            address = _address(options.listen or options.join, "listen" if options.listen else "join")
            doctor.examine(doctor.Doctor(options.key, address, bool(options.listen), options.seconds, options.timeout))
            return 0
        if not words[end + 1 :]:
            raise Mistake(f"There is no program: {_place_of_program(name, options.command)}")
        return _run(options, words[end + 1 :]) if options.command == "run" else _site(options, words[end + 1 :])
    except Mistake as error:
        sys.stderr.write(f"steppe bridge: {error}\n")
        return error.code


def _place_of_program(name: str, command: str) -> str:
    return f'the program stands after "--", as in `{name} {command} ... -- ./program arguments`.'


def _parser(name: str) -> _Parser:
    parser = _Parser(
        prog=name, description="Join several MPI launches, at sites that share a TCP connection, to one MPI_COMM_WORLD.", epilog=CODES
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    style = argparse.RawDescriptionHelpFormatter
    run = commands.add_parser("run", help="start all sites from this machine", description=RUN, epilog=CODES, formatter_class=style)
    run.add_argument("--site", action="append", required=True, metavar="NAME=HOST:RANKS", help="a site; the first one has standard input")
    run.add_argument("--ssh", default=SSH, metavar="COMMAND", help="the command before HOST (%(default)s)")
    run.add_argument("--no-prefix", action="store_true", help="lines without the name of their site")
    site = commands.add_parser("site", help="start one site", description=SITE, epilog=CODES, formatter_class=style)
    add = site.add_argument
    add("--name", required=True, help="of this site")
    add("-n", "--ranks", required=True, type=int, metavar="N", help="ranks that mpiexec starts here")
    add("--key", required=True, metavar="FILE", help='the key of all sites, or "-": in the first line of standard input')
    add("--listen", metavar="[HOST:]PORT", help="wait here for the others; port 0 takes a free one")
    add("--join", metavar="HOST:PORT", help="where the first site listens")
    add("--expect", metavar="NAME,NAME", help="of the first site: all sites, in the order of their ranks")
    add("--mpi", choices=[*KINDS], help="what the program loads, where it and mpiexec do not show it")
    add("--mpiexec", metavar="COMMAND", help="the launcher, with options (else STEPPE_MPIEXEC, else one that is found)")
    add("--nodes", metavar="HOST", help="this machine's address for ranks on other nodes, which share the current folder with it")
    site.set_defaults(mpi="", mpiexec="", nodes="")
    add("--led", action="store_true", help=argparse.SUPPRESS)  # by a `run`
    for add in (run.add_argument, site.add_argument):
        add("--map", choices=["blocks", "turns"], help="world ranks: all of a site, then the next site's; or one of each site in turn")
        add("--timeout", type=_seconds, metavar="S", help="for all ranks of all sites to come (120)")
        add("--link-timeout", type=_seconds, metavar="S", help="after which a silent site is lost (10)")
        add("--connections", type=_connections, metavar="N", help="of a link, where one is limited: 1 to 32 (1)")
        add("--reconnect", type=_seconds, metavar="S", help="how long a lost link may stay away, with nothing lost (0)")
        add("--compress", choices=["auto", "never"], help="what waits for a link: where measurement says that it pays (auto)")
        add("-q", "--quiet", action="store_true", help="no sentence when the world stands")
    ends = commands.add_parser("doctor", help="measure a link", description=DOCTOR, formatter_class=style)
    where = ends.add_mutually_exclusive_group(required=True)
    where.add_argument("--listen", metavar="[HOST:]PORT", help="wait here for the other end")
    where.add_argument("--join", metavar="HOST:PORT", help="where the other end listens")
    ends.add_argument("--key", required=True, metavar="FILE", help="the key of both ends")
    ends.add_argument("--seconds", type=_seconds, default=2, metavar="S", help="for each rate (2)")
    ends.add_argument("--timeout", type=_seconds, default=120, metavar="S", help="for the other end to come (120)")
    key = commands.add_parser("key", help="make a key file", description="Write a fresh random key to a new file of mode 0600.")
    key.add_argument("file", type=Path, metavar="FILE")
    return parser


def _seconds(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,5}", text):
        raise argparse.ArgumentTypeError(f'"{text}" must be a whole number of seconds, at least 1')
    return int(text)


def _connections(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= 32):
        raise argparse.ArgumentTypeError(f'"{text}" must be a whole number from 1 to 32')
    return int(text)


def _shared(options: argparse.Namespace) -> list[str]:
    """Options that the gateway takes under the same name."""
    names = ("map", "timeout", "link_timeout", "connections", "reconnect", "compress")
    given = [(f"--{name.replace('_', '-')}", getattr(options, name)) for name in names]
    return [str(word) for pair in given if pair[1] is not None for word in pair]


def _run(options: argparse.Namespace, program: list[str]) -> int:
    shared = [*_shared(options), *(["--quiet"] if options.quiet else [])]
    places = read_places(options.site)
    ssh = named_command(options.ssh or SSH, "--ssh") if any(place.host != "local" for place in places) else None
    return run_sites(Run(places, program, shared, ssh or [], options.quiet, not options.no_prefix))


def _site(options: argparse.Namespace, program: list[str]) -> int:
    if not re.fullmatch(NAME, options.name):
        raise Mistake(f'--name "{options.name}" must be 1 to 63 of A-Z a-z 0-9 . _ -, and begin with a letter or digit.')
    if options.ranks < 1:
        raise Mistake(f"-n {options.ranks} must be at least 1.")
    if not options.join and not (options.listen and options.expect):
        raise Mistake(
            "A site needs --join HOST:PORT or, if it is the first, --listen [HOST:]PORT and --expect with the names of all sites."
        )
    of_first = {"--expect": options.expect, "--map": options.map and not options.led}  # a `run` gives --map to all sites
    if options.join and (given := next((name for name, value in of_first.items() if value), "")):
        raise Mistake(f"{given} is for the first site, which does not --join.")
    gateway = ["--expect", options.expect] if options.expect else []
    for name in ("listen", "join"):
        if text := getattr(options, name):
            gateway += [f"--{name}", _address(text, name)]
    patience = (options.link_timeout or 10) + (options.reconnect or 0)
    same = {name: getattr(options, name) for name in ("name", "ranks", "key", "mpi", "mpiexec", "quiet", "led", "nodes")}
    return run_site(Site(program=program, gateway_options=[*gateway, *_shared(options)], first=not options.join, patience=patience, **same))


def _address(text: str, name: str) -> str:
    """HOST:PORT out of [HOST:]PORT; --join :PORT is the machine that the ssh session comes from."""
    host, _, port = text.rpartition(":")
    if not host:
        host = "0.0.0.0" if name == "listen" else os.environ.get("SSH_CONNECTION", "").partition(" ")[0]
    if not host or not port.isdecimal() or int(port) > 65535:
        raise Mistake(f'--{name} "{text}" must be {"[HOST:]PORT" if name == "listen" else "HOST:PORT"}, with a port up to 65535.')
    return f"{host}:{port}"
