/**
 * The inbox of one user over HTTP, and what happens to it, live. No dependencies.
 *
 *   const client = new NotifyClient({ url: "https://notify.example", token: async () => (await fetch("/token")).text() });
 *   client.addEventListener("counts", () => draw(client.counts.unread));
 *   client.addEventListener("item", ({ detail }) => show(detail.item));
 *   client.start();
 *   const { items, next } = await client.list({ state: "unread" });
 *   await client.readAll(items[0].sequence);
 *
 * Options: `url` of the gateway (this origin); `token`, a string or a function that is asked for a new one whenever the
 * gateway refuses the old (null: nobody is signed in); `user`, otherwise the token's `sub`; `transports`, some of
 * "websocket", "sse", "poll"; `backoff` {base, cap}, `every` (polling), `quiet` (silence that is death), all in ms.
 * Events: `state`, `counts`, `item` and `changed` with the frame as detail, `reset`: list again.
 * State: "connecting", "live", "offline", "catching-up", "signed-out"; `at` is when the gateway was last heard (ms).
 */
import { pause, poll, sse, websocket } from "./notify-stream.js";
import { Tabs } from "./notify-tabs.js";

const TRANSPORTS = { websocket, sse, poll };
const REFUSED = [401, 4401, 4410];
const FORBIDDEN = [403, 4403];
const TOO_MUCH = [429, 4429];
const SOON_MS = 5_000;

/** An answer that is no success; `status` 0: none came. */
export class NotifyError extends Error {
  constructor(status, { code = "offline", detail = "", errors = [] } = {}) {
    super(detail || code);
    Object.assign(this, { status, code, errors });
  }
}

export class NotifyClient extends EventTarget {
  #source;
  #token;
  #asking;
  #tabs;
  #turn = new AbortController();
  #kept = new Map();
  #overdue;
  #starting;

  constructor({ url = "", token, user, transports = ["websocket", "sse", "poll"], ...timing } = {}) {
    super();
    this.url = new URL(url || "/", location.href).href.replace(/\/$/, "");
    this.user = user;
    this.#source = token;
    this.transports = transports;
    this.timing = { backoff: { base: 1_000, cap: 60_000 }, every: 15_000, quiet: 75_000, ...timing };
    this.state = "connecting";
    this.transport = null;
    this.at = Date.now();
    this.sequence = null;
    this.counts = { unread: 0, unseen: 0, sequence: -1 };
  }

  // What there is.

  /** A page, newest first, and the `sequence` at which it holds; `after` is the `next` of the page before. */
  async list({ state, after, limit } = {}) {
    const query = new URLSearchParams(Object.entries({ state, after, limit }).filter(([, value]) => value));
    return this.#get(`/inbox${query.size ? `?${query}` : ""}`, !after);
  }

  /** Asks anew; `counts` has what is known. */
  async readCounts() {
    const counts = await this.#get("/inbox/counts", true);
    this.#count(counts);
    return counts;
  }

  preferences() {
    return this.#get("/preferences");
  }

  // What can be done. Each answers with the counts after it, where they come in time.

  read(item, options) {
    return this.#command(`${item}/read`, undefined, options);
  }

  unread(item, options) {
    return this.#command(`${item}/unread`, undefined, options);
  }

  archive(item, options) {
    return this.#command(`${item}/archive`, undefined, options);
  }

  /** All whose sequence is at most `upTo`: what came since stays unread. */
  readAll(upTo, options) {
    return this.#command("read-all", { up_to: upTo }, options);
  }

  seenAll(upTo, options) {
    return this.#command("seen-all", { up_to: upTo }, options);
  }

  /** `version`: of what the change was made to. Answers null when it is not in force yet. */
  async changePreferences(patch, version) {
    const headers = { "If-Match": `"${version}"` };
    const answer = await this.request("PATCH", "/preferences", { body: patch, headers });
    const value = await answer.json();
    return answer.status === 202 ? null : value;
  }

  // What happens.

