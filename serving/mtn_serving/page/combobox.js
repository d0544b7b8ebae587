/**
 * A text field with a list of completions: the "editable combobox with list autocomplete" of the
 * ARIA Authoring Practices. The focus stays in the field; aria-activedescendant names the active
 * option. The page and the widget share it.
 *
 *   Down, Up          go to the next, previous option; open the list if it is closed
 *   Alt+Down, Alt+Up  open, close the list
 *   Enter             chooses the active option; without one, submits the form as usual
 *   Tab               copies the active option to the field, and moves on as usual
 *   Escape            closes the list; if it is closed, empties the field
 *   Left, Right, Home, End, any character   go back to the field
 */

import { element } from "./elements.js";
import { Latest, SUPERSEDED } from "./latest.js";

const DELAY = 100; // ms without a key before the request

let combos = 0; // for ids that are unique in the document

export class Combobox {
  #input;
  #list;
  #behaviour;
  #latest = new Latest();
  #timer = 0;
  #options = [];
  #active = -1; // place of the active option; -1 for the field itself
  #id = `combobox-${(combos += 1)}`;

  /**
   * @param {HTMLInputElement} input
   * @param {HTMLElement} list empty; hidden while closed
   * @param {object} behaviour
   *   find(text, signal): Promise of the options, [{text, detail?}], for the text in the field
   *   choose(option, place): called when an option is chosen; places start at 0
   *   announce(text): announces it to screen readers
   *   failed(error): called if `find` failed; with null, if it works again
   *   opened(options): called when the list opens; optional
   */
  constructor(input, list, behaviour) {
    this.#input = input;
    this.#list = list;
    this.#behaviour = behaviour;
    this.#describe();
    input.addEventListener("input", () => this.#askSoon());
    input.addEventListener("keydown", (event) => this.#key(event));
    input.addEventListener("blur", () => this.close());
    // Otherwise a press on the list would take the focus from the field and close the list.
    list.addEventListener("pointerdown", (event) => event.preventDefault());
    list.addEventListener("mousedown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => this.#clicked(event));
  }

  #describe() {
    this.#list.id = this.#id;
    this.#list.setAttribute("role", "listbox");
    this.#list.hidden = true;
    const described = { role: "combobox", autocomplete: "off" };
    const states = { "aria-autocomplete": "list", "aria-controls": this.#id, "aria-expanded": "false" };
    for (const [name, value] of Object.entries({ ...described, ...states })) {
      this.#input.setAttribute(name, value);
    }
  }

  get isOpen() {
    return this.#input.getAttribute("aria-expanded") === "true";
  }

  /** Shows the options for the text in the field. */
  async open() {
    clearTimeout(this.#timer);
    const text = this.#input.value;
    try {
      const found = await this.#latest.run((signal) => this.#behaviour.find(text, signal));
      if (found === SUPERSEDED) return;
      this.#behaviour.failed(null);
      this.#show(found, text);
    } catch (error) {
      this.#hide();
      this.#behaviour.failed(error);
    }
  }

  /** Closes the list; a pending answer does not open it again. */
  close() {
    clearTimeout(this.#timer);
    this.#latest.cancel();
    this.#hide();
  }

  #askSoon() {
    this.#activate(-1);
    clearTimeout(this.#timer);
    this.#latest.cancel();
    this.#timer = setTimeout(() => this.open(), DELAY);
  }

  #show(options, typed) {
    this.#hide();
    if (this.#input.getRootNode().activeElement !== this.#input) return;
    this.#options = options;
    this.#list.replaceChildren(...options.map((each, place) => this.#option(each, place, typed)));
    if (options.length > 0) {
      this.#list.hidden = false;
      this.#input.setAttribute("aria-expanded", "true");
      this.#behaviour.opened?.(options);
    }
    if (typed.trim() || options.length > 0) this.#behaviour.announce(numberOf(options.length));
  }

  #hide() {
    this.#activate(-1);
    this.#options = [];
    this.#list.hidden = true;
    this.#input.setAttribute("aria-expanded", "false");
  }

  #option({ text, detail }, place, typed) {
    return element(
      "div",
      { id: `${this.#id}-${place}`, role: "option", "aria-selected": "false", "data-place": place },
      element("span", { class: "text" }, ...emphasised(text, typed)),
      detail ? element("span", { class: "detail" }, detail) : null,
    );
  }

  #activate(place) {
    this.#list.children[this.#active]?.setAttribute("aria-selected", "false");
    this.#active = place;
    const option = this.#list.children[place];
    if (option === undefined) {
      this.#input.removeAttribute("aria-activedescendant");
      return;
    }
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    this.#input.setAttribute("aria-activedescendant", option.id);
  }

  #key(event) {
    if (event.isComposing || event.ctrlKey || event.metaKey) return;
    switch (event.key) {
      case "ArrowDown":
        return this.#arrow(event, 1);
      case "ArrowUp":
        return this.#arrow(event, -1);
      case "Enter":
        return this.#enter(event);
      case "Tab":
        return this.#tab();
      case "Escape":
        return this.#escape(event);
      case "ArrowLeft":
      case "ArrowRight":
      case "Home":
      case "End":
        return this.#activate(-1);
    }
  }

  async #arrow(event, by) {
    event.preventDefault();
    if (event.altKey && by < 0) return this.close();
    if (!this.isOpen) await this.open();
    if (!event.altKey) this.#step(by);
  }

  #step(by) {
    const count = this.#options.length;
    if (count === 0) return;
    const from = this.#active < 0 && by < 0 ? 0 : this.#active;
    this.#activate((from + by + count) % count);
  }

  #enter(event) {
    if (this.#active < 0) return this.close();
    event.preventDefault();
    this.#choose(this.#active);
  }

  #choose(place) {
    const option = this.#options[place];
    this.close();
    this.#behaviour.choose(option, place);
  }

  #tab() {
    const option = this.#options[this.#active];
    if (option !== undefined) this.#input.value = option.text;
    this.close();
  }

  #escape(event) {
    if (!this.isOpen && !this.#input.value) return;
    event.preventDefault();
    if (!this.isOpen) this.#input.value = "";
    this.close();
  }

  #clicked(event) {
    const option = event.target.closest("[role=option]");
    if (option !== null) this.#choose(Number(option.dataset.place));
  }
}

/** Emphasises the part of an option after the typed text. */
function emphasised(text, typed) {
  const start = typed.trimStart().toLowerCase();
  if (!start || !text.toLowerCase().startsWith(start)) return [text];
  return [text.slice(0, start.length), element("b", {}, text.slice(start.length))];
}

function numberOf(count) {
  if (count === 0) return "No completions";
  return count === 1 ? "1 completion" : `${count} completions`;
}
