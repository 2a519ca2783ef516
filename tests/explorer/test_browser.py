"""The page in a headless Chromium: `pytest -m browser tests/explorer`.

Every test ends without a message in the console and without a request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CASES
from support import evaluator_cases
from support.browser import Browser, Keys
from support.explorer import FUSED, HOSTILE, LOOP, PRODUCT, RUNTIME

import hlomap as hm

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    chromium.resize(1440, 900)
    chromium.prefer("light")
    yield chromium
    assert chromium.complaints == []
    assert chromium.requests == []


def show(browser: Browser, folder: Path, text: str, after: str | None = None, select: str = "") -> hm.Module:
    """Opens the page of a module, selects an instruction, and gives the module that is shown."""
    module = hm.parse(text)
    page = hm.explore(module) if after is None else hm.explore(module, hm.parse(after))
    browser.open(str(page), folder)
    assert browser.run("return document.documentElement.dataset.ready") == "true"
    if select:
        browser.run("explorer.select(explorer.model().data.columns.name.indexOf(arguments[0]))", select)
        browser.frame()
    return module if after is None else hm.parse(after)


def selected(browser: Browser) -> str:
    return str(browser.run("return explorer.model().nameOf(explorer.selected)"))


def lit(browser: Browser, read: int) -> set[tuple[int, ...]]:
    """The elements that the page lights of one operand."""
    script = (
        "const view = explorer.panel.reads; const one = view.reads[arguments[0]];"
        "return view.images(one, view.box()).flatMap((image) => elementsOf(image, 1e6)).map((t) => t.map(String))"
    )
    return {tuple(map(int, point)) for point in browser.run(script, read)}


def read_by(instruction: hm.Instruction, operand: int, *ends: tuple[int, int]) -> set[tuple[int, ...]]:
    """The elements that a box of the output reads, by `IndexingMap.evaluate`."""
    found: set[tuple[int, ...]] = set()
    for m in hm.output_to_input(instruction)[operand]:
        axes = [*ends, *((v.lower, v.upper) for v in (*m.ranges, *m.runtime))]
        grids = np.meshgrid(*(np.arange(lower, upper + 1) for lower, upper in axes), indexing="ij")
        points = np.stack(grids, axis=-1).reshape(-1, len(axes))
        split = np.split(points, [len(m.dims), len(m.dims) + len(m.ranges)], axis=1)
        inside = m.in_domain(*split)
        found |= set(map(tuple, m.evaluate(*(part[inside] for part in split)).tolist()))
    return found


# ----------------------------------------------------------------------------------------------------------- evaluator


def test_evaluate_is_that_of_the_package(browser: Browser, tmp_path: Path) -> None:
    """30,000 points of 4,000 random maps, half of them with numbers up to 64 bits."""
    show(browser, tmp_path, FUSED)
    cases = evaluator_cases.point_cases(4000)
    n_points = sum(len(points) for _, points in cases)
    n_overflows = sum(answer == "overflow" for _, points in cases for _, _, answer in points)
    assert n_points > 30_000 and n_overflows > 500
    script = """
      const wrong = [];
      let small = 0;
      for (const [text, points] of arguments[0]) {
        const map = parseMap(text);
        small += map.small;
        for (const [point, inside, answer] of points) {
          const found = evaluateMap(map, point);
          const got = found.overflow ? "overflow" : found.results.map(String);
          if (found.inside !== inside || String(got) !== String(answer)) wrong.push([text, point, inside, answer, got]);
        }
      }
      return [small, wrong.slice(0, 3)]"""
    n_small, wrong = browser.run(script, cases)
    assert wrong == []
    assert 1500 < n_small < 3500  # both kinds of arithmetic are tested


def test_images_are_those_of_all_points(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, FUSED)
    script = """
      const compare = (a, b) => { for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i] - b[i]; return 0; };
      return arguments[0].filter(([text, box, elements]) => {
        const image = imageOfMap(parseMap(text), box);
        const found = elementsOf(image, 1e6).map((tuple) => tuple.map(Number)).sort(compare);
        return JSON.stringify(found) !== JSON.stringify(elements) || countOf(image) !== BigInt(elements.length) ||
          image.isCut || image.overflow;
      }).slice(0, 3)"""
    assert browser.run(script, evaluator_cases.image_cases(2000)) == []


@pytest.mark.parametrize(
    ("text", "count", "is_cut", "overflow"),
    [
        ("(d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in [0, 99999999]", "100000000", False, False),
        (
            "(d0)[s0, s1] -> (s0 * 1000 + s1), domain: d0 in [0, 3], s0 in [0, 99999], s1 in [0, 999]",
            "100000000",
            False,
            False,
        ),
        ("(d0)[s0] -> (s0 mod 7), domain: d0 in [0, 3], s0 in [0, 99999999]", "7", True, False),
        ("(d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in [0, 99999999], s0 mod 2 in [0, 0]", "32768", True, False),
        ("(d0) -> (d0 * 9223372036854775807), domain: d0 in [2, 3]", "0", False, True),
        ("(d0) -> (d0 + 9223372036854775800), domain: d0 in [0, 3]", "4", False, False),
        ("(d0) -> UNDEFINED", "0", False, False),
        ("(d0) -> KNOWN EMPTY", "0", False, False),
    ],
)
def test_limits_are_marked(
    browser: Browser, tmp_path: Path, text: str, count: str, is_cut: bool, overflow: bool
) -> None:
    show(browser, tmp_path, FUSED)
    script = (
        "const map = parseMap(arguments[0]); const image = imageOfMap(map, map.variables.map(() => null));"
        "return [String(countOf(image)), image.isCut, image.overflow]"
    )
    assert browser.run(script, text) == [count, is_cut, overflow]


def test_maps_of_programs_are_read(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, FUSED)
    texts = set()
    for path in sorted((CASES / "ops").glob("*.hlo")):
        texts |= set(re.findall(r"^// (?:o2i|i2o)[^:]*: (\(.*)$", path.read_text(encoding="utf-8"), re.M))
    assert len(texts) > 500
    script = "return arguments[0].filter((text) => { try { parseMap(text); } catch (e) { return true; } }).slice(0, 3)"
    assert browser.run(script, sorted(texts)) == []


# --------------------------------------------------------------------------------------------------------------- hover


def test_hover_lights_what_is_read(browser: Browser, tmp_path: Path) -> None:
    module = show(browser, tmp_path, PRODUCT, select="y")
    # The picture of 12 x 8 elements has a unit of 208 / 12 pixels.
    unit = 208 / 12
    for i, j in ((0, 0), (3, 5), (11, 7)):
        browser.hover("#output-picture", (j + 0.5) * unit, (i + 0.5) * unit)
        assert browser.run("return explorer.panel.reads.index") == [i, j]
        for operand in (0, 1):
            assert lit(browser, operand) == read_by(module["y"], operand, (i, i), (j, j))
        assert browser.text("#now").startswith(f"output ({i}, {j}) reads x: 20 elements; w: 20 elements")
    masks = browser.run("return explorer.panel.reads.reads.map(({picture}) => [picture.width, [...picture.mask]])")
    for (width, mask), read in zip(masks, (lit(browser, 0), lit(browser, 1)), strict=True):
        pixels = np.array(mask).reshape(-1, width)
        rows, columns = (20, 8) if len(read) and max(r for r, _ in read) == 19 else (12, 20)
        centers = pixels[
            ((np.arange(rows) + 0.5) * pixels.shape[0] / rows).astype(int)[:, None],
            ((np.arange(columns) + 0.5) * width / columns).astype(int),
        ]
        assert set(map(tuple, np.argwhere(centers).tolist())) == read


def test_a_long_step_is_drawn_by_its_pixels(browser: Browser, tmp_path: Path) -> None:
    """A row of 7.5 * 10^8 elements, of which the picture has 208 pixels, in one of 2 * 10^9 planes."""
    text = """
    add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
    ENTRY e {
      x = f32[2000000000,3,750000000] parameter(0)
      zero = f32[] constant(0)
      ROOT r = f32[2000000000,3] reduce(x, zero), dimensions={2}, to_apply=add
    }"""
    show(browser, tmp_path, text, select="r")
    browser.run("explorer.panel.reads._set([1234567890, 1])")
    browser.frame()
    picture = browser.run(
        "const { picture } = explorer.panel.reads.reads[0]; return [picture.plane, [...picture.mask]]"
    )
    rows = np.array(picture[1]).reshape(-1, 208)
    assert picture[0] == 1234567890 and rows.all(axis=1).sum() == rows.any(axis=1).sum() == len(rows) // 3 + 1


def test_tiles(browser: Browser, tmp_path: Path) -> None:
    module = show(browser, tmp_path, PRODUCT, select="y")
    browser.run("document.querySelector('.tile input').focus()")
    browser.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert browser.run("return explorer.panel.reads.tile") == [4, 1]
    browser.run("explorer.panel.reads._set([6, 3])")
    browser.frame()
    assert lit(browser, 0) == read_by(module["y"], 0, (4, 7), (3, 3))
    assert browser.text("#now") == "tile (4:8, 3) reads x: 80 elements; w: 20 elements"
    assert browser.find(".tile input").get_attribute("aria-valuetext") == "4"


def test_keys_move_the_element(browser: Browser, tmp_path: Path) -> None:
    module = show(browser, tmp_path, PRODUCT, select="y")
    browser.press("e")
    browser.press(
        Keys.HOME, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_UP, Keys.ARROW_LEFT, Keys.ARROW_LEFT
    )
    assert browser.run("return explorer.panel.reads.index") == [1, 0]
    assert lit(browser, 1) == read_by(module["y"], 1, (1, 1), (0, 0))
    browser.wait("setTimeout(done, 300)")
    assert browser.text("#live") == "output (1, 0) reads x: 20 elements; w: 20 elements"
    assert browser.run("return document.activeElement.id") == "output-picture"


def test_values_at_run_time(browser: Browser, tmp_path: Path) -> None:
    module = show(browser, tmp_path, RUNTIME, select="d")
    browser.run("explorer.panel.reads._set([1, 2])")
    browser.frame()
    assert lit(browser, 0) == read_by(module["d"], 0, (1, 1), (2, 2)) == {(i, 2) for i in range(1, 18)}
    assert browser.text("#now").startswith("output (1, 2) reads p: at most 17 elements, for any value at run time; ")
    browser.find(".runtimes input[type=checkbox]").click()
    browser.run("document.querySelector('input.runtime').focus()")
    browser.press(Keys.HOME, *[Keys.ARROW_RIGHT] * 5)
    assert lit(browser, 0) == {(6, 2)}
    assert "i[]" in browser.text(".runtimes") and "0 to 16" in browser.text(".runtimes")


def test_what_is_unknown_is_hatched(browser: Browser, tmp_path: Path) -> None:
    text = 'ENTRY e { p = f32[6,4] parameter(0) ROOT c = f32[6,4] custom-call(p), custom_call_target="mystery" }'
    show(browser, tmp_path, text, select="c")
    assert browser.run("return explorer.panel.reads.reads.map(({picture}) => picture.isUnknown)") == [True]
    assert browser.text("#now").endswith("reads p: unknown, up to all of f32[6,4]")
    assert "no rule for custom-call to 'mystery'" in browser.text(".facts")
    assert browser.text(".node .flag") == "?"


def test_the_table_has_the_elements(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, FUSED, select="t")
    browser.run("explorer.panel.reads._set([5, 2])")
    browser.find("details.table summary").click()
    browser.frame()
    assert browser.text("details.table tbody") == "y14 B(2, 5)"


def test_layouts(browser: Browser, tmp_path: Path) -> None:
    """The positions of tiles in memory, the ends of the first tile among them; a colour for each tile."""
    shape = hm.Shape.parse("f32[20,260]{1,0:T(8,128)}")
    show(browser, tmp_path, f"ENTRY e {{ p = {shape} parameter(0) ROOT n = {shape} negate(p) }}", select="n")
    rows = browser.run(
        "return [...document.querySelectorAll('.layout tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    columns = [int(text) if text.isdigit() else None for text in rows[0][1:]]
    assert columns == [0, 1, 2, None, 127, 128, None, 258, 259]
    positions = hm.layouts.linear_index(shape)
    for row in rows[1:]:
        for column, text in zip(columns, row[1:], strict=True):
            if row[0].isdigit() and column is not None:
                assert int(text) == positions.evaluate([int(row[0]), column])[0]
    colours = browser.run("return [...document.querySelectorAll('.layout td[class^=tile]')].map((c) => c.className)")
    assert len(set(colours)) == 8 and colours[0] == "tile0"


# ---------------------------------------------------------------------------------------------------------- navigation


def test_search(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, FUSED)
    browser.press("g")
    browser.press("/", "trans")
    assert browser.text("#found") == "1 match"
    assert [row.text.split()[0] for row in browser.driver.find_elements("css selector", "#list .row")] == ["t"]
    browser.press(Keys.ENTER)
    assert selected(browser) == "t" and browser.run("return document.activeElement.id") == "graph"
    browser.press("/", "nothing like it")
    assert browser.text("#found") == "0 matches"
    browser.press(Keys.ESCAPE)
    assert browser.text("#found") == "" and len(browser.driver.find_elements("css selector", "#list .row")) == 8
    browser.press("/", "m.py:7")
    assert browser.text("#list .name") == "x"


def test_keys_follow_operands_and_users(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, PRODUCT, select="z")
    browser.press("g")
    walk = []
    for key in (Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_DOWN):
        browser.press(key)
        walk.append(selected(browser))
    assert walk == ["y", "x", "w", "y", "b", "z"]
    assert (
        browser.run("return document.querySelector('#node-' + explorer.selected).getAttribute('aria-selected')")
        == "true"
    )


def test_a_fusion_opens_in_place(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, FUSED, select="y")
    browser.press("g", Keys.ENTER)
    assert browser.run("return explorer.graph.boxes.size") == 8
    assert ", open" in browser.run("return document.querySelector('#node-6').getAttribute('aria-label')")
    browser.run("explorer.select(3)")
    browser.press(Keys.ESCAPE)
    assert selected(browser) == "y" and browser.run("return explorer.graph.boxes.size") == 4


def test_a_loop_is_entered_and_left(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, LOOP, select="w")
    browser.press("g", Keys.ENTER)
    assert browser.run("return explorer.graph.boxes.size") == 5 + 7 + 4
    browser.press(Keys.ESCAPE)
    browser.run("explorer.enter(0)")
    assert browser.text("#path") == "ENTRY e › w › body"
    browser.press(Keys.ESCAPE)
    assert selected(browser) == "w" and browser.text("#path") == "ENTRY e"


def test_the_list_by_keys(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, FUSED)
    browser.press("l", Keys.END, Keys.ARROW_UP)
    rows = browser.run("return explorer.list.items.map((i) => explorer.model().nameOf(i))")
    assert selected(browser) == rows[-2]
    active = browser.find("#list").get_attribute("aria-activedescendant")
    assert browser.find(f"#{active}").get_attribute("aria-selected") == "true"


def test_history_of_the_browser(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, FUSED, select="t")
    browser.run("explorer.select(6)")
    assert browser.run("return location.hash") == "#m=0&i=6"
    browser.driver.back()
    browser.frame()
    assert selected(browser) == "t"


def test_before_and_after(browser: Browser, tmp_path: Path) -> None:
    after = FUSED.replace("transpose(y)", "transpose(z)").replace(
        "  ROOT t", "  z = f32[8,16]{1,0} negate(y)\n  ROOT t"
    )
    show(browser, tmp_path, FUSED, after, select="y")
    assert browser.text("#summary").startswith("after")
    assert "by value" in browser.text("#panel dl")
    browser.press("g", "b")
    assert browser.text("#summary").startswith("before") and selected(browser) == "y"
    browser.press("a")
    assert browser.text("#summary").startswith("after") and selected(browser) == "y"
    marked = browser.run("return [...document.querySelectorAll('.node.added .name')].map((e) => e.textContent)")
    assert marked == ["z"]
    assert "added" in browser.text("#changes") and browser.find("#changes").is_displayed()


def test_dump_directories_list_their_modules(browser: Browser, tmp_path: Path) -> None:
    page = hm.explore(hm.DumpDirectory(CASES / "dumps"))
    browser.open(str(page), tmp_path)
    rows = [row.text for row in browser.driver.find_elements("css selector", "#modules li")]
    assert [row.split()[0] for row in rows] == list(page.modules)
    first = browser.text("#title")
    browser.driver.find_elements("css selector", "#modules li button")[-1].click()
    assert browser.text("#title") != first
    browser.press("b")
    assert "before_optimizations" in browser.text("#summary")


# ------------------------------------------------------------------------------------------------------------ hostility


def test_hostile_texts_never_run(browser: Browser, tmp_path: Path) -> None:
    """Names, labels, shapes and attributes of a page, replaced by hostile texts, are shown as they are."""
    text = str(hm.explore(hm.parse(FUSED)))
    block = re.search(r'(<script type="application/json" id="module-0">)(.*?)</script>', text, re.S)
    assert block is not None
    data = json.loads(block[2])
    data["columns"]["name"] = [HOSTILE[k % len(HOSTILE)] for k in range(8)]
    data["labels"] = {str(k): HOSTILE[(k + 1) % len(HOSTILE)] for k in range(8)}
    data["opcodes"] = [[HOSTILE[k % len(HOSTILE)], False] for k in range(len(data["opcodes"]))]
    data["details"] = list(HOSTILE)
    data["name"] = HOSTILE[0]
    for k, one in enumerate([*data["computations"], *data["shapes"]]):
        one["text" if "text" in one else "name"] = HOSTILE[k % len(HOSTILE)]
    for record in data["records"]:
        for read in record["reads"]:
            read["words"] = HOSTILE[0] + " {}"
    escaped = json.dumps(data).replace("<", "\\u003c")
    browser.open(text.replace(block[0], f"{block[1]}{escaped}</script>"), tmp_path)
    for k in range(8):
        browser.run("explorer.select(arguments[0])", k)
        browser.press("g", Keys.ENTER)
        assert HOSTILE[k % len(HOSTILE)] in browser.text("#panel h2")
    assert browser.text("#title") == HOSTILE[0]
    assert browser.run("return [document.scripts.length, document.images.length]") == [3, 0]


def test_the_policy_stops_a_script_that_got_in(chromium: Browser, tmp_path: Path) -> None:
    text = str(hm.explore(hm.parse(FUSED))).replace("<noscript>", "<script>document.title = 'run'</script><noscript>")
    chromium.open(text, tmp_path)
    assert chromium.run("return document.title") != "run"
    assert any("Content Security Policy" in message for message in chromium.complaints)


# ---------------------------------------------------------------------------------------------------------- appearance


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 900, 420])
def test_nothing_overflows_the_page(browser: Browser, tmp_path: Path, scheme: str, width: int) -> None:
    browser.resize(width, 900)
    browser.prefer(scheme)
    module = hm.load(CASES / "modules" / "attention_causal.hlo")
    browser.open(str(hm.explore(module)), tmp_path)
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    assert browser.run(
        "return document.querySelector('#panel').scrollWidth <= document.querySelector('#panel').clientWidth"
    )
    back, ink = browser.run("const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]")
    assert (_brightness(back) > _brightness(ink)) is (scheme == "light")


def _brightness(colour: str) -> int:
    return sum(map(int, re.findall(r"\d+", colour)[:3]))


def test_everything_has_a_name(browser: Browser, tmp_path: Path) -> None:
    """Fields, buttons and pictures have a name for screen readers."""
    show(browser, tmp_path, RUNTIME, select="d")
    script = """
      return [...document.querySelectorAll("button, input, select, canvas, [role=option], [role=listbox]")]
        .filter((e) => !e.getAttribute("aria-label") && !(e.closest("label") ?? e).textContent.trim())
        .map((e) => e.outerHTML.slice(0, 200))"""
    assert browser.run(script) == []


def test_the_theme_can_be_chosen(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, FUSED)
    was: Any = browser.run("return getComputedStyle(document.body).backgroundColor")
    browser.press("g", "t")
    assert browser.run("return getComputedStyle(document.body).backgroundColor") != was


def test_paper_has_the_whole_graph(browser: Browser, tmp_path: Path) -> None:
    show(browser, tmp_path, FUSED)
    browser.run("explorer.graph.zoom(3); dispatchEvent(new Event('beforeprint'))")
    assert str(browser.run("return document.querySelector('#drawing').getAttribute('viewBox')")).startswith("-16 -16 ")
    assert browser.run("return explorer.graph.world.getAttribute('transform')") == "translate(0.0 0.0) scale(1.0000)"
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run("return document.querySelector('#drawing').hasAttribute('viewBox')") is False


def test_a_large_module_draws_a_part(browser: Browser, tmp_path: Path) -> None:
    lines = [f"  n{k} = f32[4,6] add({f'n{k - 1}' if k else 'p'}, {f'n{k // 2}' if k else 'p'})" for k in range(3000)]
    show(browser, tmp_path, "ENTRY e {\n  p = f32[4,6] parameter(0)\n" + "\n".join(lines) + "\n}", select="n1500")
    n_boxes, n_rows = browser.run("return [explorer.graph.boxes.size, document.querySelectorAll('#list .row').length]")
    assert n_boxes == 160 and n_rows < 60
    assert "2,841 more" in browser.text("#hidden")
    browser.press("l", Keys.END)
    assert selected(browser) == "p"
