"""Files: reading what people upload. `reader.read_file` starts a process of its own (child.py) that is confined
(confine.py), finds out what the file is (sniff.py) and sends its blocks back over a pipe (frames.py); one module per
format reads it. Nothing outside this folder opens an uploaded file."""
