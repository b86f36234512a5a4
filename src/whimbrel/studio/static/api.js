// Calls of the studio's API. The key comes in the fragment of the address, which no server sees, and stays in
// this tab.

const FIELD = "X-Whimbrel-Token";
const STORED = "whimbrel-studio-key";

function takeKey() {
  const found = /^#key=([\w-]+)$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(STORED, found[1]);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(STORED) || "";
}

const key = takeKey();

export class Refusal extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }
}

// Returns the document of a call, null where a later call has taken its place. Throws Refusal.
export async function call(method, body = {}) {
  let response;
  try {
    response = await fetch(`/api/${method}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", [FIELD]: key },
      body: JSON.stringify(body),
    });
  } catch {
    throw new Refusal("The studio has ended: start it again with `whimbrel studio`", 0);
  }
  let found;
  try {
    found = await response.json();
  } catch {
    throw new Refusal(`The studio answered with ${response.status}`, response.status);
  }
  if (!response.ok) throw new Refusal(found.error || `status ${response.status}`, response.status);
  return found.superseded ? null : found;
}
