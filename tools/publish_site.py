"""Put a built site beside those of other versions.

    python tools/publish_site.py PAGES SITE NAME

PAGES is the folder that is served. Each version has a folder there, named by its tag or ``main``; versions.json lists
them, newest first, and is what their list of versions shows. The first page leads to the newest release, and before
the first release to main.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

FIRST_PAGE = """<!doctype html>
<meta charset="utf-8">
<title>streamnative-serdes</title>
<meta http-equiv="refresh" content="0; url={name}/">
<a href="{name}/">{name}</a>
"""
_RELEASE = re.compile(r"v?\d+(\.\d+)*")


def newest_first(names: list[str]) -> list[str]:
    """Releases by number, then all others by name."""
    releases = [name for name in names if _RELEASE.fullmatch(name)]
    releases.sort(key=lambda name: [int(number) for number in re.findall(r"\d+", name)], reverse=True)
    return releases + sorted(set(names) - set(releases))


def publish(pages: Path, site: Path, name: str) -> None:
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise SystemExit(f"expected a tag or the name of a branch, without a slash, got {name!r}")
    shutil.rmtree(pages / name, ignore_errors=True)
    shutil.copytree(site, pages / name)
    names = newest_first([path.parent.name for path in pages.glob("*/index.html")])
    (pages / "versions.json").write_text(json.dumps(names) + "\n", encoding="utf-8")
    (pages / "index.html").write_text(FIRST_PAGE.format(name=names[0]), encoding="utf-8")
    (pages / ".nojekyll").touch()  # folders whose names begin with an underscore are served, too


if __name__ == "__main__":
    publish(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
