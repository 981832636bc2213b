"""What SQL and a question to a database mean: pure, no await, no I/O. The gate that every statement passes, what a
correction teaches, the catalog and the semantic model of a data source, frames (a question read) and the SQL of a
frame. The host that asks real databases is recollect/hosts/sql."""
