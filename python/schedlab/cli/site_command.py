"""``schedlab site``: the site of a store, as files or live."""

from __future__ import annotations

from schedlab.cli.commands import Commands
from schedlab.cli.site_publish_command import publish
from schedlab.cli.site_serve_command import serve

app = Commands(help="A site of a store's runs, with histories and feeds: written to a folder, or served live.")
app.command("publish")(publish)
app.command("serve")(serve)
