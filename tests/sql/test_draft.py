"""A semantic model drafted from a catalog: entities, dimensions, measures, moments and joins of unknown databases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from recollect.sql.catalog import Catalog, Column, ColumnType, ForeignKey, Table
from recollect.sql.draft import draft
from recollect.sql.naming import plural, singular, table_words, words_of
from recollect.sql.semantic import Definition, Join, Measure, Moment, SemanticModel

TYPES: dict[str, ColumnType] = {"i": "integer", "n": "number", "t": "text", "d": "date", "b": "boolean"}


def column(given: str) -> Column:
    """`name:type`, and what its numbers lie between: `discount:n:0..0.25`."""
    name, kind, *ends = given.split(":")
    low, _, high = (ends[0] if ends else "").partition("..")
    return Column(name, TYPES[kind], low=low or None, high=high or None)


def table(name: str, columns: str, *, key: str = "", **refers: str) -> Table:
    """The first column is the key unless others are; `customer_id="customers.id"` is a foreign key."""
    made = tuple(column(each) for each in columns.split())
    keys = tuple(ForeignKey((own,), *there(to)) for own, to in refers.items())
    return Table(name, made, tuple(key.split()) or (made[0].name,), keys)


def there(place: str) -> tuple[str, tuple[str, ...]]:
    name, _, own = place.rpartition(".")
    return name, (own,)


def model(*tables: Table, dialect: str = "sqlite") -> SemanticModel:
    return draft(Catalog(dialect, tables))


def join(found: SemanticModel, table: str, column: str) -> Join | None:
    return next((each for each in found.joins if (each.table, each.columns) == (table, (column,))), None)


def measure(found: SemanticModel, name: str) -> Measure:
    return next(each for each in found.measures if each.names[0] == name)


def definition(found: SemanticModel, name: str) -> Definition:
    return next(each for each in found.definitions if name in each.names)


def main_moment(found: SemanticModel, table: str) -> Moment | None:
    return next((each for each in found.moments if each.table == table and each.is_main), None)


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("CustomerID", "customer id"),
        ("unit_price", "unit price"),
        ("HTTPServerName", "http server name"),
        ("cust_ord_qty", "customer order quantity"),
        ("orderdate", "order date"),
        ("Order Details", "order details"),
        ("客户名称", "客户名称"),
        ("region", "region"),
    ],
)
def test_an_identifier_is_read_as_words(identifier: str, words: str) -> None:
    assert " ".join(words_of(identifier)) == words


@pytest.mark.parametrize(
    ("name", "about"),
    [("tbl_customers", "customers"), ("sales.DimProduct", "product"), ("客户信息表", "客户"), ("dim", "dim")],
)
def test_a_tables_marks_say_nothing_of_what_it_is_about(name: str, about: str) -> None:
    assert " ".join(table_words(name)) == about


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("category", "categories"),
        ("box", "boxes"),
        ("person", "people"),
        ("status", "statuses"),
        ("address", "addresses"),
        ("day", "days"),
        ("house", "houses"),
        ("series", "series"),
        ("bus", "buses"),
        ("movie", "movies"),
    ],
)
def test_singular_and_plural_belong_together(one: str, many: str) -> None:
    assert (singular(many), plural(one), singular(one), plural(many)) == (one, many, one, many)


def test_a_table_is_called_what_its_rows_are() -> None:
    found = model(table("tblPeople", "id:i first_name:t last_name:t"), table("companies", "id:i name:t"))
    people, companies = found.entities
    assert (people.names[:2], people.key, people.label) == (("person", "people"), ("id",), ("first_name", "last_name"))
    assert (companies.names[:2], companies.label) == (("company", "companies"), ("name",))


def test_a_prefix_that_says_nothing_is_left_out_of_names() -> None:
    shared = model(table("acme_orders", "id:i"), table("acme_customers", "id:i"), table("acme_stores", "id:i"))
    assert [each.names[0] for each in shared.entities] == ["order", "customer", "store"]
    module = model(table("hr_employees", "id:i"), table("hr_jobs", "id:i"), table("orders", "id:i"))
    assert [each.names[0] for each in module.entities] == ["employee", "job", "order"]


@pytest.mark.parametrize(
    ("columns", "label"),
    [
        ("id:i name:t title:t", ("name",)),
        ("id:i product_name:t", ("product_name",)),
        ("id:i CompanyName:t City:t", ("CompanyName",)),
        ("id:i ship_name:t city:t", ()),
        ("id:i description:t", ("description",)),
        ("id:i password:t", ()),
    ],
)
def test_a_row_is_named_by_its_best_column(columns: str, label: tuple[str, ...]) -> None:
    [entity] = model(table("products", columns)).entities
    assert entity.label == label


def test_a_link_table_joins_and_is_no_entity() -> None:
    found = model(
        table("actors", "id:i name:t"),
        table("films", "id:i title:t"),
        table("film_actors", "actor_id:i film_id:i updated_at:d", key="actor_id film_id"),
        table("copies", "id:i film_id:i actor_id:i"),
        table("loans", "id:i copy_id:i"),
    )
    assert [each.table for each in found.entities] == ["actors", "films", "copies", "loans"]
    assert {each.to for each in found.joins if each.table == "film_actors"} == {"actors", "films"}


def test_a_foreign_key_is_no_dimension_and_codes_years_and_flags_are() -> None:
    columns = "id:i customer_id:i status:t zip_code:i release_year:i is_active:i:0..1 amount:n rating:i secret_token:t"
    found = model(table("orders", columns, customer_id="customers.id"), table("customers", "id:i"))
    assert [each.column for each in found.dimensions] == ["status", "zip_code", "release_year", "is_active", "rating"]
    assert [each.expression for each in found.measures] == ["amount", "rating"]


@pytest.mark.parametrize(
    ("name", "aggregate"),
    [
        *[
            (each, "avg")
            for each in ("unit_price", "tax_rate", "score", "age", "Milliseconds", "discount_pct", "height")
        ],
        *[(each, "sum") for each in ("amount", "total_price", "qty", "discount_amount", "goals", "population")],
    ],
)
def test_a_number_is_added_up_or_averaged_by_its_name(name: str, aggregate: str) -> None:
    [found] = model(table("things", f"id:i {name}:n")).measures
    assert found.aggregate == aggregate


@pytest.mark.parametrize(
    ("columns", "expression"),
    [
        ("UnitPrice:n Quantity:i", "UnitPrice * Quantity"),
        ("UnitPrice:n Quantity:i Discount:n:0..0.25", "UnitPrice * Quantity * (1 - COALESCE(Discount, 0))"),
        ("price:n qty:i discount_percent:i", "price * qty * (1 - COALESCE(discount_percent, 0) / 100.0)"),
        ("price:n qty:i discount_amount:n", "price * qty - COALESCE(discount_amount, 0)"),
        ("price:n qty:i discount:n", "price * qty"),
    ],
)
def test_price_and_quantity_make_sales(columns: str, expression: str) -> None:
    items = table("order_items", f"order_id:i product_id:i {columns}", key="order_id product_id")
    sales = measure(model(table("orders", "id:i"), items), "sales")
    assert (sales.expression, sales.aggregate, "revenue" in sales.names) == (expression, "sum", True)


def test_an_orders_total_and_its_lines_are_two_measures_called_revenue() -> None:
    found = model(
        table("orders", "id:i total:n"),
        table("order_lines", "id:i order_id:i price:n quantity:i", order_id="orders.id"),
    )
    called = [(each.table, each.expression) for each in found.measures if "revenue" in each.names]
    assert called == [("orders", "total"), ("order_lines", "price * quantity")]


def test_a_line_that_has_its_total_needs_no_product() -> None:
    found = model(table("order_lines", "id:i price:n quantity:i line_total:n"))
    assert [each.expression for each in found.measures] == ["price", "quantity", "line_total"]


def test_a_price_of_what_is_not_sold_is_not_revenue() -> None:
    found = model(table("products", "id:i name:t unit_price:n units_in_stock:i"))
    assert measure(found, "stock value").expression == "unit_price * units_in_stock"
    assert not [each for each in found.measures if "revenue" in each.names]
    refunds = model(table("orders", "id:i"), table("refunds", "id:i order_id:i amount:n", order_id="orders.id"))
    assert "revenue" not in measure(refunds, "amount").names


@pytest.mark.parametrize(
    ("columns", "main"),
    [
        ("birth_date:d hire_date:d updated_at:d", "hire_date"),
        ("shipped_date:d order_date:d required_date:d", "order_date"),
        ("due_date:d created_at:d", "created_at"),
        ("end_date:d start_date:d", "start_date"),
        ("birth_date:d updated_at:d", None),
    ],
)
def test_the_main_moment_is_when_it_happened(columns: str, main: str | None) -> None:
    found = main_moment(model(table("things", f"id:i {columns}")), "things")
    assert (found and found.column) == main


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (("2024-01-31", "1999-12-01"), "date"),
        (("2024-01-31 10:00:00", "2024-02-01"), "datetime"),
        (("2024-01-31", "x"), None),
    ],
)
def test_a_text_of_iso_dates_is_a_moment(values: tuple[str, ...], kind: str | None) -> None:
    events = table("events", "id:i held:t")
    events = replace(events, columns=(events.columns[0], replace(events.columns[1], values=values)))
    found = model(events)
    assert [each.type for each in found.moments] == ([kind] if kind else [])
    assert [each.column for each in found.dimensions] == ([] if kind else ["held"])


def test_joins_are_found_where_none_are_declared() -> None:
    found = model(
        table("customers", "id:i:1..9 name:t"),
        table("employees", "emp_no:i:1..5 mgr_id:i:1..2 dept_no:i:1..3"),
        table("departments", "dept_no:i:1..3 name:t"),
        table("orders", "id:i billing_customer_id:i:1..9 customer_id:i:1..9 store_id:i other_customer_id:i:1..99"),
    )
    made = [(each.table, each.columns[0], each.to, each.names[:1]) for each in found.joins]
    assert made == [
        ("employees", "mgr_id", "employees", ("manager",)),
        ("employees", "dept_no", "departments", ()),
        ("orders", "billing_customer_id", "customers", ("billing customer",)),
        ("orders", "customer_id", "customers", ()),
    ]


@pytest.mark.parametrize(
    ("name", "role"),
    [("ReportsTo", "manager"), ("SupportRepId", "support rep"), ("parent_id", "parent"), ("EmployeeId", None)],
)
def test_a_role_is_read_from_the_column(name: str, role: str | None) -> None:
    found = join(model(table("employees", f"id:i {name}:i", **{name: "employees.id"})), "employees", name)
    assert found is not None
    assert (role in found.names) if role else found.names == ()


def test_a_synonym_never_takes_a_word_of_the_source_itself() -> None:
    found = model(table("customers", "id:i"), table("clients", "id:i"), table("films", "id:i movie:t"))
    names = {each.table: each.names for each in found.entities}
    assert "client" not in names["customers"]
    assert "movie" not in names["films"]


def test_names_are_quoted_where_the_dialect_would_misread_them() -> None:
    lines = table("order_lines", "id:i UnitPrice:n quantity:i order:n")
    expressions = {
        dialect: [each.expression for each in model(lines, dialect=dialect).measures]
        for dialect in ("sqlite", "postgres", "mysql")
    }
    assert expressions["sqlite"] == ["UnitPrice", "quantity", '"order"', "UnitPrice * quantity"]
    assert expressions["postgres"] == ['"UnitPrice"', "quantity", '"order"', '"UnitPrice" * quantity']
    assert expressions["mysql"] == ["UnitPrice", "quantity", "`order`", "UnitPrice * quantity"]


def test_codes_that_a_comment_explains_are_words() -> None:
    orders = table("orders", "id:i state:i active:i:0..1")
    commented = replace(orders.columns[1], comment="状态：0-正常，1-停用")
    found = model(replace(orders, columns=(orders.columns[0], commented, orders.columns[2])))
    assert definition(found, "停用").condition == "state = 1"
    assert definition(found, "inactive").condition == "active = 0"


def test_chinese_names_and_comments_are_understood() -> None:
    found = model(
        table("客户表", "客户编号:i 客户名称:t 城市:t 注册日期:d"),
        table("订单表", "订单编号:i 客户编号:i 订单金额:n", 客户编号="客户表.客户编号"),
    )
    customers, _ = found.entities
    assert (customers.names, customers.label) == (("客户",), ("客户名称",))
    assert "客户城市" in next(each for each in found.dimensions if each.column == "城市").names
    assert "销售额" in found.measures[0].names
    found = model(replace(table("t_kh", "id:i xm:t"), comment="客户表"))
    assert "客户" in found.entities[0].names


def test_a_view_stands_behind_the_tables() -> None:
    view = replace(table("v_orders", "id:i total:n city:t"), is_view=True, primary_key=())
    found = model(view, table("orders", "id:i total:n"))
    assert [(each.table, each.names[0]) for each in found.entities] == [("orders", "order"), ("v_orders", "order view")]
    assert [each.names for each in found.measures if each.table == "v_orders"] == [("order view total",)]


def test_a_key_that_nobody_declared_is_found_by_its_name_and_its_numbers() -> None:
    guest = Table("Guest", (column("GuestId:i:1..40"), column("Name:t")), rows=40)
    booking = Table("Booking", (column("BookingId:i:1..90"), column("GuestId:i:2..38")), rows=90)
    seen = Table("Seen", (column("GuestId:i:2..38"), column("Day:t")), rows=90)
    found = model(guest, booking, seen)
    assert [each.key for each in found.entities] == [("GuestId",), ("BookingId",), ()]
    assert join(found, "Booking", "GuestId") is not None


def test_a_birth_date_that_is_not_shown_is_a_date_where_all_others_are_iso_texts() -> None:
    hidden = replace(column("birth_date:t"), is_sensitive=True)
    iso, other = (replace(column("hire_date:t"), values=(value,)) for value in ("2020-01-31", "31.1.2020"))
    found = [model(Table("staff", (column("id:i"), hidden, hired), ("id",))).moments for hired in (iso, other)]
    assert ["birth_date" in [each.column for each in moments] for moments in found] == [True, False]


def test_one_wide_table_has_the_things_that_its_ids_name() -> None:
    wide = Table(
        "sales", tuple(map(column, ("row_id:i:1..9", "order_id:t", "customer_id:t", "customer_name:t"))), rows=9
    )
    names = {each.column: each.names for each in model(wide).dimensions}
    assert "orders" in names["order_id"]
    assert "customer" in names["customer_id"]
    assert "customer" in names["customer_name"]
    assert "rows" not in names.get("row_id", ())


def test_an_abbreviation_in_a_column_of_numbers_is_read_as_one() -> None:
    found = model(table("trips", "id:i dist_km:n delay_min:i price_min:n"))
    assert "distance" in measure(found, "distance km").names
    assert [each.names[0] for each in found.measures] == ["distance km", "delay minutes", "price minimum"]


def test_stock_and_gender_say_what_everybody_means_by_them() -> None:
    gender = replace(column("gender:t"), values=("F", "M"), is_complete=True)
    found = model(Table("people", (column("id:i"), gender), ("id",)), table("products", "id:i stock_qty:i"))
    assert definition(found, "female").condition == "gender = 'F'"
    assert definition(found, "out of stock").condition == "stock_qty <= 0"


def test_a_column_that_ends_as_anothers_key_names_its_row_and_what_it_is_to_it() -> None:
    found = model(table("arpt", "ap_cd:t"), table("flt", "flt_id:i orig_ap_cd:t dest_ap_cd:t"))
    origin = join(found, "flt", "orig_ap_cd")
    assert origin is not None
    assert (origin.to, "origin" in origin.names) == ("arpt", True)


@pytest.mark.parametrize(
    ("columns", "name", "condition"),
    [
        ("id:i insured:i:0..1", "insured", "insured = 1"),  # nothing but 0 and 1: yes or no, whatever it is called
        ("id:i insured:i:0..1", "uninsured", "insured = 0"),
        ("id:i electric_flg:i:0..1", "electric", "electric_flg = 1"),
        ("id:i has_lift:i:0..1", "have a lift", "has_lift = 1"),
        ("id:i has_lift:i:0..1", "without a lift", "has_lift = 0"),
        ("id:i opened_on:d settled_on:d", "unsettled", "settled_on IS NULL"),
        ("id:i hired_on:d left_on:d", "former", "NOT left_on IS NULL"),
        ("id:i sent_on:d due_on:d returned_on:d", "returned late", "returned_on > due_on"),
    ],
)
def test_a_word_that_a_column_decides_is_defined_by_it(columns: str, name: str, condition: str) -> None:
    assert definition(model(table("things", columns)), name).condition == condition


def test_what_may_well_be_counted_is_no_yes_or_no() -> None:
    found = model(table("bookings", "id:i children:i:0..1 quantity:i:0..1"))
    assert [each.expression for each in found.measures] == ["children", "quantity"]


def test_letters_of_the_tables_name_before_its_columns_are_left_out() -> None:
    [found] = model(table("depot", "dep_cd:t dep_nm:t city:t")).entities
    assert found.label == ("dep_nm",)


@pytest.mark.parametrize(
    ("name", "columns", "main"),
    [
        ("appointments", "id:i booked_at:d starts_at:d", "starts_at"),
        ("bookings", "id:i starts_at:d booked_at:d", "booked_at"),
        ("invoices", "id:i paid_on:d issued_on:d", "issued_on"),
    ],
)
def test_a_period_means_when_it_took_place(name: str, columns: str, main: str) -> None:
    found = main_moment(model(table(name, columns)), name)
    assert found is not None
    assert found.column == main


def test_what_is_sold_one_by_one_brings_in_its_price_and_a_claim_brings_in_nothing() -> None:
    found = model(
        table("customers", "id:i name:t"),
        table("parcels", "id:i customer_id:i price:n accepted_on:d", customer_id="customers.id"),
        table("claims", "id:i parcel_id:i amount:n filed_on:d", parcel_id="parcels.id"),
    )
    assert [each.table for each in found.measures if "revenue" in each.names] == ["parcels"]


@pytest.mark.parametrize(
    ("dialect", "days"),
    [
        ("sqlite", "JULIANDAY(settled_on) - JULIANDAY(filed_on)"),
        ("mysql", "TIMESTAMPDIFF(SECOND, filed_on, settled_on) / 86400.0"),
        ("postgres", "EXTRACT(EPOCH FROM (CAST(settled_on AS TIMESTAMP) - CAST(filed_on AS TIMESTAMP))) / 86400.0"),
    ],
)
def test_two_dates_of_a_row_say_how_long_it_took(dialect: str, days: str) -> None:
    found = model(table("claims", "id:i filed_on:d settled_on:d"), dialect=dialect)
    [taken] = [each for each in found.measures if "days to settle" in each.names]
    assert (taken.expression, taken.aggregate) == (days, "avg")


def test_a_trial_that_ends_is_not_the_end_of_the_subscription() -> None:
    found = model(table("subscriptions", "id:i started_on:d trial_ends_on:d"))
    assert not [each for each in found.moments if "ended" in each.names]
