-- Where in a chunk its further pages begin, in characters from its start, so that a citation names the page of the very
-- sentence. Documents read before have none: their citations name the pages of the chunk.
ALTER TABLE chunk ADD COLUMN breaks int[] NOT NULL DEFAULT '{}';
