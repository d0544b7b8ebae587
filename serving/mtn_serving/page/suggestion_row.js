/**
 * One suggestion: its text to click, its score as a bar, its source, and an explanation on demand.
 */

import { bar, element, percent, unseen } from "./elements.js";
import { explanation } from "./explanation.js";
import { Notice } from "./notice.js";
import { inWords } from "./sources.js";

const ONLY_A_PLACE = "in turn"; // the rule of lists without a ranker: scores only count down

/**
 * @param {object} suggestion {text, score, source, rule}
 * @param {object} list
 *   choose(): called when it is chosen
 *   explain(): Promise of its explanation
 */
export function suggestionRow(suggestion, { choose, explain }) {
  const { text, score, source, rule } = suggestion;
  const scored = rule !== ONLY_A_PLACE;
  const why = element("div", { class: "why", hidden: true });
  return element(
    "li",
    {},
    element(
      "button",
      { type: "button", class: "suggestion", onclick: choose },
      text,
    ),
    element("span", { class: "source" }, inWords(source)),
    scored ? bar(score) : null,
    scored ? element("span", { class: "score" }, percent(score)) : null,
    element(
      "button",
      {
        type: "button",
        class: "quiet ask-why",
        "aria-expanded": "false",
        onclick: (event) => toggle(event.currentTarget, why, explain),
      },
      "Why?",
      unseen(` ${text}`),
    ),
    why,
  );
}

function toggle(button, why, explain) {
  const opens = button.getAttribute("aria-expanded") === "false";
  button.setAttribute("aria-expanded", String(opens));
  why.hidden = !opens;
  if (!opens) return why.replaceChildren();
  const line = element("p", { class: "notice" });
  const notice = new Notice(line, () => fill(line, notice, explain));
  why.append(line);
  fill(line, notice, explain);
}

/** @param {HTMLElement} line of the notice; disconnected if the explanation was closed */
async function fill(line, notice, explain) {
  notice.waiting();
  try {
    const answer = await explain();
    notice.clear();
    if (line.isConnected) line.replaceWith(explanation(answer));
  } catch (error) {
    if (line.isConnected) notice.failed(error);
    else notice.clear();
  }
}
