"""The console: pages for people, under /console. Rendered here, with small scripts that only add comfort: every room
works without them.

    door.py       puts the rooms together; the application mounts it
    entry.py      who comes in: the cookie, signing in and out, forms that are really ours
    visit.py      one request: who looks, at whose memory, and what he may do
    render.py     templates, headers, links
    chat.py ...   a room each: what it shows, what can be done there

A room asks the engine and the hosts for what HTTP asks them too, under the same permissions. It decides nothing.
"""