  /** Listens, together with the other tabs of this origin. */
  async start() {
    if (this.#tabs || this.#starting) return;
    const starting = (this.#starting = new AbortController());
    let user;
    while (user === undefined) {
      try {
        user = await this.#who();
        if (user === undefined) return this.#leave();
      } catch {
        this.#enter("offline"); // whoever gives tokens is away
        await pause(this.timing.backoff.base * (1 + Math.random()), starting.signal);
      }
      if (starting.signal.aborted) return;
    }
    addEventListener("online", this.retry);
    addEventListener("offline", this.#lost);
    this.#tabs = new Tabs(`notify ${this.url} ${user}`, (message) => this.#told(message));
    this.#tabs.post({ ask: true });
    this.#tabs.lead((signal) => this.#lead(signal));
  }

  stop() {
    removeEventListener("online", this.retry);
    removeEventListener("offline", this.#lost);
    clearTimeout(this.#overdue);
    this.#starting?.abort();
    this.#starting = undefined;
    this.#tabs?.close();
    this.#tabs = undefined;
    this.#turn.abort();
  }

  /** Connects now instead of after the pause. */
  retry = () => {
    if (this.#tabs?.leads) {
      if (this.state === "offline") this.#turn.abort();
    } else this.#tabs?.post({ retry: true });
  };

  #lost = () => {
    this.#enter("offline");
    if (this.#tabs?.leads) this.#turn.abort();
  };

  async #lead(signal) {
    const most = this.timing.backoff;
    let way = 0;
    let failures = 0;
    let misses = 0;
    let fresh = false;
    let barred = false; // requests get through where streams do not: it was no outage
    while (!signal.aborted) {
      const end = await this.#listen(this.transports[way], fresh, signal, barred ? 300_000 : 0);
      if (signal.aborted) return;
      failures = end.opened ? 0 : failures + 1;
      misses = end.opened ? 0 : misses + 1;
      if (FORBIDDEN.includes(end.code) || (fresh && REFUSED.includes(end.code) && !end.opened)) {
        return this.#leave();
      }
      fresh = REFUSED.includes(end.code);
      if (end.opened) barred = this.transports[way] === "poll";
      if (barred && end.opened) way = 0;
      if (misses >= 2 && !fresh) [way, misses] = [(way + 1) % this.transports.length, 0];
      let wait = end.wait ?? Math.min(most.cap, most.base * 2 ** failures) * (0.25 + 0.25 * Math.random());
      if (TOO_MUCH.includes(end.code)) wait += SOON_MS;
      if (fresh) wait = 0;
      else if (end.wait === undefined || wait > SOON_MS) this.#enter("offline");
      else this.#enter("catching-up");
      this.#turn = new AbortController();
      await pause(wait, AbortSignal.any([signal, this.#turn.signal]));
    }
  }

  async #listen(name, fresh, signal, lasting) {
    this.#turn = new AbortController();
    this.transport = name;
    let token;
    try {
      token = await this.#bearer(fresh);
    } catch {
      return { opened: false, code: 0 }; // whoever gives tokens is away
    }
    if (token === null) return { opened: false, code: 403 };
    return TRANSPORTS[name]({
      ...this.timing,
      lasting,
      url: this.url,
      user: this.user,
      token,
      after: this.sequence,
      signal: AbortSignal.any([signal, this.#turn.signal]),
      open: () => this.sequence !== null && this.#enter("catching-up"),
      frame: (frame) => {
        this.#tabs?.post({ frame });
        this.#take(frame);
      },
      counts: () => this.readCounts(),
    });
  }

  /** Each frame counts once, in order; a gap means: list again. */
  #take(frame) {
    const { type, sequence } = frame;
    const before = this.sequence;
    this.at = Date.now();
    if (type === "item" || type === "changed") {
      if (before !== null && sequence <= before) return;
      this.sequence = sequence;
      this.#count(frame);
      if (before !== null && sequence > before + 1) this.#say("reset");
      else this.#say(type, frame);
      if (!(sequence < this.due)) this.#enter("live");
    } else if (type === "hello") this.#hello(frame, before);
    else if (type === "reset") this.#begin(sequence);
    else if (type === "poll") {
      this.sequence = sequence;
      if (before !== null && before !== sequence) this.#begin(sequence);
      this.#enter("live");
    }
  }

  #hello(frame, before) {
    const behind = before !== null && frame.sequence > before;
    this.due = frame.sequence;
    if (before === null) this.sequence = frame.sequence;
    else if (frame.sequence < before) return this.#begin(frame.sequence);
    this.#count(frame);
    clearTimeout(this.#overdue);
    if (!behind) return this.#enter("live");
    this.#overdue = setTimeout(() => this.sequence < this.due && this.#begin(this.due), SOON_MS);
  }

  /** What is known is void. */
  #begin(sequence) {
    this.sequence = sequence;
    this.due = sequence;
    this.counts = { ...this.counts, sequence: -1 };
    this.#kept.clear();
    this.#say("reset");
    this.readCounts().catch(() => {}); // the stream brings them too
    this.#enter("live");
  }

  #count({ unread, unseen, sequence }) {
    if (unread === undefined || sequence < this.counts.sequence) return;
    const same = unread === this.counts.unread && unseen === this.counts.unseen;
    this.counts = { unread, unseen, sequence };
    if (!same) this.#say("counts");
  }

  #enter(state) {
    if (state === this.state) return;
    this.state = state;
    if (this.#tabs?.leads) this.#tabs.post(this.#word(state));
    this.#say("state");
  }

  #leave() {
    this.#enter("signed-out");
    this.stop();
  }

  #say(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  // The other tabs.

  #word(state) {
    return { state, at: this.at, transport: this.transport, sequence: this.sequence, counts: this.counts };
  }

  #told({ ask, retry, frame, state, at, transport, sequence, counts }) {
    if (ask || retry) {
      if (!this.#tabs?.leads) return;
      if (retry) this.retry();
      else this.#tabs.post(this.#word(this.state));
    } else if (frame) this.#take(frame);
    else {
      if (counts) this.#count(counts);
      if (!state || this.#tabs?.leads) return;
      Object.assign(this, { at, transport });
      if (sequence !== null && this.sequence !== null && sequence > this.sequence) this.#begin(sequence);
      this.sequence ??= sequence;
      this.#enter(state);
    }
  }

  // HTTP.

  /** The response, if it is a success. Asks for a new token once. Raises NotifyError. */
  async request(method, path, { body, headers, keepalive } = {}, { fresh = false, again = true } = {}) {
    const token = await this.#bearer(fresh);
    const answer =
      token === null
        ? new Response(null, { status: 401 })
        : await fetch(`${this.url}/v1/users/${encodeURIComponent(await this.#who())}${path}`, {
            method,
            keepalive,
            cache: "no-store",
            headers: {
              ...(token && { Authorization: `Bearer ${token}` }),
              ...(body && { "Content-Type": "application/json" }),
              ...headers,
            },
            body: body && JSON.stringify(body),
          }).catch(() => {
            throw new NotifyError(0);
          });
    if (answer.ok || answer.status === 304) return answer;
    if (answer.status === 401) {
      if (!fresh) return this.request(method, path, { body, headers, keepalive }, { fresh: true });
      this.#leave();
    }
    if (again && [429, 503].includes(answer.status)) {
      await pause(Math.min(SOON_MS, 1_000 * (answer.headers.get("Retry-After") || 1)), new AbortController().signal);
      return this.request(method, path, { body, headers, keepalive }, { fresh, again: false });
    }
    throw new NotifyError(answer.status, await answer.json().catch(() => ({ code: "unreadable" })));
  }

  async #get(path, keep) {
    const kept = this.#kept.get(path);
    const answer = await this.request("GET", path, { headers: kept && { "If-None-Match": kept.tag } });
    this.at = Date.now();
    if (answer.status === 304) return kept.value;
    const tag = answer.headers.get("ETag");
    const value = { sequence: Number(/\d+/.exec(tag)), ...(await answer.json()) };
    if (keep && tag) this.#kept.set(path, { tag, value });
    return value;
  }

  async #command(path, body, options) {
    const answer = await this.request("POST", `/inbox/${path}`, { body, ...options });
    const counts = await answer.json();
    this.#count(counts);
    this.#tabs?.post({ counts });
    return counts;
  }

  /** Undefined: none is needed. Null: nobody is signed in. */
  async #bearer(fresh) {
    if (typeof this.#source !== "function") return fresh ? null : this.#source;
    const { exp = Infinity } = claims(this.#token);
    if (fresh || !this.#token || exp * 1_000 < Date.now() + SOON_MS) {
      this.#asking ??= Promise.resolve(this.#source()).finally(() => {
        this.#asking = undefined;
      });
      this.#token = (await this.#asking) ?? null;
    }
    return this.#token;
  }

  async #who() {
    this.user ??= claims(await this.#bearer(false)).sub;
    return this.user;
  }
}

/** What a token says of itself: only the gateway judges it. */
function claims(token) {
  try {
    const part = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (char) => char.charCodeAt(0))));
  } catch {
    return {}; // none, or of another kind
  }
}
