-- Which server and which of its databases this is; a standby has the same.
select (select system_identifier from pg_catalog.pg_control_system()),
       (select oid::bigint from pg_catalog.pg_database where datname = current_database())
