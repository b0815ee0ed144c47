/**
 * <notify-inbox>: a bell with the inbox behind it, or the inbox as a page. No framework, no build step.
 *
 *   <script type="module" src="https://notify.example/assets/notify-inbox.js"></script>
 *   <notify-inbox src="https://notify.example"></notify-inbox>
 *   document.querySelector("notify-inbox").token = async () => (await fetch("/my/notify-token")).text();
 *
 * Attributes: `src` (the gateway; this origin), `user` (else the token's `sub`), `mode` ("popover" or "page"), `lang`,
 * `theme` ("light", "dark", "auto"; else the page's color-scheme). Properties: `token`, `strings`, `options` (of the
 * client), `client`. Events, all bubbling: `notify-open` {item} before a link is followed (preventDefault keeps it from
 * that), `notify-counts` {unread, unseen}, `notify-signin` when somebody asks to sign in.
 */
import { NotifyClient } from "./notify-client.js";
import { h } from "./notify-dom.js";
import { List } from "./notify-list.js";
import { Preferences } from "./notify-preferences.js";
import { Undo } from "./notify-undo.js";
import { View } from "./notify-view.js";

const TICK_MS = 20_000;
const STYLE = new URL("notify-inbox.css", import.meta.url).href;
const AT_TOP = 4;
const BEHIND_MS = 300;
const TRIES = 4;
const FAILED_MS = 1_000;

