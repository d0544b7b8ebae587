/**
 * The page: a search box, its session, and suggestions.
 *
 *   combobox          completes the query being typed
 *   session_list      the queries so far
 *   suggestion_list   the suggestions of one bundle, and their `explanation`s
 *   samples           sample sessions to click
 *
 * One state, {session, history}: every change goes through `change`, which updates the whole page.
 */

import { readAddress, readHistory, writeAddress, writeHistory } from "./address.js";
import { readKey } from "./api_key.js";
import { bounded } from "./bounds.js";
import { Combobox } from "./combobox.js";
import { announcer } from "./elements.js";
import { Notice } from "./notice.js";
import { SessionList } from "./session_list.js";
import { showSamples } from "./samples.js";
import { Service } from "./service.js";
import { inWords } from "./sources.js";
import { SuggestionList } from "./suggestion_list.js";

const COMPLETIONS = 8;

const at = (id) => document.getElementById(id);
const service = new Service(new URL(".", import.meta.url), readKey);
const announce = announcer(at("announcements"));

let state = { session: [], history: [] };
let lists = [];

const sessionList = new SessionList(at("queries"), (session, done) => {
  change({ session });
  announce(done);
});

function change(changes) {
  take({ ...state, ...changes });
  writeAddress(state);
  show();
}

/** Of what is longer than the service takes, the part that is used; what was cut is said. */
function take(wanted) {
  const { state: used, cut } = bounded(wanted);
  state = used;
  at("cut").textContent = cut.join(" ");
  if (cut.length > 0) announce(cut.join(" "));
}

function show() {
  const { session, history } = state;
  sessionList.show(session);
  light(null);
  at("no-queries").hidden = session.length > 0;
  at("clear").hidden = session.length === 0;
  at("keep-session").hidden = session.length === 0;
  at("lists").hidden = session.length === 0;
  at("history").value = writeHistory(history);
  at("history-count").textContent = history.length > 0 ? String(history.length) : "";
  for (const list of lists) list.ask(state);
}

function search(text) {
  const query = text.trim().replace(/\s+/g, " ");
  at("query").value = "";
  at("typing-notice").textContent = "";
  if (query) change({ session: [...state.session, query] });
}

/** Uses the text in the field for earlier sessions, if it changed. */
function useHistory() {
  const history = readHistory(at("history").value);
  if (writeHistory(history) === writeHistory(state.history)) return;
  change({ history });
  announce(history.length === 1 ? "1 earlier session" : `${history.length} earlier sessions`);
}

/** Shows how much each query mattered for a suggestion; null if unknown. */
function light(shares, suggestion) {
  sessionList.light(shares);
  at("shading").textContent = shares ? `Percentages: how much each query mattered for “${suggestion}”.` : "";
}

function notLit(error) {
  at("shading").textContent = `How much each query mattered is not known. ${error.message}`;
}

async function complete(text, signal) {
  if (!text.trim()) return [];
  const answer = await service.complete({ ...state, prefix: text, n: COMPLETIONS }, signal);
  return answer.suggestions.map(({ text, source }) => ({ text, detail: inWords(source) }));
}

function listen() {
  new Combobox(at("query"), document.querySelector(".completions"), {
    find: complete,
    choose: ({ text }) => search(text),
    announce,
    failed: (error) => (at("typing-notice").textContent = error?.message ?? ""),
  });
  at("search").addEventListener("submit", (event) => {
    event.preventDefault();
    search(at("query").value);
    at("query").focus();
  });
  at("clear").addEventListener("click", () => {
    change({ session: [] });
    at("query").focus();
    announce("The session is empty");
  });
  at("history").addEventListener("change", useHistory); // when it loses the focus
  at("use-history").addEventListener("click", useHistory);
  at("keep-session").addEventListener("click", () => {
    change({ session: [], history: [...state.history, state.session] });
    at("query").focus();
    announce("The session is now an earlier one");
  });
  window.addEventListener("popstate", () => {
    take(readAddress());
    show();
  });
}

/** One list per bundle; two bundles are shown side by side. */
async function start() {
  const ready = await service.get("readyz");
  const names = ready.bundles.map(({ name }) => name);
  lists = names.map((name, place) => {
    const lights = place === 0; // the queries light up for one list only
    const page = { choose: ({ text }) => search(text), light, notLit, announce, lights };
    return new SuggestionList(at("lists"), service, names.length > 1 ? name : null, page);
  });
  at("about").textContent = ready.bundles.map(({ name, version }) => `${name} ${version}`).join(", ");
  show();
  startSamples();
}

/** Shows the samples; hides their panel if the bundle has none or the request fails. */
async function startSamples() {
  const { samples } = await service.get("v1/samples").catch(() => ({ samples: [] }));
  at("samples-panel").hidden = samples.length === 0;
  showSamples(at("samples"), samples, ({ session, history }) => change({ session, history }));
}

/** The start is retried like any request, so a page opened too early recovers by itself. */
async function startOrSay() {
  startNotice.waiting();
  try {
    await start();
    startNotice.clear();
  } catch (error) {
    startNotice.failed(error);
  }
}

const startNotice = new Notice(at("start-notice"), startOrSay);
take(readAddress());
listen();
startOrSay();
