/**
 * Three ways to hear what happens, best first. Each runs until it ends and answers
 * `{opened, code, wait}`: whether it ever worked, the close code or status, and the pause that a `bye` asked for (ms).
 */

const ENDED = 1000;
const NO_ANSWER = 0;

/** Ends early when the signal says so. */
export const pause = (ms, signal) =>
  new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (signal.aborted) done();
    else signal.addEventListener("abort", done);
  });

/** What `quiet` ms without a word means: the connection is dead, whatever the system thinks of it. */
class Watch {
  constructor(ms, dead) {
    this.again = () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(dead, ms);
    };
    this.again();
  }

  end() {
    clearTimeout(this.timer);
  }
}

/** Who shows no token is an operator of an open gateway, and says whose inbox is meant. */
function address(url, path, token, user) {
  const target = new URL(url + path);
  if (!token) target.searchParams.set("user_id", user);
  return target;
}

export function websocket({ url, user, token, after, signal, frame, open, quiet }) {
  const target = address(url, "/v1/stream", token, user);
  target.protocol = target.protocol.replace("http", "ws");
  if (after !== null) target.searchParams.set("after", after);
  let socket;
  try {
    socket = new WebSocket(target, token ? ["notify.v1", `bearer.${token}`] : ["notify.v1"]);
  } catch {
    return { opened: false, code: NO_ANSWER }; // a policy forbids it, or the token is no word of a protocol
  }
  return new Promise((resolve) => {
    let opened = false;
    let wait;
    const finish = (code) => {
      watch.end();
      signal.removeEventListener("abort", abort);
      socket.onmessage = socket.onclose = null;
      socket.close();
      resolve({ opened, code, wait });
    };
    const abort = () => finish(ENDED);
    const watch = new Watch(quiet, () => finish(NO_ANSWER));
    signal.addEventListener("abort", abort);
    socket.onopen = open;
    socket.onclose = ({ code }) => finish(code);
    socket.onmessage = ({ data }) => {
      watch.again();
      const said = JSON.parse(data);
      if (said.type === "ping") return socket.send('{"type":"pong"}');
      if (said.type === "hello") opened = true;
      if (said.type === "bye") {
        wait = said.reconnect_ms;
        return finish(ENDED);
      }
      frame(said);
    };
  });
}

/** By fetch, so that the token is in a header and in no address. */
export async function sse({ url, user, token, after, signal, frame, open, quiet }) {
  const headers = { Accept: "text/event-stream" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (after !== null) headers["Last-Event-ID"] = after;
  const stop = new AbortController();
  const abort = () => stop.abort();
  signal.addEventListener("abort", abort);
  const watch = new Watch(quiet, abort);
  let opened = false;
  let wait;
  try {
    const answer = await fetch(address(url, "/v1/stream/sse", token, user), { headers, signal: stop.signal, cache: "no-store" });
    if (!answer.ok) return { opened, code: answer.status };
    open();
    for await (const said of events(answer.body.pipeThrough(new TextDecoderStream()))) {
      watch.again();
      if (!said) continue;
      if (said.type === "hello") opened = true;
      if (said.type === "bye") {
        wait = said.reconnect_ms;
        break;
      }
      if (said.code) return { opened, code: said.code };
      if (said.type && said.type !== "ping") frame(said);
    }
    return { opened, code: ENDED, wait };
  } catch {
    return { opened, code: NO_ANSWER }; // the network ended it, or we did
  } finally {
    watch.end();
    stop.abort();
    signal.removeEventListener("abort", abort);
  }
}

/** The frames of an event stream; null for a sign of life. */
async function* events(stream) {
  const reader = stream.getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop();
    yield null;
    for (const block of blocks) {
      const lines = block.split("\n").filter((line) => line.startsWith("data:"));
      const data = lines.map((line) => line.slice(5).trimStart()).join("\n");
      if (data) yield JSON.parse(data);
    }
  }
}

/** Asks for the counts every `every` ms (304 while nothing happens), for `lasting` ms; then the others get a chance. */
export async function poll({ signal, frame, open, every, lasting, counts }) {
  let opened = false;
  const until = performance.now() + lasting;
  while (!signal.aborted) {
    let found;
    try {
      found = await counts();
    } catch ({ status }) {
      return { opened, code: status };
    }
    if (signal.aborted) break;
    if (!opened) open();
    opened = true;
    frame({ type: "poll", ...found });
    if (performance.now() >= until) break;
    await pause(every * (0.8 + 0.4 * Math.random()), signal);
  }
  return { opened, code: ENDED, wait: 0 };
}
