-- Who added a data source: somebody with the server's own rights (the command line), or a caller over the network. The
-- address is checked by the rules of that caller each time it is opened. Sources from before count as the network's.

ALTER TABLE data_source ADD COLUMN is_local boolean NOT NULL DEFAULT false;
