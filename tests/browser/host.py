"""A page of somebody else's that embeds the component, under a strict policy of its own."""

from aiohttp import web

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; require-trusted-types-for 'script'"
)
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Somebody's page</title><link rel="stylesheet" href="/host.css">
<body><header><h1>Somebody's page</h1></header><main><p>Text of the page.</p><notify-inbox></notify-inbox></main>
<script type="module" src="/host.js"></script>
"""
STYLE = """
:root { color-scheme: light dark; font-family: system-ui, sans-serif; }
body { margin: 0; background: light-dark(#f6f7f9, #0f1114); color: light-dark(#1b1f24, #e6e8eb); }
h1 { font-size: 15px; margin: 0; padding: 8px 16px; }
main { display: flex; justify-content: space-between; padding: 0 16px; }
html.page main { display: block; height: 560px; padding: 0; }
html.page p { display: none; }
"""
# What a test wants is in the fragment; tokens are asked for one after the other.
SCRIPT = """
import { NotifyInbox } from "/assets/notify-inbox.js";
const wishes = JSON.parse(decodeURIComponent(location.hash.slice(1)));
const { dir = "ltr", lang = "en", mode, tokens, options, strings } = wishes;
const inbox = document.querySelector("notify-inbox");
document.documentElement.dir = dir;
document.documentElement.lang = lang;
inbox.lang = lang;
document.documentElement.className = mode ?? "";
if (mode) inbox.setAttribute("mode", mode);
if (strings) inbox.strings = strings;
inbox.options = { backoff: { base: 200, cap: 400 }, ...options };
window.opens = [];
window.signins = 0;
inbox.addEventListener("notify-open", (event) => window.opens.push(event.detail.item.title));
document.addEventListener("notify-signin", () => window.signins++);
const next = async () => {
  if (tokens[0] === "") throw new Error(`nobody gives tokens now ${tokens.shift()}`);
  return tokens.shift() ?? null;
};
inbox.token = tokens ? next : null;
window.defined = NotifyInbox.name;
"""


async def _page(_request: web.Request) -> web.Response:
    return web.Response(text=PAGE, content_type="text/html", headers={"Content-Security-Policy": POLICY})


async def _style(_request: web.Request) -> web.Response:
    return web.Response(text=STYLE, content_type="text/css")


async def _script(_request: web.Request) -> web.Response:
    return web.Response(text=SCRIPT, content_type="text/javascript")


HOST_ROUTES = (web.get("/host", _page), web.get("/host.css", _style), web.get("/host.js", _script))
