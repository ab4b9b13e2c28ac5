"""What can go wrong with a board in a rig, by name, and the errors that carry the names."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from benchvise.errors import BenchviseError


class Fault(StrEnum):
    """The classifications. The value is what a user reads and what scripts match."""

    # the rig
    BUSY = "board-busy"
    RELAY_STUCK = "relay-stuck"
    MUX_STUCK = "mux-stuck"
    CONSOLE_DEAD = "console-dead"
    RIG_BROKEN = "rig-broken"
    COORDINATOR_AWAY = "coordinator-away"
    # the card
    CARD_MISSING = "card-missing"
    CARD_MOUNTED = "card-mounted"
    CARD_TOO_SMALL = "card-too-small"
    CARD_NOT_OURS = "card-not-ours"
    CARD_WRITE = "card-write-error"
    CARD_VERIFY = "card-verify-mismatch"
    IMAGE_DAMAGED = "image-damaged"
    # the board
    NO_OUTPUT = "no-output"
    CONSOLE_GARBLED = "console-garbled"
    CONSOLE_LOSSY = "console-lossy"
    BOOTLOADER_PROMPT = "bootloader-prompt"
    BOOTLOADER_HANG = "bootloader-hang"
    NO_BOOT_MEDIUM = "no-bootable-medium"
    KERNEL_PANIC = "kernel-panic"
    NO_ROOT = "root-not-found"
    LOGIN_LOOP = "login-loop"
    HANG = "hang"
    TOO_SLOW = "too-slow"
    NO_NETWORK = "no-network"


class RigError(BenchviseError):
    """The rig itself fails (power, mux, console), or somebody else holds the board."""

    exit_code: ClassVar[int] = 3

    def __init__(self, fault: Fault, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.fault = fault


class FlashError(BenchviseError):
    """A card could not be written, or does not hold what was written. The board is not to blame."""

    exit_code: ClassVar[int] = 1

    def __init__(self, fault: Fault, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.fault = fault
