/** What is on the screen: made once, then drawn over from what the element knows. */
import { h, icon, place, say, set } from "./notify-dom.js";
import { Row } from "./notify-row.js";
import { group, Words } from "./notify-words.js";

const BELL = "M6 9a6 6 0 0 1 12 0c0 6 2 7 2 7H4s2-1 2-7M10 20a2 2 0 0 0 4 0";
const FILTERS = ["all", "unread", "archived"];
const GROUPS = ["today", "week", "earlier"];
const MOST = 99;
const capital = (word) => word[0].toUpperCase() + word.slice(1);

export class View {
  #rows = new Map();

  /** `does` has a function for everything that somebody may do here. */
  constructor(does) {
    this.does = does;
    const press = (name, more = {}) => (this[name] = h("button", { type: "button", onclick: does[name], ...more }));
    this.badge = h("b", { part: "badge", "aria-hidden": "true" });
    press("bell", { class: "bell", part: "bell", "aria-haspopup": "dialog" }).append(icon(BELL), this.badge);
    this.filters = h("div", { class: "filters", role: "group" });
    for (const name of FILTERS) {
      this.filters.append(h("button", { type: "button", value: name, onclick: () => does.filter(name) }));
    }
    this.title = h("h2", { part: "title", id: "title" });
    this.state = h("span", { dir: "auto", part: "state" });
    this.hint = h("span", { dir: "auto" });
    this.main = h("div", { class: "view" });
    this.main.append(
      h("div", { class: "bar" }, this.title, press("readAll"), press("settings")),
      this.filters,
      this.#scroller(press),
      h("div", { class: "foot" }, h("span", {}, this.state, press("retry")), this.hint),
    );
    this.status = h("div", { class: "unseen", role: "status" });
    this.panel = h(
      "section",
      { class: "panel", part: "panel", "aria-labelledby": "title", onkeydown: does.key, ontoggle: does.toggled },
      this.main,
      this.#toast(press),
      this.status,
    );
  }

