/**
 * How much the service takes. What is longer is cut here, and the page says so: a refusal would end a
 * session that only goes on.
 */

const MAX_QUERIES = 50; // of a session: the newest
const MAX_SESSIONS = 200; // of a history: the newest
const MAX_LENGTH = 500; // characters of a query: the first

/**
 * The state within the bounds, and what was cut, in words.
 *
 * @param {{session: string[], history: string[][]}} state
 * @returns {{state: {session: string[], history: string[][]}, cut: string[]}}
 */
export function bounded({ session, history }) {
  const cut = new Set();
  const newest = (list, most, what) => {
    if (list.length > most) cut.add(`Only the newest ${most} ${what} are used.`);
    return list.slice(-most);
  };
  const queries = (list) => newest(list, MAX_QUERIES, "queries of a session").map((query) => {
    const characters = [...query];
    if (characters.length <= MAX_LENGTH) return query;
    cut.add(`A query was cut to ${MAX_LENGTH} characters.`);
    return characters.slice(0, MAX_LENGTH).join("");
  });
  const state = {
    session: queries(session),
    history: newest(history, MAX_SESSIONS, "earlier sessions").map(queries),
  };
  return { state, cut: [...cut] };
}
