"""Write a software bill of materials into a wheel (PEP 770): ``python tools/sbom.py WHEEL...``.

The file, ``*.dist-info/sboms/streamnative-serdes.cdx.json`` (CycloneDX 1.6), lists the package, what it requires, and
Cython, whose runtime is compiled into the modules. auditwheel writes one for libraries that it copies: it copies none.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import zipfile
from contextlib import suppress
from email.parser import HeaderParser
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def bill(metadata: str) -> dict[str, Any]:
    """The bill for a wheel with this METADATA."""
    told = HeaderParser().parsestr(metadata)
    name, number = told["Name"], told["Version"]
    required = [line for line in told.get_all("Requires-Dist") or [] if "extra ==" not in line]
    needed = sorted({re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in required})
    components = [
        {"type": "library", "name": need, "bom-ref": need, "purl": f"pkg:pypi/{need}", "scope": "required"}
        for need in needed
    ]
    cython = {"type": "library", "name": "Cython", "bom-ref": "cython", "purl": "pkg:pypi/cython"}
    with suppress(PackageNotFoundError):
        cython["version"] = version("cython")
    ref = f"{name}@{number}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "name": name,
                "version": number,
                "bom-ref": ref,
                "purl": f"pkg:pypi/{name}@{number}",
                "licenses": [{"license": {"id": told["License-Expression"]}}],
            },
        },
        "components": [*components, cython],
        "dependencies": [{"ref": ref, "dependsOn": [*needed, "cython"]}],
    }


def record_line(name: str, data: bytes) -> str:
    """The line of RECORD for a file."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def add(wheel: Path) -> str:
    """Add the bill to a wheel that has none; returns its name in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        files = [(info, archive.read(info)) for info in archive.infolist()]
    (metadata,) = (data for info, data in files if info.filename.endswith(".dist-info/METADATA"))
    (record,) = (info.filename for info, _ in files if info.filename.endswith(".dist-info/RECORD"))
    name = record.removesuffix("RECORD") + "sboms/streamnative-serdes.cdx.json"
    if any(info.filename == name for info, _ in files):
        raise SystemExit(f"{wheel.name} has {name} already")
    data = json.dumps(bill(metadata.decode()), indent=1).encode()
    changed = wheel.with_suffix(".part")
    with zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, content in files:
            if info.filename == record:
                archive.writestr(name, data)
                content += record_line(name, data).encode()  # noqa: PLW2901
            archive.writestr(info, content)
    changed.replace(wheel)
    return name


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(add(Path(path)))
