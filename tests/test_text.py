"""Text for people: what is replaced before it reaches a terminal or a page, and what stays."""

import unicodedata

import pytest

import hlomap as hm
from hlomap.base.text import html, printable, safe


@pytest.mark.parametrize(
    "text",
    [
        "é e\u0301 ñ",
        "漢字 かな 한글",
        "עברית العربية ไทย हिन्दी",
        "½ × ≤ → ⌊x⌋",
        "😀 🇩🇪 👍🏽",
        "❤️ ☺︎ 1️⃣",
        "👩‍💻 🏳️‍🌈 👨‍👩‍👧",
    ],
)
def test_legitimate_text_stays(text: str) -> None:
    assert printable(text) == text and html(text) == text


@pytest.mark.parametrize(
    "hidden",
    "\x1b\x9b\u00ad\u200b\u200d\u202e\u2066\u2060\ufeff\u3164\ufe0f\U000e0041\U000e0100",
)
def test_hidden_text_shows(hidden: str) -> None:
    assert printable(f"a{hidden}b") == html(f"a{hidden}b") == "a\ufffdb"


def test_selectors_behind_an_emoji_hide_no_text() -> None:
    """One selector chooses the form of an emoji; a row of them, or of tags, would be a text."""
    assert printable("😀\ufe0f\ufe0f\ufe0e") == "😀\ufe0f\ufffd\ufffd"
    assert printable("😀\U000e0068\U000e0069") == "😀\ufffd\ufffd"


def test_no_format_character_is_printed() -> None:
    """Characters of Unicode's category of formats are replaced, but for those that are drawn."""
    drawn = {0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    formats = {n for n in range(0x110000) if unicodedata.category(chr(n)) == "Cf" and not 0x13430 <= n < 0x13440}
    assert {n for n in formats if printable(f"a{chr(n)}b") == f"a{chr(n)}b"} <= drawn


def test_errors_show_no_hidden_text() -> None:
    """The messages of the compiled module replace what printing does; the joiners and selectors of emoji as well."""
    hidden = {chr(n) for n in range(0x110000) if not 0xD800 <= n < 0xE000 and safe(chr(n)) != chr(n)} - {"\n", "\r"}
    for text in map("".join, zip(*[iter(sorted(hidden))] * 20, strict=False)):
        for source in (f"ENTRY e {{ ROOT p = f32[4] {text}(0) }}", f"ENTRY e {{ ROOT p = f32[4] parameter(0){text} }}"):
            with pytest.raises(hm.errors.HloSyntaxError) as error:
                hm.parse(source, strict=True)
            assert not hidden & set(str(error.value))
        with pytest.raises(hm.HlomapError) as found:
            hm.IndexingMap.parse(f"(d0) -> (d0{text})")
        assert not hidden & set(str(found.value))
