/** Where statements and their parameters are in a text, by the editor's own syntax tree. */
import { ensureSyntaxTree } from "@codemirror/language";
import { PostgreSQL } from "@codemirror/lang-sql";
import { EditorState } from "@codemirror/state";
import { quoteLiteral } from "../run";

export interface Span {
  from: number;
  to: number;
}

const PATIENCE_MS = 200;

/** All statements, without the white space around them; a semicolon is a statement's last character. */
export function listStatements(state: EditorState): Span[] {
  const tree = ensureSyntaxTree(state, state.doc.length, PATIENCE_MS);
  const found: Span[] = [];
  if (!tree) return found;
  for (let node = tree.topNode.firstChild; node; node = node.nextSibling) {
    if (node.name === "Statement") found.push({ from: node.from, to: node.to });
  }
  return found;
}

/** The statements of a text of its own, such as a selected part of another. */
export function splitStatements(text: string): string[] {
  return listStatements(EditorState.create({ doc: text, extensions: [PostgreSQL] })).map((span) => text.slice(span.from, span.to));
}

/** The statement at a place, or the one before it, as where a cursor is after the last semicolon. */
export function findStatementAt(state: EditorState, at: number): Span | null {
  const all = listStatements(state);
  const inside = all.find((span) => span.from <= at && at <= span.to);
  if (inside) return inside;
  const line = state.doc.lineAt(at);
  const next = all.find((span) => span.from >= at && span.from <= line.to);
  return next ?? all.findLast((span) => span.to <= at) ?? all[0] ?? null;
}

/** Texts, quoted names and comments, or a parameter, whose number is the second group. */
const TOKENS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$([a-zA-Z_]\w*)?\$[\s\S]*?\$\1\$|(?<![\w$])\$(\d+)/g;

/** How many parameters $1, $2, … a text has: the highest number outside of texts, comments and quoted names. */
export function countParameters(text: string): number {
  let most = 0;
  for (const match of text.matchAll(TOKENS)) if (match[2]) most = Math.max(most, Number(match[2]));
  return Math.min(most, 99);
}

/** A text with constants in the place of its parameters, for what runs it again. */
export function fillParameters(text: string, values: (string | null)[]): string {
  return text.replace(TOKENS, (token: string, _: unknown, number?: string) => {
    if (number === undefined) return token;
    const value = values[Number(number) - 1] ?? null;
    return value === null ? "NULL" : quoteLiteral(value);
  });
}

/** The offset in UTF-16 units of a position in characters, counted from 1. */
export function findOffset(text: string, position: number): number {
  let offset = 0;
  for (let left = position - 1; left > 0 && offset < text.length; left--) {
    offset += text.codePointAt(offset)! > 0xffff ? 2 : 1;
  }
  return offset;
}

/** The word that begins at an offset: what an error underlines. */
export function findWord(text: string, offset: number): Span {
  const word = /^(?:"(?:[^"]|"")*"|'(?:[^']|'')*'|[\p{L}\p{N}_$.]+|\S)/u.exec(text.slice(offset));
  if (word) return { from: offset, to: offset + word[0].length };
  return { from: Math.max(offset - 1, 0), to: Math.max(offset, Math.min(1, text.length)) };
}
