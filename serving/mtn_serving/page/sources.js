/** The names of sources, for people who have not read the documentation. */

const WORDS = {
  history: "you asked it before",
  counts: "people ask it next",
  beam: "written by the model",
  edits: "a change of your query",
  session: "from this session",
  // for completions only
  popular: "people ask it often",
  words: "words that go together",
  corrected: "spelling corrected",
};

/** A source in a few words; an unknown name is shown as it is. */
export function inWords(source) {
  return WORDS[source] ?? source;
}
