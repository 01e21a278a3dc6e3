import '@patternfly/react-core/dist/styles/base.css';
import '../style/console.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { applyTheme, chosenTheme } from './theme.ts';

applyTheme(chosenTheme());
const root = document.getElementById('root');
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <App base={document.baseURI} />
    </StrictMode>,
  );
}
