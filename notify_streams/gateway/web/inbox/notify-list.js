/** What a list holds, and what a frame does to it. No drawing in here. */

const INNERMOST = (filter) => (filter === "all" ? undefined : filter);

export class List {
  constructor(filter = "all") {
    this.filter = filter;
    this.clear();
  }

  clear() {
    this.items = [];
    this.held = [];
    this.gone = new Set();
    this.next = null;
    this.loaded = false;
  }

  /** The query that fills it. */
  query(more) {
    return { state: INNERMOST(this.filter), after: more ? this.next : undefined };
  }

  fill(page, more) {
    if (!more) {
      this.clear();
      this.loaded = true;
    }
    const known = new Set(this.items.map((item) => item.item_id));
    this.items.push(...page.items.filter((item) => !known.has(item.item_id)));
    this.next = page.next;
  }

  /** The newest sequence that is on the screen: what is held back is not. */
  get shown() {
    return Math.max(0, ...this.items.map((item) => item.sequence));
  }

  find(id) {
    return this.items.find((item) => item.item_id === id);
  }

  /** A new item, or an old one that grew; `still`: nothing may move now, so it is held back. */
  arrive(item, still) {
    if (this.filter === "archived") return;
    this.#drop("held", item.item_id);
    if (still) return void this.held.unshift(item);
    this.#drop("items", item.item_id);
    this.items.unshift(item);
  }

  /** Shows what was held back. */
  release() {
    for (const item of this.held.splice(0).reverse()) this.arrive(item, false);
  }

  /** Items are in another state; those that leave stay in their place, dimmed, while nothing may move. */
  change({ state, item_ids = [], all, up_to = Infinity }, still) {
    const named = new Set(item_ids);
    const meant = (item) => named.has(item.item_id) || (all && item.sequence <= up_to);
    const leaves = state === "archived" || state === "expired";
    for (const item of [...this.items, ...this.held].filter(meant)) {
      if (leaves && this.filter !== "archived") this.leave(item.item_id, still);
      else if (state === "seen") item.seen = true;
      else if (!leaves && item.state !== "archived") item.state = state;
    }
  }

  leave(id, still) {
    this.#drop("held", id);
    if (still) this.gone.add(id);
    else this.#drop("items", id);
  }

  /** Things may move again. */
  settle() {
    for (const id of this.gone) this.#drop("items", id);
    this.gone.clear();
  }

  /** Puts it back where it was; not if it has come back by itself. */
  restore(item, at) {
    if (!this.find(item.item_id)) this.items.splice(at, 0, item);
  }

  #drop(where, id) {
    this[where] = this[where].filter((item) => item.item_id !== id);
  }
}
