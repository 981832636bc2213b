"""Addresses that a network caller must not be able to use, by the rule that refuses them. `{file}` is a SQLite file
outside the allowed folders, `{folder}` an allowed folder, `{port}` a port on loopback where somebody listens. What is
refused for one kind of file or server is refused for the others."""

from __future__ import annotations

from inspect import signature

from psycopg import pq
from pymysql.connections import Connection

PG = "postgresql://reader:pw@db.example.com/shop"
# Keywords that an address may name; with the values that are refused all the same.
RESTRICTED = {
    "sslmode": "off",
    "sslrootcert": "/etc/passwd",
    "sslnegotiation": "none",
    "ssl_min_protocol_version": "TLSv1",
    "channel_binding": "maybe",
    "target_session_attrs": "none",
    "connect_timeout": "3600",
    "tcp_user_timeout": "-1",
    "keepalives": "2",
    "keepalives_idle": "many",
    "keepalives_interval": "1,1",
    "keepalives_count": "9999999999",
    "host": "127.0.0.1",
    "port": "5432,1",
}


def every_keyword() -> list[str]:
    """One address for each keyword that this libpq knows, whatever it does, and two that psycopg itself takes."""
    keywords = [option.keyword.decode() for option in pq.Conninfo.get_defaults()]
    values = {"sslkeylogfile": "{written}", "options": "-cfoo=bar", "hostaddr": "127.0.0.1"}
    more = ["autocommit", "context", "plugin"]
    return [
        f"{PG}?{keyword}={RESTRICTED.get(keyword, values.get(keyword, '/etc/passwd'))}" for keyword in keywords + more
    ]


def every_mysql_keyword() -> list[str]:
    """One address for each keyword that PyMySQL takes, whatever it does, and some of other drivers."""
    keywords = [name for name in signature(Connection.__init__).parameters if name != "self"]
    values = {"connect_timeout": "3600", "sslmode": "off", "sslrootcert": "/etc/passwd"}
    more = ["sslmode", "sslrootcert", "option_files", "allow_local_infile", "ssl_mode"]
    return [f"mysql://reader:pw@db.example.com/shop?{key}={values.get(key, '/etc/passwd')}" for key in keywords + more]


FILES = [
    "sqlite:///{file}",
    "sqlite:///{folder}/../other/private.db",
    "sqlite:///{folder}/./../other/private.db",
    "sqlite:///{folder}/%2e%2e/other/private.db",
    "sqlite:///{folder}/..%2Fother%2Fprivate.db",
    "sqlite:///{folder}",
    "sqlite:///{folder}-more/private.db",
    "sqlite:////{file}",
    "sqlite:////proc/self/environ",
    "sqlite:////dev/stdin",
    "sqlite:////etc/passwd",
    "sqlite:///private.db",
    "sqlite:///../other/private.db",
    "sqlite:///~/private.db",
    "sqlite:///~root/private.db",
    "sqlite://",
    "sqlite:///:memory:",
    "sqlite:///file::memory:?cache=shared",
    "sqlite:///file:{file}",
    "sqlite:///file:{file}?mode=rwc",
    "sqlite:///{folder}/mine.db?mode=rwc",
    "sqlite:///{folder}/mine.db?vfs=unix-none",
    "sqlite:///{folder}/mine.db?immutable=1",
    "sqlite:///{folder}/mine.db?uri=true",
    "sqlite:///{folder}/mine.db%3Fmode=rwc",
    "sqlite:///{folder}/mine.db%00{file}",
    "sqlite://host/{folder}/mine.db",
    "sqlite://user@/{folder}/mine.db",
    "sqlite3:///{file}",
    "sqlite+pysqlite:///{file}",
    "sqlite+aiosqlite:///{folder}/mine.db",
    "sqlite+pysqlcipher:///{folder}/mine.db",
]

DRIVERS = [
    "duckdb:///{file}",
    "mysql+pymysql://u:p@db.example.com/d?read_default_file=/etc/passwd",
    "mysql+pymysql://u:p@127.0.0.1/d?unix_socket=/tmp/mysql.sock",
    "mssql+pyodbc:///?odbc_connect=Driver%3Dx",
    "oracle+oracledb://u:p@db.example.com/d",
    "postgresql+psycopg2://u:p@127.0.0.1/d",
    "postgresql+asyncpg://u:p@127.0.0.1/d",
    "postgresql+pg8000://u:p@127.0.0.1/d?unix_sock=/tmp/s",
    "postgresql+psycopg_async://u:p@127.0.0.1/d",
    "POSTGRESQL://u:p@127.0.0.1/d",
    "host=127.0.0.1 user=u dbname=d",
    "not a dsn",
]

