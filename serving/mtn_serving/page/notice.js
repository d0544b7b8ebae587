/**
 * What a person reads while an answer is late, or when there is none: a line, and a button to try
 * again. When the service is busy and names a time, it is asked again by itself.
 */

import { keyForm } from "./api_key.js";
import { element } from "./elements.js";

const LATE = 800; // ms after which a person wonders
const MAX_RETRIES = 3; // in a row, without anybody pressing the button

export class Notice {
  #place;
  #retry;
  #timer = 0;
  #retries = 0;

  /**
   * @param {HTMLElement} place empty
   * @param {function()} retry asks again
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

  /** The answer came, or nobody waits for it any more. */
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

  /** Who pressed a button that is gone now goes on from here, not from the top of the page. */
  #show(...nodes) {
    const hadFocus = this.#place.contains(document.activeElement);
    this.#place.replaceChildren(...nodes);
    if (hadFocus) this.#place.focus({ preventScroll: true });
  }
}
