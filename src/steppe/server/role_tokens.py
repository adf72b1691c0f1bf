"""The tokens of the roles, a line each: given by a user, or made by a server and kept in the folder that it serves.

RUN_FOLDER/server.tokens      a role and its token a line, in the runs' folder of `--runs`; its owner alone can read it
"""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steppe.api import ROLES
from steppe.errors import Failure, Mistake
from steppe.server.access import Access
from steppe.server.tokens import Token, TokenStore, digest_of, new_token

FILE = "server.tokens"
HEAD = "# Made by steppe serve. http://ADDRESS/#token=TOKEN opens the page. `steppe token revoke FOLDER ROLE` ends a token.\n"


class RoleFile(TokenStore):
    """The tokens that servers of a folder have made, one a role."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / FILE)

    def texts(self) -> dict[str, str]:
        """Role -> token; raises Mistake as `read_roles` does."""
        return read_roles(self.path, own=True) if self.path.exists() else {}

    def read(self) -> list[Token]:
        """The records of all tokens."""
        return [Token.of(role, role, text) for role, text in self.texts().items()]

    def complete(self, roles: Sequence[str]) -> dict[str, str]:
        """The tokens of some roles; those that are missing are made.

        Raises
        ------
        Mistake
            The file cannot be read, or is readable by others.
        Failure
            It cannot be written.
        """
        try:
            with self.alone():
                there = self.texts()
                if missing := [role for role in roles if role not in there]:
                    there |= {role: new_token() for role in missing}
                    self._put(there)
        except OSError as error:
            raise Failure(f'"{self.path}" cannot be written: {error.strerror}. Make room or give the right to write.') from None
        return {role: there[role] for role in roles}

    def forget(self, digest: bytes) -> None:
        """Removes a token, if the file has it; the next server makes another one."""
        with self.alone():
            there = self.texts()
            left = {role: text for role, text in there.items() if digest_of(text) != digest}
            if left != there:
                self._put(left)

    def _put(self, texts: Mapping[str, str]) -> None:
        self.put(HEAD + "".join(f"{role} {text}\n" for role, text in texts.items()))


def read_roles(path: Path, own: bool = False) -> dict[str, str]:
    """Role -> token of a file. own: it must belong to this user, so that a user with the right to write into a folder is not its admin.

    Raises
    ------
    Mistake
        The file cannot be read, or others can read it, too; or a line is no role and token, or a role has two.
    """
    try:
        with open(path, encoding="ascii", errors="surrogateescape") as file:  # a comment may be in any encoding
            _check_private(path, os.fstat(file.fileno()), own)
            lines = [(number, line.split()) for number, line in enumerate(file, 1) if line.strip() and not line.startswith("#")]
    except OSError as error:
        raise Mistake(f'The token file "{path}" cannot be read: {error.strerror}.') from None
    texts: dict[str, str] = {}
    for number, line in lines:
        if len(line) != 2 or line[0] not in ROLES or len(line[1]) < 16 or not line[1].isascii():
            raise Mistake(f'"{path}", line {number}: expected a role ({", ".join(ROLES)}) and a token of at least 16 characters of ASCII.')
        if line[0] in texts:
            text = f'"{path}", line {number}: a second token of the role {line[0]}. Give each role one; `steppe token new` makes more.'
            raise Mistake(text)
        if line[1] in texts.values():
            raise Mistake(f'"{path}", line {number}: this token is that of another role, too. Give each role a token of its own.')
        texts[line[0]] = line[1]
    return texts


def _check_private(path: Path, facts: os.stat_result, own: bool) -> None:
    """Others may have no right to a file; its group may, if another user owns the file and shares it with this one."""
    if own and facts.st_uid != os.geteuid():
        raise Mistake(f'"{path}" belongs to another user. No token in it is taken. Remove it; the server makes new tokens.')
    others = 0o077 if facts.st_uid == os.geteuid() else 0o007
    if stat.S_ISREG(facts.st_mode) and facts.st_mode & others:
        mode = stat.S_IMODE(facts.st_mode)
        raise Mistake(f'The token file "{path}" has mode {mode:04o}, expected 0600: other users may read it. Type `chmod 600 {path}`.')


@dataclass(frozen=True)
class Tokens:
    """Role -> token of a server. path: their file; made: whether the server made them."""

    texts: Mapping[str, str] = field(repr=False)
    path: Path
    made: bool

    @classmethod
    def given(cls, path: Path) -> "Tokens":
        """Those of a user's file; raises Mistake as `read_roles` does, and where it holds none."""
        roles = read_roles(path)
        if not roles:
            raise Mistake(f'The token file "{path}" holds no token. Write lines of a role ({", ".join(ROLES)}) and a token.')
        return cls(roles, path, made=False)

    @classmethod
    def of_folder(cls, folder: Path, roles: Sequence[str] = ROLES) -> "Tokens":
        """Those that the servers of a folder have made for some roles; raises Mistake or Failure as `RoleFile.complete` does."""
        file = RoleFile(folder)
        return cls(file.complete(roles), file.path, made=True)

    @property
    def first(self) -> str:
        """The token that most users want: that of the role steer, if there is one."""
        return self.texts.get("steer") or next(iter(self.texts.values()))

    def access(self) -> Access:
        """The access by these tokens; a revoked token that a server made is no longer valid."""
        if not self.made:
            return Access(Token.of(role, role, text) for role, text in self.texts.items())
        access = Access([])
        access.take_from({"": RoleFile(self.path.parent)})
        return access

    def greeting(self, name: str, address: str, to_terminal: bool) -> str:
        """The text that a server prints when it listens. It has no given tokens, and the others only on a terminal."""
        lines, token = [f'  The tokens of {", ".join(self.texts)} are in "{self.path}".'], "..."
        if self.made and to_terminal:
            lines = [f"  {role:<6} {address}/#token={text}" for role, text in self.texts.items()]
            token = f'"{self.first}"'
        lines = [f"{name} is served at {address}/", "", *lines, "", f'  steppe.connect("{address}", token={token})']
        return "\n".join([*lines, "", "Ctrl-C keeps the state and ends.", ""])
