"""Machine code on disk: a kernel is compiled once a machine, then loaded in milliseconds, without Numba.

A file holds the object code of one function. Its name is a hash of all its sources as they were in memory, so a stale kernel is never
loaded, and a process whose source files change leaves none:

    <folder>/<model>_<key>.kernel = SHA-256 of the rest (32 bytes) | symbol | newline | object file

It is written aside and renamed, so it is whole or absent. If many processes need a missing kernel, one compiles it and the others wait for
its lock file, which the system frees when the holder ends. If the folder is not writeable, kernels go to a private temporary folder; if
that fails, too, they stay in memory.
"""

import ctypes
import errno
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from steppe.array_types import Array
from steppe.errors import Failure
from steppe.files import take, write_whole
from steppe.kernels.loading import go_on

if TYPE_CHECKING:
    from llvmlite.binding import TargetMachine

LOG = logging.getLogger("steppe")
PATIENCE = 120.0  # seconds that a process waits for another that compiles the same kernel; then it compiles one for itself
LOOK = 0.02  # seconds between two looks


def folder() -> Path:
    """The folder of kernels: $STEPPE_CACHE/kernels, otherwise `steppe/kernels` in the user's cache folder."""
    base = os.environ.get("STEPPE_CACHE")
    return Path(base or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steppe") / "kernels"


def _llvm() -> ModuleType:
    """LLVM, initialised for this machine; imported at first use, since that takes a tenth of a second."""
    import llvmlite.binding

    llvm: ModuleType = llvmlite.binding
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for name in ("memset", "memcpy", "memmove"):  # the only functions of a library that LLVM itself puts in
        llvm.add_symbol(name, ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value)
    return llvm


def _processor() -> tuple[str, str]:
    """Name and features of the target processor: this one, or the one of Numba's environment variables."""
    name = os.environ.get("NUMBA_CPU_NAME")
    features = os.environ.get("NUMBA_CPU_FEATURES")
    if name is None:
        llvm = _llvm()
        return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten() if features is None else features
    return name, features or ""


def target_machine() -> "TargetMachine":
    """LLVM's compiler for this processor."""
    llvm = _llvm()
    name, features = _processor()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(cpu=name, features=features, opt=3, reloc="pic", codemodel="small", jit=True)


def object_of(text: str) -> bytes:
    """The object file of a function in LLVM IR; only the order of its instructions is optimised."""
    llvm, machine = _llvm(), target_machine()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    made: bytes = machine.emit_object(module)
    return made


def vector_registers() -> int:
    """The number of vector registers of this processor: 16 on x86-64 before AVX-512, otherwise 32."""
    machine, (_, features) = target_machine(), _processor()
    return 16 if machine.triple.startswith("x86_64") and "+avx512vl" not in features else 32


def vector_bytes() -> int:
    """The length of the largest vector register of this processor [bytes]."""
    return 64 if "+avx512f" in _processor()[1] else 32


def _compiler() -> str:
    """The source of this room."""
    return "\0".join(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py")))


COMPILER = _compiler()  # as this process imports it, not as the files become afterwards


def key(*parts: str) -> str:
    """The key of a kernel: a digest of everything it depends on, with this compiler, the processor and LLVM."""
    return sha256("\0".join([*parts, COMPILER, *_processor(), version("llvmlite")]).encode()).hexdigest()[:24]


def kept(name: str, make: Callable[[], tuple[str, bytes]]) -> tuple[str, bytes]:
    """Symbol and object file of the kernel `name`: from the cache, or from `make`, whose result is cached.

    One of the processes that share the folder makes it; the others wait for at most `PATIENCE`.
    """
    for place in (folder, _private):
        try:
            path = place() / f"{name}.kernel"
            found = find(path)
            if found is None:
                with _alone(path):
                    found = find(path) or _made(path, make)
            return found
        except _NotWritable as refused:
            _say_once(str(refused))
    return make()


class _NotWritable(Exception):
    """The folder of kernels is not writeable."""

    def __init__(self, place: Path, error: OSError) -> None:
        super().__init__(
            f'Compiled kernels cannot be kept in "{place}" ({error.strerror}). Set STEPPE_CACHE to a folder that can be written.'
        )


@cache
def _say_once(sentence: str) -> None:
    """Logs a warning once, for any number of kernels."""
    LOG.warning("%s", sentence)


def _private() -> Path:
    """A private temporary folder of this user: its files are run as machine code."""
    from tempfile import gettempdir  # here and not above: it is rarely wanted, and imports much

    path = Path(gettempdir()) / f"steppe-{os.getuid()}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        about = path.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o077:
            raise PermissionError(errno.EACCES, "it is not a folder of this user alone")
    except OSError as error:
        raise _NotWritable(path, error) from None
    return path


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Waits until no other process makes this kernel.

    Raises
    ------
    _NotWritable
        The lock file cannot be written.
    """
    lock = path.with_suffix(".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(lock, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o666)
        try:
            os.write(file, b"%d\n" % os.getpid())  # what fails on a full disk, while an empty file can be made
        except OSError:
            os.close(file)
            raise
    except OSError as error:
        raise _NotWritable(path.parent, error) from None
    try:
        _wait_for(file, path)
        yield
        lock.unlink(missing_ok=True)  # only when the kernel is there: a new process needs no lock, a waiting one finds it
    finally:
        os.close(file)


def _wait_for(file: int, path: Path) -> None:
    """Gets the lock, or returns without it after `PATIENCE`, or where the file system has no locks."""
    until, said = time.monotonic() + PATIENCE, False
    while time.monotonic() < until:
        try:
            if take(file):
                return
        except OSError:
            LOG.debug('"%s" cannot be locked', path)
            return
        if not said:
            LOG.info("Waiting for another process, which compiles a kernel for this processor.")
            said = True
        go_on()
        time.sleep(LOOK)


def _made(path: Path, make: Callable[[], tuple[str, bytes]]) -> tuple[str, bytes]:
    """The result of `make`, cached if possible."""
    made = make()
    try:
        store(path, *made)
    except OSError as error:
        _say_once(str(_NotWritable(path.parent, error)))
    return made


def store(path: Path, symbol: str, object_file: bytes) -> None:
    """Stores a kernel, unless the files of this room have changed meanwhile: its sources are unknown then.

    Raises
    ------
    OSError
        The folder cannot be written.
    """
    if _compiler() != COMPILER:
        return
    content = symbol.encode() + b"\n" + object_file
    write_whole(path, sha256(content).digest() + content, durable=False)  # `find` refuses a torn file


def find(path: Path) -> tuple[str, bytes] | None:
    """Symbol and object file of a kernel; None if there is none, or if its checksum is wrong."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if sha256(content[32:]).digest() != content[:32]:
        return None
    symbol, _, object_file = content[32:].partition(b"\n")
    return symbol.decode(), object_file


def address_of(array: Array) -> int:
    """The address of the first element. `array.ctypes.data` takes three times as long, which small kernels feel."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]  # an array is a buffer
    except (TypeError, ValueError):  # it cannot be written, has gaps, or is empty
        return int(array.ctypes.data)


DONE = (0, -2)  # what compiled code of Numba returns at its end, with and without a result


class MachineFunction:
    """A callable function of machine code; ctypes releases the interpreter lock while it runs.

    Its first two arguments, for a result and an exception of Numba, are not used.
    """

    def __init__(self, symbol: str, object_file: bytes, argument_types: Sequence[type]) -> None:
        llvm = _llvm()
        # It owns the memory. llvmlite's memory keeps code and constants together, as the small code model needs it.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine(), use_lmm=True)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(object_file))
        self._engine.finalize_object()
        self._function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *argument_types)(
            self._engine.get_function_address(symbol)
        )

    def __call__(self, *arguments: float) -> None:
        """Runs it; pointers are addresses.

        Raises
        ------
        Failure
            The code stopped at an error of its own, such as an index beyond the end of a tuple.
        """
        unused = ctypes.c_void_p()
        if self._function(ctypes.addressof(unused), ctypes.addressof(unused), *arguments) not in DONE:
            raise Failure("Compiled code of the model stopped: an index lies beyond the end of a tuple. Keep it below the length.")
