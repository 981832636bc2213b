"""A small college, its model drafted from what the database itself says: a department has courses and learners, so that
an enrolment leads to it in two ways; pay has a beginning and an end; one kind of absence is called "annual". `asked`
reads, renders and runs a question, `read` only reads it."""

from __future__ import annotations

from datetime import date

from drafted import Drafted

TODAY = date(2024, 12, 31)
DATA = """
CREATE TABLE departments (department_id INTEGER PRIMARY KEY, department_name TEXT NOT NULL);
CREATE TABLE terms (term_id INTEGER PRIMARY KEY, term_name TEXT NOT NULL, season TEXT NOT NULL);
CREATE TABLE courses (
    course_id INTEGER PRIMARY KEY, title TEXT NOT NULL,
    department_id INTEGER NOT NULL REFERENCES departments (department_id)
);
CREATE TABLE learners (
    learner_id INTEGER PRIMARY KEY, learner_name TEXT NOT NULL,
    department_id INTEGER NOT NULL REFERENCES departments (department_id)
);
CREATE TABLE sections (
    section_id INTEGER PRIMARY KEY, course_id INTEGER NOT NULL REFERENCES courses (course_id),
    term_id INTEGER NOT NULL REFERENCES terms (term_id)
);
CREATE TABLE enrolments (
    enrolment_id INTEGER PRIMARY KEY, section_id INTEGER NOT NULL REFERENCES sections (section_id),
    learner_id INTEGER NOT NULL REFERENCES learners (learner_id), points REAL
);
CREATE TABLE salaries (
    salary_id INTEGER PRIMARY KEY, tutor_id INTEGER NOT NULL REFERENCES tutors (tutor_id), amount REAL NOT NULL,
    from_date TEXT NOT NULL, to_date TEXT
);
CREATE TABLE tutors (tutor_id INTEGER PRIMARY KEY, tutor_name TEXT NOT NULL, left_on TEXT);
CREATE TABLE absences (
    absence_id INTEGER PRIMARY KEY, tutor_id INTEGER NOT NULL REFERENCES tutors (tutor_id), kind TEXT NOT NULL,
    days INTEGER NOT NULL, start_date TEXT NOT NULL
);
INSERT INTO departments VALUES (1, 'Biology'), (2, 'History');
INSERT INTO terms VALUES (1, 'Spring 2024', 'Spring'), (2, 'Fall 2024', 'Fall'), (3, 'Spring 2023', 'Spring');
INSERT INTO courses VALUES (1, 'Cells', 1), (2, 'Rome', 2), (3, 'Plants', 1);
INSERT INTO learners VALUES (1, 'Ann', 2), (2, 'Bo', 2), (3, 'Cy', 1);
INSERT INTO sections VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3);
INSERT INTO enrolments VALUES (1, 1, 1, 4), (2, 1, 2, 2), (3, 2, 3, 1), (4, 3, 3, 3);
INSERT INTO tutors VALUES (1, 'Eva', NULL), (2, 'Fay', '2024-06-01');
INSERT INTO salaries VALUES (1, 1, 100, '2022-01-01', '2023-01-01'), (2, 1, 200, '2023-01-01', NULL),
    (3, 2, 900, '2022-01-01', '2024-06-01');
INSERT INTO absences VALUES (1, 1, 'sick', 3, '2024-02-01'), (2, 1, 'annual', 10, '2024-08-01'),
    (3, 2, 'annual', 5, '2023-08-01');
"""


COLLEGE = Drafted(DATA, TODAY)
college, read, asked = COLLEGE.both, COLLEGE.read, COLLEGE.asked
