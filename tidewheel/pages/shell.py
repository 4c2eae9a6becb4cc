"""The frame of all pages: the head, and the style, light or dark as the reader's system is.

A page runs no script, loads nothing and sends its forms to its own server, which its Content-Security-Policy holds
whatever its texts say.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode

from tidewheel.pages.markup import Markup, element, text, together

STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --dim: #5b6875; --paper: #fff; --edge: #dbe1e7; --heat: #0b6e99;
  --good: #1a7f37; --late: #9a5b00; --bad: #c0232c; --badpaper: #fdeced; --latepaper: #fff6e3; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf0; --dim: #9aa7b4; --paper: #14191f; --edge: #313b46;
  --heat: #4db6e2; --good: #57c271; --late: #e6b04d; --bad: #ff7b80; --badpaper: #3a1b1e; --latepaper: #352a14; } }
body { font: 14px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 1.2rem 1.6rem; }
h1 { font-size: 1.45rem; margin: 0 0 .2rem } h2 { font-size: 1.05rem; margin: 1.5rem 0 .4rem } a { color: var(--heat) }
h3 { font-size: .95rem; margin: .8rem 0 .2rem } p { margin: .25rem 0 }
.dim { color: var(--dim) } .wide { overflow-x: auto }
table { border-collapse: collapse } th { text-align: left; color: var(--dim); font-weight: 500 }
th, td { padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--edge); vertical-align: top }
td:not(:last-child) { white-space: nowrap } .archives td.why { white-space: normal; min-width: 22rem }
.late .lag { color: var(--late); font-weight: 650 } .cause { font-weight: 650 } .counts .word { margin-right: 1rem }
code { font: 12.5px/1.4 ui-monospace, monospace; overflow-wrap: anywhere }
.word { font-weight: 650 } .healthy .word, .word.healthy { color: var(--good) }
:is(.late, .waiting, .catching) .word, .word:is(.late, .waiting, .catching) { color: var(--late) }
:is(.damaged, .unreadable, .overdue) .word, .word:is(.damaged, .unreadable, .overdue) { color: var(--bad) }
:is(tr, div):is(.damaged, .unreadable, .overdue) { background: var(--badpaper) }
tr.late, div.late { background: var(--latepaper) }
div.health { padding: .5rem .8rem; margin: .6rem 0; border-left: 4px solid var(--edge) }
button { font: inherit; font-weight: 600; color: var(--paper); background: var(--heat); border: 0; cursor: pointer;
  border-radius: 5px; padding: .3rem .8rem; margin: .35rem 0 }
svg text { fill: var(--ink); font: 11px system-ui, sans-serif } svg text.dim { fill: var(--dim) }
svg .heat { fill: var(--heat) } svg .square { fill: none; stroke: var(--edge) } svg .axis { stroke: var(--edge) }
svg { max-width: 100% } svg polyline { fill: none; stroke-width: 1.8 }
svg circle { fill: currentColor } svg circle.lacking { fill: var(--paper) }
.c0 { stroke: #0b84a5; color: #0b84a5 } .c1 { stroke: #e07b39; color: #e07b39 } .c2 { stroke: #6a9f3c; color: #6a9f3c }
.c3 { stroke: #b254a5; color: #b254a5 } .c4 { stroke: #c9a227; color: #c9a227 } .c5 { stroke: #6373c4; color: #6373c4 }
.c6 { stroke: #d1495b; color: #d1495b } .c7 { stroke: #2a9d8f; color: #2a9d8f } .c8 { stroke: #8d6e63; color: #8d6e63 }
.c9 { stroke: #7a8793; color: #7a8793 } .legend span { margin-right: 1rem; font-size: 12px }
"""
COLOURS = 10  # c0 to c9

_HASH = b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    # With none at all a form of this page would not say where it comes from.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def page(title: str, *contents: Markup) -> str:
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Markup(STYLE)),
    )
    return f"<!doctype html>{element('html', head, element('body', together(contents)), lang='en')}"


def button(label: str, action: str) -> Markup:
    """A form of nothing but its button."""
    return element("form", element("button", label, type="submit"), method="post", action=action)


def paragraphs(said: str) -> Markup:
    """A text of several lines, as messages of several faults are."""
    return together(element("p", line.strip()) for line in said.splitlines())


def commands(said: str) -> Markup:
    """A remedy: a command in it stands by itself."""
    told, colon, command = said.partition(": ")
    if colon and command.startswith(("airflow ", "tidewheel ")):
        return together([text(told + colon), element("code", command)])
    return text(said)
