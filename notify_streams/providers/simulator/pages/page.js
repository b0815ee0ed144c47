// Keeps the list fresh. Nothing moves under the reader: away from the top, new mails wait behind a button.
const EVERY_MS = 2000;
const live = document.getElementById("live");
const pill = document.getElementById("pill");
let waiting = null;

function show(next) {
  for (const id of ["say", "rows"]) document.getElementById(id).replaceWith(next.getElementById(id));
  live.dataset.last = next.getElementById("live").dataset.last;
  pill.hidden = true;
  waiting = null;
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
  const added = Number(next.getElementById("live").dataset.last) - Number(live.dataset.last);
  if (scrollY < 40) return show(next);
  document.getElementById("say").replaceWith(next.getElementById("say"));
  if (added > 0) {
    waiting = next;
    pill.textContent = `${added} new`;
    pill.hidden = false;
  }
}

pill.addEventListener("click", () => {
  scrollTo({ top: 0 });
  if (waiting) show(waiting);
});
setInterval(refresh, EVERY_MS);
