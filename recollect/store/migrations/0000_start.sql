-- Where migrations are remembered. Idempotent: it runs at the beginning of every migration.

CREATE SCHEMA IF NOT EXISTS recollect;

CREATE TABLE IF NOT EXISTS schema_migration (
    version    int         PRIMARY KEY,
    name       text        NOT NULL,
    digest     text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
