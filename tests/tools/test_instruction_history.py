"""The picture of instructions over commits, from a sample: a line for each call, the product of its ratios."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from instruction_history import courses, draw, read

SAMPLE = [
    {"commit": "aaaaaaa", "date": "2026-11-01", "ratios": {"tiny: serialize(topic, obj)": 1.0}},
    {
        "commit": "bbbbbbb",
        "date": "2026-11-02",
        "ratios": {"tiny: serialize(topic, obj)": 0.9, "flat: serialize(topic, obj)": 0.9, "flat: new(data)": 1.5},
    },
    {"commit": "ccccccc", "date": "2026-11-03", "ratios": {"tiny: serialize(topic, obj)": 0.5, "flat: new(data)": 1.0}},
]


def test_a_course_is_the_product_of_the_ratios_and_begins_at_1() -> None:
    found = courses(SAMPLE)
    assert [number for number, _ in found["serialize(topic, obj)"]] == [0, 1, 2]
    assert [value for _, value in found["serialize(topic, obj)"]] == pytest.approx([1.0, 0.9, 0.45])
    assert found["new(data)"] == [(0, 1.0), (1, 1.5), (2, 1.5)]


def test_the_picture_names_the_first_and_last_commit_and_each_call(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in SAMPLE))
    svg = draw(read(path)).svg()
    for text in ("aaaaaaa, 2026-11-01", "ccccccc, 2026-11-03", "serialize(topic, obj)", "0.450", "new(data)", "1.500"):
        assert f">{text}</text>" in svg
    assert svg.count("<polyline") == 3 + 2 * 2  # the grid; a line and its sample for each call


def test_without_a_file_the_picture_says_so(tmp_path: Path) -> None:
    svg = draw(read(tmp_path / "none.jsonl")).svg()
    assert "no commit was measured here" in svg
    assert "<polyline" not in svg
