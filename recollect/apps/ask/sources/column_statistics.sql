-- The most common values of each column, values that divide it evenly, and the share of rows without one.
select attname, most_common_vals::text::text[], histogram_bounds::text::text[], null_frac::float8
  from pg_catalog.pg_stats
 where schemaname = coalesce(:schema, current_schema()) and tablename = :name
