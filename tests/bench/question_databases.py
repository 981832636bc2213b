"""Two small databases whose names are not as one would wish: a clinic with prefixes everywhere and dates that are text,
and flights in abbreviations without a single declared key. Made afresh for each run, the same every time."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

CLINIC = """
CREATE TABLE tbl_departments (dep_id INTEGER PRIMARY KEY, dep_name TEXT NOT NULL, dep_floor INTEGER NOT NULL);
CREATE TABLE tbl_doctors (
    doc_id INTEGER PRIMARY KEY, doc_name TEXT NOT NULL, doc_specialty TEXT NOT NULL,
    dep_id INTEGER NOT NULL REFERENCES tbl_departments (dep_id), doc_hired TEXT NOT NULL
);
CREATE TABLE tbl_patients (
    pat_id INTEGER PRIMARY KEY, pat_name TEXT NOT NULL, pat_gender TEXT NOT NULL, pat_birth_date TEXT NOT NULL,
    pat_city TEXT NOT NULL, pat_insurer TEXT
);
CREATE TABLE tbl_visits (
    vis_id INTEGER PRIMARY KEY, pat_id INTEGER NOT NULL REFERENCES tbl_patients (pat_id),
    doc_id INTEGER NOT NULL REFERENCES tbl_doctors (doc_id), vis_date TEXT NOT NULL, vis_type TEXT NOT NULL,
    vis_minutes INTEGER NOT NULL, vis_cost REAL NOT NULL
);
CREATE TABLE tbl_prescriptions (
    pre_id INTEGER PRIMARY KEY, vis_id INTEGER NOT NULL REFERENCES tbl_visits (vis_id), pre_drug TEXT NOT NULL,
    pre_days INTEGER NOT NULL
);
"""
FLIGHTS = """
CREATE TABLE airln (al_cd TEXT PRIMARY KEY, al_nm TEXT NOT NULL, ctry TEXT NOT NULL);
CREATE TABLE arpt (ap_cd TEXT PRIMARY KEY, ap_nm TEXT NOT NULL, city TEXT NOT NULL, ctry TEXT NOT NULL);
CREATE TABLE flt (
    flt_id INTEGER PRIMARY KEY, flt_no TEXT NOT NULL, al_cd TEXT NOT NULL, orig_ap_cd TEXT NOT NULL,
    dest_ap_cd TEXT NOT NULL, dep_dt TEXT NOT NULL, dist_km INTEGER NOT NULL, delay_min INTEGER NOT NULL,
    flt_status TEXT NOT NULL
);
CREATE TABLE bkg (
    bkg_id INTEGER PRIMARY KEY, flt_id INTEGER NOT NULL, pax_id INTEGER NOT NULL, cabin TEXT NOT NULL,
    fare_amt REAL NOT NULL, bkg_dt TEXT NOT NULL
);
CREATE TABLE pax (pax_id INTEGER PRIMARY KEY, pax_nm TEXT NOT NULL, natl TEXT NOT NULL, ff_tier TEXT);
"""
DEPARTMENTS = (("Cardiology", 2), ("Dermatology", 1), ("Neurology", 3), ("Pediatrics", 1), ("Radiology", 0))
DRUGS = ("Amoxicillin", "Cetirizine", "Ibuprofen", "Lisinopril", "Metformin", "Paracetamol")
CITIES = ("Basel", "Bern", "Geneva", "Lausanne", "Zurich")
GIVEN = ("Anna", "Bruno", "Clara", "David", "Elena", "Felix", "Gina", "Hans", "Irene", "Jan", "Karin", "Luca")
FAMILY = ("Ammann", "Baumann", "Christen", "Egli", "Frei", "Gerber", "Huber", "Keller", "Meier", "Suter")
DOCTORS = ("Aebi", "Brunner", "Caduff", "Danz", "Etter", "Fehr", "Graf", "Hess", "Isler", "Jost", "Kunz", "Lanz")
AIRLINES = (
    ("NW", "Nordwind", "Norway"),
    ("AZ", "Azurair", "Italy"),
    ("TG", "Tagus", "Portugal"),
    ("RH", "Rhine Air", "Germany"),
)
AIRPORTS = (
    ("OSL", "Gardermoen", "Oslo", "Norway"),
    ("BGO", "Flesland", "Bergen", "Norway"),
    ("FCO", "Fiumicino", "Rome", "Italy"),
    ("LIN", "Linate", "Milan", "Italy"),
    ("LIS", "Portela", "Lisbon", "Portugal"),
    ("OPO", "Sa Carneiro", "Porto", "Portugal"),
    ("FRA", "Rhein-Main", "Frankfurt", "Germany"),
    ("MUC", "Erding", "Munich", "Germany"),
    ("FAO", "Gago Coutinho", "Faro", "Portugal"),
)
NATIONS = ("Norwegian", "Italian", "Portuguese", "German", "French")
Rows = Sequence[Sequence[object]]


def make_clinic(path: Path) -> None:
    chance = random.Random(7)
    doctors = [doctor(chance, number) for number in range(1, 13)]
    patients = [patient(chance, number) for number in range(1, 121)]
    visits = [visit(chance, number) for number in range(1, 901)]
    prescribed = [
        (n, chance.randrange(1, 901), chance.choice(DRUGS), chance.choice((5, 7, 10, 30))) for n in range(1, 701)
    ]
    made(
        path,
        CLINIC,
        tbl_departments=[(n, *each) for n, each in enumerate(DEPARTMENTS, 1)],
        tbl_doctors=doctors,
        tbl_patients=patients,
        tbl_visits=visits,
        tbl_prescriptions=prescribed,
    )


def doctor(chance: random.Random, number: int) -> tuple[object, ...]:
    specialty = ("Cardiologist", "Dermatologist", "Neurologist", "Pediatrician")[number % 4]
    name = f"{GIVEN[number - 1]} {DOCTORS[number - 1]}"
    return number, name, specialty, number % 4 + 1, some_day(chance, 2008, 2022)


def patient(chance: random.Random, number: int) -> tuple[object, ...]:
    name = f"{GIVEN[number % 12]} {FAMILY[(number // 12) % 10]}"
    insurer = None if number % 11 == 0 else chance.choice(("Alpina", "Helvita", "Sanora"))
    return number, name, chance.choice(("female", "male")), some_day(chance, 1940, 2020), chance.choice(CITIES), insurer


def visit(chance: random.Random, number: int) -> tuple[object, ...]:
    """Doctor 12 sees nobody, and neither is every tenth patient seen."""
    kind = chance.choices(("checkup", "emergency", "follow-up"), (5, 1, 3))[0]
    who = chance.choice([each for each in range(1, 121) if each % 10])
    cost = chance.randrange(60, 400) + (250 if kind == "emergency" else 0) + chance.choice((0.0, 0.5))
    return number, who, chance.randrange(1, 12), some_day(chance, 2023, 2025), kind, 5 * chance.randrange(2, 13), cost


def make_flights(path: Path) -> None:
    chance = random.Random(11)
    passengers = [passenger(chance, number) for number in range(1, 151)]
    flights = [flight(chance, number) for number in range(1, 401)]
    bookings = [booking(chance, number) for number in range(1, 1_501)]
    made(path, FLIGHTS, airln=AIRLINES, arpt=AIRPORTS, flt=flights, bkg=bookings, pax=passengers)


def passenger(chance: random.Random, number: int) -> tuple[object, ...]:
    name = f"{GIVEN[number % 12]} {FAMILY[(number // 12) % 10]} {'AB'[number // 120]}."
    return number, name, chance.choice(NATIONS), chance.choice((None, "blue", "silver", "gold"))


def flight(chance: random.Random, number: int) -> tuple[object, ...]:
    """Nobody flies from or to Faro."""
    airline = chance.choices(AIRLINES, (4, 3, 2, 1))[0][0]
    origin, destination = (each[0] for each in chance.sample(AIRPORTS[:-1], 2))
    status = chance.choices(("landed", "cancelled", "diverted"), (92, 6, 2))[0]
    delay = 0 if status == "cancelled" else max(0, int(chance.gauss(8, 22)))
    day = some_day(chance, 2024, 2025)
    return (
        number,
        f"{airline}{100 + number}",
        airline,
        origin,
        destination,
        day,
        chance.randrange(250, 2_900),
        delay,
        status,
    )


def booking(chance: random.Random, number: int) -> tuple[object, ...]:
    cabin = chance.choices(("economy", "business", "first"), (8, 2, 1))[0]
    fare = chance.randrange(40, 300) * {"economy": 1, "business": 3, "first": 5}[cabin] + 0.99
    who = chance.choice([each for each in range(1, 151) if each % 9])
    return number, chance.randrange(1, 401), who, cabin, fare, some_day(chance, 2023, 2025)


def some_day(chance: random.Random, first: int, last: int) -> str:
    start = date(first, 1, 1)
    return (start + timedelta(days=chance.randrange((date(last, 12, 31) - start).days + 1))).isoformat()


def made(path: Path, tables: str, **rows: Rows) -> None:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(tables)
        for table, given in rows.items():
            connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(given[0]))})", given)
