"""``schedlab site serve``: the site of a store, live."""

from __future__ import annotations

from typing import Annotated

import typer

from schedlab.cli.echo import echo
from schedlab.cli.options import Store, store_path


def serve(
    store: Store = None,
    host: Annotated[
        str,
        typer.Option(metavar="HOST", help="Name or address to listen at; addresses other than loopback need a token."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0 for any free port.")] = 8731,
    pages: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="As for publish: only the N newest runs have a page.")
    ] = None,
) -> None:
    """Serve the site that 'schedlab site publish' makes, up to date with the store. The site is read-only.

    By default only this machine can reach the site, but every user of this machine can read it, also a store that only
    its owner may read: set $SCHEDLAB_TOKEN where that matters. With --host each browser needs a token, which is
    printed, or which $SCHEDLAB_TOKEN contains. The connection is not encrypted: use an ssh tunnel or a proxy across
    networks.
    """
    import os
    import secrets
    import shutil
    from hashlib import sha256
    from urllib.parse import quote

    from schedlab.cli import serve_run
    from schedlab.cli.publish_run import STATE, publish
    from schedlab.files import cache
    from schedlab.store.file import open_store

    named = store_path(store)
    folder = cache.folder() / "sites" / sha256(os.fsencode(named.url or os.path.abspath(named.file))).hexdigest()[:16]

    if not (folder / STATE).exists():
        # An earlier version of schedlab was killed before it had written the state.
        shutil.rmtree(folder, ignore_errors=True)

    def update() -> None:
        # Each update may run in another thread, and a connection to SQLite belongs to its thread.
        engine = open_store(named, create=False)
        try:
            publish(engine, folder, pages=pages)
        finally:
            engine.dispose()

    site = serve_run.Site(folder, update)
    given = os.environ.get("SCHEDLAB_TOKEN", "")
    token = given or ("" if serve_run.is_loopback(host) else secrets.token_urlsafe(24))
    with serve_run.server(site, host, port, token) as server:
        echo("reading the store", err=True)
        site.refresh()
        shown = f"[{host}]" if ":" in host else host
        query = f"?token={quote(token)}" if token and not given else ""
        echo(f"http://{shown}:{server.server_port}/{query}")
        server.serve_forever()
