/** The editor: CodeMirror with PostgreSQL's dialect, the statement at the cursor marked, errors underlined. */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { PostgreSQL } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { EditorState, Prec, RangeSetBuilder } from "@codemirror/state";
import {
  Decoration, type DecorationSet, drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers, placeholder,
  ViewPlugin, type ViewUpdate,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";
import { complete } from "./catalog";
import { findStatementAt } from "./statements";

export interface EditorActions {
  runAtCursor: () => void;
  runAll: () => void;
  cancel: () => void;
  save: () => void;
  change: (text: string) => void;
}

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--code-keyword)", fontWeight: "550" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.typeName], color: "var(--code-type)" },
  { tag: [tags.lineComment, tags.blockComment], color: "var(--code-comment)", fontStyle: "italic" },
  { tag: [tags.standard(tags.name)], color: "var(--code-type)" },
]);

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "13.5px", backgroundColor: "transparent", color: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", overflow: "auto" },
  ".cm-content": { padding: "10px 0", caretColor: "var(--accent)" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--faint)", border: "none", paddingLeft: "4px" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 10px 0 8px", minWidth: "24px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--selection)" },
  ".cm-current": { boxShadow: "inset 2px 0 0 var(--accent)" },
  ".cm-matchingBracket": { backgroundColor: "var(--selection)", outline: "none" },
  ".cm-placeholder": { color: "var(--soft)" },
  ".cm-tooltip": { border: "1px solid var(--line)", borderRadius: "8px", backgroundColor: "var(--raised)", boxShadow: "var(--shadow)", overflow: "hidden" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12.5px", maxHeight: "16em" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 10px", lineHeight: "1.5" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent-soft)", color: "var(--text)" },
  ".cm-completionDetail": { color: "var(--soft)", fontStyle: "normal", marginLeft: "1em" },
  ".cm-completionIcon": { display: "none" },
  ".cm-diagnostic": { fontFamily: "var(--sans)", padding: "8px 12px", borderLeft: "3px solid var(--bad)", whiteSpace: "pre-wrap" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1.5px", textUnderlineOffset: "4px" },
});

const currentLine = Decoration.line({ class: "cm-current" });

/** Marks the lines of the statement at the cursor, where the text has several. */
const currentStatement = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = this.make(view);
    }
    update(update: ViewUpdate): void {
      if (update.docChanged || update.selectionSet || update.viewportChanged) this.decorations = this.make(update.view);
    }
    make(view: EditorView): DecorationSet {
      const builder = new RangeSetBuilder<Decoration>();
      const found = findStatementAt(view.state, view.state.selection.main.head);
      if (found) {
        const { doc } = view.state;
        for (let line = doc.lineAt(found.from).number; line <= doc.lineAt(found.to).number; line++) {
          const { from } = doc.line(line);
          builder.add(from, from, currentLine);
        }
      }
      return builder.finish();
    }
  },
  { decorations: (value) => value.decorations },
);

export function makeState(text: string, actions: () => EditorActions): EditorState {
  const act = (name: Exclude<keyof EditorActions, "change">) => () => {
    actions()[name]();
    return true;
  };
  return EditorState.create({
    doc: text,
    extensions: [
      Prec.highest(
        keymap.of([
          { key: "Mod-Enter", run: act("runAtCursor"), shift: act("runAll") },
          { key: "Mod-.", run: act("cancel") },
          { key: "Mod-s", run: act("save"), preventDefault: true },
        ]),
      ),
      lineNumbers(),
      highlightSpecialChars(),
      history(),
      drawSelection(),
      indentOnInput(),
      bracketMatching(),
      closeBrackets(),
      EditorView.lineWrapping,
      EditorState.tabSize.of(4),
      PostgreSQL,
      PostgreSQL.language.data.of({ autocomplete: complete }),
      autocompletion({ icons: false, maxRenderedOptions: 60 }),
      syntaxHighlighting(colours),
      look,
      currentStatement,
      placeholder("SELECT …    Ctrl+Enter runs the statement at the cursor"),
      EditorView.contentAttributes.of({ "aria-label": "SQL", spellcheck: "false", autocapitalize: "none" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) actions().change(update.state.doc.toString());
      }),
      keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, indentWithTab, ...defaultKeymap]),
    ],
  });
}

/** Underlines an error; offsets are of the editor's text. */
export function underline(view: EditorView, found: { from: number; to: number; message: string } | null): void {
  const all: Diagnostic[] = found ? [{ ...found, severity: "error" }] : [];
  view.dispatch(setDiagnostics(view.state, all));
}

/** Shows one state at a time; `onView` gets the view once. */
export function Editor({ state, onView }: { state: EditorState; onView: (view: EditorView) => void }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const view = new EditorView({ state, parent: place.current! });
    onView(view);
    view.focus();
    return () => view.destroy();
  }, []);
  return <div class="editor" ref={place} />;
}
