/**
 * The style of the widget's list. The list is in the site's own document, because screen readers
 * find the options of a field only there. So every rule here applies only to the widget, and `all`
 * keeps the site's rules out. A site may set the colours: .mtn-suggest { --mtn-accent: … }.
 */

export const STYLE = `
.mtn-suggest * {
  all: unset;
}

.mtn-suggest {
  all: initial;
  color-scheme: inherit;
  position: fixed;
  display: block;
  box-sizing: border-box;
  max-height: 60vh;
  padding: 6px;
  overflow-y: auto;
  font: 16px/1.4 system-ui, sans-serif;
  color: var(--mtn-ink, light-dark(#1c1f23, #e8e6e1));
  background: var(--mtn-surface, light-dark(#ffffff, #1c2024));
  border: 1px solid var(--mtn-line, light-dark(#d6d3cc, #3a4148));
  border-radius: 12px;
  box-shadow: 0 8px 24px rgb(0 0 0 / 18%);
  text-align: start;
}

.mtn-suggest[hidden] {
  display: none;
}

.mtn-suggest [role="option"] {
  display: block;
  padding: 7px 10px;
  border-radius: 8px;
  overflow-wrap: anywhere;
  white-space: pre-wrap;
  cursor: pointer;
}

.mtn-suggest [role="option"]:hover {
  background: color-mix(in srgb, var(--mtn-accent, light-dark(#0b6b66, #6fcfc4)) 8%, transparent);
}

.mtn-suggest [role="option"][aria-selected="true"] {
  background: color-mix(in srgb, var(--mtn-accent, light-dark(#0b6b66, #6fcfc4)) 20%, transparent);
}

.mtn-suggest b {
  font-weight: 650;
}

.mtn-suggest-status {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}
`;
