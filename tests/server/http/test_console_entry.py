"""Sign-in, cookies and form tokens of the console. The tests use an HTTP client, because a browser would refuse most of
these requests itself. One server without sign-in and one with keys serve all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2
import pytest

from .loopback import Keys, Served

COOKIE, PLACE = "recollect_console", "recollect_place"
Client = httpx2.Client


@pytest.fixture
def browser(open_door: Served) -> Iterator[Client]:
    """A client with cookies, at a server without sign-in."""
    with Client(base_url=open_door.url, timeout=60) as client:
        yield client


@pytest.fixture
def signed_out(closed_door: tuple[Served, Keys]) -> Iterator[Client]:
    """A client with cookies, at a server that requires sign-in."""
    with Client(base_url=closed_door[0].url, timeout=60) as client:
        yield client


@pytest.fixture
def keys(closed_door: tuple[Served, Keys]) -> Keys:
    return closed_door[1]


def read_token(answer: httpx2.Response) -> str:
    found = re.search(r'name="token" value="([0-9a-f]{64})"', answer.text)
    assert found, answer.text[:500]
    return found[1]


def send_message(client: Client, token: str, **more: str) -> httpx2.Response:
    form = {"token": token, "message": "Hello", "session": "", "memory": "on", "history": "on", "reach": "auto"}
    return client.post("/console/chat/send", data=form | more)


def sign_in(client: Client, key: str, after: str = "") -> httpx2.Response:
    return client.post("/console/sign-in", data={"key": key, "after": after})


# Without sign-in -----------------------------------------------------------------------------------------------------


def test_root_opens_chat_with_strict_csp(browser: Client) -> None:
    answer = browser.get("/", follow_redirects=True)

    assert answer.url.path == "/console/chat"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert "<script>" not in answer.text
    assert " style=" not in answer.text
    whole = len(answer.content) + sum(len(browser.get(file).content) for file in list_static_files(answer))
    assert whole < 100_000


def list_static_files(answer: httpx2.Response) -> list[str]:
    return re.findall(r'(?:src|href)="(/console/static/[^"]+)"', answer.text)


def test_session_cookie_is_restricted(browser: Client) -> None:
    given = browser.get("/console/chat").headers["set-cookie"].lower()
    for part in ("httponly", "samesite=strict", "path=/console"):
        assert part in given


def test_form_needs_the_token_of_its_browser(browser: Client) -> None:
    good = read_token(browser.get("/console/chat"))
    assert send_message(browser, good).status_code == 303
    for bad in ("", "0" * 64, good[:-1], good + "0", "é"):
        assert send_message(browser, bad).status_code == 403
    with Client(base_url=browser.base_url, timeout=60) as other:
        other.get("/console/chat")
        assert send_message(other, good).status_code == 403


def test_form_without_cookie_is_refused(browser: Client) -> None:
    first = browser.get("/console/chat")
    browser.cookies.clear()
    assert send_message(browser, read_token(first)).status_code == 403


def test_cross_site_form_is_refused(browser: Client) -> None:
    good = read_token(browser.get("/console/chat"))
    for site in ("cross-site", "same-site"):
        answer = browser.post("/console/chat/send", data={"token": good}, headers={"Sec-Fetch-Site": site})
        assert answer.status_code == 403
    assert browser.post("/console/sign-in", data={}, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_form_token_is_bound_to_the_selected_user(browser: Client) -> None:
    old = read_token(browser.get("/console/chat"))
    moved = browser.post("/console/switch", data={"token": old, "project": "shop", "user": "blake"})
    assert moved.status_code == 303

    page = browser.get("/console/chat")
    assert "<b>blake</b>" in page.text
    assert send_message(browser, old).status_code == 403
    assert send_message(browser, read_token(page)).status_code == 303


def test_foreign_host_is_refused_while_sign_in_is_off(browser: Client) -> None:
    answer = browser.get("/console/chat", headers={"Host": "evil.example"})
    assert answer.status_code == 403
    assert "recollect keys create" in answer.text


@pytest.mark.parametrize(
    "name", ["..%2froutes.py", "%2e%2e%2fvisit.py", "console.css%00", "nothing.js", "../render.py"]
)
def test_only_static_files_are_served(browser: Client, name: str) -> None:
    assert browser.get(f"/console/static/{name}").status_code in (403, 404)


def test_errors_are_shown_as_pages(browser: Client) -> None:
    for path, status in (("nowhere", 404), ("chat?session=none", 404), ("chat/why?session=x&turn=-1", 400)):
        answer = browser.get(f"/console/{path}")
        assert answer.status_code == status
        assert 'role="alert"' in answer.text
        assert "Traceback" not in answer.text


def test_why_page_lists_omitted_results(browser: Client) -> None:
    token = read_token(browser.get("/console/chat"))
    for day in range(8):
        send_message(browser, token, message=f"The heron stood by the pond on day {day}.", session="herons")
    sent = send_message(browser, token, message="Where did the heron stand?", session="herons-why")
    turn = re.search(r"#turn-(\d+)|at=(\d+)", sent.headers["location"])
    assert turn
    answer = browser.get(f"/console/chat/why?session=herons-why&turn={turn[1] or turn[2]}")
    assert answer.status_code == 200
    assert "results omitted" in answer.text
    assert "only 6 turns were asked for" in answer.text
    assert "has the words “heron”" in answer.text
    assert "bm25" not in answer.text
    shown = re.sub(r"<details.*?</details>", "", answer.text, flags=re.DOTALL)
    assert not re.search(r"score|#\d+ by", re.sub("<[^>]*>", "", shown))


def test_switching_to_an_empty_project_says_so(browser: Client) -> None:
    notice = "User blake has no data in project nowhere yet."
    token = read_token(browser.get("/console/chat"))
    moved = browser.post("/console/switch", data={"token": token, "project": "nowhere", "user": "blake"})
    page = browser.get(moved.headers["location"])
    assert notice in page.text
    send_message(browser, read_token(page), message="I live in Porto.")
    moved = browser.post("/console/switch", data={"token": read_token(page), "project": "nowhere", "user": "blake"})
    assert moved.headers["location"] == "/console/chat"


# With sign-in --------------------------------------------------------------------------------------------------------


def test_sign_in_returns_to_the_requested_page(signed_out: Client, keys: Keys) -> None:
    asked = signed_out.get("/console/chat?session=monday")
    assert asked.status_code == 303
    assert asked.headers["location"] == "/console/sign-in?after=chat%3Fsession%3Dmonday"

    assert sign_in(signed_out, "rk_wrong").status_code == 400
    signed = sign_in(signed_out, keys.user, "chat?x=1")
    assert signed.headers["location"] == "/console/chat?x=1"
    assert keys.user not in signed.headers["set-cookie"]
    page = signed_out.get("/console/chat")
    assert "User</span> <b>alex</b>" in page.text


@pytest.mark.parametrize(
    "after", ["//evil.example", "https://evil.example", "../../evil", "/\\evil.example", "\\\\evil"]
)
def test_sign_in_redirects_only_to_the_console(signed_out: Client, keys: Keys, after: str) -> None:
    place = sign_in(signed_out, keys.user, after).headers["location"]
    assert place.startswith("/console/")
    assert "\\" not in place
    assert ".." not in place


def test_sign_out_revokes_only_the_browser_key(signed_out: Client, keys: Keys) -> None:
    sign_in(signed_out, keys.user)
    held = signed_out.cookies[COOKIE]
    signed_out.post("/console/sign-out", data={"token": read_token(signed_out.get("/console/chat"))})
    assert COOKIE not in signed_out.cookies

    assert signed_out.get("/console/chat", headers={"Cookie": f"{COOKIE}={held}"}).status_code == 303
    assert signed_out.get("/v1/memories", headers={"Authorization": f"Bearer {keys.user}"}).status_code == 200


def test_user_key_sees_only_its_own_user(signed_out: Client, keys: Keys) -> None:
    sign_in(signed_out, keys.user)
    signed_out.cookies.set(PLACE, "%5B%22shop%22%2C%20%22blake%22%5D", path="/console")
    page = signed_out.get("/console/chat")
    assert "<b>alex</b>" in page.text
    moved = signed_out.post("/console/switch", data={"token": read_token(page), "project": "shop", "user": "blake"})
    assert moved.status_code == 403


def test_project_admin_can_switch_users_in_project_only(signed_out: Client, keys: Keys) -> None:
    sign_in(signed_out, keys.admin)
    assert signed_out.get("/console/chat").headers["location"] == "/console/switch"  # this key has to choose a user
    page = signed_out.get("/console/switch")
    moved = signed_out.post("/console/switch", data={"token": read_token(page), "project": "bank", "user": "blake"})
    assert moved.status_code == 403
    moved = signed_out.post("/console/switch", data={"token": read_token(page), "project": "shop", "user": "blake"})
    assert moved.status_code == 303
    assert "<b>blake</b>" in signed_out.get("/console/chat").text


@pytest.mark.parametrize("cookie", ["", "[]", '["a"]', "%5B1%2C2%5D", "%00", "[%22\\u0000%22,%22b%22]", "x" * 3000])
def test_broken_cookie_is_ignored(browser: Client, cookie: str) -> None:
    broken = f"{PLACE}={cookie}; {COOKIE}=é".encode()
    assert browser.get("/console/chat", headers={b"Cookie": broken}).status_code == 200


def test_forget_needs_a_session(browser: Client) -> None:
    token = read_token(browser.get("/console/chat"))
    send_message(browser, token, session="monday")
    assert browser.post("/console/chat/forget", data={"token": token, "session": ""}).status_code == 400
    assert browser.get("/console/chat?session=monday").status_code == 200
