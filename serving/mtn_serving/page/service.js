/**
 * The client of the service. Failures are a `ServiceError` with a message for the person.
 */

const PATIENCE = 15; // seconds until a request times out

/**
 * Why there is no answer.
 *
 * retryAfter: seconds until the next attempt, as requested by the service; null if not given
 * needsKey: whether the API key is missing or wrong
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
   * @param {string|URL} base URL of the service; ends with a slash
   * @param {function(): ?string} key returns the API key; null if there is none
   */
  constructor(base, key = () => null) {
    this.#base = base;
    this.#key = key;
  }

  /** Suggestions. @param {object} request {session, history, n, bundle?} */
  suggest(request, signal) {
    return this.#post("v1/suggest", request, signal);
  }

  /** Completions. @param {object} request {session, history, prefix, n, bundle?} */
  complete(request, signal) {
    return this.#post("v1/complete", request, signal);
  }

  /** An explanation. @param {object} request {session, history, suggestion, bundle?} */
  explain(request, signal) {
    return this.#post("v1/explain", request, signal);
  }

  /** Sends events: what was shown, chosen and searched for. Works while the page is being left. */
  tell(events) {
    return this.#post("v1/events", { events }, null, { keepalive: true });
  }

  /** The JSON at a path of the service. */
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

/** Why the service refused a request: its detail is a text or a list of errors. */
async function detailOf(response) {
  const unknown = `The service refused the request (status ${response.status}).`;
  const body = await response.json().catch(() => null); // not JSON: a proxy's page
  const detail = body?.detail;
  if (typeof detail === "string") return detail;
  return Array.isArray(detail) ? detail.map((each) => each.msg).join("; ") : unknown;
}