export class NotifyInbox extends HTMLElement {
  static observedAttributes = ["src", "user", "mode", "lang"];
  #list = new List();
  #view;
  #token;
  #strings = {};
  #open = false;
  #failure;
  #loading;
  #undo = new Undo({
    lingers: () => this.#view.toast.matches(":hover, :focus-within"),
    changed: () => this.#draw(),
    failed: (error) => this.#failed(error),
  });
  #queued = false;
  #ticking;

  constructor() {
    super();
    this.options ??= {};
    if (Object.hasOwn(this, "token")) [this.#token] = [this.token, delete this.token]; // set before this was defined
    if (Object.hasOwn(this, "strings")) [this.#strings] = [this.strings, delete this.strings];
    this.#view = new View({
      bell: () => (this.#open ? this.hide() : this.show()),
      readAll: () => this.#readAll(),
      settings: () => this.#settings(),
      filter: (name) => this.#filter(name),
      pill: () => this.#release(),
      next: () => this.#next(),
      retry: () => this.client.retry(),
      undo: () => this.#takeBack(),
      linger: () => this.#undo.linger(),
      act: (name, item, event) => this.#act(name, item, event),
      key: (event) => this.#key(event),
      toggled: (event) => this.#toggled(event),
      settle: () => this.#settle(),
      scrolled: () => this.#scrolled(),
      older: () => this.#list.next && !this.#loading && !this.#failure && this.#load(true),
    });
    const { bell, panel } = this.#view;
    const styled = () => (bell.style.visibility = panel.style.visibility = "");
    bell.style.visibility = panel.style.visibility = "hidden"; // until the style sheet is there
    this.attachShadow({ mode: "open" }).append(
      h("link", { rel: "stylesheet", href: STYLE, onload: styled, onerror: styled }),
      bell,
      panel,
    );
  }

  /** A string, or a function that brings one; null signs out. */
  set token(token) {
    this.#token = token;
    if (this.isConnected) this.#connect();
  }

  get token() {
    return this.#token;
  }

  /** Words to say instead, by their names in notify-words.js; `categories` names those of the preferences. */
  set strings(strings) {
    this.#strings = strings;
    this.#speak();
  }

  get strings() {
    return this.#strings;
  }

  /** What the badge shows: what is being undone or done counts already. */
  get unread() {
    return Math.max(0, this.client.counts.unread - this.#undo.fewer);
  }

  get isPage() {
    return this.getAttribute("mode") === "page";
  }

  show() {
    if (!this.isPage && !this.#open) this.#view.panel.showPopover();
  }

  hide() {
    if (!this.isPage && this.#open) this.#view.panel.hidePopover();
  }

  connectedCallback() {
    this.#connect();
    this.#speak();
    this.#ticking = setInterval(() => {
      this.#view.tick();
      this.#draw();
    }, TICK_MS);
    addEventListener("pagehide", this.#undo.flush);
    addEventListener("resize", this.#stand);
    document.addEventListener("visibilitychange", this.#awake);
  }

  disconnectedCallback() {
    this.#undo.flush();
    this.client.stop();
    clearInterval(this.#ticking);
    removeEventListener("pagehide", this.#undo.flush);
    removeEventListener("resize", this.#stand);
    document.removeEventListener("visibilitychange", this.#awake);
  }

  attributeChangedCallback(name) {
    if (!this.isConnected) return;
    if (name === "lang" || name === "mode") this.#speak();
    else this.#connect();
  }

  #speak() {
    if (!this.isConnected) return;
    const language = this.closest("[lang]")?.lang || navigator.language;
    const regional = navigator.languages.find((one) => one.startsWith(`${language}-`)); // "en" of a reader in Britain
    this.#view.speak(regional ?? language, this.#strings, this.isPage);
    this.#draw();
  }

  #draw() {
    if (!this.#queued) queueMicrotask(() => this.#drawNow());
    this.#queued = true;
  }

  #drawNow() {
    this.#queued = false;
    this.setAttribute("state", this.client.state);
    this.#view.draw({
      client: this.client,
      list: this.#list,
      unread: this.unread,
      open: this.#open,
      failure: this.#failure,
      loading: this.#loading,
      undo: this.#undo.now,
    });
  }

  // Hearing.

  #connect() {
    this.client?.stop();
    this.#list = new List(this.#list.filter);
    this.#failure = undefined;
    const user = this.getAttribute("user") ?? undefined;
    const client = new NotifyClient({
      url: this.getAttribute("src") ?? "",
      user,
      token: user ? this.#token : (this.#token ?? null), // an open gateway needs none
      ...this.options,
    });
    this.client = client;
    const hear = (name, heard) =>
      client.addEventListener(name, ({ detail }) => {
        if (client !== this.client) return;
        heard(detail);
        this.#draw();
      });
    hear("state", () => client.state === "live" && this.#failure && this.#load());
    hear("counts", () => this.#tell("notify-counts", client.counts));
    hear("item", ({ item }) => this.#arrive(item));
    hear("changed", (frame) => this.#changed(frame));
    hear("reset", () => this.#load());
    client.start();
    client.readCounts().catch(() => {}); // the state says so
    this.#load();
  }

  #arrive(item) {
    this.#list.arrive(item, this.#still);
    const n = this.#list.held.length || 1;
    this.#view.status.textContent = this.#view.words.say("arrived", { n, title: item.title });
    if (!this.#list.held.length) this.#seen();
  }

  #changed(frame) {
    if (this.#list.filter === "archived" && frame.state === "archived") this.#load();
    else this.#list.change(frame, this.#visible && this.#view.hovered);
  }

  async #load(more = false, tries = 0) {
    const { client } = this;
    const list = this.#list;
    const load = (this.#loading = Symbol());
    this.#draw();
    try {
      const page = await client.list(list.query(more));
      if (load !== this.#loading) return;
      list.fill(page, more);
      this.#failure = undefined;
      this.#loading = undefined;
      if (!more && page.sequence < client.sequence && tries < TRIES) {
        setTimeout(() => list === this.#list && this.#load(false, tries + 1), BEHIND_MS * tries); // what came is lacking
      }
      this.#seen();
    } catch (error) {
      if (load !== this.#loading) return;
      this.#failure = error;
      this.#loading = undefined;
      const again = () => list === this.#list && this.#failure === error && this.#load(more, tries + 1);
      if (client.state === "live") setTimeout(again, FAILED_MS * 2 ** Math.min(tries, 5));
    }
    this.#draw();
  }

  #seen() {
    const { client } = this;
    if (!this.#visible || !this.#list.items.length || !client.counts.unseen) return;
    client.seenAll(this.#list.shown).catch(() => {}); // it is said again with the next
  }

  get #visible() {
    return (this.isPage || this.#open) && document.visibilityState === "visible" && !this.#view.main.hidden;
  }

  /** Whether nothing may move: somebody has scrolled, or points at a line. */
  get #still() {
    return this.#visible && (this.#view.scroll.scrollTop > AT_TOP || this.#view.hovered);
  }

  #tell(name, detail, cancelable = false) {
    return this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true, cancelable }));
  }

  // Doing.

  #act(name, item, event) {
    this.#list.current = item.item_id;
    if (name === "archive") return void this.#archive(item);
    if (name === "toggle" || item.state === "unread") this.#toggle(item);
    if (name === "open" && !this.#tell("notify-open", { item }, true)) event.preventDefault();
    this.#draw();
  }

  /** At once: doing it again is its undo. */
  #toggle(item) {
    const was = item.state;
    if (was === "archived") return;
    item.state = was === "unread" ? "read" : "unread";
    this.client[item.state](item.item_id, { keepalive: true }).catch((error) => {
      item.state = was;
      this.#failed(error);
    });
  }

  #archive(item) {
    const list = this.#list;
    const at = list.items.indexOf(item);
    if (item.state === "archived" || at < 0) return;
    list.current = (list.items[at + 1] ?? list.items[at - 1])?.item_id;
    list.leave(item.item_id);
    this.#undo.later({
      words: "doneArchive",
      fewer: item.state === "unread" ? 1 : 0,
      give: (options) => this.client.archive(item.item_id, options),
      back: () => {
        list.restore(item, at);
        list.current = item.item_id;
      },
    });
    this.#drawNow();
    this.#view.focus(list.current);
  }

  /** What is on the screen, and older: what is held back, or comes meanwhile, stays unread. */
  #readAll() {
    const upTo = this.#list.shown;
    const read = this.#list.items.filter((item) => item.state === "unread");
    const kept = this.#list.held.filter((item) => item.state === "unread").length;
    for (const item of read) item.state = "read";
    this.#undo.later({
      words: "doneReadAll",
      fewer: Math.max(0, this.client.counts.unread - kept),
      give: (options) => this.client.readAll(upTo, options),
      back: () => {
        for (const item of read) item.state = "unread";
      },
    });
    this.#draw();
  }

  #takeBack() {
    if (!this.#undo.back()) return;
    this.#drawNow();
    this.#view.focus(this.#list.current);
  }

  #failed(error) {
    this.#undo.tell("failed", this.#view.why(error));
  }

  #next() {
    if (this.client.state === "signed-out") this.#tell("notify-signin");
    else this.#load(this.#list.loaded);
  }

  // Moving about.

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
    const { items, current } = this.#list;
    const within = event.target.closest("li");
    const at = items.findIndex((item) => item.item_id === (within?.row.item.item_id ?? current));
    const { key } = event;
    const to = { j: at + 1, ArrowDown: at + 1, k: at - 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[key];
    if (key === "z") this.#takeBack();
    else if (to !== undefined && items.length && (within || key === "j")) {
      this.#list.current = items[within ? Math.max(0, Math.min(items.length - 1, to)) : Math.max(0, at)].item_id;
      this.#drawNow();
      this.#view.focus(this.#list.current);
    } else if (within && key === "r") this.#act("toggle", items[at], event);
    else if (within && (key === "e" || key === "Delete")) this.#act("archive", items[at], event);
    else return;
    event.preventDefault();
  }

  #filter(name) {
    this.#list = new List(name);
    this.#view.scroll.scrollTop = 0;
    this.#undo.flush();
    this.#load();
  }

  #release() {
    this.#list.release();
    this.#view.scroll.scrollTop = 0;
    this.#list.current = this.#list.items[0]?.item_id;
    this.#drawNow();
    this.#view.focus(this.#list.current);
    this.#seen();
  }

  #settle() {
    this.#list.settle();
    this.#draw();
  }

  #scrolled() {
    if (!this.#list.held.length || this.#still) return;
    this.#list.release();
    this.#seen();
    this.#draw();
  }

  #toggled({ newState }) {
    this.#open = newState === "open";
    if (!this.#open) {
      this.#list.release();
      if ([document.body, this].includes(document.activeElement)) this.#view.bell.focus();
    }
    this.#stand();
    this.#seen();
    this.#draw();
  }

  #awake = () => {
    this.client.retry();
    this.#seen();
  };

  #stand = () => {
    if (this.#open && !this.isPage) this.#view.stand();
  };

  #settings() {
    const { main, panel, words, settings } = this.#view;
    const pane = new Preferences(this.client, words, () => {
      pane.element.remove();
      main.hidden = false;
      settings.focus();
    });
    main.hidden = true;
    panel.prepend(pane.element);
    pane.open();
  }
}

if (!customElements.get("notify-inbox")) customElements.define("notify-inbox", NotifyInbox);
