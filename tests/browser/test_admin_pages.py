"""The pages Health, Privacy and Settings: what users do with their own data, what admins see and do, and what is
hidden from everyone else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Locator, Page, expect

from recollect import Query, Scope, connect_sync
from recollect.server.console.operations import mask_setting
from recollect.settings import Settings
from tests.server.http.loopback import Keys, Served, bearer, keys_of_each_role

from .chromium import DESKTOP, PHONE
from .conftest import NewPage

PARKED = (
    "UPDATE recollect.conversation SET due = false, parked = '{reason}', attempts = 5, failed_at = now(),"
    " retry_at = now() + interval '1 hour', last_error = 'the model <b>answered</b> 503' WHERE session_id = 'monday'"
)
STILL_PARKED = "SELECT count(*) FROM recollect.conversation WHERE parked <> '{}' AND retry_at > now()"


def record_messages(settings: Settings, *users: str, project: str = "default") -> None:
    """Record the same messages for each user in two sessions, and ask once."""
    with connect_sync(settings, worker=False) as memory:
        for user in users:
            for session in ("monday", "tuesday"):
                scope = Scope(user, session, project)
                memory.record(scope, [("user", "I live in Leeds."), ("assistant", "Noted."), ("user", "Be brief.")])
                memory.settle(scope)
            memory.context(Scope(user, "monday", project), Query("where do I live?"))


def create_keys(settings: Settings) -> Keys:
    with connect_sync(settings, worker=False) as memory:
        return keys_of_each_role(memory)


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


async def check_page(page: Page) -> None:
    """Check that the page is accessible and fits a phone."""
    found = await Axe().run(page)
    assert [each["id"] for each in found.response["violations"] if each["impact"] in ("serious", "critical")] == []
    await page.set_viewport_size(PHONE)
    assert await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    await page.set_viewport_size(DESKTOP)


async def sign_in(page: Page, secret: str) -> Locator:
    """Sign in and return the links to the pages that this key can see."""
    await page.goto("/console/sign-in")
    await page.get_by_label("API key").fill(secret)
    await page.get_by_role("button", name="Sign in").click()
    pages = page.get_by_role("navigation", name="Pages")
    await expect(pages).to_be_visible()
    return pages.get_by_role("link")


# Health ---------------------------------------------------------------------------------------------------------------


async def test_health_shows_metrics_and_retries_failed_tasks(
    console: Served, new_page: NewPage, settings: Settings, database: str
) -> None:
    page = await new_page(console.url)
    await page.goto("/console/health")
    await expect(page.get_by_text("No requests in this period")).to_be_visible()
    await expect(page.get_by_text("All systems operational")).to_be_visible()
    await asyncio.to_thread(record_messages, settings, "me", "robin")
    with psycopg.connect(database) as owner:
        owner.execute(PARKED)

    await page.get_by_role("link", name="30 days").click()

    trigger = page.get_by_role("row", name="fewer than 3 hits by words").first
    await expect(trigger).to_contain_text("– too few")
    await expect(page.get_by_role("img", name="requests per day")).to_be_visible()
    await expect(page.get_by_role("row", name="robin")).to_contain_text("6")
    await expect(page.locator(".errors")).to_contain_text("the model <b>answered</b> 503")
    await check_page(page)
    await page.get_by_role("button", name="Retry failed tasks").click()
    await expect(page.locator(".notice")).to_contain_text("retried")
    with psycopg.connect(database) as owner:
        assert owner.execute(STILL_PARKED).fetchone() == (0,)


# Privacy --------------------------------------------------------------------------------------------------------------


async def test_user_exports_data_and_deletes_a_session(console: Served, new_page: NewPage, settings: Settings) -> None:
    await asyncio.to_thread(record_messages, settings, "me")
    page = await new_page(console.url)
    await page.goto("/console/privacy")
    await expect(page.locator(".tiles")).to_contain_text("2sessions")
    await expect(page.locator(".rules")).to_contain_text(
        "Questions to a database expire 7 days after their last message"
    )
    await check_page(page)

    async with page.expect_download() as sent:
        await page.get_by_role("link", name="Export data").click()
    file = await sent.value
    lines = read_lines(await file.path())
    assert file.suggested_filename.startswith("memory-export-")
    assert {line["kind"] for line in lines} >= {"conversation", "turn", "memory", "request", "audit"}

    await page.get_by_text("Delete", exact=True).first.click()
    await page.get_by_role("button", name="Delete session").first.click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Session deleted")
    await expect(page.get_by_role("row", name="Messages turn", exact=False).first).to_contain_text("3")
    await page.get_by_role("link", name="Back to Privacy").click()
    await expect(page.locator(".tiles")).to_contain_text("1session3messages")
    await page.get_by_role("link", name="Audit log").click()
    await expect(page.locator(".events")).to_contain_text("forgot")
    await check_page(page)


async def test_all_user_data_is_deleted_after_confirmation(
    console: Served, new_page: NewPage, settings: Settings
) -> None:
    await asyncio.to_thread(record_messages, settings, "me", "robin")
    page = await new_page(console.url, java_script_enabled=False)
    for name, heading in (("robin", "Privacy"), ("me", "All data deleted")):
        await page.goto("/console/privacy")
        await page.get_by_text("Delete all data of me").click()
        await page.get_by_label("Type me to confirm").fill(name)
        await page.get_by_role("button", name="Delete everything").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    await expect(page.locator("tr", has=page.locator("code", has_text="turn")).first).to_contain_text("6")
    await page.get_by_role("link", name="Back to Privacy").click()
    await expect(page.get_by_role("heading", name="No data stored")).to_be_visible()
    with psycopg.connect(settings.dsn) as owner:
        left = owner.execute("SELECT DISTINCT user_id FROM recollect.conversation").fetchall()
    assert left == [("robin",)]


async def test_disabled_actions_are_explained_and_hidden(
    serve: Callable[..., Served], new_page: NewPage, settings: Settings
) -> None:
    await asyncio.to_thread(record_messages, settings, "me")
    running = serve(allow_export=False, allow_deletion=False)
    page = await new_page(running.url)
    await page.goto("/console/privacy")
    await expect(page.locator(".state-note")).to_contain_text(
        ["MEMORY_ALLOW_DATA_EXPORT", "MEMORY_ALLOW_DATA_DELETION"]
    )
    await expect(page.get_by_text("Delete", exact=True)).to_have_count(0)
    assert (await page.request.get("/console/privacy/export")).status == 403


async def test_key_is_shown_once_required_and_revoked(console: Served, new_page: NewPage) -> None:
    page = await new_page(console.url)
    await page.goto("/console/privacy/keys")
    await check_page(page)
    await page.get_by_label("Name", exact=True).fill("boss")
    await page.get_by_role("button", name="Create key").click()
    secret = await page.get_by_label("Copy the key now").input_value()
    await expect(page.get_by_text("Sign-in is now required")).to_be_visible()
    assert secret not in page.url

    await page.goto("/console/privacy/keys")
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    await sign_in(page, secret)
    await page.goto("/console/privacy/keys")
    await expect(page.get_by_label("Active keys")).to_contain_text("boss")
    assert secret not in await page.content()
    await page.get_by_role("button", name="Create key").click()
    await expect(page.get_by_role("alert")).to_contain_text("a key of the role user needs a user")
    await page.get_by_text("Revoke", exact=True).click()
    await page.get_by_role("button", name="Revoke boss").click()
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


# Settings -------------------------------------------------------------------------------------------------------------


async def test_settings_show_value_and_origin_but_no_secret(
    serve: Callable[..., Served], new_page: NewPage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "own.toml"
    file.write_text("[recollect]\nMEMORY_RETENTION_DAYS = 14\n")
    monkeypatch.setenv("RECOLLECT_CONFIG", str(file))
    monkeypatch.setenv("RECOLLECT_MODEL", "tiny")
    monkeypatch.setenv("RECOLLECT_MODLE", "typo")
    running = serve(retention_days=14, model="tiny", model_key="hush-hush", model_url="http://me:hush@127.0.0.1:9/v1")
    page = await new_page(running.url)
    await page.goto("/console/settings")

    await expect(page.locator("#MEMORY_RETENTION_DAYS")).to_contain_text("14")
    await expect(page.locator("#MEMORY_RETENTION_DAYS .about")).to_contain_text(f"from {file}, line 2 · default: 7")
    await expect(page.locator("#RECOLLECT_MODEL .about")).to_contain_text("from the environment")
    await expect(page.locator("#RECOLLECT_MODEL_KEY .value")).to_have_text("set")
    await expect(page.locator("#RECOLLECT_MODEL_URL .value")).to_have_text("http://***@127.0.0.1:9/v1")
    await expect(page.locator(".warning")).to_contain_text(["did you mean RECOLLECT_MODEL?"])
    assert "hush" not in await page.content()
    await check_page(page)


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (True, "1"),
        (0.5, "0.5"),
        ("", ""),
        ("https://token@host/v1?key=abc", "https://***@host/v1?…"),
        ("postgresql://me:pass@host/db", "postgresql://***@host/db"),
    ],
)
def test_setting_is_printed_without_credentials(value: object, printed: str) -> None:
    assert mask_setting(value) == printed


# Permissions ---------------------------------------------------------------------------------------------------------


async def test_user_sees_privacy_but_no_admin_pages(console: Served, new_page: NewPage, settings: Settings) -> None:
    await asyncio.to_thread(record_messages, settings, "alex", "blake", project="shop")
    keys = await asyncio.to_thread(create_keys, settings)
    page = await new_page(console.url)
    pages = await sign_in(page, keys.user)
    await expect(pages.filter(has_text="Privacy")).to_have_count(1)
    await expect(pages.filter(has_text="Health")).to_have_count(0)
    await expect(pages.filter(has_text="Settings")).to_have_count(0)
    await page.goto("/console/privacy")
    await expect(page.get_by_text("Data stored about alex")).to_be_visible()
    await expect(page.get_by_text("are available to admins")).to_be_visible()
    await expect(page.get_by_role("navigation", name="Privacy")).to_have_count(0)
    for path in ("health", "settings", "privacy/audit-log", "privacy/keys"):
        refused = await page.request.get(f"/console/{path}")
        assert refused.status == 403
        assert "takes the role" in await refused.text()


async def test_user_names_and_settings_need_an_admin(console: Served, new_page: NewPage, settings: Settings) -> None:
    await asyncio.to_thread(record_messages, settings, "alex", project="shop")
    keys = await asyncio.to_thread(create_keys, settings)
    page = await new_page(console.url)
    pages = await sign_in(page, keys.data)
    await expect(pages.filter(has_text="Privacy")).to_have_count(0)
    await page.goto("/console/health")
    await expect(page.get_by_text("Only admins can see user names")).to_be_visible()
    await expect(page.get_by_text("Only admins of all projects can see errors")).to_be_visible()
    assert "alex" not in await page.content()
    report = httpx2.get(f"{console.url}/v1/report", headers=bearer(keys.data), timeout=60).json()
    assert report["storage"][0]["user"].startswith("user ")

    other = await new_page(console.url)
    await sign_in(other, keys.admin)
    await other.goto("/console/health")
    await expect(other.get_by_role("row", name="alex")).to_be_visible()
    await other.goto("/console/settings")
    await expect(other.get_by_role("alert")).to_contain_text("Only an admin key for all projects")
