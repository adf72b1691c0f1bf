"""A run for readers of Zarr, over the requests of the client: with its token, its certificates, its Unix socket and its patience."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import finalize

from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype

from steppe.client.http_client import Address, HttpClient, now
from steppe.client.refusals import UnknownError

if TYPE_CHECKING:
    import ssl

MISSING = "unknown-path"  # the code of a chunk that is not there


class RunStore(Store):
    """The group of a scenario below a path of a server; patience and verify as of `HttpClient`. Nothing can be written or listed."""

    supports_writes = supports_deletes = supports_listing = False

    def __init__(self, path: str, address: Address, patience: float, verify: "bool | ssl.SSLContext") -> None:
        super().__init__(read_only=True)
        self._path, self._given = path, (address, patience, verify)
        self._line = HttpClient.to(address, False, patience, verify)
        finalize(self, lambda line: now(line.close()), self._line)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RunStore) and (self._path, self._given) == (other._path, other._given)

    def __reduce__(self) -> tuple[Any, ...]:
        return RunStore, (self._path, *self._given)

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """The bytes below a key; None where there is no chunk, which readers see as missing values. Raises as `HttpClient.ask`."""
        assert byte_range is None, "the server has no shards, so that readers ask for whole chunks"
        try:
            reply = await asyncio.to_thread(lambda: now(self._line.ask("GET", f"{self._path}/{key}")))
        except UnknownError as error:
            if error.code == MISSING:
                return None
            raise
        return prototype.buffer.from_bytes(reply.content)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """The bytes below several keys."""
        return [await self.get(key, prototype, byte_range) for key, byte_range in key_ranges]

    async def exists(self, key: str) -> bool:
        """True if the server has bytes below a key."""
        return await self.get(key, default_buffer_prototype()) is not None

    async def set(self, key: str, value: Buffer) -> None:
        """Raises `ValueError`: a run is changed by orders."""
        self._refuse()

    async def delete(self, key: str) -> None:
        """Raises as `set`."""
        self._refuse()

    def list(self) -> AsyncIterator[str]:
        """Raises `NotImplementedError`: the description of the group names all arrays."""
        raise NotImplementedError

    def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Raises as `list`."""
        raise NotImplementedError

    def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Raises as `list`."""
        raise NotImplementedError

    def _refuse(self) -> NoReturn:
        raise ValueError("A run is changed by orders, such as run.set. This data set can only be read.")
