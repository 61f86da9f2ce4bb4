"""Ballots in object stores and anywhere else that fsspec reaches: `s3://`, `gs://`, `az://`."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, List


class FsspecStore:
    """A folder of ballots behind fsspec. Reads ranges, never whole files.

    Credentials come from where fsspec looks for them (the environment, its configuration, the
    machine's role). `options` are handed to fsspec; they travel with tasks, so keep secrets out.
    """

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        import fsspec

        self.url = url.rstrip("/")
        self._fs, self._root = fsspec.core.url_to_fs(self.url, **dict(options or {}))
        self._sizes: dict[str, int] = {}
        self._lock = threading.Lock()
        self.bytes_read = 0
        """Bytes that were read so far."""
        self.requests = 0
        """Ranges that were asked for so far."""

    def _path(self, url: str) -> str:
        return str(self._root + url[len(self.url) :]) if url.startswith(self.url) else url

    def list(self, folder: str) -> List[str]:
        """The files of the folder, by their addresses."""
        entries = self._fs.ls(self._path(folder), detail=True)
        found = []
        for entry in entries:
            if entry["type"] == "directory":
                continue
            name = entry["name"].rsplit("/", 1)[-1]
            if not name:
                continue
            url = f"{folder.rstrip('/')}/{name}"
            self._sizes[url] = int(entry["size"])
            found.append(url)
        return found

    def ranges(self, wanted: Sequence[tuple[str, int, int]]) -> List[bytes]:
        """Bytes of some ranges; shorter where a file ends."""
        # Sizes are known where the folder was listed; nobody asks for more of other files.
        sizes = self._sizes
        ends = (min(start + n, sizes.get(url, start + n)) for url, start, n in wanted)
        spans = [(url, start, end) for (url, start, _), end in zip(wanted, ends)]
        whole = [(url, start, end) for url, start, end in spans if start < end]
        read = iter(
            self._fs.cat_ranges(
                [self._path(url) for url, _, _ in whole],
                [start for _, start, _ in whole],
                [end for _, _, end in whole],
                on_error="raise",
            )
            if whole
            else []
        )
        found = [bytes(next(read)) if start < end else b"" for _, start, end in spans]
        with self._lock:
            self.requests += len(whole)
            self.bytes_read += sum(len(part) for part in found)
        return found

    def write_new(self, url: str, content: bytes) -> None:
        """Writes a file unless there is one. Stores without conditional writes cannot tell two
        writers apart that are at it in the same instant: freeze a job once, on one machine."""
        path = self._path(url)
        self._fs.invalidate_cache()
        if self._fs.exists(path):
            raise FileExistsError(url)
        self._fs.pipe_file(path, content)
        self._sizes.pop(url, None)


def store_of(address: str, options: Mapping[str, Any] | None = None) -> FsspecStore | None:
    """The store of an address; none for a folder of this machine."""
    return FsspecStore(address, options) if "://" in address else None
