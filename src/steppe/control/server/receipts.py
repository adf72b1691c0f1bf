"""Duplicate orders: a journal answers with the same receipt, or the same refusal."""

import json
from pathlib import Path

from steppe.control.orders import FORKS, OF_STATE, CommandReceipt, Order, Refused
from steppe.control.server.records import EVERY, JournalRecords
from steppe.control.server.refusals import Refusals

FULL = "disk-full"
WITHOUT_ROOM = "The disk was full when this order came first, and nothing of it was stored. Send it with a new key."
REFUSAL = "INSERT OR IGNORE INTO refusal(who, key, request, code, detail, facts) VALUES (?,?,?,?,?,?)"


class Receipts(JournalRecords):
    """A journal that finds its answers by sender and key of an order."""

    def __init__(self, path: Path | str, durable: bool = False) -> None:
        super().__init__(path, durable)
        self._refusals = Refusals(None if path == ":memory:" else Path(f"{path}-refused"))

    def close(self) -> None:
        """Closes the file, which holds all accepted commands."""
        self._refusals.close()
        super().close()

    def receipt(self, order: Order) -> CommandReceipt | None:
        """The receipt of an earlier order with the same key; None for a new key.

        Raises
        ------
        Refused
            The order was refused before, or the key belongs to another order.
        """
        mine, names = "WHERE who = ? AND key = ?", (order.who, order.key)
        known = self._one(f"SELECT seq, branch, request, target, at_step FROM {EVERY} {mine}", names)
        refused = self._one(f"SELECT request, code, detail, facts FROM refusal {mine}", names) if known is None else None
        if known is None and (order.who, order.key) in self._refusals:
            raise Refused(FULL, WITHOUT_ROOM)
        if refused:
            self._check_same(order, refused[0])
            raise Refused(refused[1], refused[2], **json.loads(refused[3]))
        if known is None:
            return None
        seq, branch, request, target, at_step = known
        self._check_same(order, request, seq=seq)
        return CommandReceipt(seq, True, self._version_after(seq, order.kind, branch), target, at_step)

    def _check_same(self, order: Order, request: bytes, **facts: int) -> None:
        if request != order.request:
            raise Refused("key-reused", f'The key "{order.key}" was used for another command.', value=order.key, **facts)

    def known_or_refused(self, order: Order, refused: Refused) -> CommandReceipt:
        """The receipt of an order that was accepted before. Any other order raises `refused`, which is stored as by `refuse`."""
        if receipt := self.receipt(order):
            return receipt
        self.refuse(order, refused)
        raise refused

    def refuse(self, order: Order, refused: Refused) -> None:
        """Stores a refusal that depends on the state or the disk, so that a duplicate of the order gets the same answer in any later state.

        Raises
        ------
        NoSpaceError
            The disk is full, and the refusal is not stored.
        """
        if refused.code == FULL:
            self.refuse_without_room(order.who, order.key)
        if refused.code in OF_STATE:
            self._one(
                REFUSAL,
                (order.who, order.key, order.request, refused.code, refused.detail, json.dumps(refused.facts)),
            )

    def refuse_without_room(self, who: str, key: str) -> None:
        """Stores that an order was refused because the disk is full. A duplicate of an accepted order still gets its receipt."""
        if self._one("SELECT 1 FROM command WHERE who = ? AND key = ?", (who, key)) is None:
            self._refusals.add(who, key)

    def _version_after(self, seq: int, kind: str, branch: int) -> str:
        """The version of a scenario after a command; a rewind has moved the scenario to a new branch."""
        made = self.made_by(seq) if kind in FORKS and kind != "branch" else None
        return f"b{made.id if made else branch}.{seq}"
