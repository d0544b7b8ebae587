/**
 * Completions and suggestions for the search field of another site:
 *
 *   <script type="module" src="https://HOST/widget.js"></script>
 *   <input name="q" data-mtn-suggest="https://HOST">
 *
 * Typed text is completed. A click into the empty field, or the down arrow, shows suggestions. A
 * submitted form or a chosen suggestion adds its query to the session. If the service does not
 * answer, the field works as before.
 *
 * With data-mtn-events, the service records what was shown, chosen and searched for.
 */

import { Combobox } from "./combobox.js";
import { announcer, element } from "./elements.js";
import { Service } from "./service.js";
import { addQuery, clientId, readSession } from "./widget_session.js";
import { STYLE } from "./widget_style.js";

const HOST = "data-mtn-suggest";
const EVENTS = "data-mtn-events";
const LENGTH = 8; // suggestions per list
const DISTANCE = 4; // px between field and list

const sheet = new CSSStyleSheet(); // allowed by a strict Content-Security-Policy of the site
sheet.replaceSync(STYLE);

/** A field with its list. For a field created after page load, call `new Widget(input)`. */
export class Widget {
  #input;
  #list = element("div", { class: "mtn-suggest", "aria-label": "Suggestions", popover: "manual" });
  #service;
  #combobox;
  #shown = null; // {application, query_id} of the list

  /** @param {HTMLInputElement} input with the attribute data-mtn-suggest */
  constructor(input) {
    const region = element("span", { class: "mtn-suggest-status", role: "status" });
    const styles = input.getRootNode().adoptedStyleSheets;
    if (!styles.includes(sheet)) styles.push(sheet);
    input.after(this.#list, region);
    this.#input = input;
    this.#service = new Service(`${input.getAttribute(HOST).replace(/\/+$/, "")}/`);
    this.#combobox = new Combobox(input, this.#list, {
      find: (text, signal) => this.#find(text, signal),
      choose: ({ text }, place) => this.#choose(text, place),
      announce: announcer(region),
      failed: warn,
      opened: () => this.#opened(),
    });
    this.#listen();
  }

  #listen() {
    const input = this.#input;
    input.addEventListener("click", () => {
      if (!input.value && !this.#combobox.isOpen) this.#combobox.open();
    });
    input.addEventListener("keydown", (event) => {
      const searches = event.key === "Enter" && input.form === null && !event.defaultPrevented;
      if (searches) this.#searched(input.value);
    });
    input.form?.addEventListener("submit", () => this.#searched(input.value), { capture: true });
    const moved = () => this.#combobox.isOpen && this.#place();
    for (const event of ["scroll", "resize"]) {
      window.addEventListener(event, moved, { capture: true, passive: true });
    }
  }

  async #find(text, signal) {
    const { id, queries } = readSession();
    const request = { session: queries, session_id: id, n: LENGTH };
    const typed = text.trim() !== "";
    if (!typed && queries.length === 0) return [];
    const { suggestions, query_id } = typed
      ? await this.#service.complete({ ...request, prefix: text }, signal)
      : await this.#service.suggest(request, signal);
    this.#shown = { application: typed ? "complete" : "suggest", query_id };
    return suggestions.map(({ text }) => ({ text }));
  }

  #opened() {
    this.#place();
    this.#tell({ action_name: "impression", ...this.#shown });
  }

  /** Right under the field, above everything else of the site. */
  #place() {
    const { left, bottom, width } = this.#input.getBoundingClientRect();
    this.#list.togglePopover(true);
    this.#list.style.setProperty("inset", `${bottom + DISTANCE}px auto auto ${left}px`);
    this.#list.style.setProperty("width", `${width}px`);
  }

  /** As if the person had typed the text and pressed Enter: the site's scripts get the events. */
  #choose(text, place) {
    const input = this.#input;
    const event_attributes = { position: { ordinal: place + 1 } };
    this.#tell({ action_name: "click", ...this.#shown, event_attributes });
    input.value = text;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    input.dispatchEvent(new Event("change", { bubbles: true }));
    this.#combobox.close();
    if (input.form !== null) input.form.requestSubmit();
    else this.#searched(text);
  }

  #searched(text) {
    if (!addQuery(text)) return;
    const client_id = clientId();
    if (client_id === null) return; // a search without it would count as another person's
    this.#tell({ action_name: "search", message: text.trim(), client_id });
  }

  #tell(event) {
    if (!this.#input.hasAttribute(EVENTS)) return;
    this.#service.tell([{ ...event, session_id: readSession().id }]).catch(warn);
  }
}

/** The site works without suggestions: warn its developers, not its visitors. */
function warn(error) {
  if (error !== null) console.warn(`Suggestions: ${error.message}`);
}

for (const input of document.querySelectorAll(`input[${HOST}]`)) new Widget(input);
