/**
 * The session of the widget, kept by the browser until the tab is closed. As everywhere in the
 * project, half an hour without a query ends a session.
 */

const NAME = "mtn-session";
const CLIENT = "mtn-client";
const GAP = 30 * 60 * 1000; // ms
const MAX_QUERIES = 50; // the service's limit

/** The session in progress, or a new one. @returns {{id: string, queries: string[]}} */
export function readSession(now = Date.now()) {
  const kept = JSON.parse(sessionStorage.getItem(NAME));
  if (kept !== null && now - kept.at < GAP) return kept;
  const begun = { id: newId(), queries: [], at: now };
  sessionStorage.setItem(NAME, JSON.stringify(begun));
  return begun;
}

/**
 * Adds a query to the session, unless it repeats the last one, as after a page reload.
 *
 * @returns {boolean} whether it was added
 */
export function addQuery(text, now = Date.now()) {
  const query = text.trim();
  const { id, queries } = readSession(now);
  if (!query || query === queries.at(-1)) return false;
  const kept = { id, queries: [...queries, query].slice(-MAX_QUERIES), at: now };
  sessionStorage.setItem(NAME, JSON.stringify(kept));
  return true;
}

/**
 * The browser's id, the same in all tabs and sessions: the service counts people by it.
 *
 * @returns {?string} null where the browser keeps nothing
 */
export function clientId() {
  try {
    const id = localStorage.getItem(CLIENT) ?? newId();
    localStorage.setItem(CLIENT, id);
    return id;
  } catch {
    return null;
  }
}

/** 128 random bits; `crypto.randomUUID` is missing on sites without https. */
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
