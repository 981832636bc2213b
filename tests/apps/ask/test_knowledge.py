"""Project knowledge over HTTP: nothing told is lost, and what is told is found by its words and shown to the model."""

from __future__ import annotations

import pytest

from tests.apps.ask.asking_door import BY_REGION, SALES, Door, Doors, Script, scripted, yearly
from tests.openai_server import Server

KNOWLEDGE = "/api/projects/default/knowledge"
MEMORY = "/api/projects/default/memory/user"
RULES = [
    "Sales exclude returned goods.",
    "The fiscal year ends on June 30.",
    "Amounts are in euros.",
]


@pytest.fixture
def script() -> Script:
    return Script({BY_REGION: [yearly(2024)], "And for 2023?": [yearly(2023)]})


@pytest.fixture
def talking(doors: Doors, model: Server, script: Script) -> Door:
    return doors(**scripted(model, script))


def known(door: Door, path: str = KNOWLEDGE) -> list[tuple[str, str]]:
    [listed] = [value for value in door.http.get(path).json().values() if isinstance(value, list)]
    return sorted((each.get("category") or each["key"], each["value"]) for each in listed)


def prompt_of(script: Script) -> str:
    return script.asked[-1]


@pytest.mark.parametrize("category", ["business_rule", "location", "revenue"])
@pytest.mark.parametrize("names", [("fact", "category"), ("value", "fact_type")])
def test_three_facts_of_one_category_are_three(door: Door, category: str, names: tuple[str, str]) -> None:
    for rule in RULES:
        door.post(KNOWLEDGE, **{names[0]: rule, names[1]: category})
    assert known(door) == sorted((category, rule) for rule in RULES)


def test_changing_one_fact_leaves_the_others_of_its_category(door: Door) -> None:
    made = [door.post(KNOWLEDGE, fact=rule, category="business_rule") for rule in RULES]
    changed = door.http.put(f"{KNOWLEDGE}/{made[0]['id']}", json={"fact": "Sales include returned goods."})
    assert changed.status_code == 201
    assert [value for _, value in known(door)] == sorted(["Sales include returned goods.", *RULES[1:]])


@pytest.mark.parametrize("key", ["revenue", "fiscal_year"])
def test_a_key_of_another_memory_type_is_not_replaced(door: Door, key: str) -> None:
    values = {
        "definition": "what was invoiced",
        "terminology": "refers to sales table",
        "preference": "rounded to thousands",
        "correction": "SELECT 1",
    }
    for kind, value in values.items():
        door.post(MEMORY, type=kind, key=key, value=value, user_id="john")
    assert [value for _, value in known(door, f"{MEMORY}?user_id=john")] == sorted(values.values())

    door.post(MEMORY, type="definition", key=key, value="what was paid", user_id="john")
    values["definition"] = "what was paid"
    assert [value for _, value in known(door, f"{MEMORY}?user_id=john")] == sorted(values.values())


def test_facts_are_found_by_their_words(door: Door) -> None:
    for rule in RULES:
        door.post(KNOWLEDGE, fact=rule, category="business_rule")
    found = door.post("/v1/recall", 200, user="john", text="when does the fiscal year end?")
    assert found["memories"][0]["memory"]["value"] == "The fiscal year ends on June 30."


def test_facts_with_words_of_the_question_are_in_the_prompt(talking: Door, script: Script) -> None:
    for rule in RULES:
        talking.post(KNOWLEDGE, fact=rule, category="business_rule")
    talking.ask(BY_REGION)
    assert "Sales exclude returned goods." in prompt_of(script)
    assert "June 30" not in prompt_of(script)
    assert "⟦" in prompt_of(script).partition("Sales exclude returned goods.")[0][-200:]


def test_a_follow_up_has_the_facts_of_what_it_follows(talking: Door, script: Script) -> None:
    talking.post(KNOWLEDGE, fact="Sales exclude returned goods.", category="business_rule")
    session = talking.ask(BY_REGION)["conversation_metadata"]["session_id"]
    talking.ask("And for 2023?", session_id=session)
    assert "2023" in prompt_of(script).rpartition("Question:")[2]
    assert "Sales exclude returned goods." in prompt_of(script)


def test_a_fact_about_a_hidden_table_is_not_in_the_prompt(talking: Door, script: Script) -> None:
    for fact in ("Sales exclude returned goods.", "Sales to customers of tier A are in the customers table."):
        talking.post(KNOWLEDGE, fact=fact, category="business_rule")
    keys = talking.closed()
    rules = {"access": {"user": {"tables": ["sales", "regions"]}}}
    assert talking.http.put(f"{SALES}/access", json=rules).status_code == 200
    asked = {"question": BY_REGION, "user_id": "john"}
    assert talking.http.post("/answerQuestion", json=asked, headers=keys["user"]).status_code == 200
    assert "Sales exclude returned goods." in prompt_of(script)
    assert "tier A" not in prompt_of(script)
