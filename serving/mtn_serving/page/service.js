/**
 * The service's answers, or a `ServiceError` in words that a person can use.
 */

const PATIENCE = 15; // seconds until a request is given up

/**
 * Why there is no answer.
 *
 * retryAfter: seconds after which the service wants to be asked again; null if it named none
 * needsKey: whether the service wants an API key, or another one
 */
export class ServiceError extends Error {
  constructor(message, { retryAfter = null, needsKey = false } = {}) {
    super(message);
    this.retryAfter = retryAfter;
    this.needsKey = needsKey;
  }
}

export class Service {
  #base;
  #key;

  /**
   * @param {string|URL} base where the service is; ends in a slash
   * @param {function(): ?string} key gives the API key; null where none is known
   */
  constructor(base, key = () => null) {
    this.#base = base;
    this.#key = key;
  }

  /** The next queries. @param {object} request {session, history, n, bundle?} */
  suggest(request, signal) {
    return this.#post("v1/suggest", request, signal);
  }

  /** What is being typed. @param {object} request {session, history, prefix, n, bundle?} */
  complete(request, signal) {
    return this.#post("v1/complete", request, signal);
  }

  /** Why a suggestion. @param {object} request {session, history, suggestion, bundle?} */
  explain(request, signal) {
    return this.#post("v1/explain", request, signal);
  }

  /** What was shown, chosen and searched for; also while the page is being left. */
  tell(events) {
    return this.#post("v1/events", { events }, null, { keepalive: true });
  }

  /** A file or a fact of the service. */
  get(path, signal) {
    return this.#ask(path, { headers: {} }, signal);
  }

  #post(path, body, signal, more = {}) {
    const headers = { "Content-Type": "application/json" };
    const options = { method: "POST", headers, body: JSON.stringify(body), ...more };
    return this.#ask(path, options, signal);
  }

  async #ask(path, options, signal = null) {
    const key = this.#key();
    if (key !== null) options.headers["X-API-Key"] = key;
    const limit = AbortSignal.timeout(1000 * PATIENCE);
    const either = signal === null ? limit : AbortSignal.any([signal, limit]);
    let response;
    try {
      response = await fetch(new URL(path, this.#base), { ...options, signal: either });
      if (response.ok) return await response.json();
    } catch (error) {
      if (limit.aborted) throw new ServiceError(`The service gave no answer in ${PATIENCE} seconds.`);
      if (either.aborted) throw error;
      throw new ServiceError("The service cannot be reached.");
    }
    throw await refusal(response);
  }
}

async function refusal(response) {
  if (response.status === 503) {
    const seconds = Number(response.headers.get("Retry-After")) || 1;
    return new ServiceError("The service is busy.", { retryAfter: seconds });
  }
  if (response.status >= 500) {
    return new ServiceError(`The service failed (status ${response.status}).`);
  }
  if (response.status === 401) {
    return new ServiceError("The service wants an API key.", { needsKey: true });
  }
  return new ServiceError(await detailOf(response));
}

/** What the service says of a request that it refuses: a text, or a list of what is wrong. */
async function detailOf(response) {
  const unknown = `The service refused the request (status ${response.status}).`;
  const body = await response.json().catch(() => null); // a proxy's page, not the service's answer
  const detail = body?.detail;
  if (typeof detail === "string") return detail;
  return Array.isArray(detail) ? detail.map((each) => each.msg).join("; ") : unknown;
}
