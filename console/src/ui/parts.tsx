/** Small parts of the page: icons, buttons, dialogs, menus, tabs. */
import type { ButtonHTMLAttributes, ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

const PATHS = {
  play: "M7 4.5v15l12-7.5z",
  stop: "M6 6h12v12H6z",
  sun: "M12 4V2m0 20v-2m8-8h2M2 12h2m13.7-5.7 1.4-1.4M4.9 19.1l1.4-1.4m0-11.4L4.9 4.9m14.2 14.2-1.4-1.4M16 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0z",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  plus: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6 6 18",
  down: "M6 9l6 6 6-6",
  right: "M9 6l6 6-6 6",
  table: "M4 5h16v14H4zM4 10h16M4 14.5h16M10 10v9",
  chart: "M5 20V11m5 9V4m5 16v-7m5 7V8",
  clock: "M12 7v5l3 2m6-2a9 9 0 1 1-18 0 9 9 0 0 1 18 0z",
  bookmark: "M7 4h10v16l-5-4-5 4z",
  download: "M12 4v11m-4.5-4 4.5 4.5L16.5 11M5 20h14",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  plan: "M9 4h6v4H9zM4 16h6v4H4zm10 0h6v4h-6zM12 8v4m-5 4v-4h10v4",
  trash: "M5 7h14M10 7V4h4v3m-7 0 1 13h8l1-13",
  edit: "M5 19h3L19 8l-3-3L5 16z",
  save: "M5 4h11l3 3v13H5zM8 4v5h7V4M8 20v-6h8v6",
  logout: "M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9",
  menu: "M4 7h16M4 12h16M4 17h16",
  link: "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.6-5.7L12 7m2 3a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.6 5.7L12 17",
  refresh: "M20 11a8 8 0 0 0-14.5-3.5L4 9m0-5v5h5M4 13a8 8 0 0 0 14.5 3.5L20 15m0 5v-5h-5",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  const solid = name === "play" || name === "stop";
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" fill={solid ? "currentColor" : "none"}
      stroke={solid ? "none" : "currentColor"} stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round">
      <path d={PATHS[name]} />
    </svg>
  );
}

type ButtonProps = Omit<ButtonHTMLAttributes<HTMLButtonElement>, "icon" | "ref"> & {
  icon?: IconName;
  kind?: "plain" | "primary" | "quiet" | "danger";
  label?: string;
  children?: ComponentChildren;
};

/** A button; one without text needs a label. */
export function Button({ icon, kind = "plain", label, children, class: more = "", ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest} class={`button ${kind} ${children ? "" : "square"} ${more}`} aria-label={label} title={label ?? (rest.title as string)}>
      {icon && <Icon name={icon} />}
      {children && <span>{children}</span>}
    </button>
  );
}

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
}

/** A modal dialog. Escape and a click beside it close it. */
export function Dialog({ title, onClose, children, wide = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => element.current?.showModal(), []);
  return (
    <dialog ref={element} class={wide ? "wide" : ""} aria-labelledby={id} onClose={onClose}
      onMouseDown={(event) => event.target === element.current && element.current?.close()}>
      <div class="dialog-body">
        <header>
          <h2 id={id}>{title}</h2>
          <Button icon="close" kind="quiet" label="Close" onClick={() => element.current?.close()} />
        </header>
        {children}
      </div>
    </dialog>
  );
}

export interface MenuItem {
  label: string;
  icon?: IconName;
  act: () => void;
}

/** A button that opens a list of actions; arrows move, Escape closes. */
export function Menu({ label, icon, items, text }: { label: string; icon?: IconName; items: MenuItem[]; text?: string }) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    root.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const away = (event: Event) => root.current?.contains(event.target as Node) || setOpen(false);
    document.addEventListener("mousedown", away);
    return () => document.removeEventListener("mousedown", away);
  }, [open]);
  const onKey = (event: KeyboardEvent) => {
    const all = [...root.current!.querySelectorAll<HTMLElement>("[role=menuitem]")];
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (event.key === "Escape") {
      setOpen(false);
      root.current!.querySelector("button")?.focus();
    } else if (event.key === "ArrowDown") all[(at + 1) % all.length]?.focus();
    else if (event.key === "ArrowUp") all[(at - 1 + all.length) % all.length]?.focus();
    else return;
    event.preventDefault();
  };
  return (
    <div class="menu" ref={root} onKeyDown={onKey}>
      <Button icon={icon} kind="quiet" label={label} aria-haspopup="menu" aria-expanded={open} onClick={() => setOpen(!open)}>
        {text}
      </Button>
      {open && (
        <div class="menu-list" role="menu" aria-label={label}>
          {items.map((item) => (
            <button type="button" role="menuitem" key={item.label} onClick={() => { setOpen(false); item.act(); }}>
              {item.icon && <Icon name={item.icon} />}
              {item.label}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

interface TabsProps<Name extends string> {
  label: string;
  tabs: readonly { name: Name; label: ComponentChildren }[];
  chosen: Name;
  onChoose: (name: Name) => void;
}

export function Tabs<Name extends string>({ label, tabs, chosen, onChoose }: TabsProps<Name>) {
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const at = tabs.findIndex((tab) => tab.name === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length]!;
    onChoose(next.name);
    const list = event.currentTarget as HTMLElement;
    requestAnimationFrame(() => list.querySelector<HTMLElement>("[aria-selected=true]")?.focus());
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={onKey}>
      {tabs.map((tab) => (
        <button type="button" role="tab" key={tab.name} aria-selected={tab.name === chosen} tabIndex={tab.name === chosen ? 0 : -1}
          onClick={() => onChoose(tab.name)}>
          {tab.label}
        </button>
      ))}
    </div>
  );
}
