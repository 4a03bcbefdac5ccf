"""Changes for the worse as feeds: JSON Feed 1.1 (jsonfeed.org) and Atom (RFC 4287)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urljoin
from uuid import NAMESPACE_URL, uuid5
from xml.etree import ElementTree as Xml

from schedlab.findings.history import Series
from schedlab.notation.terminal import escaped
from schedlab.report.answers.history import size, when
from schedlab.results.words import Word

TITLE = "schedlab: changes for the worse"

MOST = 100
"""Entries of a feed, the newest first."""

ATOM = "http://www.w3.org/2005/Atom"


@dataclass(frozen=True)
class Entry:
    """A change for the worse.

    Attributes:
        identity: URN, which stays the same while the entry is of the same change.
        what: the row, or the columns that were compared.
        figure: size of the change in words.
        text: the change in sentences.
        link: relative to the site.
        shown: seconds since 1970, when the run began that first showed the change.
    """

    identity: str
    what: str
    figure: str
    text: str
    link: str
    shown: float

    @property
    def title(self) -> str:
        """The change in a few words."""
        return f"{self.what} {self.figure}"

    @property
    def time(self) -> str:
        """The time in the form of RFC 3339."""
        return datetime.fromtimestamp(self.shown, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def newest(found: Iterable[Entry]) -> list[Entry]:
    """Return the newest entries, the newest first."""
    return sorted(found, key=lambda entry: (-entry.shown, entry.identity))[:MOST]


def compared(name: str, baseline: str, figure: str, rows: str, link: str, started: float) -> Entry:
    """Return the entry of a column that is worse than its baseline in a comparison."""
    identity = str(uuid5(NAMESPACE_URL, f"schedlab:{link}:{name}"))
    text = f"{name} is {figure}{rows}, against {baseline}."
    return Entry(f"urn:uuid:{identity}", f"{name} against {baseline}:", f"{figure}{rows}", text, link, started)


def entries(all_series: Iterable[Series]) -> Iterator[Entry]:
    """Yield the changes for the worse in histories."""
    for series in all_series:
        key = series.key
        for change in series.changes:
            if series.word(change) is not Word.WORSE:
                continue
            first, before = series.points[change.index], series.points[change.index - 1]
            shown = series.points[series.shown[change.index]]
            kernels = f" (kernel {before.kernel} → {first.kernel})" if before.kernel != first.kernel else ""
            text = (
                f"{key.metric} of {key.row} under {key.variant} went from {change.before:.4g} to {change.after:.4g} "
                f"{key.unit} between runs {before.run} and {first.run}{kernels}, on {key.machine}. "
                f"Run {first.run} of {when(first)} is the first after the change; the change was first "
                f"shown by run {shown.run} of {when(shown)}."
            )
            identity = str(uuid5(NAMESPACE_URL, f"schedlab:{key.identity}:{first.run}"))
            what = f"{key.row} {key.variant}: {key.metric}"
            link = f"history.html#{key.identity}"
            figure = f"{size(change)} since run {first.run}"
            yield Entry(f"urn:uuid:{identity}", what, figure, text, link, shown.started)


def json_feed(listed: Sequence[Entry], address: str) -> str:
    """Return the JSON Feed. ``address`` of the site; empty: the links are relative to the feed."""
    items = [
        {
            "id": entry.identity,
            "url": urljoin(address, entry.link),
            "title": entry.title,
            "content_text": entry.text,
            "date_published": entry.time,
        }
        for entry in listed
    ]
    feed = {"version": "https://jsonfeed.org/version/1.1", "title": TITLE, "items": items}
    if address:
        feed |= {"home_page_url": address, "feed_url": urljoin(address, "feed.json")}
    return json.dumps(feed, indent=1, ensure_ascii=False) + "\n"


def atom(listed: Sequence[Entry], address: str) -> str:
    """Return the Atom feed; ``address`` as for :func:`json_feed`."""
    Xml.register_namespace("", ATOM)
    feed = Xml.Element(f"{{{ATOM}}}feed")

    def add(parent: Xml.Element, name: str, text: str = "", **attributes: str) -> Xml.Element:
        element = Xml.SubElement(parent, f"{{{ATOM}}}{name}", attributes)
        # XML has no notation for control characters.
        element.text = escaped(text) or None
        return element

    add(feed, "title", TITLE)
    add(feed, "id", f"urn:uuid:{uuid5(NAMESPACE_URL, address or TITLE)}")
    add(feed, "updated", listed[0].time if listed else "1970-01-01T00:00:00Z")
    add(add(feed, "author"), "name", "schedlab")
    add(feed, "link", rel="self", href=urljoin(address, "feed.xml"))
    for entry in listed:
        item = add(feed, "entry")
        add(item, "id", entry.identity)
        add(item, "title", entry.title)
        add(item, "published", entry.time)
        add(item, "updated", entry.time)
        add(item, "link", rel="alternate", href=urljoin(address, entry.link))
        add(item, "content", entry.text, type="text")
    Xml.indent(feed, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(feed, encoding="unicode") + "\n"
