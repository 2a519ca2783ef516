"""The page without a browser: blocks of data, the policy, names as data, limits, and which modules are in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from conftest import CASES
from support.explorer import FUSED, HOSTILE, LOOP

import hlomap as hm
from hlomap.explorer.page import ExplorerPage


class Reader(HTMLParser):
    """The elements of a page, and the texts of its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._is_open = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._is_open = tag in ("script", "style")
        if self._is_open:
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_open = False

    def handle_data(self, data: str) -> None:
        if self._is_open:
            self.texts[-1] += data


def blocks(page: ExplorerPage) -> dict[str, Any]:
    found = re.findall(r'<script type="application/json" id="([\w-]+)">(.*?)</script>', str(page), re.S)
    return {name: json.loads(text) for name, text in found}


def hostile_module() -> hm.Module:
    """Hostile texts wherever a program holds text that the reader keeps: metadata, targets and quoted names."""
    quoted = [text.encode("unicode_escape").decode().replace('"', '\\"').replace("'", "\\'") for text in HOSTILE]
    lines = [
        f'  c{k} = f32[4]{{0}} custom-call(p), custom_call_target="{text}", '
        f'metadata={{op_name="{text}" source_file="{text}"}}'
        for k, text in enumerate(quoted)
    ]
    names = ", ".join(f"c{k}" for k in range(len(quoted)))
    root = f"  ROOT t = ({', '.join(['f32[4]{0}'] * len(quoted))}) tuple({names})"
    return hm.parse("HloModule hostile\nENTRY e {\n  p = f32[4]{0} parameter(0)\n" + "\n".join([*lines, root, "}"]))


def test_one_file_without_links() -> None:
    text = str(hm.explore(hm.parse(FUSED)))
    for tag, attributes in Reader(text).tags:
        handlers = {name for name in attributes if name.startswith("on")}
        assert tag not in ("link", "iframe", "img", "object", "embed", "base")
        assert not handlers and not {"src", "href", "style", "action"} & set(attributes)
    assert set(re.findall(r"https?://[\w./-]+", text)) <= {"http://www.w3.org/2000/svg"}  # a name, never fetched


def test_policy_names_the_script_and_the_style_by_hash() -> None:
    page = Reader(str(hm.explore(hm.parse(FUSED))))
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    code = [(tag, a) for tag, a in page.tags if tag in ("script", "style")]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in page.texts]
    executed = [h for (tag, a), h in zip(code, hashes, strict=True) if a.get("type") != "application/json"]
    assert policy is not None and policy.startswith("default-src 'none'; ")
    assert [f"'sha256-{h}'" in policy for h in executed] == [True, True]
    assert "unsafe" not in policy and "*" not in policy


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_stay_in_their_block(text: str, tmp_path: Path) -> None:
    """The names of files may hold anything; those of instructions are words, which the readers see to."""
    stem = text.replace("/", "_").replace("\x00", "_")
    (tmp_path / f"module_0001.{stem}.before_optimizations.txt").write_text(FUSED)
    page = hm.explore(hm.DumpDirectory(tmp_path))
    assert [tag for tag, _ in Reader(str(page)).tags].count("script") == 3
    assert "<img src=x" not in str(page) and "<!--" not in str(page)
    assert blocks(page)["index"]["modules"][0]["name"] == re.sub(
        "[\x00-\x1f\u2028-\u202e\u200b\U000e0041\ufeff]", "\ufffd", stem
    )


def test_hostile_texts_of_a_program() -> None:
    page = hm.explore(hostile_module())
    assert [tag for tag, _ in Reader(str(page)).tags].count("script") == 3
    head, _, rest = str(page).partition('<script type="application/json" id="index">')
    data = rest[: rest.rindex("<script>")]
    assert re.findall(r"<(?!/?script\b)", data) == [] and data.isascii()
    assert "alert" not in head
    sources = blocks(page)["module-0"]["sources"]
    assert sources[0][0] == HOSTILE[0] and not any("\u202e" in s[0] or "\x00" in s[0] for s in sources)


def test_contents() -> None:
    data = blocks(hm.explore(hm.parse(FUSED)))["module-0"]
    columns = data["columns"]
    assert columns["name"] == ["a", "b", "c", "d", "x", "bias", "y", "t"]
    assert columns["operands"][6] == [4, 5] and data["calls"] == {"6": [0]} and data["labels"] == {"4": "inputs"}
    assert [c["kind"] for c in data["computations"]] == ["fusion", "entry"]
    (record,) = (data["records"][k] for k in columns["outputs"][6])
    assert [(r["words"], r["bytes"], r["status"]) for r in record["reads"]] == [
        ("{}[i, j]", 512, "exact"),
        ("{}[j]", 64, "exact"),
    ]
    assert [data["maps"][k] for k in record["reads"][1]["maps"]] == ["(i, j) -> (j), domain: i in [0, 7], j in [0, 15]"]
    assert data["shapes"][columns["shape"][6]]["layout"]["map"].startswith("(d0, d1) -> (d0 * 16 + d1)")
    assert data["sources"][columns["source"][4]][:2] == ["inputs", "m.py:7"]


