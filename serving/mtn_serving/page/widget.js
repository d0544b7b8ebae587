/**
 * Completions and next queries on somebody else's search field:
 *
 *   <script type="module" src="https://HOST/widget.js"></script>
 *   <input name="q" data-mtn-suggest="https://HOST">
 *
 * What is typed is completed. A click into the empty field, or the arrow down, offers the next
 * queries. What is searched for, by a submitted form or a chosen suggestion, joins the session. When
 * the service does not answer, the field is a field as before.
 */

import { Combobox } from "./combobox.js";
import { announcer, element } from "./elements.js";
import { Service } from "./service.js";
import { addQuery, readSession } from "./widget_session.js";
import { STYLE } from "./widget_style.js";

const ATTRIBUTE = "data-mtn-suggest";
const LENGTH = 8; // suggestions in a list
const DISTANCE = 4; // px between field and list

const sheet = new CSSStyleSheet(); // which a strict Content-Security-Policy of the site allows
sheet.replaceSync(STYLE);

/** Gives a field its list; for fields that are made after the page was loaded. */
export function attach(input) {
  const service = new Service(`${input.getAttribute(ATTRIBUTE).replace(/\/+$/, "")}/`);
  const list = element("div", { class: "mtn-suggest", "aria-label": "Suggestions", popover: "manual" });
  const region = element("span", { class: "mtn-suggest-status", role: "status" });
  useStyle(input.getRootNode());
  input.after(list, region);
  const combobox = new Combobox(input, list, {
    find: (text, signal) => find(service, text, signal),
    choose: ({ text }) => choose(input, combobox, text),
    announce: announcer(region),
    failed: (error) => error && console.warn(`Suggestions: ${error.message}`),
    opened: () => place(list, input),
  });
  input.addEventListener("click", () => input.value || combobox.isOpen || combobox.open());
  recordSearches(input);
  for (const moved of ["scroll", "resize"]) {
    window.addEventListener(moved, () => combobox.isOpen && place(list, input), { capture: true, passive: true });
  }
}

function useStyle(root) {
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
}

async function find(service, text, signal) {
  const { id, queries } = readSession();
  const context = { session: queries, session_id: id, n: LENGTH };
  if (text.trim()) return (await service.complete({ ...context, prefix: text }, signal)).suggestions;
  if (queries.length === 0) return [];
  return (await service.suggest(context, signal)).suggestions;
}

/** As if the person had typed it and pressed Enter: scripts of the site hear of it. */
function choose(input, combobox, text) {
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  input.dispatchEvent(new Event("change", { bubbles: true }));
  combobox.close();
  if (input.form !== null) input.form.requestSubmit();
  else addQuery(text);
}

function recordSearches(input) {
  input.form?.addEventListener("submit", () => addQuery(input.value), { capture: true });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && input.form === null && !event.defaultPrevented) addQuery(input.value);
  });
}

/** Right under the field, above everything else of the site. */
function place(list, input) {
  const { left, bottom, width } = input.getBoundingClientRect();
  list.togglePopover(true);
  list.style.setProperty("inset", `${bottom + DISTANCE}px auto auto ${left}px`);
  list.style.setProperty("width", `${width}px`);
}

for (const input of document.querySelectorAll(`input[${ATTRIBUTE}]`)) attach(input);
