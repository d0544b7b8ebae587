/**
 * Elements of the page, made without HTML text, so that typed text never becomes markup.
 */

const MOMENT = 200; // ms

/**
 * A new element.
 *
 * @param {string} name its tag
 * @param {object} attributes by name; `on…` are listeners; null, undefined and false are ignored
 * @param {...(Node|string|null)} children strings become text
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Text for screen readers only. */
export function unseen(text) {
  return element("span", { class: "unseen" }, text);
}

/**
 * A horizontal bar for a share from 0 to 1, hidden from screen readers: add the figure as text.
 * The length is a custom property set by script, which a strict Content-Security-Policy allows.
 */
export function bar(share, kind = "bar") {
  const made = element("span", { class: kind, "aria-hidden": "true" });
  made.style.setProperty("--share", String(Math.min(1, Math.max(0, share))));
  return made;
}

/** 0.314 as "31 %", small shares as "< 1 %". */
export function percent(share) {
  return share > 0 && share < 0.01 ? "< 1 %" : `${Math.round(100 * share)} %`;
}

/**
 * Announces texts to screen readers through a live region. Texts within a moment are announced
 * together, because a later text would cut off an earlier one. A region announces only changes, so
 * every second text ends with a silent space.
 */
export function announcer(region) {
  let waiting = [];
  let even = false;
  const say = () => {
    even = !even;
    region.textContent = waiting.join(". ") + (even ? "" : "\u00a0");
    waiting = [];
  };
  return (text) => {
    if (waiting.push(text) === 1) setTimeout(say, MOMENT);
  };
}
