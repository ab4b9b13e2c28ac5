"""What is private in results that leave the house: found, and replaced by names that mean nothing.

The same text gets the same name all over a file, so that what was equal still is: ``host-1``,
``mac-2``. What runs are compared by (benchmarks, parameters, units) stays, but for addresses in it.

    host names          the board's own, in addresses and in every text that has them as a word
    user names          those in addresses of boards, and that of the home directory
    MAC addresses, IP addresses, UUIDs
    serial numbers      values that are called serial, machine-id, wwid or cid; words of kernel
                        command lines such as androidboot.serialno=

Nothing finds every private text: a note may say anything. ``Redactor.summary`` is the list of what
was replaced, without the originals.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_MAC = re.compile(r"(?<![0-9A-Fa-f:-])(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:-])")
_UUID = re.compile(
    r"(?<![0-9A-Fa-f-])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![0-9A-Fa-f-])"
)
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\.\d|\w)")
_IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])")
_SERIAL_WORD = re.compile(
    r"(?i)((?:serialno|serial_?number|machine[_-]id|\bcid)\s*[=:]\s*)([\w.-]{4,})"
)
_SERIAL_NAME = re.compile(
    r"(?i)(?:^|[^a-z])(?:serial(?:[-_ ]?(?:no|number))?|machine[-_ ]?id|wwid|cid)$"
)
_ADDRESS = re.compile(r"\b[a-z]+://(?:([^@/\s]+)@)?(\[[^\]\s]+\]|[^:/\s,@]+)")
_HOME = re.compile(r"(/home/)([A-Za-z_][\w.-]*)")
_PLAIN_HOSTS = frozenset({"localhost", "localhost.localdomain", "none", "(none)", "local"})
_PLAIN_USERS = frozenset({"root", "user", "admin", "pi", "debian", "ubuntu"})
_LEAST_WORD = 3
_LEAST_SERIAL = 5


@dataclass(frozen=True, slots=True)
class Redacted:
    """A kind of private text: how many different ones there were, and in how many places."""

    kind: str
    different: int
    places: int


@dataclass
class Redactor:
    """Replaces private texts in JSON documents, the same one by the same name."""

    _names: dict[str, str] = field(default_factory=dict)
    _kinds: dict[str, str] = field(default_factory=dict)
    _places: Counter[str] = field(default_factory=Counter)
    _hosts: dict[str, str] = field(default_factory=dict)
    _short: set[str] = field(default_factory=set)

    def know_host(self, name: str) -> None:
        """From here on this host name is private, wherever it stands as a word."""
        for word in (name, name.partition(".")[0]):
            plain = word.lower() in _PLAIN_HOSTS or word.isdigit()
            if plain or _is_address(word):
                continue
            if len(word) >= _LEAST_WORD:
                self._hosts[word] = "host"
            elif word:  # as a word it may stand for anything
                self._short.add(word)

    def know_address(self, address: str) -> None:
        """The same of the host and the user that a board's address names."""
        for match in _ADDRESS.finditer(address if "://" in address else f"ssh://{address}"):
            user, host = match.groups()
            if address != "local" and not address.startswith(("rig:", "console:")):
                self.know_host(host)
            if user and len(user) >= _LEAST_WORD and user not in _PLAIN_USERS:
                self._hosts[user] = "user"

    def document(self, value: Any, name: str = "") -> Any:
        """A JSON document with its private texts replaced, keys too; ``name`` is its own."""
        match value:
            case str() if name == "HOME":
                return self.text(_HOME.sub(lambda m: m[1] + self._user(m[2]), value))
            case str():
                return self._private(value) if _SERIAL_NAME.search(name) else self.text(value)
            case list():
                return [self.document(item, name) for item in value]
            case dict():
                # An entry of a snapshot says beside its value what the value is.
                called = value.get("key") if isinstance(value.get("key"), str) else None
                return {
                    self.text(key): self.document(
                        item, str(called) if key in _VALUES and called else key
                    )
                    for key, item in value.items()
                }
        return value

    def text(self, text: str) -> str:
        """A text with everything that is found in it replaced."""
        if not text:
            return text
        if text in self._short:
            return self._name("host", text)
        text = _UUID.sub(lambda m: self._name("uuid", m[0]), text)
        text = _MAC.sub(lambda m: self._name("mac", m[0].lower().replace("-", ":")), text)
        text = _SERIAL_WORD.sub(lambda m: m[1] + self._name("serial", m[2]), text)
        for pattern in (_IPV4, _IPV6):
            text = pattern.sub(lambda m: self._ip(m[0]), text)
        if self._hosts:
            text = self._host_pattern().sub(lambda m: self._name(self._hosts[m[0]], m[0]), text)
        return text

    def summary(self) -> list[Redacted]:
        """What was replaced so far, by kind."""
        return list(self._summary())

    def _summary(self) -> Iterator[Redacted]:
        for kind, title in _TITLES.items():
            names = [name for name, of in self._kinds.items() if of == kind]
            if names:
                yield Redacted(title, len(names), sum(self._places[name] for name in names))

    def _private(self, text: str) -> str:
        plain = len(text.strip()) < _LEAST_SERIAL or text.isalpha()
        return self.text(text) if plain else self._name("serial", text)

    def _user(self, name: str) -> str:
        return name if name in _PLAIN_USERS else self._name("user", name)

    def _ip(self, text: str) -> str:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return text
        if address.is_loopback or address.is_unspecified or text.startswith("255."):
            return text
        return self._name("ip", text)

    def _host_pattern(self) -> re.Pattern[str]:
        words = sorted(self._hosts, key=len, reverse=True)
        return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, words))})(?![\w-])")

    def _name(self, kind: str, text: str) -> str:
        name = self._names.get(text)
        if name is None:
            count = sum(1 for of in self._kinds.values() if of == kind) + 1
            name = self._names[text] = f"{kind}-{count}"
            self._kinds[name] = kind
        self._places[name] += 1
        return name


_VALUES = ("value", "raw")
_TITLES: Mapping[str, str] = {
    "host": "host names",
    "user": "user names",
    "mac": "MAC addresses",
    "ip": "IP addresses",
    "uuid": "UUIDs",
    "serial": "serial numbers",
}


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return False
    return True
