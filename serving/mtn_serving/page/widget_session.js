/**
 * The session of the widget, kept by the browser until its tab is closed. As everywhere in the
 * project, half an hour without a query ends a session.
 */

const NAME = "mtn-session";
const GAP = 30 * 60 * 1000; // ms
const MAX_QUERIES = 50; // as many as the service takes

/** @returns {{id: string, queries: string[]}} */
export function readSession(now = Date.now()) {
  const kept = JSON.parse(sessionStorage.getItem(NAME));
  if (kept !== null && now - kept.at < GAP) return kept;
  return { id: newId(), queries: [], at: now };
}

/** Somebody searched for it. Twice in a row, as by the reload of a page, it counts once. */
export function addQuery(text, now = Date.now()) {
  const query = text.trim();
  const session = readSession(now);
  if (query && query !== session.queries.at(-1)) session.queries.push(query);
  session.queries = session.queries.slice(-MAX_QUERIES);
  sessionStorage.setItem(NAME, JSON.stringify({ ...session, at: now }));
}

/** 128 random bits; `crypto.randomUUID` is not there on sites without https. */
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
