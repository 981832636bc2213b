"""The web console: pages for people, served under /console.

Pages are rendered on the server. The scripts in static/ only add convenience; every page works without them. A page
calls the engine and the applications under the same permissions as the HTTP API.

    routes.py      all routes, sign-in, error pages; the application mounts it
    handlers.py    what happens around each handler: identification, the form, arguments, the template, errors
    visit.py       one request: cookies, form tokens, who is signed in, whose data is shown, what they may do
    render.py      templates, response headers, links
    chat.py, ...   one page each: its handlers, and the values its templates need (ask_view.py has those of ask.py)
"""
