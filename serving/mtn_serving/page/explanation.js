/**
 * Why a suggestion: who had it, how many people asked it, which query of the session mattered.
 */

import { element } from "./elements.js";

/** How much each query of the session mattered, from 0 to 1; null if that is unknown. */
export function sharesOf({ queries }) {
  return queries ?? null;
}

/** @returns {Node[]} */
export function explanation(answer) {
  return [element("p", {}, JSON.stringify(answer))];
}
