"""Who gets into the console, and what counts as a form of ours. Spoken to without a browser: a browser would refuse
most of what is tried here before we could. One server with an open door and one with keys are enough for all of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2
import pytest

from .loopback import Keys, Served

COOKIE, PLACE = "recollect_console", "recollect_place"
Client = httpx2.Client


@pytest.fixture
def visitor(open_door: Served) -> Iterator[Client]:
    """A browser, as far as cookies go, at an open door."""
    with Client(base_url=open_door.url, timeout=60) as client:
        yield client


@pytest.fixture
def stranger(closed_door: tuple[Served, Keys]) -> Iterator[Client]:
    """The same, where one has to say who he is."""
    with Client(base_url=closed_door[0].url, timeout=60) as client:
        yield client


@pytest.fixture
def keys(closed_door: tuple[Served, Keys]) -> Keys:
    return closed_door[1]


def token_in(answer: httpx2.Response) -> str:
    found = re.search(r'name="token" value="([0-9a-f]{64})"', answer.text)
    assert found, answer.text[:500]
    return found[1]


def said(client: Client, token: str, **more: str) -> httpx2.Response:
    form = {"token": token, "message": "Hello", "session": "", "memory": "on", "history": "on", "reach": "auto"}
    return client.post("/console/chat/say", data=form | more)


def sign_in(client: Client, key: str, after: str = "") -> httpx2.Response:
    return client.post("/console/sign-in", data={"key": key, "after": after})


# At an open door -----------------------------------------------------------------------------------------------------


def test_the_front_leads_to_the_first_room_and_pages_take_no_foreign_script(visitor: Client) -> None:
    answer = visitor.get("/", follow_redirects=True)

    assert answer.url.path == "/console/chat"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert "<script>" not in answer.text
    assert " style=" not in answer.text
    whole = len(answer.content) + sum(len(visitor.get(file).content) for file in files_of(answer))
    assert whole < 100_000


def files_of(answer: httpx2.Response) -> list[str]:
    return re.findall(r'(?:src|href)="(/console/static/[^"]+)"', answer.text)


def test_the_cookie_is_the_browsers_alone(visitor: Client) -> None:
    given = visitor.get("/console/chat").headers["set-cookie"].lower()
    for part in ("httponly", "samesite=strict", "path=/console"):
        assert part in given


def test_a_form_counts_only_with_the_token_that_this_browser_was_shown(visitor: Client) -> None:
    good = token_in(visitor.get("/console/chat"))
    assert said(visitor, good).status_code == 303
    for bad in ("", "0" * 64, good[:-1], good + "0", "é"):
        assert said(visitor, bad).status_code == 403
    with Client(base_url=visitor.base_url, timeout=60) as other:
        other.get("/console/chat")
        assert said(other, good).status_code == 403


def test_without_a_cookie_no_form_counts(visitor: Client) -> None:
    first = visitor.get("/console/chat")
    visitor.cookies.clear()
    assert said(visitor, token_in(first)).status_code == 403


def test_a_form_of_another_site_is_not_taken_even_with_everything_right(visitor: Client) -> None:
    good = token_in(visitor.get("/console/chat"))
    for site in ("cross-site", "same-site"):
        answer = visitor.post("/console/chat/say", data={"token": good}, headers={"Sec-Fetch-Site": site})
        assert answer.status_code == 403
    assert visitor.post("/console/sign-in", data={}, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_a_page_made_for_one_users_memory_writes_to_no_others(visitor: Client) -> None:
    old = token_in(visitor.get("/console/chat"))
    moved = visitor.post("/console/place", data={"token": old, "project": "shop", "user": "blake"})
    assert moved.status_code == 303

    page = visitor.get("/console/chat")
    assert "<b>blake</b>" in page.text
    assert said(visitor, old).status_code == 403
    assert said(visitor, token_in(page)).status_code == 303


def test_another_name_of_this_machine_is_refused_while_nobody_has_to_say_who_he_is(visitor: Client) -> None:
    answer = visitor.get("/console/chat", headers={"Host": "evil.example"})
    assert answer.status_code == 403
    assert "recollect keys create" in answer.text


@pytest.mark.parametrize("name", ["..%2fdoor.py", "%2e%2e%2fentry.py", "console.css%00", "nothing.js", "../render.py"])
def test_only_our_own_files_are_given_out(visitor: Client, name: str) -> None:
    assert visitor.get(f"/console/static/{name}").status_code in (403, 404)


def test_what_is_wrong_is_a_page_that_says_so(visitor: Client) -> None:
    for path, status in (("nowhere", 404), ("chat?session=none", 404), ("chat/why?session=x&turn=-1", 400)):
        answer = visitor.get(f"/console/{path}")
        assert answer.status_code == status
        assert 'role="alert"' in answer.text
        assert "Traceback" not in answer.text


# Behind a key --------------------------------------------------------------------------------------------------------


def test_whoever_has_to_say_who_he_is_comes_back_to_what_he_wanted(stranger: Client, keys: Keys) -> None:
    asked = stranger.get("/console/chat?session=monday")
    assert asked.status_code == 303
    assert asked.headers["location"] == "/console/sign-in?after=chat%3Fsession%3Dmonday"

    assert sign_in(stranger, "rk_wrong").status_code == 400
    signed = sign_in(stranger, keys.user, "chat?x=1")
    assert signed.headers["location"] == "/console/chat?x=1"
    assert keys.user not in signed.headers["set-cookie"]
    page = stranger.get("/console/chat")
    assert "memory of</span> <b>alex</b>" in page.text


@pytest.mark.parametrize(
    "after", ["//evil.example", "https://evil.example", "../../evil", "/\\evil.example", "\\\\evil"]
)
def test_signing_in_leads_nowhere_else(stranger: Client, keys: Keys, after: str) -> None:
    place = sign_in(stranger, keys.user, after).headers["location"]
    assert place.startswith("/console/")
    assert "\\" not in place
    assert ".." not in place


def test_signing_out_ends_the_browsers_key_and_no_other(stranger: Client, keys: Keys) -> None:
    sign_in(stranger, keys.user)
    held = stranger.cookies[COOKIE]
    stranger.post("/console/sign-out", data={"token": token_in(stranger.get("/console/chat"))})
    assert COOKIE not in stranger.cookies

    assert stranger.get("/console/chat", headers={"Cookie": f"{COOKIE}={held}"}).status_code == 303
    assert stranger.get("/v1/memories", headers={"Authorization": f"Bearer {keys.user}"}).status_code == 200


def test_a_user_looks_at_his_own_memory_and_no_others(stranger: Client, keys: Keys) -> None:
    sign_in(stranger, keys.user)
    stranger.cookies.set(PLACE, "%5B%22shop%22%2C%20%22blake%22%5D", path="/console")
    page = stranger.get("/console/chat")
    assert "<b>alex</b>" in page.text
    moved = stranger.post("/console/place", data={"token": token_in(page), "project": "shop", "user": "blake"})
    assert moved.status_code == 403


def test_a_key_of_one_project_looks_into_no_other_and_an_admins_sees_every_user_of_it(
    stranger: Client, keys: Keys
) -> None:
    sign_in(stranger, keys.admin)
    assert stranger.get("/console/chat").headers["location"] == "/console/place"  # whose, is his to say
    page = stranger.get("/console/place")
    moved = stranger.post("/console/place", data={"token": token_in(page), "project": "bank", "user": "blake"})
    assert moved.status_code == 403
    moved = stranger.post("/console/place", data={"token": token_in(page), "project": "shop", "user": "blake"})
    assert moved.status_code == 303
    assert "<b>blake</b>" in stranger.get("/console/chat").text


@pytest.mark.parametrize("cookie", ["", "[]", '["a"]', "%5B1%2C2%5D", "%00", "[%22\\u0000%22,%22b%22]", "x" * 3000])
def test_a_broken_cookie_is_none(visitor: Client, cookie: str) -> None:
    broken = f"{PLACE}={cookie}; {COOKIE}=é".encode()
    assert visitor.get("/console/chat", headers={b"Cookie": broken}).status_code == 200


def test_forgetting_a_session_without_naming_one_forgets_nobody(visitor: Client) -> None:
    token = token_in(visitor.get("/console/chat"))
    said(visitor, token, session="monday")
    assert visitor.post("/console/chat/forget", data={"token": token, "session": ""}).status_code == 400
    assert visitor.get("/console/chat?session=monday").status_code == 200
