"""The semantic model of a data source, and its draft from the catalog."""
