/** Elements without markup: text goes in as text, whatever it says. */

/** `on…` are listeners, other properties attributes (true: empty, false and null: none). Texts become text nodes. */
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  set(element, properties);
  element.append(...children.filter((child) => child !== null));
  return element;
}

export function set(element, properties) {
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === false || value === null || value === undefined) element.removeAttribute(key);
    else if (element.getAttribute(key) !== String(value)) element.setAttribute(key, value === true ? "" : value);
  }
}

/** Touches nothing that says so already: a live region would speak again. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Makes these the children. What stays is not moved, so it keeps focus and place. */
export function place(parent, children) {
  const wanted = new Set(children);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  children.forEach((child, at) => {
    if (parent.children[at] !== child) parent.insertBefore(child, parent.children[at] ?? null);
  });
}

export function icon(path) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  set(svg, { viewBox: "0 0 24 24", width: 18, height: 18, fill: "none", stroke: "currentColor", "stroke-width": 1.8 });
  svg.ariaHidden = "true";
  const line = document.createElementNS(space, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

/** The address, if it is one that a click may lead to: http, https, or relative to the page. */
export function safeLink(link) {
  try {
    const url = new URL(link, document.baseURI);
    return link && ["http:", "https:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
