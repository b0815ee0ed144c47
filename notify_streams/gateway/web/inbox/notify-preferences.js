/** The pane where people say what reaches them, and when. Every change is made at once, and says when it is in force. */
import { h, say } from "./notify-dom.js";

const CHANNELS = ["inapp", "push", "email", "sms", "webhook"];
const NIGHT = { start: "22:00", end: "08:00", channels: ["push", "sms"] };
const AGAIN_MS = 2_000;
const titled = (name) => name[0].toUpperCase() + name.slice(1).replace(/[_-]/g, " ");

export class Preferences {
  constructor(client, words, close) {
    Object.assign(this, { client, words });
    const button = h("button", { type: "button", onclick: close }, words.say("back"));
    this.said = h("span", { role: "status" });
    this.body = h("div", { class: "scroll", part: "preferences" });
    this.element = h(
      "div",
      { class: "view", onkeydown: (event) => event.key === "Escape" && (event.preventDefault(), close()) },
      h("div", { class: "bar" }, h("h2", { tabindex: -1 }, words.say("reach")), button),
      this.body,
      h("div", { class: "foot" }, this.said),
    );
  }

  async open() {
    this.element.querySelector("h2").focus();
    await this.#try(async () => {
      this.#draw(await this.client.preferences());
      this.#tell(this.words.say("atOnce"));
    });
  }

  async #try(action) {
    try {
      await action();
    } catch (error) {
      const why = error.errors?.[0]?.detail ?? error.message;
      this.#tell(error.status ? why : this.words.say("noAnswer"), "wrong");
      if (error.status === 412) {
        this.#draw(await this.client.preferences());
        this.#tell(this.words.say("elsewhere"));
      } else if (this.now) this.#draw(this.now);
    }
  }

  #tell(text, kind = "") {
    say(this.said, text);
    this.said.className = kind;
  }

  #change(patch) {
    this.#tell(this.words.say("saving"));
    return this.#try(async () => {
      const { version } = this.now;
      const changed = (await this.client.changePreferences(patch, version)) ?? (await this.#settled(version));
      this.#draw(changed);
      if (changed.version > version) this.#tell(this.words.say("inForce", { time: this.words.clock(Date.now(), true) }), "good");
    });
  }

  /** What holds once an unanswered change is made; what holds now when that takes long. */
  async #settled(version) {
    this.#tell(this.words.say("soon"));
    let found;
    for (let tries = 0; tries < 5 && !(found?.version > version); tries++) {
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      found = await this.client.preferences();
    }
    return found;
  }

  #draw(now) {
    this.now = now;
    const focused = this.element.getRootNode().activeElement?.dataset.key;
    this.body.replaceChildren(this.#cells(), ...this.#quiet(), ...this.#digests());
    if (focused) this.body.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  #cells() {
    const { now, words } = this;
    const used = CHANNELS.filter((channel) => Object.values(now.categories).some((cells) => channel in cells));
    const grid = h("div", { class: "cells" });
    grid.style.setProperty("--columns", used.length);
    const names = [words.say("category"), ...used.map((channel) => words.say(channel))];
    grid.append(h("div", { class: "line" }, ...names.map((name) => h("span", {}, name))));
    this.#line(grid, words.say("everything"), used, (channel) => ({
      on: now.channels[channel],
      patch: (on) => ({ channels: { [channel]: on } }),
    }));
    for (const [category, cells] of Object.entries(now.categories)) {
      const must = now.mandatory.includes(category);
      const cell = (channel) =>
        channel in cells && {
          on: must || (cells[channel] && now.channels[channel]),
          why: must ? words.say("mandatory") : now.channels[channel] ? null : words.say("channelOff"),
          patch: (on) => ({ categories: { [category]: { [channel]: on } } }),
        };
      this.#line(grid, this.#name(category), used, cell, must && words.say("mandatory"));
    }
    return grid;
  }

  #line(grid, name, channels, cell, note) {
    const line = h("div", { class: "line" }, h("span", {}, name, note ? h("small", {}, note) : null));
    grid.append(line);
    for (const channel of channels) {
      const { on, why, patch } = cell(channel) || {};
      const box = patch
        ? h("input", {
            type: "checkbox",
            role: "switch",
            class: "switch",
            "aria-label": [`${name}: ${this.words.say(channel)}`, why].filter(Boolean).join(", "),
            title: why,
            "data-key": `${name}/${channel}`,
            disabled: Boolean(why),
            onchange: ({ target }) => this.#change(patch(target.checked)),
          })
        : "";
      if (box) box.checked = on;
      line.append(h("span", {}, box));
    }
  }

  #name(category) {
    const { [category]: titles = {} } = this.now.titles ?? {};
    return this.words.strings.categories?.[category] ?? titles[this.words.spoken] ?? titles.en ?? titled(category);
  }

  #quiet() {
    const { now, words } = this;
    const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const change = (windows) => this.#change({ quiet_hours: windows });
    const button = (name, onclick, values) => h("button", { type: "button", "data-key": name, onclick }, words.say(name, values));
    const rows = now.quiet_hours.map((quiet, at) => {
      const replace = (more) => change(now.quiet_hours.map((one, i) => (i === at ? { ...one, ...more } : one)));
      const time = (key, name) =>
        this.#time(quiet[key], `${words.say("quiet")}, ${words.say(name)}`, `quiet${at}${key}`, (value) => replace({ [key]: value }));
      const days = (quiet.days ?? []).map((day) => this.#day(day));
      const which = [...days, ...(quiet.channels ?? []).map((channel) => words.say(channel))].join(", ");
      const drop = button("remove", () => change(now.quiet_hours.filter((_, i) => i !== at)));
      return h("div", { class: "row" }, h("span", {}, time("start", "from"), " – ", time("end", "to"), h("small", {}, which)), drop);
    });
    const zone = h("small", {}, now.zone ? words.say("zone", { zone: now.zone }) : words.say("zoneNone"));
    if (now.zone !== here) zone.append(" ", button("zoneUse", () => this.#change({ zone: here }), { zone: here }));
    const about = h("span", {}, words.say("quiet"), h("small", {}, words.say("quietMore")), zone);
    return [h("div", { class: "row" }, about, button("add", () => change([...now.quiet_hours, NIGHT]))), ...rows];
  }

  #day(day) {
    const monday = Date.UTC(2024, 0, 1);
    const at = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].indexOf(day);
    return new Intl.DateTimeFormat(this.words.language, { weekday: "short", timeZone: "UTC" }).format(monday + at * 86_400_000);
  }

  #time(value, label, key, changed) {
    const box = h("input", { type: "time", required: true, "aria-label": label, "data-key": key, value: value.replace("24:", "00:") });
    box.addEventListener("change", () => box.value && changed(box.value));
    return box;
  }

  #digests() {
    const { now, words } = this;
    const chosen = now.digest.email ?? {};
    const rows = (now.digestible?.email ?? []).map((category) => {
      const label = words.say("digest", { category: this.#name(category) });
      const select = h(
        "select",
        { "aria-label": label, "data-key": label, onchange: ({ target }) => this.#change({ digest: { email: { [category]: target.value } } }) },
        ...["instant", "hourly", "daily"].map((name) => h("option", { value: name }, words.say(name))),
      );
      select.value = chosen[category] ?? "instant";
      return h("div", { class: "row" }, h("span", {}, label), select);
    });
    if (!Object.values(chosen).includes("daily")) return rows;
    const at = this.#time(now.digest_at ?? "08:00", words.say("digestAt"), "digest_at", (value) => this.#change({ digest_at: value }));
    return [...rows, h("div", { class: "row" }, h("span", {}, words.say("digestAt")), at)];
  }
}
