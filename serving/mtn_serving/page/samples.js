/** Sample sessions of the bundle, to click. */

import { element } from "./elements.js";

/**
 * @param {HTMLUListElement} list
 * @param {object[]} samples [{session, history}]
 * @param {function(object)} chosen called with the chosen sample
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
          element("span", { class: "name" }, inShort(sample.session)),
          sample.history.length > 0 ? element("span", { class: "past" }, pastOf(sample)) : null,
        ),
      ),
    ),
  );
}

/** The queries joined by arrows; no line begins with an arrow. */
function inShort(queries) {
  return queries.join("\u00a0› ");
}

function pastOf({ history }) {
  const sessions = history.length === 1 ? "an earlier session" : `${history.length} earlier sessions`;
  return `after ${sessions}: ${history.map(inShort).join("; ")}`;
}