  #scroller(press) {
    this.note = h("div", { class: "note", part: "note" }, h("strong"), h("p"), press("next", { class: "wide" }));
    this.lists = h("div", { onpointerleave: this.does.settle });
    for (const name of GROUPS) this.lists.append((this[name] = h("section", {}, h("h3"), h("ul", { role: "list" }))));
    this.bones = h("div", { class: "bones", "aria-hidden": "true" }, ...Array.from({ length: 5 }, () => h("i")));
    this.more = h("div", { class: "more" });
    const pill = press("pill", { class: "pill", part: "pill" });
    const parts = [pill, this.note, this.lists, this.bones, this.more];
    this.scroll = h("div", { class: "scroll", part: "list", onscroll: this.does.scrolled }, ...parts);
    new IntersectionObserver(([seen]) => seen.isIntersecting && this.does.older(), {
      root: this.scroll,
      rootMargin: "200px",
    }).observe(this.more);
    return this.scroll;
  }

  #toast(press) {
    const on = {};
    for (const name of ["pointerenter", "pointerleave", "focusin", "focusout"]) on[`on${name}`] = this.does.linger;
    this.undoWords = h("span", { dir: "auto" });
    return (this.toast = h("div", { class: "toast", part: "toast", role: "status", ...on }, this.undoWords, press("undo")));
  }

  speak(language, strings, isPage) {
    const words = (this.words = new Words(language, strings));
    for (const name of ["title", "readAll", "settings", "undo", "retry"]) say(this[name], words.say(name));
    for (const one of this.filters.children) say(one, words.say(one.value));
    for (const name of GROUPS) say(this[name].firstChild, words.say(name));
    set(this.filters, { "aria-label": words.say("filters") });
    set(this.panel, isPage ? { popover: null, role: null } : { popover: "auto", role: "dialog" });
    set(this.panel, { "aria-description": words.say("keys") });
    this.bell.hidden = isPage;
  }

  /** `told` is what the element knows: client, list, unread, open, failure, loading, undo. */
  draw(told) {
    const out = told.client.state === "signed-out";
    this.#drawHead(told, out);
    this.#drawList(told.list, out, told.loading);
    this.#drawNote(told, out);
    this.#drawFoot(told, out);
  }

  #drawHead({ list, unread: n, open }, out) {
    const { words } = this;
    const count = words.number.format(Math.min(n, MOST));
    say(this.badge, n > MOST ? `${count}+` : count);
    this.badge.hidden = !n || out;
    set(this.bell, { "aria-label": n && !out ? words.say("bell", { n }) : words.say("bellNone"), "aria-expanded": String(open) });
    for (const one of this.filters.children) {
      one.ariaPressed = String(one.value === list.filter);
      if (one.value === "unread") say(one, words.say("unread") + (n ? ` ${words.number.format(n)}` : ""));
    }
    this.readAll.disabled = !n || !list.items.some((item) => item.state === "unread");
    this.readAll.hidden = this.settings.hidden = this.filters.hidden = out;
  }

  #drawList(list, out, loading) {
    const now = Date.now();
    const groups = [[], [], []];
    let last = 0;
    if (!list.find(list.current)) list.current = list.items[0]?.item_id;
    for (const item of out ? [] : list.items) {
      last = Math.max(last, group(Date.parse(item.accepted_at), now));
      groups[last].push(this.#row(item, list, now).element);
    }
    for (const id of this.#rows.keys()) if (!list.find(id)) this.#rows.delete(id);
    GROUPS.forEach((name, at) => {
      place(this[name].lastChild, groups[at]);
      this[name].hidden = !groups[at].length;
    });
    this.pill.hidden = !list.held.length || out;
    say(this.pill, this.words.say("fresh", { n: list.held.length }));
    this.bones.hidden = list.loaded || !loading || out;
    this.scroll.ariaBusy = String(!this.bones.hidden);
  }

  #row(item, list, now) {
    const id = item.item_id;
    let row = this.#rows.get(id);
    if (!row?.fits(item)) this.#rows.set(id, (row = new Row(item, this.does.act)));
    row.show(item, this.words, now, { current: id === list.current, gone: list.gone.has(id) });
    return row;
  }

  /** What there is to say where no list is, or what went wrong, and what to do next. */
  #drawNote({ list, failure }, out) {
    const [title, text] = this.note.children;
    const show = (name, next, why) => {
      this.note.hidden = false;
      say(title, this.words.say(name));
      say(text, this.words.say(`${name}More`, { why }));
      this.next.hidden = !next;
      say(this.next, next ? this.words.say(next) : "");
    };
    if (out) show("signedOut", "signIn");
    else if (failure) show("failedList", "retry", capital(this.why(failure)));
    else if (list.loaded && !list.items.length && !list.next) show(`empty${capital(list.filter)}`);
    else this.note.hidden = true;
  }

  #drawFoot({ client, list, undo }, out) {
    const { words } = this;
    const away = client.state === "offline";
    const polls = client.state === "live" && client.transport === "poll";
    const name = polls ? "polling" : away && !list.loaded ? "offlineNever" : client.state;
    const key = name.replace(/-(.)/, (_, letter) => letter.toUpperCase());
    say(this.state, words.say(key, { time: words.clock(client.at), n: client.timing.every / 1_000 }));
    set(this.state, { class: `state ${client.state}` });
    this.retry.hidden = !away;
    say(this.hint, !list.items.length || away || out ? "" : words.say(list.next ? "older" : "end"));
    this.toast.hidden = !undo;
    this.undo.hidden = Boolean(undo?.lost);
    say(this.undoWords, undo ? words.say(undo.words, undo) : "");
  }

  why(error) {
    return error.status ? error.message : this.words.say("noAnswer");
  }

  tick() {
    for (const row of this.#rows.values()) row.tick(this.words, Date.now());
  }

  focus(id) {
    (this.#rows.get(id)?.main ?? this.filters.querySelector("[aria-pressed=true]")).focus();
  }

  get hovered() {
    return this.lists.matches(":hover");
  }

  /** Beside the bell, inside the window. */
  stand() {
    const { panel, bell } = this;
    const at = bell.getBoundingClientRect();
    const most = document.documentElement.clientWidth - panel.offsetWidth - 8;
    const left = getComputedStyle(panel).direction === "rtl" ? at.left : at.right - panel.offsetWidth;
    panel.style.left = `${Math.max(8, Math.min(most, left))}px`;
    panel.style.top = `${at.bottom + 8}px`;
    panel.style.maxHeight = `${Math.max(240, innerHeight - at.bottom - 16)}px`;
  }
}
