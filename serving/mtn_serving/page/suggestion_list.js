/**
 * The list of one bundle's suggestions for the session.
 */

import { element } from "./elements.js";
import { sharesOf } from "./explanation.js";
import { Latest, SUPERSEDED } from "./latest.js";
import { Notice } from "./notice.js";
import { suggestionRow } from "./suggestion_row.js";

const LENGTH = 8; // suggestions per list

export class SuggestionList {
  #service;
  #bundle;
  #page;
  #latest = new Latest();
  #lighting = new Latest();
  #state = null;
  #title = element("h2", { tabindex: "-1" });
  #facts = element("span", { class: "facts" });
  #rows = element("ol", { class: "suggestions" });
  #notice;

  /**
   * @param {HTMLElement} place parent of the list
   * @param {Service} service
   * @param {?string} bundle its name; null if the service has only one
   * @param {object} page
   *   choose(suggestion): called when a suggestion is chosen
   *   light(shares, text): shows how much each query mattered for a suggestion; null if unknown
   *   notLit(error): called if that request failed
   *   announce(text): announces it to screen readers
   *   lights: whether the queries light up for the first suggestion of this list
   */
  constructor(place, service, bundle, page) {
    this.#service = service;
    this.#bundle = bundle;
    this.#page = page;
    const line = element("p", { class: "notice" });
    this.#notice = new Notice(line, () => this.ask(this.#state));
    this.#title.textContent = bundle === null ? "Next queries" : `Next queries, ${bundle}`;
    place.append(
      element(
        "section",
        { class: "list", "aria-label": this.#title.textContent },
        element("div", { class: "panel-title" }, this.#title, this.#facts),
        line,
        this.#rows,
      ),
    );
  }

  /** Requests and shows the list of a session. @param {object} state {session, history} */
  async ask(state) {
    this.#state = state;
    this.#lighting.cancel();
    if (state.session.length === 0) return this.#empty();
    this.#rows.setAttribute("aria-busy", "true");
    this.#notice.waiting();
    const sent = performance.now();
    try {
      const request = this.#request({ n: LENGTH });
      const answer = await this.#latest.run((signal) => this.#service.suggest(request, signal));
      if (answer === SUPERSEDED) return;
      this.#show(answer, performance.now() - sent);
    } catch (error) {
      this.#clear();
      this.#notice.failed(error);
    }
  }

  #request(more) {
    const asked = { ...this.#state, ...more };
    return this.#bundle === null ? asked : { ...asked, bundle: this.#bundle };
  }

  #empty() {
    this.#latest.cancel();
    this.#clear();
    this.#notice.clear();
  }

  #clear() {
    this.#rows.replaceChildren();
    this.#rows.removeAttribute("aria-busy");
    this.#facts.textContent = "";
  }

  #show(answer, roundTrip) {
    const { suggestions } = answer;
    const row = (each) => suggestionRow(each, {
      choose: () => this.#choose(each),
      explain: () => this.#why(each),
    });
    this.#clear();
    this.#notice.clear();
    this.#rows.append(...suggestions.map(row));
    if (suggestions.length === 0) this.#rows.append(element("li", { class: "hint" }, NOTHING));
    this.#facts.textContent = factsOf(answer, roundTrip);
    this.#page.announce(`${suggestions.length} next queries`);
    const several = this.#state.session.length > 1; // a single query always matters
    if (this.#page.lights && several && suggestions.length > 0) this.#light(suggestions[0]);
  }

  /** Focuses the title of the new list: focusing the box would open the keyboard on phones. */
  #choose(suggestion) {
    this.#page.choose(suggestion);
    this.#title.focus({ preventScroll: true });
  }

  #why(suggestion) {
    this.#lighting.cancel();
    return this.#explain(suggestion);
  }

  /** Explains a suggestion and lights up the queries, unless the session has changed. */
  async #explain(suggestion, signal) {
    const state = this.#state;
    const request = this.#request({ suggestion: suggestion.query });
    const { explanation, read } = await this.#service.explain(request, signal);
    if (state === this.#state && !signal?.aborted) {
      this.#page.light(sharesOf(explanation, read, state.session), suggestion.text);
    }
    return explanation;
  }

  /** Lights up the queries for a suggestion; without an explicit "Why?", the first one. */
  async #light(suggestion) {
    try {
      await this.#lighting.run((signal) => this.#explain(suggestion, signal));
    } catch (error) {
      this.#page.notLit(error);
    }
  }
}

const NOTHING = "Nothing to suggest for this session.";
const DEGRADED = { deadline: "the model was too slow", error: "the model failed" };

/** The time in the service, the round-trip time, and whether the answer is degraded. */
function factsOf({ milliseconds, degraded, reason }, roundTrip) {
  const time = `${inShort(milliseconds)} ms · ${inShort(roundTrip)} ms round trip`;
  return degraded ? `${time} · from counts alone, ${DEGRADED[reason]}` : time;
}

function inShort(milliseconds) {
  return milliseconds.toFixed(milliseconds < 10 ? 1 : 0);
}
