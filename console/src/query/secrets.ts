/** What of the editor's text and of the history the browser may keep: nothing that may hold a password or a key. */
import { splitStatements } from "./statements";

/** The server's words for credentials (gpudb/values/credentials.py), mappings of users, and addresses with a password. */
const SECRET = /password|passphrase|secret|session_?token|security_?token|sas_?token|access_?key|account_?key|\buser\s+mapping\b|:\/\/[^\s/'"@]*:[^\s'"]*@|[?&;](?:sig|signature|x-amz-credential)=/i;

export function maySecret(text: string): boolean {
  return SECRET.test(text);
}

/** A text without the statements that may hold credentials. */
export function dropSecrets(text: string): string {
  if (!maySecret(text)) return text;
  const kept = splitStatements(text).filter((each) => !maySecret(each)).join("\n\n");
  return maySecret(kept) ? "" : kept;
}
