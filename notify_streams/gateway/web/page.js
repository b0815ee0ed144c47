import "./notify-inbox.js";

const KEPT = "notify token"; // of this tab, until it closes or somebody signs out
const find = (id) => document.getElementById(id);
const [bell, inbox] = [find("bell"), find("page")];

function subject(token) {
  try {
    const part = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (char) => char.charCodeAt(0)))).sub;
  } catch {
    return undefined; // not a token
  }
}

function enter(token) {
  const user = token && subject(token);
  if (user) sessionStorage.setItem(KEPT, token);
  else sessionStorage.removeItem(KEPT);
  find("wrong").textContent = token && !user ? "This is not a user token: a JWT has three parts and names its user." : "";
  find("who").textContent = user ?? "";
  find("enter").hidden = Boolean(user);
  find("leave").hidden = bell.hidden = inbox.hidden = !user;
  bell.token = inbox.token = user ? token : null;
  if (!user) find("token").focus();
}

find("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  enter(find("token").value.trim());
  find("token").value = "";
});
find("leave").addEventListener("click", () => enter(null));
addEventListener("notify-signin", () => enter(null));

function arrive() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) history.replaceState(null, "", location.pathname);
  enter(given ?? sessionStorage.getItem(KEPT));
}

addEventListener("hashchange", arrive);
arrive();
