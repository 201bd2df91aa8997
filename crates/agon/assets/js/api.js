// @ts-check
// Talking to the arena's API.

/** @typedef {{ code: string, message: string, hint: string | null }} ApiProblem */

/** A refusal by the server, with what it said. */
export class Refusal extends Error {
  /**
   * @param {number} status
   * @param {ApiProblem} problem
   * @param {any} body
   */
  constructor(status, problem, body) {
    super(problem.message);
    this.status = status;
    this.code = problem.code;
    this.hint = problem.hint;
    this.body = body;
  }
}

/** The server could not be reached, or answered in a way that a later try may not. */
export class Unreachable extends Error {}

/**
 * Sends a request and returns the JSON of the answer.
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<any>}
 * @throws {Refusal | Unreachable}
 */
export async function request(path, init = {}) {
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...init });
  } catch {
    throw new Unreachable("The arena cannot be reached. Check your connection");
  }
  const body = await response.json().catch(() => null);
  if (response.ok) return body;
  if (!body?.error) throw new Unreachable(`The arena answered with an error (${response.status})`);
  throw new Refusal(response.status, body.error, body);
}

/**
 * Sends JSON by POST.
 * @param {string} path
 * @param {unknown} [value]
 * @param {Record<string, string>} [headers]
 */
export function post(path, value, headers = {}) {
  return request(path, {
    method: "POST",
    headers: value === undefined ? headers : { "content-type": "application/json", ...headers },
    body: value === undefined ? undefined : JSON.stringify(value),
  });
}
