export type Theme = 'light' | 'dark';

const storageKey = 'sluice-theme';
const darkClass = 'pf-v6-theme-dark';

/** The theme that the person chose, else that of the machine. */
export function chosenTheme(): Theme {
  const stored = localStorage.getItem(storageKey);
  if (stored === 'light' || stored === 'dark') return stored;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

export function applyTheme(theme: Theme): void {
  document.documentElement.classList.toggle(darkClass, theme === 'dark');
}

/** Keeps the choice in this browser. */
export function chooseTheme(theme: Theme): void {
  localStorage.setItem(storageKey, theme);
  applyTheme(theme);
}