def test_equal_instructions_share_their_records() -> None:
    lines = [f"  n{k} = f32[4,6] negate({'p' if k == 0 else f'n{k - 1}'})" for k in range(200)]
    page = hm.explore(hm.parse("ENTRY e {\n  p = f32[4,6] parameter(0)\n" + "\n".join(lines) + "\n}"))
    data = blocks(page)["module-0"]
    assert len(data["columns"]["name"]) == 201 and len(data["records"]) == 1 and len(data["maps"]) == 1


def test_numbers_beyond_doubles_are_texts() -> None:
    text = "ENTRY e { p = f32[3000000000,3000000000] parameter(0) ROOT n = f32[3000000000,3000000000] negate(p) }"
    data = blocks(hm.explore(hm.parse(text)))["module-0"]
    assert data["shapes"][0]["elements"] == "9000000000000000000"
    assert data["records"][0]["reads"][0]["reads"] == ["9000000000000000000"] * 2


def test_bytes_of_tuples() -> None:
    text = """f { a = f32[4] parameter(0)  b = f32[4] negate(a)  ROOT t = (f32[4], f32[4]) tuple(a, b) }
      ENTRY e { p = f32[4] parameter(0)  ROOT z = (f32[4], f32[4]) fusion(p), kind=kLoop, calls=f }"""
    data = blocks(hm.explore(hm.parse(text)))["module-0"]
    shape = data["shapes"][data["columns"]["shape"][4]]
    assert (shape["bytes"], shape["n"], len(data["columns"]["outputs"][4])) == (32, 2, 2)


def test_iterations_of_loops() -> None:
    data = blocks(hm.explore(hm.parse(LOOP)))["module-0"]
    assert data["loops"] == {str(data["columns"]["name"].index("w")): "9 iterations"}


def test_before_and_after() -> None:
    before = hm.parse(FUSED)
    after = hm.parse(
        FUSED.replace("transpose(y)", "transpose(z)").replace("  ROOT t", "  z = f32[8,16]{1,0} negate(y)\n  ROOT t")
    )
    found = blocks(hm.explore(before, after))
    assert found["index"]["diffs"] == [{"before": 0, "after": 1, "block": "diff-0"}]
    assert [one["stage"] for one in found["index"]["modules"]] == ["before", "after"]
    names = found["module-1"]["columns"]["name"]
    assert [names[i] for i in found["diff-0"]["added"]] == ["z"]
    assert {"added", "outputs"} <= {section["heading"] for section in found["diff-0"]["sections"]}


def dump(folder: Path) -> hm.DumpDirectory:
    for number, name in enumerate(("jit_f", "jit_g"), 1):
        for stage, text in (
            ("before_optimizations", FUSED),
            ("0003.pass.after_a.before_b", FUSED),
            ("cpu_after_optimizations", FUSED.replace("add", "subtract")),
        ):
            (folder / f"module_{number:04}.{name}.{stage}.txt").write_text(text)
    (folder / "module_0003.jit_h.before_optimizations.txt").write_text("HloModule h\nENTRY e { broken }")
    return hm.DumpDirectory(folder)


def test_dump_directories(tmp_path: Path) -> None:
    found = blocks(hm.explore(dump(tmp_path)))["index"]
    assert [(m["name"], m["stage"], m["block"]) for m in found["modules"]] == [
        ("jit_f", "before_optimizations", "module-0"),
        ("jit_f", "cpu_after_optimizations", "module-1"),
        ("jit_g", "before_optimizations", "module-2"),
        ("jit_g", "cpu_after_optimizations", "module-3"),
        ("jit_h", "before_optimizations", None),
    ]
    assert found["modules"][4]["error"].endswith("txt:2:18: expected `=` after the name of an instruction, found `}`")
    assert [(d["before"], d["after"]) for d in found["diffs"]] == [(0, 1), (2, 3)] and found["start"] == 1


def test_a_dump_beyond_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlomap.explorer.page.MAX_INSTRUCTIONS", 20)
    errors = [one["error"] for one in blocks(hm.explore(dump(tmp_path)))["index"]["modules"]]
    assert errors[:2] == ["", ""] and errors[2] == "left out: 8 instructions, 4 fit; open the file itself"


def test_arguments_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a dump directory, which has its own stages"):
        hm.explore(dump(tmp_path), hm.parse(FUSED))


@pytest.mark.parametrize("path", sorted((CASES / "modules").glob("*.hlo")), ids=lambda path: path.stem)
def test_modules(path: Path) -> None:
    """Every reference of the data is to something that is there."""
    module = hm.load(path)
    data = blocks(hm.explore(module))["module-0"]
    columns = data["columns"]
    assert all(len(column) == module.n_instructions for column in columns.values())
    for table, column in (("opcodes", "opcode"), ("shapes", "shape"), ("sources", "source"), ("details", "detail")):
        assert all(-1 <= k < len(data[table]) for k in columns[column])
    for record in data["records"]:
        for read in record["reads"]:
            assert read["shape"] < len(data["shapes"]) and all(k < len(data["maps"]) for k in read["maps"])
    for text in data["maps"]:
        assert str(hm.IndexingMap.parse(text)) == text
