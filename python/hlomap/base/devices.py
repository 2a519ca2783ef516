"""Devices and backends as data: the resources that a kernel may use.

:class:`Device` has the numbers of a GPU or a TPU, :class:`Limits` the rules of a compiler backend for tiles.  No other
module knows a device: every question takes one of these records, or your own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from numbers import Integral, Real
from typing import Any, Literal, TypeVar

from .text import one_line
from .types import expect, expect_items

_T = TypeVar("_T")
# The types that a field accepts, by the type of its default; NumPy's numbers are accepted too.
_KINDS: dict[type, tuple[type, ...]] = {int: (Integral,), type(None): (Real, type(None))}
_RANGES = {"warp": (0, 1024), "sector_bytes": (0, 1 << 20), "max_blocks_x": (1, 2**63 - 1), "max_overshoot": (0, 2**53)}
_CHOICES = {"buffers": ("pipelined", "all")}


class _Record:
    """A record of plain numbers and names, whose ``repr`` leaves out defaults.

    Raises ``TypeError`` for a value of another kind and ``ValueError`` for a number out of range, such as a negative
    one.
    """

    def __post_init__(self) -> None:
        name = type(self).__name__
        for field in fields(self):  # type: ignore[arg-type]
            kinds = _KINDS.get(type(field.default), (type(field.default),))
            value: Any = getattr(self, field.name)
            expect(kinds, value, name, f"{kinds[0].__name__} as `{field.name}`")
            if isinstance(value, tuple):
                expect_items(Integral, value, name, f"Integral in `{field.name}`")
                value = tuple(map(int, value))
                if not all(0 < n < 2**63 for n in value):
                    raise ValueError(f"{name}: {field.name}: expected numbers from 1 to 2**63 - 1, found {value}")
            elif field.name in _CHOICES and value not in _CHOICES[field.name]:
                choices = " or ".join(map(repr, _CHOICES[field.name]))
                raise ValueError(f"{name}: {field.name}: expected {choices}, found {one_line(repr(value), 60)}")
            elif value is not None and not {Integral, Real}.isdisjoint(kinds):
                low, high = _RANGES.get(field.name, (0, 2**63 - 1))
                if not low <= value <= high:  # also for NaN
                    raise ValueError(f"{name}: {field.name}: expected a number from {low} to {high}, found {value}")
                value = int(value) if isinstance(value, Integral) else float(value)
            object.__setattr__(self, field.name, value)

    def __repr__(self) -> str:
        values = [(f.name, getattr(self, f.name), f.default) for f in fields(self)]  # type: ignore[arg-type]
        shown = [f"{name}={value!r}" for name, value, default in values if value != default]
        return f"{type(self).__name__}({one_line(', '.join(shown))})"


def _named(records: Mapping[str, _T], name: str, kind: str, function: str) -> _T:
    expect(str, name, function, "a name")
    plain = name.lower().replace(" ", "-")
    found = next((records[known] for known in (plain, name.lower(), f"tpu-{plain}") if known in records), None)
    if found is None:
        known, shown = ", ".join(records), one_line(repr(name), 60)
        raise ValueError(f"hm.{function}: unknown {kind.lower()} {shown}; known: {known}; or pass hm.{kind}(...)")
    return found


@dataclass(frozen=True, repr=False)
class Device(_Record):
    """Numbers of a GPU or a TPU that costs depend on; 0 means unknown or not applicable.

    ``Device.named`` knows some devices, with numbers from their vendors' data sheets.  Flops, bytes a second,
    ``n_multiprocessors`` and ``cache_bytes`` are for a whole GPU or TPU chip; threads, blocks, registers and shared
    memory are for one multiprocessor.

    A TPU has no threads: ``threads``, ``warp``, ``sector_bytes``, ``registers`` and ``shared_bytes`` are 0, so that
    :func:`hlomap.schedule` and :func:`hlomap.coalescing` say that they do not know.  Its multiprocessors are
    TensorCores, each of which runs one tile at once; the memory of a tile is a number of ``Limits``
    (``"mosaic_tpu"``).

    >>> hm.Device.named("h100").n_multiprocessors, hm.Device.named("TPU v5p").n_multiprocessors
    (132, 2)
    >>> hm.Device("mine", n_multiprocessors=8, shared_bytes=65536).sector_bytes
    32
    """

    name: str = "unknown"
    _: KW_ONLY
    n_multiprocessors: int = 0
    """Streaming multiprocessors, or the equivalent cores of other vendors."""
    threads: int = 0
    """The most threads of one multiprocessor."""
    max_blocks: int = 0
    """The most blocks of one multiprocessor."""
    registers: int = 0
    """The 32-bit registers of one multiprocessor."""
    shared_bytes: int = 0
    """The bytes of shared memory of one multiprocessor."""
    shared_bytes_per_block: int = 0
    """The bytes of shared memory of one block, at most."""
    warp: int = 32
    """The threads that access memory at once; 0 for a device without threads."""
    sector_bytes: int = 32
    """The bytes of one access to memory by threads; 0 for a device without threads."""
    cache_bytes: int = 0
    """The bytes of the cache that all multiprocessors share."""
    dram_bytes_per_second: int = 0
    """The bytes that memory transfers in a second."""
    generation: int = 0
    """The major number of NVIDIA's compute capability: 8 for Ampere, 9 for Hopper, 10 for Blackwell."""
    max_blocks_x: int = 2**31 - 1
    """The most blocks of a grid along x."""
    f64_flops_per_second: int = 0
    """The most flops in a second, by any unit of the device, without sparsity, on operands of this type: f64."""
    f32_flops_per_second: int = 0
    """The most flops in a second on f32, which matrix units may round to TF32, or to bf16 on TPUs."""
    f16_flops_per_second: int = 0
    """The most flops in a second on f16 and bf16."""
    f8_flops_per_second: int = 0
    """The most flops in a second on types of 8 bits, floating-point or integer."""
    f4_flops_per_second: int = 0
    """The most flops in a second on floating-point types of 4 bits."""

    def peak(self, dtype: str) -> int:
        """The most flops in a second on operands of an HLO element type; 0 if unknown.

        >>> Device.named("h100").peak("bf16") == 989 * 10**12, Device.named("h100").peak("s32")
        (True, 0)
        """
        peaks = {
            "f64": self.f64_flops_per_second,
            "f32": self.f32_flops_per_second,
            "f16": self.f16_flops_per_second,
            "bf16": self.f16_flops_per_second,
            "s8": self.f8_flops_per_second,
            "u8": self.f8_flops_per_second,
        }
        narrow = self.f8_flops_per_second if dtype.startswith("f8") else 0
        return peaks.get(dtype, self.f4_flops_per_second if dtype.startswith("f4") else narrow)

    @staticmethod
    def named(name: str) -> Device:
        """The device with this name: the GPU ``"a6000"``, ``"v100"``, ``"a100"`` (40 GB), ``"a100-80gb"``, ``"l40s"``,
        ``"h100"``, ``"h200"``, ``"b200"`` or ``"mi300x"``, or the TPU ``"tpu-v4"``, ``"tpu-v5e"``, ``"tpu-v5p"``,
        ``"tpu-v6e"`` or ``"tpu-v7x"``.

        Case does not matter, a space stands for a hyphen, and ``tpu`` may be left out.  A TPU is a chip.  For
        JAX a chip is one device; each v7x chip is two, which have half of the flops, the bandwidth and the cores.
        Raises ``ValueError`` for other names.
        """
        return _named(_DEVICES, name, "Device", "Device.named")


