/**
 * Session and history in the fragment of the URL: a link shows the same lists, and the browser's
 * back button goes back one step. The fragment is not sent to the service.
 *
 *   #q=paris+hotels&q=london&past=rome%0Arome+hotels     (one line per query of an earlier session)
 *
 * A browser with this site as a search engine opens `?q=london`: a session of one query.
 */

/** @returns {{session: string[], history: string[][]}} */
export function readAddress() {
  const fields = new URLSearchParams(location.hash.slice(1) || location.search);
  return {
    session: fields.getAll("q").filter(Boolean),
    history: fields.getAll("past").map(lines).filter((session) => session.length > 0),
  };
}

/** Adds session and history to the browser's history as a new step, unless nothing changed. */
export function writeAddress({ session, history }) {
  const fields = new URLSearchParams();
  for (const query of session) fields.append("q", query);
  for (const earlier of history) fields.append("past", earlier.join("\n"));
  const address = location.pathname + (fields.size > 0 ? `#${fields}` : "");
  const now = location.pathname + location.search + location.hash;
  if (address !== now) window.history.pushState(null, "", address);
}

/** The queries of one session, one per line. */
function lines(text) {
  return text.split("\n").map((line) => line.trim()).filter(Boolean);
}

/** Parses sessions as people type them: one query per line, a blank line between sessions. */
export function readHistory(text) {
  return text.split(/\n\s*\n/).map(lines).filter((session) => session.length > 0);
}

/** The inverse of `readHistory`. */
export function writeHistory(history) {
  return history.map((session) => session.join("\n")).join("\n\n");
}
