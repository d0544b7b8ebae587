/** Sessions to click, as the bundle has them. */

import { element } from "./elements.js";

/**
 * @param {HTMLUListElement} list
 * @param {object[]} samples [{session, history}]
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
          element("span", { class: "name" }, sample.session.join(" › ")),
          sample.history.length > 0 ? element("span", { class: "past" }, pastOf(sample)) : null,
        ),
      ),
    ),
  );
}

/** What came before it. */
function pastOf({ history }) {
  const sessions = history.length === 1 ? "an earlier session" : `${history.length} earlier sessions`;
  return `after ${sessions}: ${history.map((session) => session.join(" › ")).join("; ")}`;
}
