/** What the names of sources mean to somebody who never read the documentation. */

const WORDS = {
  history: "you asked it before",
  counts: "people ask it next",
  beam: "written by the model",
  edits: "a change of your query",
  session: "from this session",
  // of completions only
  popular: "people ask it often",
  words: "words that go together",
  corrected: "spelling corrected",
};

/** In a few words; a name that is not known here is shown as it is. */
export function inWords(source) {
  return WORDS[source] ?? source;
}
