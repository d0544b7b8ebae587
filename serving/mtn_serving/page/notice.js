/**
 * A line for late or failed answers, with a button to try again. If the service is busy and names a
 * time, the request is retried automatically.
 */

import { keyForm } from "./api_key.js";
import { element } from "./elements.js";

const LATE = 800; // ms until the notice appears
const MAX_RETRIES = 3; // automatic retries in a row

export class Notice {
  #place;
  #retry;
  #timer = 0;
  #retries = 0;

  /**
   * @param {HTMLElement} place empty
   * @param {function()} retry sends the request again
   */
  constructor(place, retry) {
    this.#place = place;
    this.#retry = retry;
    place.setAttribute("role", "status");
    place.tabIndex = -1;
  }

  /** A request was sent. */
  waiting() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#say("Still waiting for the service …"), LATE);
  }

  /** The answer arrived, or is no longer needed. */
  clear() {
    clearTimeout(this.#timer);
    this.#retries = 0;
    this.#show();
  }

  /** There is no answer. @param {ServiceError} error */
  failed(error) {
    clearTimeout(this.#timer);
    const again = () => this.#again();
    if (error.needsKey) return this.#say(error.message, keyForm(again));
    const button = element("button", { type: "button", onclick: again }, "Try again");
    if (error.retryAfter === null || this.#retries === MAX_RETRIES) {
      return this.#say(error.message, button);
    }
    this.#retries += 1;
    this.#timer = setTimeout(this.#retry, 1000 * error.retryAfter);
    this.#say(`${error.message} Trying again in ${error.retryAfter} s.`, button);
  }

  #again() {
    this.#retries = 0;
    this.#retry();
  }

  #say(text, ...more) {
    this.#show(element("span", {}, text), ...more);
  }

  /** Keeps the focus here when the focused button disappears; otherwise it would go to the top. */
  #show(...nodes) {
    const hadFocus = this.#place.contains(document.activeElement);
    this.#place.replaceChildren(...nodes);
    if (hadFocus) this.#place.focus({ preventScroll: true });
  }
}