ASSUMED = "h100"
"""The device of questions that need one, if the caller names none."""


def as_device(device: Device | str | None, function: str) -> Device:
    """The device itself, or the known device with this name; for None the H100, which answers name as assumed.

    Raises ``TypeError`` for anything else and ``ValueError`` for an unknown name.
    """
    if device is None:
        device = ASSUMED
    if isinstance(device, str):
        return _named(_DEVICES, device, "Device", function)
    expect(Device, device, function, "a Device or the name of one as `device`")
    return device


def _nvidia(name: str, sm: tuple[int, int, int, int, int], l2: int, gb: int, peaks: Sequence[float]) -> Device:
    """A device with a number of multiprocessors, the threads, blocks and KiB of shared memory of each, a compute
    capability, MiB of cache, GB a second and 10**12 flops a second on f64, f32, f16, f8 and f4."""
    n, threads, max_blocks, shared, generation = sm
    return Device(
        name,
        n_multiprocessors=n,
        threads=threads,
        max_blocks=max_blocks,
        registers=65536,
        shared_bytes=shared << 10,
        # From Ampere on, the system reserves one KiB of each block.
        shared_bytes_per_block=(shared - (generation >= 8)) << 10,
        cache_bytes=l2 << 20,
        dram_bytes_per_second=gb * 10**9,
        generation=generation,
        **_peaks(peaks),
    )


def _tpu(version: str, n_cores: int, gb: int, bf16: float, narrow: float) -> Device:
    """A TPU chip with a number of TensorCores, GB a second and 10**12 flops a second on bf16, and on types of 8 bits.

    Products of f32 are rounded to bf16 unless a higher precision is asked for.
    """
    return Device(
        f"tpu-{version}",
        n_multiprocessors=n_cores,
        max_blocks=1,
        max_blocks_x=2**63 - 1,
        warp=0,
        sector_bytes=0,
        dram_bytes_per_second=gb * 10**9,
        **_peaks((0, bf16, bf16, narrow, 0)),
    )


def _peaks(tera: Sequence[float]) -> dict[str, int]:
    kinds = ("f64", "f32", "f16", "f8", "f4")
    return {f"{kind}_flops_per_second": round(t * 1000) * 10**9 for kind, t in zip(kinds, tera, strict=True)}


