"""The keys of the virtual bench: one that opens all its boards, and one that each board shows.

They are made once and kept in the cache directory, readable by the user alone. The key in the
images of a board stays the same when its image is built anew, as a real board's would on its card.
"""

from __future__ import annotations

import base64
import struct
from pathlib import Path

from benchvise.rig.images.tools import Tools
from benchvise.rig.virtual.recipes import CACHE

_MAGIC = b"openssh-key-v1\0"
_KIND = b"ssh-ed25519"
_SEED = 32  # bytes of an Ed25519 secret key, and of a public one


def user_key() -> Path:
    """The private key that logs in to every board; its public part lies beside it (``.pub``)."""
    return _key_pair("id_ed25519", "benchvise virtual bench")


def host_key(board: str) -> bytes:
    """The key of a board, as dropbear keeps it in a file."""
    path = _key_pair(f"host-{board}", board)
    return dropbear_form(path.read_text())


def _key_pair(name: str, comment: str) -> Path:
    directory = CACHE.directory / "keys"
    directory.mkdir(mode=0o700, exist_ok=True)
    path = directory / name
    with CACHE.locked("keys"):
        if not path.exists() or not path.with_name(f"{name}.pub").exists():
            path.unlink(missing_ok=True)
            Tools(directory).run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", name]
            )
    return path


def dropbear_form(text: str) -> bytes:
    """An unencrypted Ed25519 key in OpenSSH's own form, in the form that dropbear reads.

    OpenSSH's is described in its PROTOCOL.key. dropbear's is the kind of key, then secret and
    public key together, each as a length and bytes. ValueError when it is another kind of key.
    """
    body = "".join(line for line in text.split("\n") if line and not line.startswith("-"))
    data = base64.b64decode(body)
    if not data.startswith(_MAGIC):
        raise ValueError("not a key in OpenSSH's own form")
    rest = data[len(_MAGIC) :]
    cipher, rest = _string(rest)
    for _ in range(2):  # how a password becomes a key, which there is not
        _, rest = _string(rest)
    if cipher != b"none":
        raise ValueError("the key is encrypted")
    _, rest = _string(rest[4:])  # one key; its public part
    secret, _ = _string(rest)
    kind, secret = _string(secret[8:])  # two equal numbers that tell a right password
    public, secret = _string(secret)
    both, _ = _string(secret)
    if kind != _KIND or len(both) != 2 * _SEED or both[_SEED:] != public:
        raise ValueError("not an Ed25519 key")
    return struct.pack(">I", len(kind)) + kind + struct.pack(">I", len(both)) + both


def _string(data: bytes) -> tuple[bytes, bytes]:
    """A length in four bytes and as many bytes; and what follows."""
    (length,) = struct.unpack_from(">I", data)
    return data[4 : 4 + length], data[4 + length :]
