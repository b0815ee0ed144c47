/** One leader among the tabs of one origin: it holds the connection and tells the others. */

/** Where a browser lacks Web Locks or BroadcastChannel, every tab leads itself. */
export class Tabs {
  #channel;
  #stop = new AbortController();

  /** `told` takes what other tabs post. */
  constructor(name, told) {
    this.name = name;
    this.leads = false;
    if ("BroadcastChannel" in globalThis && navigator.locks) {
      this.#channel = new BroadcastChannel(name);
      this.#channel.onmessage = ({ data }) => told(data);
    }
  }

  /** Calls `run(signal)` once this tab leads: at once, or when the leader has gone. */
  lead(run) {
    const { signal } = this.#stop;
    const leading = () => {
      this.leads = true;
      return run(signal);
    };
    if (!this.#channel) return void leading();
    navigator.locks.request(this.name, { signal }, leading).catch((error) => {
      if (error.name !== "AbortError") throw error;
    });
  }

  post(message) {
    this.#channel?.postMessage(message);
  }

  /** Leads no more; another tab takes over. */
  close() {
    this.leads = false;
    this.#stop.abort();
    this.#channel?.close();
  }
}