_A100 = (108, 2048, 32, 164, 8), (19.5, 156, 312, 624, 0)
_HOPPER = (132, 2048, 32, 228, 9), (67, 495, 989, 1979, 0)
# The vendors' data sheets of V100 SXM2, RTX A6000, A100 SXM, L40S, H100 SXM, H200 SXM, B200 (HGX) and MI300X; blocks
# and shared memory of the compute capabilities 7.0, 8.6, 8.0, 8.9, 9.0, 9.0 and 10.0.
_DEVICES = {
    device.name: device
    for device in (
        _nvidia("v100", (80, 2048, 32, 96, 7), 6, 900, (7.8, 15.7, 125, 62.8, 0)),
        _nvidia("a6000", (84, 1536, 16, 100, 8), 6, 768, (0.605, 77.4, 154.8, 309.7, 0)),
        _nvidia("a100", _A100[0], 40, 1555, _A100[1]),
        _nvidia("a100-80gb", _A100[0], 40, 2039, _A100[1]),
        _nvidia("l40s", (142, 1536, 24, 100, 8), 96, 864, (1.4, 183, 366, 733, 0)),
        _nvidia("h100", _HOPPER[0], 50, 3350, _HOPPER[1]),
        _nvidia("h200", _HOPPER[0], 50, 4800, _HOPPER[1]),
        _nvidia("b200", (148, 2048, 32, 228, 10), 126, 8000, (40, 1200, 2500, 5000, 10_000)),
        Device(
            "mi300x",
            n_multiprocessors=304,
            threads=2048,
            max_blocks=32,
            registers=131072,
            shared_bytes=65536,
            shared_bytes_per_block=65536,
            warp=64,
            sector_bytes=128,
            cache_bytes=256 << 20,
            dram_bytes_per_second=5300 * 10**9,
            **_peaks((163.4, 653.7, 1307.4, 2614.9, 0)),
        ),
        # Google Cloud's documentation of TPU v4, v5e, v5p, v6e (Trillium) and TPU7x (Ironwood): "peak compute per chip"
        # on bf16, and on int8 (TPU7x: fp8); "HBM bandwidth", the larger number where pages differ (v5e: 800 or 819
        # GB/s, v6e: 1600 or 1640); "TensorCores per chip".
        _tpu("v4", 2, 1228, 275, 275),
        _tpu("v5e", 1, 819, 197, 394),
        _tpu("v5p", 2, 2765, 459, 918),
        _tpu("v6e", 1, 1640, 918, 1836),
        _tpu("v7x", 2, 7380, 2307, 4614),
    )
}


@dataclass(frozen=True, repr=False)
class Limits(_Record):
    """Rules of a backend for tile sizes; 0 means no limit.

    ``Limits.named`` knows some backends.  A rule that a candidate breaks is its ``reason``.

    >>> hm.Limits.named("triton").power_of_two
    True
    >>> hm.Limits(max_shared_bytes=65536).max_grid
    0
    """

    max_tile_elements: int = 0
    """The most elements of a box that is read or written, each size rounded up to a power of two if ``power_of_two``
    (``tile_too_large``)."""
    power_of_two: bool = False
    """Every size is a power of two or the whole dimension (``not_power_of_two``)."""
    max_grid: int = 0
    """The most tiles of the output (``grid_too_large``)."""
    max_shared_bytes: int = 0
    """The most bytes of memory that the threads of one block share (``shared_memory``)."""
    max_live_bytes: int = 0
    """The most bytes of one full tile of everything that is read and written (``registers``)."""
    multiple_of: tuple[int, ...] = ()
    """Divisors of the sizes of the last dimensions of every box, unless they are whole (``not_multiple``)."""
    max_overshoot: float | None = None
    """The greatest part of a dimension by which its tiles may reach beyond its end (``overshoot``)."""
    buffers: Literal["pipelined", "all"] = "pipelined"
    """The tiles that ``smem_bytes`` counts, ``stages`` times: ``"pipelined"`` for reads that change with sequential
    steps, such as operands of a matrix product; ``"all"`` for all reads and writes."""

    @staticmethod
    def named(name: str) -> Limits:
        """The limits with this name: ``"none"``, ``"triton"`` or ``"mosaic_tpu"``.

        ``"triton"``: sizes are powers of two or whole, a tensor has at most 2**20 elements.  ``"mosaic_tpu"``: the
        last two sizes are multiples of 8 and 128 or whole, and two buffers of every block fit 16 MiB (Pallas, "TPU
        pipelining").  Case does not matter.  Raises ``ValueError`` for other names.
        """
        return _named(_LIMITS, name, "Limits", "Limits.named")


_LIMITS = {
    "none": Limits(),
    "triton": Limits(max_tile_elements=1 << 20, power_of_two=True, max_grid=2**31 - 1),
    "mosaic_tpu": Limits(multiple_of=(8, 128), max_shared_bytes=16 << 20, buffers="all"),
}
