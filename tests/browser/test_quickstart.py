"""The steps of the quickstart, run by the script that takes its screenshots."""

from __future__ import annotations

import importlib.util
import re
import tempfile
from pathlib import Path

from .chromium import ROOT
from .conftest import NewPage

SCRIPT = ROOT / "scripts" / "screenshots.py"
PICTURES = re.compile(r"!\[[^]]+\]\((?:\.\./)?images/([\w-]+)\.png\)")


def pictures(folder: Path) -> set[str]:
    return {picture.stem for picture in folder.glob("*.png")}


async def test_quickstart_steps_work_and_have_pictures(new_page: NewPage, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("screenshots", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    screenshots = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(screenshots)
    with tempfile.TemporaryDirectory() as home, screenshots.product(Path(home)) as url:
        await screenshots.story(await new_page(url, screenshots.SIZE), tmp_path)

    made = pictures(tmp_path)
    pages = [ROOT / "docs" / "quickstart.md", ROOT / "docs" / "howto" / "console.md"]
    shown = {name for page in pages for name in PICTURES.findall(page.read_text(encoding="utf-8"))}
    assert shown == made == pictures(ROOT / "docs" / "images")
