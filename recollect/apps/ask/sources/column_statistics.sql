-- The most common values of each column, and values that divide it evenly.
select attname, most_common_vals::text::text[], histogram_bounds::text::text[]
  from pg_catalog.pg_stats
 where schemaname = coalesce(:schema, current_schema()) and tablename = :name
