"""Memory of the accelerators that verl runs on, as their drivers report it.

A name with a size (`A100-40GB`) means that size; a bare name means the usual one. An unknown name without a size has no
memory here, and the plan says so instead of guessing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

MIB = 1024**2
GIB = 1024**3
REPORTED = 0.985

MEBIBYTES: Mapping[str, int] = {
    "H100": 81_559,
    "H800": 81_559,
    "H200": 143_771,
    "H20": 97_871,
    "H20-141GB": 143_771,
    "H100-94GB": 95_830,
    "GH200": 97_871,
    "B200": 183_359,
    "B300": 275_040,
    "GB200": 189_471,
    "A100": 81_920,
    "A100-40GB": 40_960,
    "A800": 81_920,
    "A800-40GB": 40_960,
    "A40": 46_068,
    "A30": 24_576,
    "A10": 23_028,
    "A10G": 23_028,
    "A6000": 49_140,
    "L4": 23_034,
    "L20": 46_068,
    "L40": 46_068,
    "L40S": 46_068,
    "T4": 15_360,
    "V100": 16_384,
    "V100-32GB": 32_768,
    "RTX3090": 24_576,
    "RTX4090": 24_564,
    "RTX5090": 32_607,
    "RTX6000ADA": 49_140,
    "MI210": 65_520,
    "MI250": 65_520,
    "MI250X": 65_520,
    "MI300X": 196_592,
    "MI325X": 262_128,
    "MI355X": 294_896,
    "910B": 65_536,
    "ASCEND910B": 65_536,
    "ASCEND910C": 65_536,
}
SIZE = re.compile(r"-?(?P<size>\d+)G(?:I?B)?$", re.IGNORECASE)
NOISE = re.compile(r"^(?:NVIDIA|AMD|HUAWEI|TESLA|GEFORCE|INSTINCT)[-_ ]?|-?(?:SXM\d?|PCIE|NVL)", re.IGNORECASE)


def gpu_bytes(accelerator: str | None) -> int | None:
    """Bytes of memory of one `accelerator`, or None where the name says nothing."""
    if accelerator is None or accelerator == "cpu":
        return None
    name = NOISE.sub("", accelerator).upper().replace("_", "-").replace("RTX-", "RTX")
    if name in MEBIBYTES:
        return MEBIBYTES[name] * MIB
    match = SIZE.search(name)
    if match is None:
        return None
    wanted = int(match["size"])
    usual = MEBIBYTES.get(name[: match.start()], 0) * MIB
    if abs(usual / GIB - wanted) <= wanted / 20:
        return usual
    return int(wanted * GIB * REPORTED)
