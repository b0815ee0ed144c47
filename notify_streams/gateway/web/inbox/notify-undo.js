/** What is done in three seconds, unless somebody thinks better of it. */

const UNDO_MS = 3_000;

export class Undo {
  #given = 0;

  /** `lingers` says whether somebody points at the button: the clock stands then. `failed` takes what went wrong. */
  constructor({ lingers, changed, failed }) {
    Object.assign(this, { lingers, changed, failed });
  }

  /** By how many fewer are unread than the server counts: what is about to be done counts already. */
  get fewer() {
    return (this.now?.fewer ?? 0) + this.#given;
  }

  /** `doing` has `words`, `fewer`, `give` that does it and `back` that takes it back on the screen. */
  later(doing) {
    this.flush();
    this.now = doing;
    this.linger();
  }

  /** Only says something. */
  tell(words, why) {
    this.later({ words, why, fewer: 0, lost: true });
    this.changed();
  }

  linger() {
    if (!this.now) return;
    clearTimeout(this.now.timer);
    if (!this.lingers()) this.now.timer = setTimeout(this.flush, UNDO_MS);
  }

  flush = async () => {
    const doing = this.#taken();
    if (!doing) return;
    this.#given += doing.fewer;
    this.changed();
    try {
      await doing.give?.({ keepalive: true });
    } catch (error) {
      doing.back();
      this.failed(error);
    }
    this.#given -= doing.fewer;
    this.changed();
  };

  /** Whether there was anything to take back. */
  back() {
    if (!this.now?.back) return false;
    this.#taken().back();
    return true;
  }

  #taken() {
    const doing = this.now;
    clearTimeout(doing?.timer);
    this.now = undefined;
    return doing;
  }
}