HOSTS = [
    # Sockets, and what the environment would fill in.
    "postgresql://u:p@/shop",
    "postgresql:///shop?user=u",
    "postgresql://u:p@/shop?host=/var/run/postgresql",
    "postgresql://u:p@%2Fvar%2Frun%2Fpostgresql/shop",
    "postgresql://u:p@/shop?host=%2Ftmp",
    "postgresql://u:p@/shop?host=@abstract",
    "postgresql://db.example.com/shop",
    # The host in the query, twice, or several of them.
    "postgresql://u:p@db.example.com/shop?host=127.0.0.1",
    "postgresql://u:p@/shop?host=127.0.0.1&port={port}",
    "postgresql://u:p@/shop?host=db.example.com&host=127.0.0.1",
    "postgresql://u:p@db.example.com,127.0.0.1:{port}/shop",
    "postgresql://u:p@/shop?host=db.example.com,127.0.0.1",
    "postgresql://u:p@/shop?host=db.example.com:5432&host=127.0.0.1:{port}",
    "postgresql://u:p@db.example.com:5432/shop?port={port}",
    "postgresql://u:p@db.example.com:0/shop",
    "postgresql://u:p@db.example.com:99999/shop",
    "postgresql://u:p@db.example.com/host=127.0.0.1 port={port}",
    "postgresql://u:p@db.example.com/postgresql:%2F%2F127.0.0.1:{port}",
    # Loopback and private addresses, in all their spellings.
    "postgresql://u:p@127.0.0.1:{port}/shop",
    "postgresql://u:p@127.8.9.10:{port}/shop",
    "postgresql://u:p@127.1:{port}/shop",
    "postgresql://u:p@2130706433:{port}/shop",
    "postgresql://u:p@0x7f000001:{port}/shop",
    "postgresql://u:p@0x7f.0.0.1:{port}/shop",
    "postgresql://u:p@0177.0.0.1:{port}/shop",
    "postgresql://u:p@017700000001:{port}/shop",
    "postgresql://u:p@127.0.0.1.:{port}/shop",
    "postgresql://u:p@0:{port}/shop",
    "postgresql://u:p@0.0.0.0:{port}/shop",
    "postgresql://u:p@[::1]:{port}/shop",
    "postgresql://u:p@[::]:{port}/shop",
    "postgresql://u:p@[0:0:0:0:0:0:0:1]:{port}/shop",
    "postgresql://u:p@[::1%25lo]:{port}/shop",
    "postgresql://u:p@[::ffff:127.0.0.1]:{port}/shop",
    "postgresql://u:p@[::ffff:7f00:1]:{port}/shop",
    "postgresql://u:p@[::127.0.0.1]:{port}/shop",
    "postgresql://u:p@[64:ff9b::7f00:1]:{port}/shop",
    "postgresql://u:p@[64:ff9b::127.0.0.1]:{port}/shop",
    "postgresql://u:p@[2002:7f00:1::]:{port}/shop",
    "postgresql://u:p@[fe80::1]/shop",
    "postgresql://u:p@[fe80::1%25eth0]/shop",
    "postgresql://u:p@[fd00:ec2::254]/shop",
    "postgresql://u:p@[fec0::1]/shop",
    "postgresql://u:p@[ff02::1]/shop",
    "postgresql://u:p@10.0.0.5/shop",
    "postgresql://u:p@172.16.0.1/shop",
    "postgresql://u:p@192.168.1.1/shop",
    "postgresql://u:p@100.64.0.1/shop",
    "postgresql://u:p@169.254.169.254/shop",
    "postgresql://u:p@224.0.0.1/shop",
    "postgresql://u:p@255.255.255.255/shop",
    "postgresql://u:p@203.0.113.9/shop",
    "postgres://u:p@127.0.0.1:{port}/shop",
    "postgresql+psycopg://u:p@127.0.0.1:{port}/shop",
    # Percent-encoding, other digits and dots, and signs that parsers read differently.
    "postgresql://u:p@%31%32%37.0.0.1:{port}/shop",
    "postgresql://u:p@127%2E0%2E0%2E1:{port}/shop",
    "postgresql://u:p@①②⑦.⓪.⓪.①:{port}/shop",
    "postgresql://u:p@127。0。0。1:{port}/shop",
    "postgresql://u:p@db.example.com#@127.0.0.1:{port}/shop",
    "postgresql://u:p@db.example.com\\\\@127.0.0.1:{port}/shop",
    "postgresql://u:p@ 127.0.0.1:{port}/shop",
    "postgresql://u:p@db.example.com\n127.0.0.1:{port}/shop",
    "postgresql://u:p\n@db.example.com/shop",
]

# A folder is no SQLite file, but it may hold CSV files; the others have no drivers of other names.
PLAIN_FILES = [each for each in FILES if each.startswith("sqlite://") and each != "sqlite:///{folder}"]
OTHER_FILES = [each.replace("sqlite:", f"{kind}:") for kind in ("duckdb", "csv", "parquet") for each in PLAIN_FILES]
PATTERNS = [
    f"{kind}:///{{folder}}/{name}"
    for kind in ("duckdb", "csv", "parquet")
    for name in ("*.csv", "[ab].csv", "{{a,b}}.csv", "x.csv%3Fa", "https://example.com/x.csv")
]
# PostgreSQL's database may be a connection string; to MySQL it is a name.
MYSQL_HOSTS = [
    each.replace(each.partition("://")[0], "mysql", 1)
    for each in HOSTS
    if "/host=" not in each and "/postgresql:" not in each
]
MYSQL = [
    *MYSQL_HOSTS,
    *every_mysql_keyword(),
    "mysql://u:p@db.example.com/",
    "mysql://db.example.com/shop",
    "mysql:///shop",
    "mariadb://u:p@127.0.0.1:{port}/shop",
    "mysql+mysqldb://u:p@127.0.0.1/shop",
    "mysql+asyncmy://u:p@127.0.0.1/shop",
    "mysql://u:p@/shop?host=/run/mysqld/mysqld.sock",
    "mysql://u:p@/shop?unix_socket=/run/mysqld/mysqld.sock",
]

REFUSED = [*FILES, *OTHER_FILES, *PATTERNS, *DRIVERS, *HOSTS, *every_keyword(), *MYSQL]
