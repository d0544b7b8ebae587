/**
 * Sessions to click. A file beside the page names them, so that a bundle of another log can have its
 * own.
 */

import { element } from "./elements.js";

/**
 * @param {HTMLUListElement} list
 * @param {object[]} samples [{name, session, history?}]
 * @param {function(object)} chosen
 */
export function showSamples(list, samples, chosen) {
  list.replaceChildren(
    ...samples.map((sample) =>
      element(
        "li",
        {},
        element(
          "button",
          { type: "button", class: "sample", onclick: () => chosen(sample) },
          element("span", { class: "name" }, sample.name),
          element("span", { class: "queries-in-short" }, sample.session.join(" › ")),
        ),
      ),
    ),
  );
}
