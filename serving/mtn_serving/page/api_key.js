/**
 * The API key, where the service wants one: kept by the browser until its tab is closed.
 */

import { element } from "./elements.js";

const NAME = "mtn-api-key";

/** @returns {?string} */
export function readKey() {
  return sessionStorage.getItem(NAME);
}

/** A form for it. @param {function()} done is called when a key was given */
export function keyForm(done) {
  const field = element("input", { type: "password", "aria-label": "API key", autocomplete: "off", required: true });
  const given = (event) => {
    event.preventDefault();
    sessionStorage.setItem(NAME, field.value);
    done();
  };
  return element("form", { class: "key", onsubmit: given }, field, element("button", {}, "Use this key"));
}
