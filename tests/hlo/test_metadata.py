"""The origin of instructions: stack frames from the tables of a module or from metadata alone, and names."""

from __future__ import annotations

import pytest

import hlomap as hm
from hlomap.hlo import Frame

TABLES = """HloModule m

FileNames
1 "a.py"
2 "lib/b.py"

FunctionNames
1 "main"
2 "outer.<locals>.inner"

FileLocations
1 {file_name_id=1 function_name_id=1 line=10 end_line=12 column=5 end_column=7}
2 {file_name_id=2 function_name_id=2 line=20 end_line=20 column=1 end_column=9}
3 {file_name_id=1 function_name_id=2 line=30 end_line=0 column=0 end_column=0}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=3 parent_frame_id=2}
3 {file_location_id=2 parent_frame_id=3}

"""
MAIN = Frame("a.py", 10, 5, 12, 7, "main")
MIDDLE = Frame("a.py", 30, function="outer.<locals>.inner")
INNER = Frame("lib/b.py", 20, 1, 20, 9, "outer.<locals>.inner")


def parsed(tables: str, metadata: str) -> list[hm.hlo.Metadata]:
    """From text, from a proto and from printed text."""
    module = hm.parse(f"{tables}ENTRY e {{ ROOT p = f32[] parameter(0), metadata={{{metadata}}} }}")
    return [source.entry.root.metadata for source in (module, hm.parse(module.to_proto()), hm.parse(str(module)))]


@pytest.mark.parametrize(
    ("metadata", "frames"),
    [
        ("stack_frame_id=1", (MAIN,)),
        ("stack_frame_id=3", (INNER, MIDDLE, MAIN)),
        # The tables know more than the metadata does.
        ('source_file="x.py" source_line=1 stack_frame_id=2', (MIDDLE, MAIN)),
        ('source_file="x.py" source_line=1 stack_frame_id=4', (Frame("x.py", 1),)),
        ('source_file="x.py" source_line=1', (Frame("x.py", 1),)),
        (
            'source_file="x.py" source_line=1 source_end_line=2 source_column=3 source_end_column=4',
            (Frame("x.py", 1, 3, 2, 4),),
        ),
        ('source_file="x.py"', (Frame("x.py"),)),
        ("source_line=5", (Frame(None, 5),)),
        ('op_name="x"', ()),
        ("stack_frame_id=4", ()),
    ],
)
def test_frames_are_innermost_first(metadata: str, frames: tuple[Frame, ...]) -> None:
    for found in parsed(TABLES, metadata):
        assert found.frames == frames


def test_tables_that_are_damaged_end() -> None:
    """A stack counts only if the tables have all of it, as in XLA: no cycle, no row that is missing."""
    damages = [
        TABLES.replace(
            "file_location_id=1 parent_frame_id=1", "file_location_id=1 parent_frame_id=4"
        ),  # 1 -> 3 -> 2 -> 1
        TABLES.replace(
            "file_location_id=1 parent_frame_id=1", "file_location_id=1 parent_frame_id=2"
        ),  # its own parent
        TABLES.replace("file_location_id=1 parent_frame_id=1", "file_location_id=7 parent_frame_id=1"),
        TABLES.replace('1 "a.py"\n', ""),
    ]
    for damaged in damages:
        for frame in (1, 2, 3):
            metadata = f'source_file="x.py" source_line=1 stack_frame_id={frame}'
            module = hm.parse(f"{damaged}ENTRY e {{ ROOT p = f32[] parameter(0), metadata={{{metadata}}} }}")
            assert module.entry.root.metadata.frames == (Frame("x.py", 1),), (damaged, frame)
            source = hm.explain(module.entry.root).source
            assert source is not None and source.stack == ()


@pytest.mark.parametrize(("n", "n_frames"), [(1000, 1000), (5000, 1000)])
def test_deep_stacks_are_followed_as_deep_as_python_calls(n: int, n_frames: int) -> None:
    head, _, _ = TABLES.partition("StackFrames")
    frames = "".join(f"{k} {{file_location_id={1 + k % 3} parent_frame_id={k}}}\n" for k in range(1, n + 1))
    for found in parsed(f"{head}StackFrames\n{frames}\n", f"stack_frame_id={n}"):
        assert found.frames == tuple((MAIN, INNER, MIDDLE)[k % 3] for k in range(n, n - n_frames, -1))


def test_the_name_for_the_scheduler() -> None:
    for found in parsed(TABLES, r'op_name="x" scheduling_name="fusion.3 \"a\""'):
        assert found.scheduling_name == 'fusion.3 "a"'
    assert hm.parse("p = f32[] parameter(0)")["p"].metadata.scheduling_name is None


def test_metadata_is_equal_by_its_frames() -> None:
    one, two, three = (parsed(TABLES, f'op_name="x" {rest}')[0] for rest in ("stack_frame_id=3",) * 2 + ("",))
    assert one == two and hash(one) == hash(two) and one != three
    made = hm.hlo.Metadata(
        op_name="x",
        source_file="lib/b.py",
        source_line=20,
        source_column=1,
        function=INNER.function,
        stack_frame_id=3,
        frames=[INNER, MIDDLE, MAIN],
    )
    assert one == made and hash(one) == hash(made)
    # Without frames it has the place that it names.
    place = parsed("", 'source_file="x.py" source_line=5 source_column=2')[0]
    assert hm.hlo.Metadata(source_file="x.py", source_line=5, source_column=2) == place
    assert place.frames == (Frame("x.py", 5, 2),) and hm.hlo.Metadata("x").frames == ()
    assert str(INNER) == "lib/b.py:20:1 in outer.<locals>.inner" and str(Frame()) == "?"


def test_the_builder_writes_the_name_and_the_place() -> None:
    (found,) = set(parsed("", 'op_name="a" source_file="x.py" source_line=5 scheduling_name="s.1"'))
    for given in (found, {"op_name": "a", "source_file": "x.py", "source_line": 5, "scheduling_name": "s.1"}):
        b = hm.Builder("m")
        assert b.build(b.parameter(0, "f32[]", "p").annotated(metadata=given))["p"].metadata == found


@pytest.mark.jax
def test_frames_of_a_program_of_jax() -> None:
    import jax
    import jax.numpy as jnp

    def inner(x: jax.Array) -> jax.Array:
        return jnp.sin(x)

    def outer(x: jax.Array) -> jax.Array:
        return inner(x)

    module = hm.from_jax(jax.jit(outer), jnp.ones(3), stage="unoptimized")
    (found,) = [i for i in module.entry if i.opcode == "sine"]
    functions = [frame.function for frame in found.metadata.frames if (frame.file or "").endswith("test_metadata.py")]
    names = [function.rpartition(".")[2] for function in functions if function is not None]
    assert names[:3] in (["inner", "outer", "test_frames_of_a_program_of_jax"], ["inner", "outer"])
