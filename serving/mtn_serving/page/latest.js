/**
 * Overlapping requests: only the newest may answer. A late answer to an earlier request must not
 * overwrite the answer to a later one.
 */

/** The result of a request after a newer one was started. */
export const SUPERSEDED = Symbol("superseded");

export class Latest {
  #running = null;

  /**
   * The result of `work(signal)`, or SUPERSEDED if `run` or `cancel` was called meanwhile.
   *
   * @param {function(AbortSignal): Promise} work
   */
  async run(work) {
    this.cancel();
    const running = new AbortController();
    this.#running = running;
    try {
      const result = await work(running.signal);
      return running.signal.aborted ? SUPERSEDED : result;
    } catch (error) {
      if (running.signal.aborted) return SUPERSEDED;
      throw error;
    }
  }

  /** Discards the answer of the running request. */
  cancel() {
    this.#running?.abort();
    this.#running = null;
  }
}
