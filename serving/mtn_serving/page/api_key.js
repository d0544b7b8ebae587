/**
 * The API key, if the service needs one; the browser keeps it until the tab is closed.
 */

import { element } from "./elements.js";

const NAME = "mtn-api-key";

/** @returns {?string} */
export function readKey() {
  return sessionStorage.getItem(NAME);
}

/** A form for the key. @param {function()} done called after a key was entered */
export function keyForm(done) {
  const field = element("input", { type: "password", "aria-label": "API key", autocomplete: "off", required: true });
  const given = (event) => {
    event.preventDefault();
    sessionStorage.setItem(NAME, field.value);
    done();
  };
  return element("form", { class: "key", onsubmit: given }, field, element("button", {}, "Use this key"));
}
