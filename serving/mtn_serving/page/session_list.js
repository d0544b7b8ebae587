/**
 * The queries of the session, oldest first. Each can be removed, or moved with buttons, Alt and the
 * arrow keys, or the mouse. Each lights up by how much it mattered for a suggestion.
 */

import { element, percent, unseen } from "./elements.js";

export class SessionList {
  #list;
  #changed;
  #queries = [];
  #dragged = -1; // place of the query being moved with the mouse

  /**
   * @param {HTMLOListElement} list
   * @param {function(string[], string)} changed called with the new session and a description
   */
  constructor(list, changed) {
    this.#list = list;
    this.#changed = changed;
    list.addEventListener("keydown", (event) => this.#key(event));
    list.addEventListener("dragstart", (event) => this.#dragStart(event));
    list.addEventListener("dragover", (event) => this.#dragOver(event));
    list.addEventListener("drop", (event) => this.#drop(event));
    list.addEventListener("dragend", () => this.#dragEnd());
  }

  /** @param {string[]} queries */
  show(queries) {
    const focused = this.#focused();
    this.#queries = queries;
    this.#list.replaceChildren(...queries.map((query, place) => this.#item(query, place)));
    if (focused !== null) this.#focus(focused.place, focused.action);
  }

  /** @param {?number[]} shares how much each query mattered, from 0 to 1; null if unknown */
  light(shares) {
    for (const [place, item] of [...this.#list.children].entries()) {
      const share = shares?.[place] ?? 0;
      item.style.setProperty("--share", String(share));
      item.classList.toggle("lit", share > 0);
      item.querySelector(".share").textContent = shares === null ? "" : percent(share);
    }
  }

  #item(query, place) {
    const last = this.#queries.length - 1;
    const button = (action, label, sign, disabled) =>
      element(
        "button",
        {
          type: "button",
          class: "sign",
          "data-action": action,
          "aria-disabled": disabled ? "true" : null,
          onclick: () => disabled || this.#act(action, place),
        },
        element("span", { "aria-hidden": "true" }, sign),
        unseen(`${label} “${query}”`),
      );
    return element(
      "li",
      { "data-place": place, draggable: "true" },
      element("span", { class: "query" }, query),
      element("span", { class: "share" }),
      element(
        "span",
        { class: "actions" },
        button("up", "Move up", "↑", place === 0),
        button("down", "Move down", "↓", place === last),
        button("remove", "Remove", "×", false),
      ),
    );
  }

  #act(action, place) {
    if (action === "remove") return this.#remove(place);
    this.#move(place, action === "up" ? place - 1 : place + 1, action);
  }

  #remove(place) {
    const query = this.#queries[place];
    const left = this.#queries.filter((_, each) => each !== place);
    this.#changed(left, `Removed ${query}`);
    if (left.length > 0) this.#focus(Math.min(place, left.length - 1), "remove");
  }

  #move(from, to, action = null) {
    if (to < 0 || to >= this.#queries.length || to === from) return;
    const queries = [...this.#queries];
    const [query] = queries.splice(from, 1);
    queries.splice(to, 0, query);
    this.#changed(queries, `Moved ${query} to place ${to + 1} of ${queries.length}`);
    if (action !== null) this.#focus(to, action);
  }

  #focus(place, action) {
    this.#list.children[place]?.querySelector(`[data-action=${action}]`).focus();
  }

  #focused() {
    const button = document.activeElement?.closest("[data-action]");
    if (!button || !this.#list.contains(button)) return null;
    return { place: placeOf(button), action: button.dataset.action };
  }

  #key(event) {
    const focused = this.#focused();
    if (focused === null) return;
    const { place, action } = focused;
    if (event.key === "Delete") {
      event.preventDefault();
      this.#remove(place);
    } else if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      event.preventDefault();
      this.#move(place, event.key === "ArrowUp" ? place - 1 : place + 1, action);
    }
  }

  #dragStart(event) {
    this.#dragged = placeOf(event.target);
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", this.#queries[this.#dragged]);
  }

  #dragOver(event) {
    const item = event.target.closest("li");
    if (this.#dragged < 0 || item === null) return;
    event.preventDefault();
    this.#unmark();
    item.classList.add("target");
  }

  #drop(event) {
    const item = event.target.closest("li");
    if (this.#dragged < 0 || item === null) return;
    event.preventDefault();
    this.#move(this.#dragged, placeOf(item));
  }

  #dragEnd() {
    this.#dragged = -1;
    this.#unmark();
  }

  #unmark() {
    this.#list.querySelector(".target")?.classList.remove("target");
  }
}

function placeOf(node) {
  return Number(node.closest("li").dataset.place);
}
