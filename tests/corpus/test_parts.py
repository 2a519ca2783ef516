"""A dataset is compared with the list of its parts: lost, cut, replaced and foreign ones are errors, and repaired."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyarrow import parquet
from support.datasets import BROKEN, GOOD, left_over, module_text, tables

import hlomap as hm
from hlomap.cli.main import main
from hlomap.corpus import plan
from hlomap.corpus.run import analyze_corpus
from hlomap.errors import DatasetError, OutputError


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Files for three shards, a duplicate and an error among them."""
    folder = tmp_path_factory.mktemp("corpus") / "in"
    folder.mkdir()
    for k in range(17):
        (folder / f"m{k:02}.hlo").write_text(module_text(k, 2 + k))
    (folder / "copy.hlo").write_text(module_text(3, 5))
    (folder / "broken.hlo").write_text(BROKEN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "_SHARD_BYTES", (1 << 15, 1 << 15))
        yield folder


@pytest.fixture(scope="module")
def complete(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its dataset, with the modules."""
    output = tmp_path_factory.mktemp("complete") / "out"
    analyze_corpus(corpus, output, modules=True)
    return output


def lose(part: Path) -> None:
    part.unlink()


def cut(part: Path) -> None:
    part.write_bytes(part.read_bytes()[:-100])


def grow(part: Path) -> None:
    part.write_bytes(part.read_bytes() + b"\0")


def empty(part: Path) -> None:
    part.write_bytes(b"")


def copy(part: Path) -> None:
    shutil.copy(part, part.with_name("part-000777.parquet"))


def rename(part: Path) -> None:
    part.rename(part.with_name("part-000777.parquet"))


def swap(part: Path) -> None:
    other = part.with_name("part-000000.parquet")
    content = part.read_bytes()
    part.write_bytes(other.read_bytes())
    other.write_bytes(content)


def rewrite(part: Path) -> None:
    """As a table that another program has filtered."""
    table = parquet.read_table(part)
    parquet.write_table(table.slice(1), part)


def lose_all(part: Path) -> None:
    shutil.rmtree(part.parent)


DAMAGES = [lose, cut, grow, empty, copy, rename, swap, rewrite, lose_all]


@pytest.mark.parametrize("table", ["rows", "files", "modules"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_readers_refuse_and_a_rerun_repairs(
    corpus: Path, complete: Path, tmp_path: Path, damage: Callable[[Path], None], table: str
) -> None:
    output = shutil.copytree(complete, tmp_path / "out")
    before, content = tables(output), parquet.read_table(output / "modules").sort_by("content_hash")
    assert len(list((output / table).iterdir())) >= 3
    damage(output / table / "part-000001.parquet")
    with pytest.raises(DatasetError, match=rf"{table}/part-000.*`hlomap analyze`"):
        hm.scan(output)
    asked = CliRunner().invoke(main, ["query", str(output), "select count(*) from rows"])
    assert asked.exit_code == 1 and f"{table}/part-000" in asked.stderr
    summary = analyze_corpus(corpus, output, modules=True)
    assert any(name.startswith(f"{table}/part-000") for name in summary.repaired) and "repaired" in str(summary)
    assert tables(output) == before and parquet.read_table(output / "modules").sort_by("content_hash").equals(content)
    assert hm.scan(output).count_rows() == len(before["rows"])
    assert all(name.startswith("modules/part-00000") for name in left_over(output))
    assert analyze_corpus(corpus, output, modules=True).repaired == ()


def flip(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@pytest.mark.parametrize("table", ["rows", "files"])
def test_a_rerun_compares_digests(corpus: Path, tmp_path: Path, table: str) -> None:
    """A bit of a page: the ends of the file, which readers look at, say the same."""
    output = tmp_path / "out"
    analyze_corpus(corpus, output)
    before = tables(output)
    part = output / table / "part-000001.parquet"
    part.write_bytes(flip(part.read_bytes(), 40))
    hm.scan(output)
    assert f"{table}/part-000001.parquet" in analyze_corpus(corpus, output).repaired
    assert tables(output) == before


def test_a_repair_by_shards(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    analyze_corpus(corpus, output)
    before = tables(output)
    for part in (output / "rows").iterdir():
        part.unlink()
    runs = [analyze_corpus(corpus, output, shard=(k, 2)) for k in range(2)]
    assert [run.is_complete for run in runs] == [False, True]
    assert tables(output) == before


def test_a_part_that_is_lost_before_the_dataset_is_complete(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    analyze_corpus(corpus, output)
    before = tables(output)
    (output / "rows" / "part-000002.parquet").unlink()
    # The state of a run that was killed before its end.
    analyze_corpus(corpus, output, shard=(0, 5))
    manifest = json.loads((output / "_hlomap.json").read_text())
    assert not manifest["complete"] or tables(output) == before
    (output / "rows" / "part-000001.parquet").unlink()
    summary = analyze_corpus(corpus, output)
    assert summary.is_complete and "rows/part-000001.parquet" in summary.repaired
    assert tables(output) == before


def test_other_inputs_repair_nothing(corpus: Path, tmp_path: Path) -> None:
    """The files of the other shards would be in the dataset twice, or not at all."""
    corpus, output = shutil.copytree(corpus, tmp_path / "in"), tmp_path / "out"
    analyze_corpus(corpus, output)
    (output / "rows" / "part-000001.parquet").unlink()
    (corpus / "a_new_one.hlo").write_text(GOOD)
    for _ in range(2):
        with pytest.raises(DatasetError, match="the inputs have changed"):
            analyze_corpus(corpus, output)
        with pytest.warns(UserWarning, match="unfinished"):
            hm.scan(output)


def test_a_dataset_of_an_earlier_version_is_read(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    analyze_corpus(corpus, output)
    manifest = json.loads((output / "_hlomap.json").read_text())
    del manifest["parts"]
    (output / "_hlomap.json").write_text(json.dumps(manifest, indent=1))
    with pytest.warns(UserWarning, match="has no list of its parts"):
        assert hm.scan(output).count_rows() == len(tables(output)["rows"])
    summary = analyze_corpus(corpus, output)
    assert summary.is_complete and not summary.is_checked and "not checked" in str(summary)


@pytest.mark.parametrize(
    "parts",
    [[], {"rows/part-000000.parquet": [1, 2]}, {"rows/part-000000.parquet": [-1, 2, ""]}, {"a": [1, 2, 3]}, 7],
)
def test_a_damaged_list(corpus: Path, tmp_path: Path, parts: object) -> None:
    output = tmp_path / "out"
    analyze_corpus(corpus, output)
    manifest = json.loads((output / "_hlomap.json").read_text())
    (output / "_hlomap.json").write_text(json.dumps(manifest | {"parts": parts}))
    for read in (hm.scan, lambda output: analyze_corpus(corpus, output)):
        with pytest.raises(DatasetError, match=r"_hlomap\.json is damaged|is damaged"):
            read(output)


@pytest.mark.parametrize("name", ["files", "rows", "modules", "_work"])
def test_nothing_is_written_through_a_link(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.hlo").write_text(GOOD)
    victim, output = tmp_path / "victim", tmp_path / "out"
    victim.mkdir()
    output.mkdir()
    (output / name).symlink_to(victim)
    with pytest.raises(OutputError, match="nothing is written through links; remove it") as error:
        analyze_corpus(tmp_path / "a.hlo", output, modules=True)
    assert error.value.filename == str(output / name) and not list(victim.iterdir())


def test_a_folder_that_becomes_a_link_while_the_run_is_at_work(corpus: Path, tmp_path: Path) -> None:
    victim, output = tmp_path / "victim", tmp_path / "out"
    victim.mkdir()

    def replace(progress: object) -> None:
        if (output / "_work" / "plan.json").exists() and not (output / "rows").is_symlink():
            shutil.rmtree(output / "rows", ignore_errors=True)
            (output / "rows").symlink_to(victim)

    with pytest.raises(OutputError, match="through links"):
        analyze_corpus(corpus, output, progress=replace)
    assert not list(victim.iterdir())


def test_a_part_that_is_a_link_is_replaced(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    analyze_corpus(corpus, output)
    before, part, elsewhere = tables(output), output / "rows" / "part-000001.parquet", tmp_path / "elsewhere"
    os.replace(part, elsewhere)
    part.symlink_to(elsewhere)
    content = elsewhere.read_bytes()
    assert "rows/part-000001.parquet" in analyze_corpus(corpus, output).repaired
    assert not part.is_symlink() and elsewhere.read_bytes() == content and tables(output) == before


def test_the_folder_of_a_single_file_may_not_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "a.hlo").write_text(GOOD)
    (tmp_path / "victim").mkdir()
    (tmp_path / ".rows.csv.hlomap").symlink_to(tmp_path / "victim")
    with pytest.raises(OutputError, match="through links"):
        analyze_corpus(tmp_path / "a.hlo", tmp_path / "rows.csv")
    assert not list((tmp_path / "victim").iterdir())
