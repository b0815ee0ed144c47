/** One line of the list. */
import { h, safeLink, say, set } from "./notify-dom.js";

/** What is known of the actors, said once: in the title where it begins with the first of them, or below it. */
export function summary(item, words) {
  if (item.count < 2 || !item.actors.length) return [item.title, ""];
  const who = words.names(item.actors, item.others);
  if (item.title.includes(who)) return [item.title, ""];
  const [first] = item.actors;
  return item.title.startsWith(first) ? [who + item.title.slice(first.length), ""] : [item.title, who];
}

function initials(name) {
  const parts = name.match(/[\p{L}\p{N}]+/gu) ?? [];
  const [first = "", last = ""] = [parts[0], parts.length > 1 ? parts.at(-1) : ""];
  return ([...first].slice(0, 1).join("") + [...last].slice(0, 1).join("")).toUpperCase();
}

export class Row {
  /** `act(name, item, event)` with "open", "toggle" or "archive". */
  constructor(item, act) {
    this.link = safeLink(item.link);
    const button = (name) => h("button", { type: "button", part: "item-action", onclick: (e) => act(name, this.item, e) });
    this.mark = h("span", { class: "unseen" });
    this.title = h("span", { class: "title", dir: "auto", part: "item-title" });
    this.who = h("small", { dir: "auto" });
    this.body = h("small", { dir: "auto", part: "item-body" });
    this.main = h(
      this.link ? "a" : "button",
      {
        class: "main",
        part: "item-link",
        onclick: (event) => act("open", this.item, event),
        ...(this.link ? { href: this.link, rel: "noopener" } : { type: "button" }),
      },
      this.mark,
      this.title,
      this.who,
      this.body,
    );
    this.time = h("time", { dir: "auto", part: "item-time" });
    this.toggle = button("toggle");
    this.archive = button("archive");
    this.actions = h("span", { class: "actions" }, this.toggle, this.archive);
    this.face = h("span", { class: "face", part: "face", "aria-hidden": "true" });
    this.element = h("li", { part: "item" }, h("i", { part: "mark" }), this.face, this.main, this.time, this.actions);
    this.element.row = this;
  }

  /** Whether this line can show that item: a link is made once. */
  fits(item) {
    return safeLink(item.link) === this.link;
  }

  show(item, words, now, { current, gone }) {
    this.item = item;
    const unread = item.state === "unread";
    const [title, who] = summary(item, words);
    set(this.element, { class: [unread && "unread", gone && "gone"].filter(Boolean).join(" ") || null, inert: gone });
    say(this.mark, unread ? words.say("isUnread") : "");
    say(this.title, title);
    say(this.who, who);
    say(this.body, item.body);
    say(this.face, initials(item.actors[0] ?? item.title.slice(0, 1)));
    say(this.toggle, words.say(unread ? "markRead" : "markUnread"));
    say(this.archive, words.say("archive"));
    this.actions.hidden = item.state === "archived";
    this.tick(words, now);
    for (const one of [this.main, this.toggle, this.archive]) one.tabIndex = current ? 0 : -1;
  }

  tick(words, now) {
    const at = Date.parse(this.item.accepted_at);
    say(this.time, words.ago(at, now));
    set(this.time, { datetime: this.item.accepted_at, title: words.exact(at) });
  }
}
