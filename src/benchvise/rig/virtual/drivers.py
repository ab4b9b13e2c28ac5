"""What labgrid has to know to drive a virtual bench: its SD mux, and its card as a plain file.

Power, console and network need nothing: they are stock resources and drivers. The mux runs the
stock driver's code with our command; only writing to a file instead of a block device differs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

import attr
from labgrid.driver import ExecutionError, USBSDMuxDriver, USBStorageDriver
from labgrid.driver.usbstoragedriver import Mode
from labgrid.factory import target_factory
from labgrid.resource.common import Resource
from labgrid.step import step
from labgrid.util.helper import processwrapper

_SECTOR = 512


@target_factory.reg_resource
@attr.s(eq=False)
class VirtualSDMux(Resource):
    """An SD mux of a virtual bench and the card in it.

    ``control_path`` is what its ``usbsdmux`` command takes; ``disk_path`` is the card, a file that
    is there while the mux is turned to the host.
    """

    control_path: str = attr.ib(validator=attr.validators.instance_of(str))
    disk_path: str = attr.ib(validator=attr.validators.instance_of(str))

    @property
    def path(self) -> str:
        """The card, by the name that storage drivers use."""
        return self.disk_path


@target_factory.reg_driver
@attr.s(eq=False)
class VirtualSDMuxDriver(USBSDMuxDriver):
    """The stock driver, bound to a mux of a virtual bench."""

    bindings: ClassVar[dict[str, set[str]]] = {"mux": {"VirtualSDMux"}}


@target_factory.reg_driver
@attr.s(eq=False)
class VirtualStorageDriver(USBStorageDriver):
    """The stock driver for a card that is a plain file, whose size is fixed all the same."""

    bindings: ClassVar[dict[str, set[str]]] = {"storage": {"VirtualSDMux"}}

    @USBStorageDriver.check_active
    @step(args=["partition"], result=True)
    def get_size(self, partition: int | None = None) -> int:
        """Bytes of the card; 0 while it is not here."""
        if partition is not None:
            raise ExecutionError("a card of a virtual bench has no partition devices")
        try:
            return Path(self.storage.path).stat().st_size
        except OSError:
            return 0

    @USBStorageDriver.check_active
    @step(args=["filename"])
    def write_image(
        self,
        filename: str | None = None,
        mode: Mode = Mode.DD,
        partition: int | None = None,
        skip: int = 0,
        seek: int = 0,
    ) -> None:
        """As the stock driver does, but dd must not cut the file short as it would a plain file."""
        if mode != Mode.DD:
            super().write_image(filename, mode, partition, skip, seek)
            return
        if filename is None and self.image is not None:
            filename = self.target.env.config.get_image_path(self.image)
        if filename is None:
            raise ExecutionError("write_image needs the name of an image")
        self._wait_for_medium(partition)
        length = os.stat(filename).st_size - skip * _SECTOR  # noqa: PTH116 - any kind of path
        if seek * _SECTOR + length > self.get_size(partition):
            raise ExecutionError(f"'{filename}' is larger than the card {self.storage.path}")
        processwrapper.check_output(
            [
                "dd",
                f"if={filename}",
                f"of={self.storage.path}",
                "bs=4M",
                "iflag=skip_bytes",
                "oflag=seek_bytes",
                f"skip={skip * _SECTOR}",
                f"seek={seek * _SECTOR}",
                "conv=notrunc,fdatasync",
            ]
        )

    @USBStorageDriver.check_active
    def write_files(self, *_arguments: Any, **_keywords: Any) -> None:
        """Not possible: a plain file cannot be mounted without root."""
        raise ExecutionError("files on a card of a virtual bench cannot be written: write an image")
