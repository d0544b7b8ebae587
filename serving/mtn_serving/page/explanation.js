/**
 * Shows the answer of `/v1/explain`: which sources have a suggestion, how often people asked it,
 * which query of the session mattered, and which features moved the ranker.
 */

import { bar, element, percent } from "./elements.js";

/**
 * How much each query of the session mattered, from 0 to 1; null if no query matters. The service
 * reports only the last queries.
 *
 * @param {number[]} read places in the session, from 0, of what is a query: `!!!` is none
 */
export function sharesOf({ queries }, read, session) {
  if (!queries.some(({ share }) => share > 0)) return null;
  const places = read.slice(-queries.length);
  return session.map((_, place) => queries[places.indexOf(place)]?.share ?? 0);
}

/** The explanation as a description list. @returns {HTMLElement} */
export function explanation({ sources, counts, model, queries, contributions }) {
  const list = element("dl", {});
  const add = (term, lines) => {
    if (lines.length === 0) return;
    const wrapped = lines.map((line) => element("li", {}, ...[line].flat()));
    list.append(element("dt", {}, term), element("dd", {}, element("ul", {}, ...wrapped)));
  };
  add("Where from", sources.map(sourceLine));
  add("In the log", counts === null ? [] : countLines(counts));
  add("Model", model === null ? [] : [modelLine(model)]);
  add("Without", queries.map(withoutLine));
  add("The model attends to", queries.filter(({ attention }) => attention !== null).map(attentionLine));
  add("Ranker", contributionLines(contributions ?? []));
  return list;
}

function sourceLine({ place, how }) {
  return place === null ? how : `${how}, place ${place}`;
}

function countLines({ asked, people, after }) {
  const all = asked === 0 ? "nobody asked it" : `asked ${times(asked)}${by(people)}`;
  return [all, ...after.map(({ context, times: number, of, people }) => {
    return `${number} of ${times(of)} right after ${quoted(context.join(" › "))}${by(people)}`;
  })];
}

function times(number) {
  return number === 1 ? "once" : `${number} times`;
}

function by(people) {
  if (people === null || people === 0) return "";
  return people === 1 ? ", by one person" : `, by ${people} people`;
}

function modelLine({ log_probability, place }) {
  const likely = `probability ${percent(Math.exp(log_probability))}`;
  return place === null ? likely : `${likely}, place ${place} of the candidates`;
}

/** Without a ranker, scores are negative and only count down the places. */
function withoutLine({ query, place, score }) {
  if (place === null) return `${quoted(query)}: not in the list`;
  const scored = score > 0 ? ` with ${percent(score)}` : "";
  return `${quoted(query)}: place ${place}${scored}`;
}

function attentionLine({ query, attention }) {
  return [
    element("span", { class: "feature" }, quoted(query)),
    bar(attention),
    element("span", { class: "amount" }, percent(attention)),
  ];
}

/** Features for and against the suggestion; amounts are in log-odds. */
function contributionLines(contributions) {
  const largest = Math.max(...contributions.map(({ amount }) => Math.abs(amount)));
  return contributions.map(({ meaning, value, amount }) => {
    const known = value === null ? "" : `: ${signed(Number(value.toPrecision(3)))}`;
    return [
      element("span", { class: "feature" }, meaning + known),
      bar(Math.abs(amount) / largest, amount < 0 ? "bar against" : "bar"),
      element("span", { class: "amount" }, (amount < 0 ? "" : "+") + signed(amount.toFixed(2))),
    ];
  });
}

/** With a minus sign, not a hyphen. */
function signed(number) {
  return String(number).replace("-", "−");
}

function quoted(text) {
  return `“${text}”`;
}
