/**
 * Overlapping requests, of which only the newest may answer: an earlier one that comes back late must
 * not overwrite what a later one brought.
 */

/** What an earlier request gives once a newer one was started. */
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

  /** Nothing that is running may answer any more. */
  cancel() {
    this.#running?.abort();
    this.#running = null;
  }
}
