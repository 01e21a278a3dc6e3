import { Alert } from '@patternfly/react-core/dist/dynamic/components/Alert';
import { Button } from '@patternfly/react-core/dist/dynamic/components/Button';
import { Form, FormGroup, FormHelperText } from '@patternfly/react-core/dist/dynamic/components/Form';
import { HelperText, HelperTextItem } from '@patternfly/react-core/dist/dynamic/components/HelperText';
import { InputGroup, InputGroupItem } from '@patternfly/react-core/dist/dynamic/components/InputGroup';
import { TextInput } from '@patternfly/react-core/dist/dynamic/components/TextInput';
import { Title } from '@patternfly/react-core/dist/dynamic/components/Title';
import EyeIcon from '@patternfly/react-icons/dist/esm/icons/eye-icon';
import EyeSlashIcon from '@patternfly/react-icons/dist/esm/icons/eye-slash-icon';
import { type FormEvent, useEffect, useState } from 'react';
import type { LoginAnswer, SessionAnswer } from '../../src/console/answers.ts';
import type { ConsoleApi } from '../data/console-api.ts';
import { words } from '../words/english.ts';

/** Logging in with a token. */
export function Login({
  why,
  api,
  onSession,
}: {
  readonly why: string | undefined;
  readonly api: ConsoleApi;
  readonly onSession: (session: SessionAnswer) => void;
}) {
  const [token, setToken] = useState('');
  const [shown, setShown] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState(why);
  useEffect(() => {
    document.title = words.login.title;
  }, []);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setFailure(undefined);
    api.login({ token }).then(onSession, (error: unknown) => {
      setBusy(false);
      setFailure(error instanceof Error ? error.message : String(error));
    });
  };

  return (
    <main className="sluice-login">
      <div className="sluice-login-box">
        <div className="sluice-login-title">
          <img src="./icon.svg" alt="" width={40} height={40} />
          <Title headingLevel="h1" size="2xl">
            {words.login.title}
          </Title>
        </div>
        {failure === undefined ? null : (
          <Alert isInline variant="danger" title={words.login.failed} component="h2">
            {failure}
          </Alert>
        )}
        <Form onSubmit={submit}>
          <FormGroup label={words.login.token} fieldId="token" isRequired>
            <InputGroup>
              <InputGroupItem isFill>
                <TextInput
                  id="token"
                  type={shown ? 'text' : 'password'}
                  value={token}
                  onChange={(_, value) => setToken(value)}
                  autoComplete="off"
                  spellCheck={false}
                  isRequired
                />
              </InputGroupItem>
              <InputGroupItem>
                <Button
                  variant="control"
                  aria-label={shown ? words.login.hide : words.login.show}
                  icon={shown ? <EyeSlashIcon /> : <EyeIcon />}
                  onClick={() => setShown(!shown)}
                />
              </InputGroupItem>
            </InputGroup>
            <FormHelperText>
              <HelperText>
                <HelperTextItem>
                  {words.login.tokenHelp} <code>{words.login.tokenCommand}</code>
                </HelperTextItem>
              </HelperText>
            </FormHelperText>
          </FormGroup>
          <Button type="submit" variant="primary" isBlock isLoading={busy} isDisabled={busy || token === ''}>
            {words.login.submit}
          </Button>
        </Form>
        <WithoutToken api={api} />
      </div>
    </main>
  );
}

/** The command that gives a link, and where it is typed. */
function WithoutToken({ api }: { readonly api: ConsoleApi }) {
  const [ways, setWays] = useState<LoginAnswer>();
  useEffect(() => {
    // Who cannot be told how it is here is told how it is in general.
    api.waysIn().then(setWays, () => setWays({ links: 'command' }));
  }, [api]);
  if (ways === undefined) return null;
  const [text, command] = howToGetLink(ways);
  return (
    <p className="sluice-login-link">
      {text} {command === undefined ? null : <code>{command}</code>}
    </p>
  );
}

function howToGetLink({ links, command }: LoginAnswer): [text: string, command?: string] {
  const { link } = words.login;
  switch (links) {
    case 'never':
      return [link.never];
    case 'start':
      return [link.start, link.startCommand];
    case 'command':
      return command === undefined ? [link.there, link.command] : [link.here, command];
  }
}
