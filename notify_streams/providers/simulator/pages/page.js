// Keeps a page fresh. Nothing moves under the reader: away from the top of the list, new messages wait behind a button.
const EVERY_MS = 2000;
const live = document.getElementById("live");
const pill = document.getElementById("pill");
let waiting = null;

function replace(next, ...ids) {
  for (const id of ids) document.getElementById(id).replaceWith(document.importNode(next.getElementById(id), true));
}

function show(next) {
  replace(next, "say", "rows");
  live.dataset.last = next.getElementById("live").dataset.last;
  pill.hidden = true;
  waiting = null;
}

function busy() {
  const rows = document.getElementById("rows");
  return scrollY >= 40 || rows.matches(":hover") || rows.contains(document.activeElement);
}

async function refresh() {
  if (document.hidden) return;
  let next;
  try {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok) throw new Error(String(answer.status));
    next = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    document.getElementById("offline").hidden = false;
    return;
  }
  document.getElementById("offline").hidden = true;
  if ("item" in live.dataset) return replace(next, "say", "rows");
  const added = Number(next.getElementById("live").dataset.last) - Number(live.dataset.last);
  replace(next, "say");
  if ("still" in live.dataset) return;
  if (added <= 0 && !busy()) return replace(next, "rows");
  if (!busy()) return show(next);
  if (added > 0) {
    waiting = next;
    pill.textContent = `${added} new`;
    pill.hidden = false;
  }
}

pill?.addEventListener("click", () => {
  scrollTo({ top: 0 });
  if (waiting) show(waiting);
});
document.querySelector("form[role=search] select")?.addEventListener("change", (event) => event.target.form.submit());
setInterval(refresh, EVERY_MS);
