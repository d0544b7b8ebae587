/**
 * Elements of the page, made without HTML text: what people typed can never become markup.
 */

const MOMENT = 200; // ms

/**
 * A new element.
 *
 * @param {string} name its tag
 * @param {object} attributes by name; `on…` are listeners; null, undefined and false are left out
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
 * A horizontal bar of a share from 0 to 1. For the eye: the figure must stand beside it as text.
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
 * Says something to screen readers, by a live region. What comes within a moment is said together: a
 * later text would cut off an earlier one. A region repeats a text only if it changes, so a space
 * that nobody hears makes every second one different.
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
