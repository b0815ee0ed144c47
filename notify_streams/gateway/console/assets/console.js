// Keeps a live page fresh, copies ids, and counts what is chosen. Everything works without it, only slower.
const live = document.querySelector("#live");
const every = Number(live?.dataset.every || 0) * 1000;

const inUse = () =>
  document.hidden || live.querySelector("details[open]") || live.contains(document.activeElement) ||
  (getSelection()?.type === "Range" && live.contains(getSelection().anchorNode));

async function refresh() {
  if (!inUse()) {
    try {
      const answer = await fetch(location.href, { headers: { "X-Fragment": "1" } });
      if (answer.redirected || answer.status === 401) return location.reload();
      if (answer.ok) live.innerHTML = await answer.text();
      live.classList.toggle("stale", !answer.ok);
    } catch {
      live.classList.add("stale"); // what was here stays, and says that it is old
    }
  }
  setTimeout(refresh, every);
}
if (every) setTimeout(refresh, every);

document.addEventListener("click", (event) => {
  const id = event.target.closest("[data-copy]");
  if (id && getSelection()?.type !== "Range") navigator.clipboard?.writeText(id.textContent.trim());
});

const redrive = document.querySelector("form.redrive");
redrive?.addEventListener("change", (event) => {
  const boxes = [...redrive.querySelectorAll("input[name=id]")];
  if (event.target.matches("[data-all]")) for (const box of boxes) box.checked = event.target.checked;
  redrive.querySelector("[data-chosen]").textContent = boxes.filter((box) => box.checked).length;
});
